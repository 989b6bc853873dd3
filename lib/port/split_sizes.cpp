// SPDX-License-Identifier: BSD-3-Clause
#include "port/split_sizes.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "wire/net.hpp"

namespace spead::port {

namespace {

/// Holds the mbufs in each lcore's cache, as in other pools of cards (drivers/common.hpp).
constexpr std::uint16_t kCardCache = 128;
/// Holds the segments of a packet that a card cuts.
constexpr std::uint32_t kCardSegments = 2;
constexpr std::uint32_t kLine = 64;

/// Returns the sizes of a pool whose data lie outside of EAL's memory, and have no headroom.
QueueSizes payload_sizes(std::uint32_t mbufs, std::uint32_t bytes, std::uint16_t cache) {
    QueueSizes sizes;
    sizes.cache = cache;
    sizes.mbufs = mbufs;
    sizes.data_room = std::min(round_up(std::max(bytes, kLine), kLine), kMaxDataRoom / kLine * kLine);
    sizes.pool_bytes = pool_bytes_of(mbufs, 0, cache);
    return sizes;
}

std::string drivers_that_cut(std::span<const Driver* const> table) {
    std::string names;
    for (const Driver* const d : table)
        if (d->declared().splitting == Splitting::card)
            names += (names.empty() ? "" : ", ") + std::string(d->name());
    return names;
}

}  // namespace

void check_split(const PortRequest& request, const Driver& driver, std::span<const Driver* const> table) {
    if (request.split == 0 || request.rx_queues == 0)
        return;
    if (driver.declared().splitting == Splitting::none)
        throw_usage(where(request),
                    "`split` is {}, and {} cannot cut packets into headers and data "
                    "(RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT); of the drivers here {} can, with a card that does; "
                    "leave out `split` (--split)",
                    request.split, driver.name(), drivers_that_cut(table));
    if (request.split < wire::kMaxNetHeader)
        throw_usage(where(request),
                    "`split` is {}, and the headers of Ethernet, IP and UDP may have {} bytes, which the CPU "
                    "reads; give at least {}, and 8 more for each item pointer beyond {}",
                    request.split, wire::kMaxNetHeader, wire::kMaxNetHeader,
                    (wire::kMaxNetHeader - wire::kNetHeader) / 8 - 1);
    if (request.reassembled_datagrams != 0)
        throw_usage(where(request),
                    "`reassemble` puts packets together, and `split` cuts them where the fragments end as "
                    "they may; leave out one of the two");
}

SplitSizes card_split(const PortRequest& request, std::uint32_t frame, std::uint32_t most_descriptors,
                      QueueSizes& rx) {
    if (request.split >= frame)
        throw_usage(where(request),
                    "`split` is {}, and the port receives frames of at most {} bytes: no packet would be "
                    "cut; lower `split` (--split), or raise `mtu`",
                    request.split, frame);
    const std::uint32_t descriptors = std::min(rx.descriptors * kCardSegments, most_descriptors);
    const std::uint32_t mbufs = descriptors / kCardSegments + copying_rx_mbufs(1, kCardCache);
    SplitSizes split;
    split.at = request.split;
    split.by = Splitting::card;
    split.headers =
        queue_sizes(static_cast<std::uint16_t>(descriptors), mbufs, data_room_of(request.split), kCardCache);
    split.payload = payload_sizes(mbufs, frame - request.split, kCardCache);
    rx = split.headers;
    return split;
}

SplitSizes software_split(const PortRequest& request) {
    const std::uint32_t frame = rx_frame_of(request.max_rx_packet);
    // No caches: before each burst, the splitter asks the pools how much they hold.
    const std::uint32_t mbufs = copying_rx_mbufs(1, 0);
    SplitSizes split;
    split.at = request.split;
    split.by = Splitting::software;
    split.headers = queue_sizes(0, mbufs, data_room_of(request.split), 0);
    split.payload = payload_sizes(mbufs, frame - std::min(frame, request.split), 0);
    return split;
}

std::uint32_t queued_packets(std::uint32_t descriptors, const std::optional<SplitSizes>& split) noexcept {
    return split && split->by == Splitting::card ? descriptors / kCardSegments : descriptors;
}

void add_mbufs(SplitSizes& split, std::uint32_t more) {
    split.headers = queue_sizes(split.headers.descriptors, split.headers.mbufs + more,
                                split.headers.data_room, split.headers.cache);
    split.payload = payload_sizes(split.payload.mbufs + more, split.payload.data_room, split.payload.cache);
}

}  // namespace spead::port
