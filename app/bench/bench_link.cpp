// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_link.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sys/prctl.h>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <rte_cycles.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/short_wait.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "observe/report_file.hpp"
#include "observe/table.hpp"

namespace spead::app {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double kReached = 0.99;
/// Holds the fraction of trials that err, as assumed for the confidence.
constexpr double kTrialError = 0.02;
/// Limits the time between heaps that still arrive after a trial.
constexpr auto kSettle = 200ms;
constexpr auto kPoll = 5ms;
/// Limits the wait for the first heap: links come up, peers connect, groups are joined.
constexpr auto kFirstHeap = 20s;
/// Limits the time without a completed heap, beyond that of the rate. After it the port is given up.
constexpr double kSilentPortPatience = 3.0;
/// Makes trials of one case.
class Trials {
  public:
    Trials(PairRun& run, double seconds)
        : run_(run), seconds_(seconds), hz_(static_cast<double>(rte_get_tsc_hz())) {}

    /// Sends until a heap has arrived.
    void warm_up(double rate) {
        run_.far.begin(next_);
        const auto until = Clock::now() + kFirstHeap;
        while (run_.far.count().complete == 0) {
            check_cancelled();
            if (Clock::now() > until)
                throw_error("bench link",
                            "no heap has arrived within {} s: check the cable, the groups that switches "
                            "forward, and `dpdk-spead check` for both ports",
                            kFirstHeap.count());
            if (run_.heaps.progress().in_flight == 0)
                run_.heaps.send(next_++, rate, nullptr);
            std::this_thread::sleep_for(kPoll);
        }
        finish_sending(rate);
        settle(0);
    }

    LinkTrial trial(double rate) {
        LinkTrial t;
        t.offered = rate;
        run_.far.begin(next_);
        const BenchHeaps::Progress before = run_.heaps.progress();
        const std::uint64_t start = rte_rdtsc();
        const std::uint64_t end = start + static_cast<std::uint64_t>(seconds_ * hz_);
        unsigned round = 0;
        while (rte_rdtsc() < end) {
            if (run_.heaps.send(next_, rate, nullptr)) {
                next_++;
                round = 0;
            } else {
                check_cancelled();
                waiter_.wait(round);
            }
        }
        finish_sending(rate);
        const BenchHeaps::Progress after = run_.heaps.progress();
        t.sent = after.completed - before.completed;
        if (t.sent != 0)
            t.reached = static_cast<double>(t.sent * run_.heaps.bytes_per_heap()) * hz_ /
                        static_cast<double>(after.last - start);
        t.arrived = settle(t.sent);
        t.passed = link_trial_passes(t);
        return t;
    }

  private:
    void check_cancelled() const {
        if (run_.cancelled.load(std::memory_order_relaxed))
            throw Interrupted{};
    }

    void finish_sending(double rate) {
        const double patience =
            kSilentPortPatience + 2 * static_cast<double>(run_.heaps.bytes_per_heap()) / rate;
        BenchHeaps::Progress last = run_.heaps.progress();
        auto since = Clock::now();
        for (unsigned round = 0;; waiter_.wait(round)) {
            const BenchHeaps::Progress now = run_.heaps.progress();
            if (now.in_flight == 0)
                return;
            if (now.completed != last.completed)
                since = Clock::now();
            last = now;
            if (std::chrono::duration<double>(Clock::now() - since).count() > patience)
                throw_error("bench link", "the port has taken no packets for {:.0f} s", patience);
            check_cancelled();
        }
    }

    /// Waits until `sent` heaps have arrived, or no more come. Returns their number.
    std::uint64_t settle(std::uint64_t sent) {
        std::uint64_t arrived = run_.far.count().complete;
        auto since = Clock::now();
        while ((sent == 0 || arrived < sent) && Clock::now() - since < kSettle) {
            check_cancelled();
            std::this_thread::sleep_for(kPoll);
            if (const std::uint64_t now = run_.far.count().complete; now != arrived) {
                arrived = now;
                since = Clock::now();
            }
        }
        return arrived;
    }

    PairRun& run_;
    double seconds_;
    double hz_;
    ShortWait waiter_;
    std::uint64_t next_ = 1;
};

std::string heap_text(const PairCase& c) {
    return c.heap == c.payload ? "packet" : human_size(c.heap);
}

void tell_trial(const PairCase& c, const LinkTrial& t) {
    tell(stderr, "{} B, {}: {} {}{}{}\n", c.payload, heap_text(c), human_bit_rate(t.offered),
         t.passed ? "passed" : "failed",
         t.reached < kReached * t.offered ? fmt::format(", {} reached", human_bit_rate(t.reached)) : "",
         t.arrived < t.sent ? fmt::format(", {} of {} missing", t.sent - t.arrived, counted(t.sent, "heaps"))
                            : "");
}

double goodput(const LinkResult& r, double rate) {
    return rate * static_cast<double>(r.c.heap) / static_cast<double>(r.bytes_per_heap);
}
double packet_rate(const LinkResult& r, double rate) {
    return rate / static_cast<double>(r.bytes_per_heap) * static_cast<double>(r.packets_per_heap);
}

}  // namespace

