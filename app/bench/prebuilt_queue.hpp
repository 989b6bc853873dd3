// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/mapping.hpp"
#include "port/port_io.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace spead::app {

/// Says how large the mbufs of a PrebuiltQueue are.
struct PrebuiltSizes {
    /// Returns the sizes for packets with so many item pointers and bytes of payload.
    PrebuiltSizes(std::uint32_t items, std::uint32_t payload);

    std::uint32_t frame;    ///< bytes from one packet to the next, without mbufs between
    std::uint32_t room;     ///< data room of an mbuf that the packet lies in, headroom included
    std::uint32_t element;  ///< bytes of that mbuf in the pool
};

/// Gives out prebuilt packets without end, in place of a receive queue. For one lcore, on an initialised EAL.
///
/// Without descriptors, each packet lies in an mbuf of its own, and freed mbufs come back in order. With
/// them, the packets lie one after the other in memory of their own, each at a cache line. So many mbufs
/// carry them by turns, written for each burst as a driver would.
class PrebuiltQueue {
  public:
    /// Makes the mbufs; `build` writes packet i into an empty one. `where` names the benchmark in errors.
    /// Throws Error.
    PrebuiltQueue(const std::string& where, std::uint64_t packets, const PrebuiltSizes& sizes,
                  const std::function<void(std::uint64_t i, rte_mbuf& mbuf)>& build,
                  std::uint32_t descriptors = 0);
    ~PrebuiltQueue();
    PrebuiltQueue(const PrebuiltQueue&) = delete;
    PrebuiltQueue& operator=(const PrebuiltQueue&) = delete;

    port::RxQueue queue() { return {&PrebuiltQueue::burst, this, 0, pool_}; }
    std::uint64_t packets() const { return frames_.size(); }
    std::span<const std::uint8_t> frame(std::uint64_t i) const { return frames_[i]; }
    /// Names the pages in which the packets lie.
    std::string pages() const;
    bool all_back() const;
    /// Lets the queue give out each packet once more.
    void next_pass() { left_ = frames_.size(); }
    /// Returns whether it has packets to give out.
    bool has_left() const { return left_ != 0; }
    /// Puts the packets into their order, in which heaps do not give them back. All are in the pool, and have
    /// an mbuf each.
    void restore_order();

  private:
    static std::uint16_t burst(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max);
    void lay_back_to_back(std::uint64_t packets, std::uint32_t frame,
                          const std::function<void(std::uint64_t, rte_mbuf&)>& build);
    void attach(rte_mbuf** mbufs, std::uint16_t count) noexcept;

    rte_mempool* pool_;
    std::vector<rte_mbuf*> order_;  ///< as the pool gives them out at first
    memory::Mapping own_;           ///< the packets, if they lie back to back
    std::vector<std::span<std::uint8_t>> frames_;
    std::uint64_t left_ = 0;
};

/// Appends a multicast datagram with this header to an empty mbuf. Returns where its payload is, for the
/// caller to fill.
std::span<std::byte> append_datagram(rte_mbuf& mbuf, std::uint32_t group, std::uint16_t port,
                                     std::span<const std::uint8_t> header, std::size_t payload);
/// Appends a multicast datagram with a SPEAD-64-48 packet to an empty mbuf. Returns where its payload is, for
/// the caller to fill.
std::span<std::byte> append_packet(rte_mbuf& mbuf, std::uint32_t group, std::uint16_t port,
                                   std::span<const std::uint64_t> pointers, std::size_t payload);

/// Holds a prebuilt packet, read back.
struct PrebuiltPacket {
    /// Reads it. Throws Error if it is broken.
    PrebuiltPacket(const std::string& where, std::span<const std::uint8_t> frame);

    wire::UdpView udp;
    wire::SpeadPacket spead;
    std::span<const std::byte> payload;
};

}  // namespace spead::app
