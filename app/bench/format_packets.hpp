// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/packet_format.hpp"

namespace spead::app {

/// Makes headers of a known format for `bench chunks`: each has a time and a lane.
class FormatPackets {
  public:
    /// Holds the items of time and lane. All known formats have them.
    static constexpr std::uint64_t kTime = 0x1600;
    static constexpr std::uint64_t kLane = 0x4101;

    /// Throws UsageError for an unknown name.
    explicit FormatPackets(std::string_view name);

    const std::string& text() const noexcept { return text_; }
    std::size_t header() const noexcept { return format_.prefix + format_.header; }
    /// Returns the header of a packet with so many bytes of payload. Fields without a meaning here are 0.
    std::vector<std::uint8_t> make(std::uint64_t time, std::uint64_t lane, std::uint64_t payload) const;

  private:
    std::string text_;
    wire::PacketFormat format_;
};

}  // namespace spead::app
