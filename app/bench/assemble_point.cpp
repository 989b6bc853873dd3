// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/assemble_point.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/flavour.hpp"

namespace spead::app {

std::uint64_t AssemblePoint::packets() const {
    const std::uint64_t group = packets_per_heap() * streams * live;
    return std::max<std::uint64_t>(1, packet_set / packet_bytes() / group) * group;
}

void build_assemble_packet(const AssemblePoint& point, std::uint64_t i, rte_mbuf& mbuf,
                           std::uint32_t first_group) {
    const wire::Flavour flavour(48);
    const std::uint64_t width = std::uint64_t{point.streams} * point.live;
    const std::uint64_t group = i / (point.packets_per_heap() * width);
    const std::uint64_t in_group = i % (point.packets_per_heap() * width);
    const std::uint64_t member = in_group % width;
    const auto stream = static_cast<std::uint32_t>(member % point.streams);
    const std::uint64_t offset = in_group / width * point.payload;
    const std::uint64_t length = std::min<std::uint64_t>(point.payload, point.heap - offset);
    const std::array<std::uint64_t, AssemblePoint::kItems> pointers{
        flavour.make_immediate(wire::item::kHeapCnt, 1 + group * point.live + member / point.streams),
        flavour.make_immediate(wire::item::kHeapLength, point.heap),
        flavour.make_immediate(wire::item::kPayloadOffset, offset),
        flavour.make_immediate(wire::item::kPayloadLength, length),
        flavour.make_address(wire::item::kFirstUser, 0),
    };
    const auto payload = append_packet(mbuf, first_group + stream, kAssemblePort, pointers, length);
    std::memset(payload.data(), static_cast<int>(i), payload.size());
}

}  // namespace spead::app
