// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_pair.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/stream_options.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/limits.hpp"

namespace spead::app {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Returns the heaps in flight: enough that the sender always has work, and few enough to be sent quickly.
std::uint32_t heaps_in_flight(const PairCase& c) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMiB / c.heap, 4, 64));
}

std::uint32_t packet_size(const PairOptions& options, const PairCase& c) {
    const bool stamped = options.kind == PairKind::latency;
    return bench_packet_size(c.payload, c.heap, stamped && c.heap > BenchHeaps::kStampBytes ? 2 : 1);
}

runtime::SendPlan send_of(const PairOptions& options, const PairCase& c, const std::string& name,
                          const std::string& port, const Endpoint& endpoint, std::optional<unsigned> lcore) {
    runtime::SendPlan s;
    s.name = name;
    s.port = port;
    s.endpoints = {endpoint};
    s.endpoint_texts = {to_string(endpoint)};
    s.lcore = lcore;
    s.burst_rate_ratio = options.burst_rate_ratio;
    s.max_packet_size = packet_size(options, c);
    s.heap_size = c.heap;
    s.max_heaps = heaps_in_flight(c);
    return s;
}

runtime::ReceivePlan receive_of(const PairOptions& options, const PairCase& c, const std::string& name,
                                const std::string& port, const Endpoint& endpoint,
                                std::optional<unsigned> lcore) {
    runtime::ReceivePlan r;
    r.name = name;
    r.port = port;
    r.endpoints = {endpoint};
    r.endpoint_texts = {to_string(endpoint)};
    if (lcore)
        r.lcores = {*lcore};
    r.poll = options.poll;
    r.max_packet_size = std::max(packet_size(options, c), config::kReceivePacket.min);
    r.max_bytes = std::max(config::largest_heap(send_of(options, c, name, port, endpoint, lcore)),
                           config::kMaxHeapBytes.min);
    return r;
}

}  // namespace

std::vector<PairCase> cases_of(const PairOptions& options) {
    std::vector<PairCase> cases;
    for (const std::uint64_t heap : options.heap_sizes)
        for (const std::uint32_t payload : options.payload_sizes)
            cases.push_back({payload, heap == 0 ? payload : heap});
    return cases;
}

void check_pair(const PairOptions& options) {
    if (!options.server.empty() && !options.client.empty())
        throw_usage("--server", "it excludes --client; give one of them");
    if (!options.server.empty()) {
        if (options.rx_port.empty())
            throw_usage("--rx-port", "it is missing: the end with --server receives on it");
        if (!options.tx_port.empty())
            throw_usage("--tx-port",
                        "with --server this end receives; give --tx-port to the end with --client");
        return;
    }
    if (!options.client.empty()) {
        if (options.tx_port.empty())
            throw_usage("--tx-port", "it is missing: the end with --client sends on it");
        if (!options.rx_port.empty())
            throw_usage("--rx-port", "with --client this end sends; give --rx-port to the end with --server");
    } else if (options.tx_port.empty() != options.rx_port.empty()) {
        throw_usage(options.tx_port.empty() ? "--tx-port" : "--rx-port",
                    "it is missing: give both ports, --server and --client, or no port (bench then starts a "
                    "second process, over shared memory)");
    }
    const auto is_memif = [](const std::string& device) {
        return device.starts_with("net_memif") || device.starts_with("eth_memif");
    };
    if (is_memif(options.tx_port) && is_memif(options.rx_port))
        throw_usage("--tx-port",
                    "the two ends of a memif cannot be in one process; leave out both ports (bench then "
                    "starts a second process), or use --server and --client");
    const std::uint64_t least = options.kind == PairKind::latency ? BenchHeaps::kStampBytes : 1;
    for (const PairCase& c : cases_of(options)) {
        if (c.heap < c.payload)
            throw_usage("--heap-size",
                        "heaps of {} are smaller than one packet's payload of {} bytes; give larger heaps, "
                        "or `packet`",
                        human_size(c.heap), c.payload);
        if (c.heap < least)
            throw_usage("--payload", "a heap of {} bytes has no room for its timestamp of {}", c.heap, least);
    }
    const std::vector<Endpoint> to = parse_endpoints(options.to);
    if (to.size() != 1 || !to.front().address.is_multicast() || to.front().port == 65535)
        throw_usage("--to",
                    "`{}` is not one multicast group and a port below 65535, as 239.255.71.48:7148 or "
                    "[ff15::71]:7148",
                    options.to);
    if (options.search.lowest > options.search.highest)
        throw_usage("--from", "{} is above --up-to {}", rate_text(options.search.lowest),
                    rate_text(options.search.highest));
}