bool link_trial_passes(const LinkTrial& trial) {
    return trial.sent != 0 && trial.arrived == trial.sent && trial.reached >= kReached * trial.offered;
}

std::string link_table(const std::vector<LinkResult>& results) {
    observe::Table table;
    for (const LinkResult& r : results) {
        table.row("payload", fmt::format("{} B", r.c.payload));
        table.number("heap", heap_text(r.c));
        table.number("sustained", r.sustained ? human_bit_rate(*r.sustained) : "none");
        table.number("heap data", r.sustained ? human_bit_rate(goodput(r, *r.sustained)) : "");
        table.number("packets", r.sustained ? human_packet_rate(packet_rate(r, *r.sustained)) : "");
        table.number("not", r.refused ? human_bit_rate(*r.refused) : "all passed");
        table.count("trials", r.trials.size());
    }
    return table.text();
}

std::string link_json(const PairOptions& options, const std::vector<LinkResult>& results,
                      const PairOutcome& outcome) {
    using nlohmann::ordered_json;
    const auto bits = [](const std::optional<double>& rate) {
        return rate ? ordered_json(*rate * 8) : ordered_json(nullptr);
    };
    ordered_json rows = ordered_json::array();
    for (const LinkResult& r : results) {
        ordered_json trials = ordered_json::array();
        for (const LinkTrial& t : r.trials)
            trials.push_back({{"offered_bps", t.offered * 8},
                              {"reached_bps", t.reached * 8},
                              {"heaps_sent", t.sent},
                              {"heaps_arrived", t.arrived},
                              {"passed", t.passed}});
        rows.push_back({{"payload_bytes", r.c.payload},
                        {"heap_bytes", r.c.heap},
                        {"packets_per_heap", r.packets_per_heap},
                        {"udp_bytes_per_heap", r.bytes_per_heap},
                        {"sustained_bps", bits(r.sustained)},
                        {"heap_data_bps", r.sustained ? ordered_json(goodput(r, *r.sustained) * 8) : nullptr},
                        {"packets_per_s", r.sustained ? ordered_json(packet_rate(r, *r.sustained)) : nullptr},
                        {"refused_bps", bits(r.refused)},
                        {"confidence", r.confidence},
                        {"trials", trials}});
    }
    const ordered_json document{{"version", 1},
                                {"bench", "link"},
                                {"packet_pages", outcome.packet_pages},
                                {"placement", placement_json(outcome)},
                                {"trial_s", options.trial},
                                {"agree", options.search.agree},
                                {"of", options.search.of},
                                {"resolution", options.search.resolution},
                                {"lowest_bps", options.search.lowest * 8},
                                {"highest_bps", options.search.highest * 8},
                                {"trial_error", kTrialError},
                                {"results", rows}};
    return document.dump(2);
}

int bench_link(const PairOptions& options, const std::vector<std::string>& eal_args,
               const std::string& json_path, bool quiet) {
    std::vector<LinkResult> results;
    PairBench bench;
    bench.measure = [&](PairRun& run) {
        // Sleeps between heaps would otherwise take twice as long.
        prctl(PR_SET_TIMERSLACK, 1000UL);
        RateSearch search(options.search);
        Trials trials(run, options.trial);
        trials.warm_up(options.search.lowest);
        LinkResult r;
        r.c = run.c;
        r.bytes_per_heap = run.heaps.bytes_per_heap();
        r.packets_per_heap = run.heaps.packets_per_heap();
        while (const auto rate = search.next()) {
            r.trials.push_back(trials.trial(*rate));
            search.report(r.trials.back().passed);
            if (!quiet)
                tell_trial(run.c, r.trials.back());
        }
        r.sustained = search.sustained();
        r.refused = search.refused();
        r.confidence = search.confidence(kTrialError);
        results.push_back(std::move(r));
    };
    const PairOutcome outcome = run_pair(options, eal_args, bench);
    // Standard output is the JSON document's when it was asked for there.
    tell(json_path == "-" ? stderr : stdout, "{}Packets in {}.\n{}", link_table(results),
         outcome.packet_pages, placement_text(outcome));
    if (!json_path.empty())
        observe::write_file(json_path, link_json(options, results, outcome));
    std::fflush(stdout);
    for (const std::string& problem : outcome.problems)
        tell(stderr, "dpdk-spead: {}\n", problem);
    if (outcome.interrupted)
        tell(stderr, "dpdk-spead: interrupted; {} of {} cases were finished\n", results.size(),
             cases_of(options).size());
    return outcome.problems.empty() && !outcome.interrupted ? 0 : 1;
}

}  // namespace spead::app
