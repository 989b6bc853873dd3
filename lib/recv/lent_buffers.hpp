// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "heap/lent_packets.hpp"
#include "port/buffer_loans.hpp"

struct rte_mbuf;

namespace spead::recv {

/// Holds the mbufs that the heaps of one lane refer to. Destroyed with the lane, on any thread: the heaps
/// that users hold keep the lane, and the share keeps the mbufs' pools.
class LentBuffers {
  public:
    /// Makes it for `wanted` mbufs, for the heaps of so many records. As many may be lent as the share has.
    LentBuffers(port::BufferShare share, std::uint32_t wanted, std::size_t records)
        : wanted_(wanted), share_(std::move(share)), packets_(wanted, records, &LentBuffers::free) {
        packets_.set_most(share_.size());
    }

    heap::LentPackets& packets() noexcept { return packets_; }
    const heap::LentPackets& packets() const noexcept { return packets_; }
    /// Gives back the part of the share that is not lent. The lcore lends no more, and has let go of the
    /// lane.
    void settle() noexcept { share_.shrink(packets_.out()); }
    /// Takes more of the port's buffers, if it has fewer than wanted and others have given some back. Returns
    /// whether it has: then the lcore calls allow() with the result. Main thread.
    bool grow() { return share_.grow(wanted_); }
    std::uint32_t share() const noexcept { return share_.size(); }
    /// Lends up to `most` from now on. On the lcore.
    void allow(std::uint32_t most) noexcept { packets_.set_most(most); }

    /// Keeps the payload of a packet, `from`, at this place of its heap. The packet has one segment, with its
    /// pool's own buffer. Returns false when it is to be copied (heap::LentPackets::keep). On the lcore.
    bool keep(const heap::Record& r, rte_mbuf* mbuf, const std::uint8_t* from, std::uint32_t offset,
              std::uint32_t length) noexcept;

  private:
    static void free(void* const* mbufs, std::size_t count);

    const std::uint32_t wanted_;
    port::BufferShare share_;  // outlives the packets
    heap::LentPackets packets_;
};

}  // namespace spead::recv
