// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/chunk_point.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "wire/flavour.hpp"
#include "wire/packet_format.hpp"

/// Makes the packets of `bench chunks`, and places their heaps.
namespace spead::app {

namespace {

constexpr std::uint64_t kLargestHeap = std::uint64_t{1} << 20;
constexpr std::uint32_t kSpecials = 4;

}  // namespace

ChunkPoint::ChunkPoint(HeapPattern p, std::uint64_t set_bytes, BenchWay bench_way)
    : pattern(p),
      way(bench_way),
      set(set_bytes),
      heap(std::min(shape_of(p).heap_bytes, kLargestHeap)),
      packet(shape_of(p).packet_payload),
      items(static_cast<std::uint32_t>(pattern_items(p, {}).count + 1)),
      width(p == HeapPattern::p1 || p == HeapPattern::p2 ? 2
            : p == HeapPattern::p3b                      ? 64
                                                         : 4),
      step(std::bit_ceil(shape_of(p).time_step)) {
    const std::uint64_t wanted = set / 2 / (width * packets_per_heap() * sizes().element);
    times = std::max(2 * kPassChunks, std::bit_floor(wanted));
    chunk_times = times / kPassChunks;
}

PatternHeap ChunkPoint::heap_at(std::uint64_t time, std::uint64_t place) const {
    const auto number = static_cast<std::uint32_t>(place);
    return pattern == HeapPattern::p4 ? PatternHeap{time, number, 0} : PatternHeap{time, 0, number};
}

std::uint64_t ChunkPoint::number_of(const PatternHeap& h) const {
    const std::uint64_t place = pattern == HeapPattern::p4 ? h.group : h.sender;
    const std::uint64_t time = h.time % chunk_times;
    return pattern == HeapPattern::p1 ? place * chunk_times + time : time * width + place;
}

void ChunkPoint::use_format(const std::string& name) {
    known.emplace(name);
    const std::size_t pointers = (known->header() + wire::kItemPointer - 1) / wire::kItemPointer;
    items = std::max(items, static_cast<std::uint32_t>(pointers));
}

std::string ChunkPoint::placement() const {
    const std::string time = fmt::format("time: item 0x1600 / {} [{}]; ", step, chunk_times);
    const unsigned wrap = static_cast<unsigned>(std::countr_zero(step * times));
    const std::string rest =
        fmt::format("wrap {}; {}", wrap, way == BenchWay::tracked ? "tracked" : "direct");
    if (known) {
        const std::string lane = fmt::format("axis lane: item {:#x} [{}]; ", FormatPackets::kLane, width);
        return fmt::format("heap {}; {}{}", heap, pattern == HeapPattern::p1 ? lane + time : time + lane,
                           rest);
    }
    switch (pattern) {
        case HeapPattern::p1:
            return fmt::format("heap {}; axis pol: item 0x3101 & 1 [2]; {}extra u16: item 0x3102 >> 32; {}",
                               heap, time, rest);
        case HeapPattern::p2:
            return fmt::format("heap {}; {}axis antenna: item 0x4101 [{}]; presence packet {}; {}", heap,
                               time, width, packet, rest);
        case HeapPattern::p4:
            return fmt::format("heap {}; {}axis channels: item 0x4103 / {} [{}]; {}", heap, time,
                               shape_of(pattern).channel_step, width, rest);
        default:
            return fmt::format("heap {}; {}axis antenna: item 0x4101 [{}]; {}", heap, time, width, rest);
    }
}

std::string ChunkPoint::format() const {
    if (known)
        return known->text();
    const PatternItems all = pattern_items(pattern, {});
    std::string text = fmt::format("header {}; field count: u64 at 8 & {:#x}; count count; ",
                                   8 + 8 * (kSpecials + items), wire::PacketFormat::kMaxValue);
    std::uint32_t at = 8 + 8 * kSpecials;
    for (const PatternItem& item : all.view()) {
        text += fmt::format("field f{0}: u64 at {0} & {1:#x}; item {2:#x}: f{0}; ", at,
                            wire::PacketFormat::kMaxValue, item.id);
        at += 8;
    }
    return text;
}

void build_chunk_packet(const ChunkPoint& point, std::uint64_t i, rte_mbuf& mbuf) {
    const wire::Flavour flavour(kPatternAddressBits);
    const std::uint64_t of_step = point.width * point.packets_per_heap();
    const PatternHeap heap = point.heap_at(i / of_step, i % point.width);
    const std::uint64_t offset = point.offset_of(i);
    if (point.known) {
        const auto payload = append_datagram(
            mbuf, kChunkGroup, kChunkPort,
            point.known->make(heap.time * point.step, i % point.width, point.packet), point.packet);
        pattern_generate(payload, point.pattern, heap, 0);
        return;
    }
    std::vector<std::uint64_t> pointers{flavour.make_immediate(wire::item::kHeapCnt, point.heap_of(i) + 1),
                                        flavour.make_immediate(wire::item::kHeapLength, point.heap),
                                        flavour.make_immediate(wire::item::kPayloadOffset, offset),
                                        flavour.make_immediate(wire::item::kPayloadLength, point.packet)};
    const PatternItems items = pattern_items(point.pattern, heap);
    for (const PatternItem& item : items.view())
        pointers.push_back(flavour.make_immediate(
            item.id, item.id == pattern_item::kTimestamp ? heap.time * point.step : item.value));
    pointers.push_back(flavour.make_address(shape_of(point.pattern).data_id, 0));
    const auto payload = append_packet(mbuf, kChunkGroup, kChunkPort, pointers, point.packet);
    pattern_generate(payload, point.pattern, heap, offset);
}

chunk::PlaceCallback PlaceByFunction::callback(const chunk::Layout& layout) {
    const bool by_packet = layout.packets_per_heap > 1;
    chunk::PlaceCallback c;
    c.function = &PlaceByFunction::place;
    c.user = this;
    const PatternItems items = pattern_items(point.pattern, {});
    for (const PatternItem& item : items.view())
        c.items.push_back(item.id);
    c.heaps = layout.heaps;
    c.bytes = layout.bytes;
    c.extra_bytes = layout.heaps * layout.extra_bytes;
    c.most_extra = layout.extra_bytes;
    c.packet_bytes = by_packet ? point.packet : 0;
    c.packets_per_heap = layout.packets_per_heap;
    return c;
}

std::uint64_t PlaceByFunction::place_of(const std::int64_t* values) const {
    const auto value = [&](std::size_t i) { return static_cast<std::uint64_t>(values[i]); };
    switch (point.pattern) {
        case HeapPattern::p1:
            return value(1) & 1;
        case HeapPattern::p4:
            return value(1) / shape_of(point.pattern).channel_step;
        default:
            return value(1);
    }
}

void PlaceByFunction::place(void* user, std::span<const chunk::HeapStart> starts,
                            std::span<chunk::ChunkPlace> places) noexcept {
    const auto& self = *static_cast<const PlaceByFunction*>(user);
    const ChunkPoint& p = self.point;
    for (std::size_t i = 0; i < starts.size(); i++) {
        const std::int64_t* const values = starts[i].values;
        const std::uint64_t time = static_cast<std::uint64_t>(values[0]) / p.step;
        const std::uint64_t place = self.place_of(values);
        const std::uint64_t in_chunk = time % p.chunk_times;
        const std::uint64_t heap =
            p.pattern == HeapPattern::p1 ? place * p.chunk_times + in_chunk : in_chunk * p.width + place;
        places[i].chunk = static_cast<std::int64_t>(self.passes * kPassChunks + time / p.chunk_times);
        places[i].heap = heap;
        places[i].offset = heap * p.heap;
        if (p.pattern == HeapPattern::p1) {
            const auto clipped = static_cast<std::uint16_t>(static_cast<std::uint64_t>(values[2]) >> 32);
            std::memcpy(places[i].extra, &clipped, sizeof clipped);
            places[i].extra_at = heap * sizeof clipped;
            places[i].extra_size = sizeof clipped;
        }
    }
}

}  // namespace spead::app
