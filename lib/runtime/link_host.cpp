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

LinkHost::LinkHost(const port::Port& port, std::uint16_t queue, const Addresses& addresses,
                   std::optional<std::uint16_t> vlan)
    : name_(port.name()),
      own_{port.mac(), addresses.ip, vlan,
           wire::is_link_local_unicast(addresses.ip6) ? addresses.ip6 : wire::link_local_of(port.mac()),
           addresses.ip6},
      igmp_(own_, [this] { return static_cast<std::uint32_t>(random_()); }),
      mld_(own_, [this] { return static_cast<std::uint32_t>(random_()); }),
      arp_(own_),
      ndp_(own_, addresses.ip6),
      queue_(port.tx_queue(queue)) {
    static std::atomic<unsigned> count{0};
    const unsigned mbufs = port.tx_sizes().descriptors + kSpare;
    pool_ = rte_pktmbuf_pool_create(fmt::format("link_host_{}", count++).c_str(), mbufs, 0, 0,
                                    static_cast<std::uint16_t>(data_room()), port.socket_id());
    if (pool_ == nullptr)
        throw_error(name_, "no memory for {} buffers of {} bytes for its hosts ({}): raise EAL's -m", mbufs,
                    data_room(), rte_strerror(rte_errno));
    arp_.announce();
    if (!wire::is_unspecified(addresses.ip6))
        use_ipv6();
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

void LinkHost::use_ipv6() {
    if (uses_ipv6_)
        return;
    uses_ipv6_ = true;
    for (const Ipv6& address : ndp_.addresses())
        mld_.want({wire::solicited_node(address), 0, {}});
    ndp_.announce();
}

void LinkHost::want(const Endpoint& endpoint) {
    if (endpoint.address.is_v4()) {
        igmp_.want(endpoint);
        return;
    }
    use_ipv6();
    mld_.want(endpoint);
}

void LinkHost::leave(const Endpoint& endpoint) {
    if (endpoint.address.is_v4())
        igmp_.leave(endpoint);
    else
        mld_.leave(endpoint);
}

void LinkHost::leave_all() {
    igmp_.leave_all();
    mld_.leave_all();
}

void LinkHost::resolve(const IpAddress& host) {
    if (host.is_v4()) {
        arp_.resolve(host.v4());
        return;
    }
    use_ipv6();
    ndp_.resolve(host.v6());
}

std::optional<MacAddress> LinkHost::find(const IpAddress& host) const {
    return host.is_v4() ? arp_.find(host.v4()) : ndp_.find(host.v6());
}

void LinkHost::report_conflict() {
    const auto& other = arp_.conflict() ? arp_.conflict() : ndp_.conflict();
    if (!other || reported_conflict_)
        return;
    reported_conflict_ = true;
    log_warning(LogType::runtime, "port {}: the host {} uses our address, too", name_, mac_text(*other));
}

template <typename Host>
void LinkHost::step(Host& host, Clock::time_point now) {
    if (unsent_.size() < kMostUnsent && now >= host.next())
        for (port::Frame& frame : host.step(now))
            unsent_.push_back(std::move(frame));
}

void LinkHost::serve(Clock::time_point now) {
    for (const auto& ring : rings_)
        ring->take_all([&](std::span<const std::uint8_t> frame) {
            igmp_.receive(frame, now);
            arp_.receive(frame, now);
            if (uses_ipv6_) {
                mld_.receive(frame, now);
                ndp_.receive(frame, now);
            }
        });
    report_conflict();
    // A host listens to the group of its address before it asks whether that is taken (RFC 4862 5.4.2).
    step(arp_, now);
    step(igmp_, now);
    step(mld_, now);
    step(ndp_, now);
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
