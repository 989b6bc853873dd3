// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/transmit_point.hpp"

#include <algorithm>

#include "port/sizes.hpp"

namespace spead::app {

namespace {

constexpr std::uint32_t kSpecialBytes = 40;
constexpr std::uint32_t kItemBytes = 8;
/// Limits the heaps that rotate: their records take memory, too.
constexpr std::uint64_t kMostHeaps = std::uint64_t{1} << 18;

send::ZeroCopy zero_copy_of(runtime::ZeroCopySetting setting) {
    switch (setting) {
        case runtime::ZeroCopySetting::always:
            return send::ZeroCopy::always;
        case runtime::ZeroCopySetting::never:
            return send::ZeroCopy::never;
        case runtime::ZeroCopySetting::automatic:
            break;
    }
    return send::ZeroCopy::automatic;
}

}  // namespace

std::uint32_t TransmitPoint::packet_size() const {
    const std::uint32_t item = heap == payload ? kItemBytes : 0;
    return (kSpecialBytes + item + payload + 7) / 8 * 8;
}

std::uint32_t TransmitPoint::heaps_in_flight() const {
    const std::uint64_t fit = std::uint64_t{1} << 20;
    // With a set, half of its heaps are in flight and the others wait.
    const std::uint64_t most = heap_set == 0 ? 64 : std::clamp<std::uint64_t>(heap_set / heap / 2, 1, 64);
    const auto usual = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(fit / heap, std::min<std::uint64_t>(8, most), most));
    return group == 1 ? usual : std::max(usual, 2 * group);
}

std::size_t TransmitPoint::heaps() const {
    const std::uint64_t fit = heap_set == 0 ? 0 : std::min(heap_set / heap, kMostHeaps);
    return std::max<std::uint64_t>(fit, std::uint64_t{2} * heaps_in_flight());
}

std::size_t TransmitPoint::step() const {
    return heap_set == 0 ? std::max<std::uint64_t>(heap, kScatter / heaps()) / 64 * 64
                         : port::round_up<std::uint64_t>(heap, 64);
}

std::size_t TransmitPoint::memory() const {
    return heap_set == 0 ? std::max<std::size_t>(kScatter, heap) : heaps() * step();
}

std::size_t TransmitPoint::bare_memory() const {
    const std::size_t used = reuse == Reuse::lifo ? heaps_in_flight() : heaps();
    return std::min<std::size_t>(
        memory(), std::max<std::size_t>(used * port::round_up<std::uint64_t>(heap, 64), 65536));
}

std::vector<TransmitPoint> transmit_points(const BenchOptions& options) {
    std::vector<std::uint64_t> sets = options.heap_sets;
    if (sets.empty())
        sets.push_back(0);
    std::vector<TransmitPoint> points;
    for (const std::uint64_t set : sets)
        for (const std::uint32_t group : options.groups)
            for (const std::uint64_t heap : options.heap_sizes)
                for (const std::uint32_t payload : options.payload_sizes)
                    points.push_back({payload, heap == 0 ? payload : heap, set, group, options.reuse});
    return points;
}

send::SenderConfig transmit_config(const BenchOptions& options, const TransmitPoint& point) {
    send::SenderConfig c;
    c.name = "bench transmit";
    c.destinations = {{Endpoint{Ipv4{0xEF0A0A00}, 7148, {}}, {}}};
    c.source_port = 50000;
    c.max_packet_size = point.packet_size();
    c.pacing.rate = options.rate;
    c.max_heaps = point.heaps_in_flight();
    c.zero_copy = zero_copy_of(options.zero_copy);
    return c;
}

}  // namespace spead::app
