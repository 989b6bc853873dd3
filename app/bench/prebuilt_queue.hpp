// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

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

    std::uint32_t room;     ///< data room of an mbuf, headroom included
    std::uint32_t element;  ///< bytes of an mbuf in the pool
};

/// Gives out prebuilt packets without end, in place of a receive queue: freed mbufs come back in order. For
/// one lcore, on an initialised EAL.
class PrebuiltQueue {
  public:
    /// Makes the mbufs; `build` writes packet i into each. `where` names the benchmark in errors. Throws
    /// Error.
    PrebuiltQueue(const std::string& where, std::uint64_t packets, const PrebuiltSizes& sizes,
                  const std::function<void(std::uint64_t i, rte_mbuf& mbuf)>& build);
    ~PrebuiltQueue();
    PrebuiltQueue(const PrebuiltQueue&) = delete;
    PrebuiltQueue& operator=(const PrebuiltQueue&) = delete;

    port::RxQueue queue() { return {&PrebuiltQueue::burst, this, 0, pool_}; }
    const std::vector<rte_mbuf*>& in_order() const { return order_; }
    bool all_back() const;
    /// Lets the queue give out each packet once more.
    void next_pass() { left_ = order_.size(); }
    /// Returns whether it has packets to give out.
    bool has_left() const { return left_ != 0; }
    /// Puts the packets into their order, in which heaps do not give them back. All are in the pool.
    void restore_order();

  private:
    static std::uint16_t burst(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max);

    rte_mempool* pool_;
    std::vector<rte_mbuf*> order_;
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
    PrebuiltPacket(const std::string& where, const rte_mbuf& mbuf);

    wire::UdpView udp;
    wire::SpeadPacket spead;
    std::span<const std::byte> payload;
};

}  // namespace spead::app
