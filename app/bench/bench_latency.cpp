// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_latency.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <rte_cycles.h>

#include "app/bench/return_sink.hpp"
#include "base/byte_order.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "observe/report_file.hpp"
#include "observe/table.hpp"
#include "port/machine.hpp"
#include "runtime/thread_activity.hpp"

namespace spead::app {

namespace {

constexpr double kEchoPatience = 1.0;
/// Limits the wait for the first reply: links come up, peers connect, groups are joined.
constexpr double kFirstReply = 20;
/// Holds the wait for the first of the first heaps; it grows, since the latency is unknown.
constexpr double kFirstWait = 0.02;

/// Sets the row during its life.
class Measured {
  public:
    Measured(MeasuredRow& current, LatencyOrigin& origin) : current_(current) {
        const std::scoped_lock lock(current_.mutex);
        current_.origin = &origin;
    }
    ~Measured() {
        const std::scoped_lock lock(current_.mutex);
        current_.origin = nullptr;
    }
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;

  private:
    MeasuredRow& current_;
};

std::uint64_t cycles(double seconds) {
    return static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
}

void carry_out(PairRun& run, LatencyOrigin& origin, MeasuredRow& current) {
    const Measured measured(current, origin);
    // Without sleep: due heaps must be sent on time, and returned ones handled.
    while (origin.step(rte_rdtsc())) {
        if (run.cancelled.load(std::memory_order_relaxed))
            throw Interrupted{};
        std::this_thread::yield();
    }
}

/// Returns how often threads of both ends have lost their CPUs while they had work. The threads of a case do
/// not end before it.
std::uint64_t preemptions(PairRun& run) {
    return runtime::involuntary_switches(port::this_machine().files) + run.far.preemptions();
}

LatencyOrigin::Send send_with(PairRun& run) {
    return [&run](std::uint64_t cnt, std::uint64_t stamp) {
        return run.heaps.send(cnt, 0, [&](std::span<std::byte> payload) { store_be(payload.data(), stamp); });
    };
}

/// Waits until a heap has come back. Returns the heap count of the next one.
std::uint64_t wait_for_the_link(PairRun& run, MeasuredRow& current) {
    std::uint64_t next = 1;
    const std::uint64_t until = rte_rdtsc() + cycles(kFirstReply);
    for (double wait = kFirstWait; rte_rdtsc() < until; wait = std::min(2 * wait, kEchoPatience)) {
        LatencyOrigin::Options o;
        o.hz = rte_get_tsc_hz();
        o.time = 1;  // one heap
        o.patience = cycles(wait);
        o.first = next;
        LatencyOrigin origin(o, send_with(run));
        carry_out(run, origin, current);
        next = origin.next_count();
        if (origin.result().nanoseconds.count() != 0)
            return next;
    }
    throw_error("bench latency",
                "no heap has come back within {} s: check the cable, the groups that switches forward, and "
                "`dpdk-spead check` for both ports",
                kFirstReply);
}

std::string microseconds(std::uint64_t ns) {
    return fmt::format("{:.1f} us", static_cast<double>(ns) / 1000);
}

std::string mode_text(const LatencyRow& row) {
    return row.load == 0 ? "ping-pong" : human_bit_rate(row.load);
}

}  // namespace

bool percentile_means_something(double percent, std::uint64_t values) {
    return static_cast<double>(values) * (100 - percent) / 100 >= 1 - 1e-9;
}

std::string latency_table(const std::vector<LatencyRow>& rows) {
    observe::Table table;
    for (const LatencyRow& row : rows) {
        const stats::FineHistogram& h = row.result.nanoseconds;
        table.row("mode", mode_text(row));
        table.number("payload", fmt::format("{} B", row.c.payload));
        table.number("heap", row.c.heap == row.c.payload ? "packet" : human_size(row.c.heap));
        table.count("heaps", row.result.sent);
        table.count_if_any("lost", row.result.lost());
        table.count_if_any("not sent", row.result.unsent);
        table.count_if_any("preempted", row.preemptions);
        table.number("min", h.count() == 0 ? "" : microseconds(h.min()));
        for (const double percent : kLatencyPercentiles)
            table.number(fmt::format("{} %", percent), percentile_means_something(percent, h.count())
                                                           ? microseconds(h.percentile(percent))
                                                           : "-");
        table.number("max", h.count() == 0 ? "" : microseconds(h.max()));
    }
    return table.text();
}

std::string latency_json(const PairOptions& options, const std::vector<LatencyRow>& rows,
                         const PairOutcome& outcome) {
    using nlohmann::ordered_json;
    ordered_json results = ordered_json::array();
    for (const LatencyRow& row : rows) {
        const stats::FineHistogram& h = row.result.nanoseconds;
        ordered_json percentiles = ordered_json::object();
        for (const double percent : kLatencyPercentiles)
            percentiles[fmt::format("{}", percent)] = percentile_means_something(percent, h.count())
                                                          ? ordered_json(h.percentile(percent))
                                                          : nullptr;
        ordered_json buckets = ordered_json::array();
        for (const auto& b : h.buckets())
            buckets.push_back({b.lowest, b.highest, b.count});
        results.push_back({{"mode", row.load == 0 ? "ping-pong" : "load"},
                           {"load_bps", row.load * 8},
                           {"payload_bytes", row.c.payload},
                           {"heap_bytes", row.c.heap},
                           {"heaps_warm_up", row.result.warmed},
                           {"heaps_sent", row.result.sent},
                           {"heaps_lost", row.result.lost()},
                           {"preemptions", row.preemptions},
                           {"heaps_not_sent", row.result.unsent},
                           {"min_ns", h.min()},
                           {"mean_ns", h.mean()},
                           {"max_ns", h.max()},
                           {"percentiles_ns", percentiles},
                           {"buckets_ns", buckets}});
    }
    const ordered_json document{{"version", 1},
                                {"bench", "latency"},
                                {"packet_pages", outcome.packet_pages},
                                {"placement", placement_json(outcome)},
                                {"time_s", options.time},
                                {"warm_up_s", options.warm_up},
                                {"relative_error", stats::FineHistogram::kRelativeError},
                                {"results", results}};
    return document.dump(2);
}

std::string latency_csv(const std::vector<LatencyRow>& rows) {
    std::string text = "payload_bytes,heap_bytes,load_bps,lowest_ns,highest_ns,heaps";
    for (const LatencyRow& row : rows)
        for (const auto& b : row.result.nanoseconds.buckets())
            text += fmt::format("\n{},{},{:.0f},{},{},{}", row.c.payload, row.c.heap, row.load * 8, b.lowest,
                                b.highest, b.count);
    return text;
}

int bench_latency(const PairOptions& options, const std::vector<std::string>& eal_args,
                  const std::string& json_path, bool quiet) {
    MeasuredRow current;
    std::vector<LatencyRow> rows;
    std::vector<double> loads{0};
    loads.insert(loads.end(), options.loads.begin(), options.loads.end());
    PairBench bench;
    bench.make_return_sink = [&] {
        return std::make_unique<ReturnSink>(current, [] { return std::uint64_t{rte_rdtsc()}; });
    };
    bench.measure = [&](PairRun& run) {
        std::uint64_t next = wait_for_the_link(run, current);
        for (const double load : loads) {
            LatencyOrigin::Options o;
            o.hz = rte_get_tsc_hz();
            if (load > 0)
                o.interval = std::max<std::uint64_t>(
                    1, cycles(static_cast<double>(run.heaps.bytes_per_heap()) / load));
            o.warm_up = cycles(options.warm_up);
            o.time = cycles(options.time);
            o.patience = cycles(kEchoPatience);
            o.first = next;
            LatencyOrigin origin(o, send_with(run));
            const std::uint64_t before = preemptions(run);
            carry_out(run, origin, current);
            next = origin.next_count();
            rows.push_back({run.c, load, origin.result(), preemptions(run) - before});
            if (!quiet)
                tell(stderr, "{} B, {}: {}, {} lost\n", run.c.payload, mode_text(rows.back()),
                     counted(rows.back().result.sent, "heaps"), rows.back().result.lost());
        }
    };
    const PairOutcome outcome = run_pair(options, eal_args, bench);

    std::FILE* const out = json_path == "-" || options.histogram_path == "-" ? stderr : stdout;
    tell(out, "{}", latency_table(rows));
    if (!rows.empty())
        tell(out,
             "There and back, from when a heap was due until its answer was taken; after {} of "
             "warm-up, which are "
             "not counted. Packets in {}.\n{}",
             human_duration(options.warm_up), outcome.packet_pages, placement_text(outcome));
    if (!json_path.empty())
        observe::write_file(json_path, latency_json(options, rows, outcome));
    if (!options.histogram_path.empty())
        observe::write_file(options.histogram_path, latency_csv(rows));
    std::fflush(stdout);
    for (const std::string& problem : outcome.problems)
        tell(stderr, "dpdk-spead: {}\n", problem);
    if (outcome.interrupted)
        tell(stderr, "dpdk-spead: interrupted; {} of {} finished\n", rows.size(),
             counted(cases_of(options).size() * loads.size(), "rows"));
    return outcome.problems.empty() && !outcome.interrupted ? 0 : 1;
}

}  // namespace spead::app
