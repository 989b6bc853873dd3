// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/core.h>

/// Computes the sizes of queues and mempools, as pure functions: no DPDK, no state. All results are bytes or
/// counts.
namespace spead::port {

inline constexpr std::uint32_t kEthernetHeader = 14;
inline constexpr std::uint32_t kIpUdpHeaders = 28;  ///< IPv4 without options, and UDP
inline constexpr std::uint32_t kIpv6More = 20;      ///< of an IPv6 header, beyond one of IPv4
inline constexpr std::uint32_t kUsualMtu = 1500;    ///< the MTU of every Ethernet
inline constexpr std::uint32_t kVlanTag = 4;
inline constexpr std::uint32_t kVlanTags = 8;       ///< two tags, which a received frame may carry
inline constexpr std::uint32_t kHeadroom = 128;     ///< RTE_PKTMBUF_HEADROOM
inline constexpr std::uint32_t kMbufHeader = 128;   ///< sizeof(rte_mbuf)
inline constexpr std::uint32_t kObjectHeader = 64;  ///< before each mbuf in a mempool
inline constexpr std::uint32_t kPage = 4096;
inline constexpr std::uint32_t kMaxDataRoom = 65535;
/// Holds the largest UDP payload of an IPv4 packet.
inline constexpr std::uint32_t kMaxPayload = 65507;

/// Holds the most IP fragments of a datagram that is put together: RTE_LIBRTE_IP_FRAG_MAX_FRAG.
inline constexpr std::uint32_t kMostFragments = 8;
/// Holds the EAL memory for one such datagram, an upper estimate: a table of librte_ip_frag.
inline constexpr std::size_t kReassemblyBytes = 1280;
/// Holds the places of datagrams that are searched together (recv/fragment_table.hpp).
inline constexpr std::uint32_t kReassemblyWays = 16;
/// Returns the places for so many datagrams in the making.
constexpr std::uint32_t reassembly_places(std::uint32_t datagrams) noexcept {
    return std::bit_ceil(std::max(datagrams, kReassemblyWays));
}

/// Holds the sizes of a receive or transmit queue and its mempool; printed at start and by --check.
struct QueueSizes {
    std::uint16_t descriptors = 0;
    std::uint16_t cache = 0;      ///< mbufs in the cache of each lcore
    std::uint32_t mbufs = 0;      ///< in the queue's own pool
    std::uint32_t data_room = 0;  ///< bytes per mbuf, headroom included
    std::size_t pool_bytes = 0;   ///< EAL memory of the pool, an upper estimate
};

template <typename T>
constexpr T round_up(T value, T multiple) noexcept {
    return (value + multiple - 1) / multiple * multiple;
}

/// Returns the Ethernet frame (no FCS, no VLAN tag) that carries a UDP payload.
constexpr std::uint32_t frame_of(std::uint32_t payload) noexcept {
    return payload + kEthernetHeader + kIpUdpHeaders;
}
/// Returns the largest frame to expect when receiving such payloads.
constexpr std::uint32_t rx_frame_of(std::uint32_t payload) noexcept {
    return frame_of(payload) + kVlanTags;
}
/// Returns the size of the IP packet, which an MTU limits.
constexpr std::uint32_t mtu_of(std::uint32_t payload) noexcept {
    return payload + kIpUdpHeaders;
}
/// Returns the UDP payload that an MTU lets through.
constexpr std::uint32_t payload_of_mtu(std::uint32_t mtu) noexcept {
    return mtu > kIpUdpHeaders ? mtu - kIpUdpHeaders : 0;
}

/// Returns the data room of an mbuf that holds a frame in one segment: headroom + frame, in whole cache
/// lines. If that exceeds kMaxDataRoom, no single mbuf can; the result is then kMaxDataRoom and the frame
/// arrives as a chain.
constexpr std::uint32_t data_room_of(std::uint32_t frame) noexcept {
    return std::min(round_up(frame + kHeadroom, 64U), kMaxDataRoom);
}

/// Returns the segments of a frame when it is copied into mbufs of a data room: only the first has headroom.
constexpr std::uint32_t segments_of(std::uint32_t frame, std::uint32_t data_room) noexcept {
    const std::uint32_t first = data_room - kHeadroom;
    return frame <= first ? 1 : 1 + (frame - first + data_room - 1) / data_room;
}

/// Returns an upper estimate of the memory of rte_pktmbuf_pool_create. It has the objects (mbuf, data room,
/// 64 bytes of header, and up to three cache lines by which EAL spreads objects over memory channels). It
/// also has the ring of free objects, and the per-lcore caches, which exist for all of RTE_MAX_LCORE. No
/// object crosses a page, so with pages of 4 KiB (--no-huge) an object of 9 KiB takes three of them.
constexpr std::size_t pool_bytes_of(std::uint32_t mbufs, std::uint32_t data_room,
                                    std::uint16_t cache) noexcept {
    constexpr std::size_t page = 4096;
    const std::size_t object = round_up<std::size_t>(kMbufHeader + data_room, 64) + 64 + 192;
    const std::size_t objects = object <= page
                                    ? round_up<std::size_t>(mbufs, page / object) / (page / object) * page
                                    : mbufs * round_up(object, page);
    const std::size_t ring = std::bit_ceil(std::size_t{mbufs} + 1) * 8;
    const std::size_t caches = cache == 0 ? 0 : std::size_t{128} * 8448;
    return objects + ring + caches + 65536;
}

/// Returns the data room of an mbuf that fills a slot of a pool without gaps (port/rx_pool.hpp).
constexpr std::uint32_t slot_data_room(std::uint32_t slot) noexcept {
    return slot - kObjectHeader - kMbufHeader;
}
/// Returns the memory of such a pool: the slots from a page's beginning on, the ring of free ones, the
/// per-lcore caches.
constexpr std::size_t slot_pool_bytes(std::uint32_t mbufs, std::uint32_t slot) noexcept {
    return std::size_t{mbufs} * slot + kPage + std::bit_ceil(std::size_t{mbufs} + 1) * 8 +
           std::size_t{128} * 8448 + 65536;
}

/// Returns how many slots of `slot` bytes hold `bytes`, as a power of two within [least, most].
constexpr std::uint32_t slots_for(std::size_t bytes, std::uint32_t slot, std::uint32_t least,
                                  std::uint32_t most) noexcept {
    const std::size_t wanted = (bytes + slot - 1) / slot;
    if (wanted <= least) {
        return least;
    }
    return wanted >= most ? most : std::min(most, std::bit_ceil(static_cast<std::uint32_t>(wanted)));
}

/// Returns the mbufs of a receive pool if the PMD takes them only while it copies packets out (files, shared
/// memory, kernel rings): a few bursts being processed and those that the lcores' caches may withhold. More
/// would only be colder.
constexpr std::uint32_t copying_rx_mbufs(std::uint32_t segments_per_frame, std::uint16_t cache) noexcept {
    return 512 + 128 * segments_per_frame + 2U * cache;
}

/// Returns the sizes of a receive queue whose pool has `mbufs` mbufs for frames of `frame` bytes.
constexpr QueueSizes queue_sizes(std::uint16_t descriptors, std::uint32_t mbufs, std::uint32_t data_room,
                                 std::uint16_t cache) noexcept {
    QueueSizes sizes;
    sizes.descriptors = descriptors;
    sizes.cache = cache;
    sizes.mbufs = mbufs;
    sizes.data_room = data_room;
    sizes.pool_bytes = pool_bytes_of(mbufs, data_room, cache);
    return sizes;
}

/// Formats the sizes: "2048 descriptors, 1152 mbufs x 9408 bytes, 12.4 MiB".
inline std::string to_string(const QueueSizes& sizes) {
    return fmt::format("{} descriptors, {} mbufs x {} bytes, {:.1f} MiB", sizes.descriptors, sizes.mbufs,
                       sizes.data_room, static_cast<double>(sizes.pool_bytes) / (1024 * 1024));
}

}  // namespace spead::port