runtime::Plan pair_plan(const PairOptions& options, const PairCase& c, Ends ends) {
    const bool returns = options.kind == PairKind::latency;
    Endpoint there = parse_endpoints(options.to).front();
    Endpoint back = there;
    back.port++;
    runtime::Plan plan;
    plan.runtime.name = "dpdk-spead-bench";
    plan.memory.heaps = std::max(64 * kMiB, 32 * c.heap);
    std::string tx = "tx";
    std::string rx = "rx";
    if (ends.near)
        plan.ports.push_back({tx, options.tx_port, 0});
    if (ends.far && ends.near && options.rx_port == options.tx_port)
        rx = tx;
    else if (ends.far)
        plan.ports.push_back({rx, options.rx_port, 0});
    if (ends.far)
        plan.receives.push_back(receive_of(options, c, "there", rx, there, options.rx_lcore));
    if (ends.near && returns)
        plan.receives.push_back(receive_of(options, c, "back", tx, back, options.tx_lcore));
    if (ends.near)
        plan.sends.push_back(send_of(options, c, "d0", tx, there, options.tx_lcore));
    if (ends.far && returns)
        plan.sends.push_back(send_of(options, c, "d1", rx, back, options.rx_lcore));
    config::validate(plan, [&](std::string_view path) {
        if (path.starts_with("port["))
            return std::string(path.starts_with("port[0]") && ends.near ? "--tx-port" : "--rx-port");
        return option_of(path, "--rx-port");
    });
    return plan;
}

std::string placement_text(const PairOutcome& outcome) {
    return outcome.placement ? outcome.placement->text() + '\n' : std::string();
}

nlohmann::ordered_json placement_json(const PairOutcome& outcome) {
    if (!outcome.placement)
        return nullptr;
    const auto end = [](const EndPlacement& e) {
        return nlohmann::ordered_json{{"lcore_cpu", e.lcore}, {"other_cpus", e.others()}};
    };
    return {{"near", end(outcome.placement->near)},
            {"far", end(outcome.placement->far)},
            {"reason", outcome.placement->reason}};
}

void CountingSink::begin(std::uint64_t first) noexcept {
    first_.store(first, std::memory_order_release);
}

void CountingSink::consume(const heap::HeapHandle& heap) {
    const std::uint64_t first = first_.load(std::memory_order_acquire);
    if (counted_from_.load(std::memory_order_relaxed) != first) {
        complete_.store(0, std::memory_order_relaxed);
        broken_.store(0, std::memory_order_relaxed);
        counted_from_.store(first, std::memory_order_release);
    }
    if (heap.cnt() >= first)
        (heap.complete() ? complete_ : broken_).fetch_add(1, std::memory_order_relaxed);
}

void ReflectingSink::consume(const heap::HeapHandle& heap) {
    if (!heap.complete())
        return;
    const auto fill = [&](std::span<std::byte> payload) {
        const auto from = heap.payload();
        std::memcpy(payload.data(), from.data(), std::min(payload.size(), from.size()));
    };
    // A heap that cannot be sent delays the next ones, as far as the link lets it, rather than being lost
    // here.
    while (!heaps_->send(heap.cnt(), 0, fill) && !heaps_->stopping())
        std::this_thread::yield();
}

}  // namespace spead::app
