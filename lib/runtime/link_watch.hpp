// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::runtime {

/// Decides when to report the link of a port: once when it is lost, and once when it is back. Counts losses
/// for the report at the end of the run. Pure.
class LinkWatch {
  public:
    enum class News : std::uint8_t { none, lost, back };

    /// Notes the state of the link. At the first look a port is expected to have one.
    News update(bool up) noexcept {
        if (up == up_)
            return News::none;
        up_ = up;
        if (!up)
            losses_++;
        return losses_ > 1 ? News::none : up ? News::back : News::lost;
    }
    std::uint64_t losses() const noexcept { return losses_; }
    bool up() const noexcept { return up_; }

  private:
    bool up_ = true;
    std::uint64_t losses_ = 0;
};

/// Decides whether to report a port without its peer: once, when several looks in a row found none. Pure.
class PeerWatch {
  public:
    bool update(bool up) noexcept {
        looks_ = up ? 0 : looks_ + 1;
        if (looks_ != kPatience || reported_ == kOften)
            return false;
        reported_++;
        return true;
    }

    bool up() const noexcept { return looks_ == 0; }

  private:
    static constexpr std::uint64_t kPatience = 5;
    static constexpr unsigned kOften = 3;

    std::uint64_t looks_ = 0;  ///< consecutive looks without a peer
    unsigned reported_ = 0;
};

}  // namespace spead::runtime
