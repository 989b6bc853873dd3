// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recv/packet_reader.hpp"

namespace spead::recv {

/// Feeds the SPEAD packets that stand one after the other in memory. Their own lengths separate them. If
/// bytes follow that are no packet, these are one last, malformed datagram.
class BufferReader final : public PacketReader {
  public:
    /// Refers to `packets`, which outlive the reader. `way`: of all of them.
    BufferReader(std::span<const std::uint8_t> packets, const PacketWay& way) : left_(packets), way_(way) {}

    Fed feed(DatagramLane& lane, std::uint64_t now) override;
    void wait(std::chrono::milliseconds /*patience*/) override {}
    void wake() noexcept override {}
    bool lossless() const noexcept override { return true; }

  private:
    std::span<const std::uint8_t> left_;
    PacketWay way_;
};

}  // namespace spead::recv
