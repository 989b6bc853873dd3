// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <spead/recv.hpp>

namespace spead {

namespace recv {
class FilterPacket;
}
namespace door {
struct FilterAccess;
}

/// Gives access to a packet of a stream before its payload is placed. Valid during the call that brings it,
/// or as long as the HeldPacket that it is from.
class SPEAD_API Packet {
  public:
    std::uint32_t source_address() const noexcept;  ///< IPv4, host byte order; 0 of IPv6
    std::uint32_t destination_address() const noexcept;
    std::uint16_t source_port() const noexcept;
    std::uint16_t destination_port() const noexcept;
    std::uint64_t heap_cnt() const noexcept;
    /// Returns the length of the heap, if the packet tells it.
    std::optional<std::uint64_t> heap_length() const noexcept;
    std::uint64_t offset() const noexcept;  ///< of the payload in the heap
    std::uint32_t payload_length() const noexcept;
    /// Returns the payload where the port put it, in as many pieces as the port made, usually one. Fills
    /// `pieces` as far as they go, and returns how many there are.
    std::size_t payload(std::span<std::span<const std::byte>> pieces) const noexcept;
    /// Returns the value of the first item with this id, as far as it is an immediate.
    std::optional<std::uint64_t> immediate(std::uint64_t id) const noexcept;

  private:
    friend struct door::FilterAccess;
    explicit Packet(const recv::FilterPacket& packet) noexcept : packet_(&packet) {}

    const recv::FilterPacket* packet_;
};

/// Lends a packet to the user, without a copy: a move-only handle. The port cannot use the packet's buffers
/// again until the handle is destroyed or reset, on any thread, also after the stream and the session have
/// ended. Different threads may use different handles at once.
class SPEAD_API HeldPacket {
  public:
    HeldPacket() noexcept;
    HeldPacket(HeldPacket&& other) noexcept;
    HeldPacket& operator=(HeldPacket&& other) noexcept;
    HeldPacket(const HeldPacket&) = delete;
    HeldPacket& operator=(const HeldPacket&) = delete;
    ~HeldPacket();

    /// Returns false when the handle is empty; then packet() may not be called.
    explicit operator bool() const noexcept;
    Packet packet() const noexcept;
    /// Gives the packet back now. Does nothing when the handle is empty.
    void reset() noexcept;

  private:
    friend struct door::FilterAccess;
    alignas(void*) std::byte held_[sizeof(void*)];
};

/// Says what becomes of a packet. A filter may hold RecvConfig::held_buffers; the last two differ beyond.
enum class FilterAnswer : std::uint8_t {
    keep,          ///< it is placed into its heap or chunk
    drop,          ///< it counts as packets_filtered
    hold_or_keep,  ///< the filter gets it (packets_held); beyond, it is kept, and counted in hold_refused
    hold_or_drop   ///< the filter gets it (packets_held); beyond, it is dropped, and counted in both
};

/// Decides about each packet of a stream. One object for each lcore of the stream, made and destroyed by the
/// session's thread. A filter defines keep(), or look() and hold().
class SPEAD_API PacketFilter {
  public:
    PacketFilter() = default;
    PacketFilter(const PacketFilter&) = delete;
    PacketFilter& operator=(const PacketFilter&) = delete;
    virtual ~PacketFilter();

    // These run on the lcore: they must not lock, allocate, wait or throw.

    /// Decides whether a packet is kept; dropped ones count as filtered. The default keeps all.
    virtual bool keep(const Packet& packet) noexcept;
    /// Decides the same with all answers. The default asks keep().
    virtual FilterAnswer look(const Packet& packet) noexcept;
    /// Receives the packet at once after look() has asked for it. The default gives it back.
    virtual void hold(HeldPacket packet) noexcept;

    /// Hears that no more packets come, on the session's thread; not called without a session. It must not
    /// call the stream or the session. A filter gives back here what it still holds. For packets that are not
    /// back, the stop or the destruction of a stream waits up to 2 s, and then goes on without them; so do
    /// other changes of the session, and its end, which reports them as a problem. The ring of a stream of
    /// chunks ends only when they are back.
    virtual void ending() noexcept;
};

}  // namespace spead
