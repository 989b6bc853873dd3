// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_assemble.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/bench/assemble_passes.hpp"
#include "app/exit_status.hpp"
#include "base/tell.hpp"
#include "observe/report_file.hpp"
#include "port/sizes.hpp"
#include "runtime/eal.hpp"

namespace spead::app {

namespace {

/// Returns the sets of packets and heaps to measure: those asked for, or each set in two halves.
std::vector<std::pair<std::uint64_t, std::uint64_t>> sets_of(const BenchOptions& o) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sets;
    if (o.packet_sets.empty() && o.heap_sets.empty()) {
        for (const std::uint64_t set : o.working_sets)
            sets.emplace_back(set / 2, set / 2);
        return sets;
    }
    for (const std::uint64_t packets : o.packet_sets)
        for (const std::uint64_t heaps : o.heap_sets)
            sets.emplace_back(packets, heaps);
    return sets;
}

/// Returns how many mbufs carry the packets by turns; 0: each lies in its own.
std::vector<std::uint32_t> mbufs_of(const BenchOptions& o) {
    return o.descriptors.empty() ? std::vector<std::uint32_t>{0} : o.descriptors;
}

/// Adds a combination, and each way in which it is measured again.
void add_points(const BenchOptions& o, const AssemblePoint& plain, std::vector<AssemblePoint>& points) {
    points.push_back(plain);
    if (o.lend) {
        points.push_back(plain);
        points.back().lend = true;
    }
    if (o.two_paths) {
        points.push_back(plain);
        points.back().two_paths = true;
    }
    if (o.silent_path) {
        points.push_back(plain);
        points.back().two_paths = points.back().silent_path = true;
    }
}

std::vector<AssemblePoint> points_of(const BenchOptions& o) {
    std::vector<AssemblePoint> points;
    for (const auto& [packet_set, heap_set] : sets_of(o))
        for (const std::uint64_t heap : o.heap_sizes)
            for (const std::uint32_t payload : o.payload_sizes)
                for (const std::uint32_t streams : o.streams)
                    for (const std::uint32_t live : o.live_heaps)
                        for (const std::uint32_t mbufs : mbufs_of(o))
                            add_points(o,
                                       {payload, heap == 0 ? payload : heap, packet_set, heap_set, streams,
                                        live, o.reuse, o.reader, o.copy, mbufs},
                                       points);
    return points;
}

std::string size_text(std::uint64_t bytes) {
    if (bytes >= (1U << 20) && bytes % (1U << 20) == 0)
        return fmt::format("{} MiB", bytes >> 20);
    if (bytes >= 1024 && bytes % 1024 == 0)
        return fmt::format("{} KiB", bytes >> 10);
    return fmt::format("{} B", bytes);
}

/// Returns the rate of payload in Gb/s. The last packet of a heap may be shorter than the others.
double gbps_of(const AssemblePoint& p, const AssembleResult& r) {
    return 8.0 * static_cast<double>(p.heap) / static_cast<double>(p.packets_per_heap()) / r.ns;
}

nlohmann::ordered_json to_json(const AssemblePoint& p, const AssembleResult& r) {
    return {{"payload", p.payload},
            {"heap", p.heap},
            {"set", p.packet_set + p.heap_set},
            {"packet_set", p.packet_set},
            {"heap_set", p.heap_set},
            {"streams", p.streams},
            {"live", p.live},
            {"reuse", config::name_in(kBenchReuse, p.reuse)},
            {"reader", config::name_in(kBenchReaders, p.reader)},
            {"descriptors", p.descriptors},
            {"lent", p.lend},
            {"two_paths", p.two_paths},
            {"silent_path", p.silent_path},
            {"packets", r.packets},
            {"frame_memory", r.frame_memory},
            {"packet_pages", r.packet_pages},
            {"heap_memory", r.heap_memory},
            {"heap_pages", memory::name_of(r.heap_pages)},
            {"stores", memory::name_of(r.streams ? memory::Stores::streaming : memory::Stores::cached)},
            {"ns_per_packet", r.ns},
            {"reader_ns_per_packet", r.reader_ns},
            {"copy_ns_per_packet", r.copy_ns},
            {"cached_copy_ns_per_packet", r.cached_ns},
            {"streaming_copy_ns_per_packet", r.streaming_ns},
            {"ratio_to_copy_limit", r.ratio},
            {"added_ns", r.added_ns},
            {"mpps", 1e3 / r.ns},
            {"gbps", gbps_of(p, r)},
            {"exact", r.exact}};
}

void tell_head() {
    tell(stdout,
         "mbufs in {}; copies: {}; the limit is the better of both bare copies; times are medians per "
         "packet\n"
         "{:>8} {:>9} {:>9} {:>9} {:>7} {:>5} {:>9} {:>7} {:>7} {:>8} {:>8} {:>8} {:>7} {:>8}\n",
         runtime::Eal::pages(), memory::payload_copies().name, "payload", "heap", "packets", "heaps",
         "streams", "live", "stores", "Gb/s", "Mpps", "ns", "reader", "limit", "ratio", "added ns");
}

void tell_row(const AssemblePoint& p, const AssembleResult& r) {
    tell(stdout,
         "{:>8} {:>9} {:>9} {:>9} {:>7} {:>5} {:>9} {:>7.1f} {:>7.2f} {:>8.1f} {:>8.1f} {:>8.1f} {:>7.3f} "
         "{:>8.1f}{}\n",
         p.payload, size_text(p.heap), size_text(p.packet_set), size_text(r.heap_memory), p.streams, p.live,
         memory::name_of(r.streams ? memory::Stores::streaming : memory::Stores::cached), gbps_of(p, r),
         1e3 / r.ns, r.ns, r.reader_ns, r.copy_ns, r.ratio, r.added_ns,
         fmt::format("{}{}{}{}", p.descriptors == 0 ? "" : fmt::format("  {} mbufs", p.descriptors),
                     p.lend ? "  lent" : "",
                     p.silent_path ? "  silent path"
                     : p.two_paths ? "  two paths"
                                   : "",
                     r.exact ? "" : "  NOT EXACT"));
    std::fflush(stdout);
}

}  // namespace

