// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <spead/recv.hpp>

namespace spead {

/// Gives access to a packet of a stream before its payload is placed. Valid during PacketFilter::keep.
class SPEAD_API Packet {
  public:
    std::uint32_t source_address() const noexcept;  ///< IPv4, host byte order
    std::uint32_t destination_address() const noexcept;
    std::uint16_t source_port() const noexcept;
    std::uint16_t destination_port() const noexcept;
    std::uint64_t heap_cnt() const noexcept;
    std::uint64_t offset() const noexcept;  ///< of the payload in the heap
    std::uint32_t payload_length() const noexcept;
    /// Returns the value of the first item with this id, as far as it is an immediate.
    std::optional<std::uint64_t> immediate(std::uint64_t id) const noexcept;

    struct View;
    explicit Packet(const View& view) noexcept : view_(&view) {}

  private:
    const View* view_;
};

/// Decides which packets of a stream are kept; the others are counted as filtered. One object for each lcore
/// of the stream, made and destroyed by the session's thread.
class SPEAD_API PacketFilter {
  public:
    PacketFilter() = default;
    PacketFilter(const PacketFilter&) = delete;
    PacketFilter& operator=(const PacketFilter&) = delete;
    virtual ~PacketFilter();

    /// Runs on the lcore for every packet: must not lock, allocate, wait or throw.
    virtual bool keep(const Packet& packet) noexcept = 0;
};

}  // namespace spead
