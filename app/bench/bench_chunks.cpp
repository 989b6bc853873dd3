// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_chunks.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bench/chunk_passes.hpp"
#include "app/bench/chunk_point.hpp"
#include "app/bench/lcore_crew.hpp"
#include "app/exit_status.hpp"
#include "app/option_set.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/heap_pattern.hpp"
#include "base/tell.hpp"
#include "config/names.hpp"
#include "config/pattern_rules.hpp"
#include "memory/copy.hpp"
#include "observe/report_file.hpp"
#include "port/sizes.hpp"
#include "runtime/eal.hpp"

namespace spead::app {

namespace {

std::vector<ChunkPoint> chunk_points_of(const BenchOptions& o) {
    if (!o.format.empty() && o.way != BenchWay::format)
        throw_usage("--format", "it names the packets of --way format; give that, too");
    std::vector<ChunkPoint> points;
    for (const std::uint64_t set : o.working_sets)
        for (const std::string& name : split_list(o.patterns)) {
            config::refuse_beam(name, "--pattern");
            const HeapPattern pattern = config::choose(config::kHeapPatterns, name, "--pattern");
            if (pattern == HeapPattern::none)
                throw_usage("--pattern", "`none` has no heaps; give p1, p2, p3, p3b or p4");
            points.emplace_back(pattern, set, o.way).copy = o.copy;
            if (!o.format.empty())
                points.back().use_format(o.format);
            if (o.way == BenchWay::format && points.back().packets_per_heap() != 1)
                throw_usage("--way",
                            "`format` is for heaps of one packet, and those of {} have {}; give "
                            "--pattern p1",
                            name, points.back().packets_per_heap());
        }
    return points;
}

/// Returns how many lcores measure, one first: the others are compared with it.
std::vector<std::uint32_t> crews_of(const BenchOptions& o) {
    std::vector<std::uint32_t> all = o.lcores;
    all.push_back(1);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

/// Shows the results of `bench chunks`.
class ChunkTable {
  public:
    /// Writes no table if `shows` is false.
    ChunkTable(bool shows, BenchWay way) : shows_(shows) {
        if (shows_)
            tell(stdout,
                 "packets in {}; copies: {}; way: {}; times are medians per packet and lcore\n{:>7} {:>8} "
                 "{:>9} "
                 "{:>9} {:>6} {:>9} {:>9} {:>9} {:>8} {:>8} {:>9}\n",
                 runtime::Eal::pages(), memory::payload_copies().name, config::name_in(kBenchWays, way),
                 "pattern", "payload", "heap", "set", "lcores", "Gb/s", "Mpps", "ns", "limit", "added ns",
                 "times one");
    }

    /// Adds a result. `times_one`: its time as a multiple of that of one lcore.
    void add(const ChunkPoint& point, const ChunkResult& r, double times_one) {
        exact_ &= r.exact;
        const double mpps = 1e3 / r.ns * r.lcores;
        const double gbps = 8.0 * point.packet / r.ns * r.lcores;
        rows_.push_back(
            {{"pattern", config::name_in(config::kHeapPatterns, point.pattern)},
             {"way", config::name_in(kBenchWays, point.way)},
             {"format", point.known ? point.known->text() : std::string()},
             {"payload", point.packet},
             {"heap", point.heap},
             {"set", point.set},
             {"placement", point.placement()},
             {"lcores", r.lcores},
             {"cpus", r.cpus},
             {"packets", r.packets},
             {"chunk_pages", memory::name_of(r.pages)},
             {"stores", memory::name_of(r.streams ? memory::Stores::streaming : memory::Stores::cached)},
             {"ns_per_packet", r.ns},
             {"copy_ns_per_packet", r.copy_ns},
             {"added_ns", r.added_ns},
             {"times_one_lcore", times_one},
             {"mpps", mpps},
             {"gbps", gbps},
             {"exact", r.exact}});
        if (!shows_)
            return;
        tell(stdout,
             "{:>7} {:>8} {:>9} {:>9} {:>6} {:>9.2f} {:>9.2f} {:>9.1f} {:>8.1f} {:>8.1f} {:>9.2f}{}{}\n",
             config::name_in(config::kHeapPatterns, point.pattern), point.packet, point.heap, point.set,
             r.lcores, gbps, mpps, r.ns, r.copy_ns, r.added_ns, times_one,
             r.cpus < r.lcores ? fmt::format("  {} lcores on {}", r.lcores, counted(r.cpus, "CPUs")) : "",
             r.exact ? "" : "  NOT EXACT");
        std::fflush(stdout);
    }

    const nlohmann::ordered_json& rows() const { return rows_; }
    bool exact() const { return exact_; }

  private:
    bool shows_;
    bool exact_ = true;
    nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace

unsigned bench_chunks_lcores(const BenchOptions& options) {
    return crews_of(options).back();
}

std::size_t bench_chunks_memory_mib(const BenchOptions& options) {
    std::size_t most = 0;
    for (const ChunkPoint& p : chunk_points_of(options))
        most =
            std::max(most, port::pool_bytes_of(static_cast<std::uint32_t>(p.packets()), p.sizes().room, 0));
    // Each lcore has a pool of its own, and a part of the packets.
    return ((most + most / 16) >> 20) + 64 + std::size_t{4} * bench_chunks_lcores(options);
}

int bench_chunks(const BenchOptions& options, const std::string& json_path,
                 const process::StopSignals& signals) {
    const auto where = bench_chunks_lcores(options) == 1 ? LcoreCrew::Where::here : LcoreCrew::Where::workers;
    std::vector<LcoreCrew> crews;
    for (const std::uint32_t lcores : crews_of(options))
        crews.emplace_back(lcores, where);
    const std::vector<ChunkPoint> points = chunk_points_of(options);
    ChunkTable table(json_path != "-", options.way);
    for (const ChunkPoint& point : points) {
        double one = 0;
        for (LcoreCrew& crew : crews) {
            if (signals.came())
                break;
            const ChunkResult r = ChunkPasses(point, crew).run(options.time, options.rounds, signals);
            if (crew.lcores() == 1)
                one = r.ns;
            table.add(point, r, r.ns / one);
        }
    }
    const nlohmann::ordered_json document{{"benchmark", "chunks"},
                                          {"copy", memory::payload_copies().name},
                                          {"packet_pages", runtime::Eal::pages()},
                                          {"rows", table.rows()}};
    if (!json_path.empty())
        observe::write_file(json_path, document.dump(2));
    if (!table.exact())
        tell(stderr, "bench chunks: packets or bytes were not where they belong, or chunks not complete\n");
    if (signals.came())
        tell(stderr, "dpdk-spead: interrupted; {} of {} combinations were measured\n", table.rows().size(),
             points.size() * crews.size());
    return table.exact() && !signals.came() ? kSuccess : kFailure;
}

}  // namespace spead::app