std::size_t bench_assemble_memory_mib(const BenchOptions& options) {
    std::size_t most = 0;
    for (const AssemblePoint& p : points_of(options))
        most = std::max(
            most, (p.two_paths ? 2 : 1) * port::pool_bytes_of(static_cast<std::uint32_t>(p.mbufs()),
                                                              p.descriptors == 0 ? p.sizes().room : 0, 0));
    return ((most + most / 16) >> 20) + 64;
}

unsigned bench_assemble_lcores(const BenchOptions& options) {
    return options.reader == Reader::other ? 2 : 1;
}

int bench_assemble(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals) {
    const bool table = json_path != "-";
    if (table)
        tell_head();
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    std::set<std::string> packet_pages;
    std::set<std::string_view> heap_pages;
    bool exact = true;
    LcoreCrew crew(bench_assemble_lcores(options),
                   options.reader == Reader::other ? LcoreCrew::Where::workers : LcoreCrew::Where::here);
    const std::vector<AssemblePoint> points = points_of(options);
    for (const AssemblePoint& point : points) {
        if (signals.came())
            break;
        const AssembleResult r = AssemblePasses(point, crew).run(options.time, options.rounds, signals);
        exact &= r.exact;
        packet_pages.insert(r.packet_pages);
        heap_pages.insert(memory::name_of(r.heap_pages));
        rows.push_back(to_json(point, r));
        if (table)
            tell_row(point, r);
    }
    if (table && !rows.empty())
        tell(stdout, "packets in {}; heaps in {}\n", fmt::join(packet_pages, " and in "),
             fmt::join(heap_pages, " and in "));
    const nlohmann::ordered_json document{{"benchmark", "assemble"},
                                          {"copy", memory::payload_copies().name},
                                          {"mbuf_pages", runtime::Eal::pages()},
                                          {"rows", rows}};
    if (!json_path.empty())
        observe::write_file(json_path, document.dump(2));
    if (!exact)
        tell(stderr, "bench assemble: packets were not all placed, or heaps not all complete\n");
    if (signals.came())
        tell(stderr, "dpdk-spead: interrupted; {} of {} combinations were measured\n", rows.size(),
             points.size());
    return exact && !signals.came() ? kSuccess : kFailure;
}

}  // namespace spead::app
