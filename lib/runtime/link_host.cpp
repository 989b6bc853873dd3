// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/link_host.hpp"

#include <atomic>
#include <cstring>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "port/sizes.hpp"

namespace spead::runtime {

namespace {

/// Holds the number of mbufs beside those that the driver may keep.
constexpr unsigned kSpare = 64;

std::uint32_t data_room() {
    return port::data_room_of(port::frame_of(LinkHost::kMaxPacket) + port::kVlanTag);
}

}  // namespace

LinkHost::LinkHost(const port::Port& port, std::uint16_t queue, Ipv4 address,
                   std::optional<std::uint16_t> vlan)
    : name_(port.name()),
      igmp_({port.mac(), address, vlan}, [this] { return static_cast<std::uint32_t>(random_()); }),
      arp_({port.mac(), address, vlan}),
      queue_(port.tx_queue(queue)) {
    static std::atomic<unsigned> count{0};
    const unsigned mbufs = port.tx_sizes().descriptors + kSpare;
    pool_ = rte_pktmbuf_pool_create(fmt::format("link_host_{}", count++).c_str(), mbufs, 0, 0,
                                    static_cast<std::uint16_t>(data_room()), port.socket_id());
    if (pool_ == nullptr)
        throw_error(name_, "no memory for {} buffers of {} bytes for IGMP and ARP ({}): raise EAL's -m",
                    mbufs, data_room(), rte_strerror(rte_errno));
    arp_.announce();
}

LinkHost::~LinkHost() {
    // A driver that still has mbufs would write to memory with another owner.
    if (rte_mempool_full(pool_) != 0)
        rte_mempool_free(pool_);
}

std::size_t LinkHost::memory_need(std::uint16_t descriptors) noexcept {
    return (std::size_t{descriptors} + kSpare) * (data_room() + 2 * port::kMbufHeader);
}

FrameRing& LinkHost::add_source() {
    rings_.push_back(std::make_unique<FrameRing>());
    return *rings_.back();
}

void LinkHost::serve(Clock::time_point now) {
    for (const auto& ring : rings_)
        ring->take_all([&](std::span<const std::uint8_t> frame) {
            igmp_.receive(frame, now);
            arp_.receive(frame, now);
        });
    if (arp_.conflict() && !reported_conflict_) {
        reported_conflict_ = true;
        log_warning(LogType::runtime, "port {}: the host {} uses our address, too", name_,
                    mac_text(*arp_.conflict()));
    }
    if (unsent_.size() < kMostUnsent && now >= arp_.next())
        for (port::Frame& frame : arp_.step(now))
            unsent_.push_back(std::move(frame));
    if (unsent_.size() < kMostUnsent && now >= igmp_.next())
        for (port::Frame& frame : igmp_.step(now))
            unsent_.push_back(std::move(frame));
    while (!unsent_.empty() && send(unsent_.front()))
        unsent_.pop_front();
}

bool LinkHost::send(const port::Frame& frame) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf == nullptr) {
        if (queue_.reap != nullptr)
            queue_.reap(queue_.context, queue_.queue);
        return false;
    }
    const auto length = static_cast<std::uint16_t>(frame.size());
    std::memcpy(rte_pktmbuf_append(mbuf, length), frame.data(), length);
    if (queue_.tx_burst(&mbuf, 1) == 0) {
        rte_pktmbuf_free(mbuf);
        return false;
    }
    sent_++;
    return true;
}

}  // namespace spead::runtime
