// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::runtime {

/// What is worth telling about the link of a port: that it is lost, and that it is back, once each; how often
/// it went is for the end of the run. Pure.
class LinkWatch {
  public:
    enum class News : std::uint8_t { none, lost, back };

    /// A port is expected to have a link when it is looked at for the first time.
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

/// Whether a port without its peer is worth a word: when it has had none for several looks, and not for ever
/// again. Pure.
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

    std::uint64_t looks_ = 0;  ///< without a peer, one after the other
    unsigned reported_ = 0;
};

}  // namespace spead::runtime
