// SPDX-License-Identifier: BSD-3-Clause
#include "recv/buffer_reader.hpp"

#include <algorithm>
#include <array>

#include <rte_prefetch.h>

#include "wire/net.hpp"
#include "wire/spead.hpp"

namespace spead::recv {

namespace {

/// Holds how many packets ahead headers are prefetched. The place of each is known by the one before alone,
/// so their cache misses would come one after the other. Most packets are as long as those before them.
constexpr std::size_t kPacketsAhead = 4;
/// Holds the packets of a burst. Their descriptors and headers, ten lines each, stay in the first-level
/// cache. With a full burst, heaps of 1 KiB took 280 ns and not 180, where the queue has room for 16 (Zen 5).
constexpr std::size_t kBufferBurst = 16;
static_assert(kBufferBurst <= RxAgent::kBurst);
constexpr std::size_t kCacheLine = 64;
/// Holds the lines of a usual header.
constexpr std::size_t kHeaderLines = 2;

/// Prefetches the header that lies ahead if the next packets have this length, too.
void prefetch_ahead(std::span<const std::uint8_t> rest, std::size_t length) noexcept {
    const std::size_t at = kPacketsAhead * length;
    if (rest.size() <= at + kHeaderLines * kCacheLine)
        return;
    for (std::size_t i = 0; i < kHeaderLines; i++)
        rte_prefetch0(rest.data() + at + i * kCacheLine);
}

/// Returns the length of the packet at the beginning of `bytes`; if there is none, all of them that fit a
/// datagram.
std::size_t packet_at(std::span<const std::uint8_t> bytes) {
    wire::SpeadPacket p;
    if (wire::parse_spead_prefix(bytes.data(), bytes.size(), p) != wire::SpeadError::none)
        return bytes.size();
    return std::size_t{p.header_length} + p.payload_length;
}

}  // namespace

PacketReader::Fed BufferReader::feed(DatagramLane& lane, std::uint64_t now) {
    std::array<Datagram, kBufferBurst> burst;
    std::array<std::size_t, kBufferBurst> lengths;
    std::size_t count = 0;
    for (std::span<const std::uint8_t> rest = left_; count < burst.size() && !rest.empty(); count++) {
        const std::size_t length = packet_at(rest);
        prefetch_ahead(rest, length);
        lengths[count] = length;
        burst[count] = {way_, rest.first(std::min(length, wire::kMaxUdpPayload)), false};
        rest = rest.subspan(length);
    }
    if (count == 0)
        return Fed::end;
    const std::size_t taken = lane.take(std::span(burst).first(count), now);
    for (std::size_t i = 0; i < taken; i++)
        left_ = left_.subspan(lengths[i]);
    return taken == 0 ? Fed::blocked : Fed::packets;
}

}  // namespace spead::recv
