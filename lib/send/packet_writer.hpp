// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace spead::send {

/// Describes one datagram to be written. The parts of a burst's datagrams follow each other in one array, in
/// the order of the datagrams.
struct Datagram {
    iovec* parts = nullptr;
    std::uint32_t part_count = 0;
    std::uint32_t bytes = 0;  ///< sum of the parts
    std::uint32_t substream = 0;
};

/// Takes the packets of a DatagramSender. The sender's thread calls write() and wait(); any thread may call
/// the others.
class PacketWriter {
  public:
    /// Says how many datagrams of a burst were taken, and what became of the one after them.
    struct Written {
        std::size_t packets = 0;
        int error = 0;         ///< of the next one; 0: all were taken, or there is no room at present
        bool no_room = false;  ///< wait() for it
    };

    PacketWriter() = default;
    virtual ~PacketWriter() = default;
    PacketWriter(const PacketWriter&) = delete;
    PacketWriter& operator=(const PacketWriter&) = delete;

    /// Writes datagrams, in order, as long as there is room. Waits for none.
    virtual Written write(std::span<const Datagram> burst) noexcept = 0;
    /// Waits until there may be room, `patience` is over, or the descriptor `waker` is readable.
    virtual void wait(int waker, std::chrono::nanoseconds patience) noexcept = 0;
    /// Returns how long a packet may wait for room until it counts as refused.
    virtual std::chrono::nanoseconds patience() const noexcept = 0;
    /// Sets the TTL of packets from now on. Throws Error, and does nothing where packets have none.
    virtual void set_ttl(std::uint8_t /*ttl*/) {}
};

/// Waits until the descriptor is readable, or the time is over.
void wait_for_waker(int waker, std::chrono::nanoseconds patience) noexcept;

}  // namespace spead::send
