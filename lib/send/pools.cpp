// SPDX-License-Identifier: BSD-3-Clause
#include "send/pools.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <initializer_list>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "port/sizes.hpp"
#include "send/in_flight.hpp"
#include "wire/net.hpp"

namespace spead::send {
namespace {

/// Counts the threads that may keep mbufs in a cache of their own: the sender's, and those of two receivers
/// on a ring.
constexpr std::uint32_t kCachingThreads = 3;

/// Counts mbufs that are unused and yet unavailable: bursts under construction, and mempool caches, which
/// hold up to 1.5 times their size.
constexpr std::uint32_t kWithheld = 4 * kBurst + kCachingThreads * kPoolCache * 3 / 2;

/// Holds the number of packets copied at once if copies are the exception (unregistered memory, the tail
/// before an idle time).
constexpr std::uint32_t kOccasionalCopies = 256;

rte_mempool* make_pool(const char* purpose, std::uint32_t mbufs, std::uint32_t room, int numa,
                       const std::string& where) {
    static std::atomic<unsigned> serial{0};
    const std::string name = fmt::format("send_{}{}", purpose, serial.fetch_add(1));
    rte_mempool* const pool =
        rte_pktmbuf_pool_create(name.c_str(), mbufs, kPoolCache, 0, static_cast<std::uint16_t>(room), numa);
    if (pool == nullptr)
        throw Error(
            where,
            fmt::format("no memory for {} mbufs of {} bytes ({} KiB): {}; give EAL more memory (-m), or "
                        "lower the packet size or the queue's descriptors",
                        mbufs, room, port::pool_bytes_of(mbufs, room, kPoolCache) / 1024,
                        rte_strerror(rte_errno)));
    return pool;
}

/// Returns the bytes of the headers before the UDP payload of an untagged packet.
std::size_t untagged_header_of(const SenderConfig& config) noexcept {
    return is_ipv6(config) ? wire::kNetHeader6 : wire::kNetHeader;
}

}  // namespace

bool may_send_external(const SenderConfig& config) noexcept {
    return config.zero_copy != ZeroCopy::never && config.capabilities.tx_multi_segment &&
           config.capabilities.tx_external_buffer;
}

bool is_ipv6(const SenderConfig& config) noexcept {
    return !config.destinations.empty() && config.destinations.front().endpoint.address.is_v6();
}

std::size_t net_header_of(const SenderConfig& config) noexcept {
    return untagged_header_of(config) + (config.vlan ? wire::kVlanTag : 0);
}

SenderMemory plan_memory(const SenderConfig& config) {
    const std::uint32_t withheld = kWithheld + config.capabilities.late_free_segments;
    const std::uint32_t descriptors = config.tx_descriptors;
    SenderMemory m;
    m.header_mbufs = descriptors + withheld;
    m.header_room = RTE_PKTMBUF_HEADROOM + kHeaderBytes;
    m.copy_mbufs = descriptors + withheld;
    if (may_send_external(config)) {
        m.external_mbufs = descriptors + withheld;
        m.copy_mbufs = std::min(descriptors, kOccasionalCopies) + withheld;
    }
    const std::size_t headers = untagged_header_of(config) + wire::kVlanTag;
    m.copy_room = port::data_room_of(static_cast<std::uint32_t>(headers + config.max_packet_size));
    m.bytes = port::pool_bytes_of(m.header_mbufs, m.header_room, kPoolCache) +
              port::pool_bytes_of(m.copy_mbufs, m.copy_room, kPoolCache) + InFlight::memory(config.max_heaps);
    if (m.external_mbufs != 0)
        m.bytes += port::pool_bytes_of(m.external_mbufs, 0, kPoolCache);
    return m;
}

Pools::Pools(const SenderMemory& memory, int numa, const std::string& where) : where_(where) {
    try {
        header_ = make_pool("header", memory.header_mbufs, memory.header_room, numa, where);
        copy_ = make_pool("copy", memory.copy_mbufs, memory.copy_room, numa, where);
        if (memory.external_mbufs != 0)
            external_ = make_pool("external", memory.external_mbufs, 0, numa, where);
    } catch (...) {
        rte_mempool_free(header_);
        rte_mempool_free(copy_);
        throw;
    }
}

Pools::~Pools() {
    for (rte_mempool* pool : {header_, external_, copy_}) {
        if (pool == nullptr)
            continue;
        if (const unsigned out = rte_mempool_in_use_count(pool); out != 0)
            log_error(LogType::send, "{}: {} mbufs of {} were never given back; the pool is kept", where_,
                      out, pool->name);
        else
            rte_mempool_free(pool);
    }
}

std::size_t Pools::out() const noexcept {
    std::size_t n = 0;
    for (const rte_mempool* pool : {header_, external_, copy_})
        n += pool == nullptr ? 0 : rte_mempool_in_use_count(pool);
    return n;
}

}  // namespace spead::send
