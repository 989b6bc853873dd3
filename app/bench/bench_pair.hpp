// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/bench/bench_heaps.hpp"
#include "app/bench/json_channel.hpp"
#include "app/bench/pair_placement.hpp"
#include "app/bench/rate_search.hpp"
#include "runtime/engine.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"

/// Runs benchmarks between two ends of a link. The near end sends, decides and reports; the far end receives,
/// and replies when latency is measured. Both are engines as `send` and `recv` run them. They are in one
/// process on two ports (or on one that receives its own packets), or in two processes, which also talk over
/// a JsonChannel.
namespace spead::app {

enum class PairKind : std::uint8_t { link, latency };

/// Holds the options of bench link and bench latency.
struct PairOptions {
    PairKind kind = PairKind::link;
    std::vector<std::uint32_t> payload_sizes;  ///< SPEAD payload bytes per packet
    std::vector<std::uint64_t> heap_sizes;     ///< bytes; 0: one packet per heap
    std::string tx_port;                       ///< of the near end
    std::string rx_port;                       ///< of the far end
    std::string server;  ///< be the far end: [ADDRESS:]PORT to listen on, or fd:N, an existing socket
    std::string client;  ///< be the near end: ADDRESS:PORT of the far one
    std::string to = "239.255.71.48:7148";
    runtime::PollMode poll = runtime::PollMode::adaptive;
    double burst_rate_ratio = 1.05;  ///< how much faster than its rate a sender catches up
    std::optional<unsigned> tx_lcore;
    std::optional<unsigned> rx_lcore;
    // link
    RateSearch::Options search{12.5e6, 12.5e9, 0.02, 2, 3};  ///< rates in bytes of UDP payload per second
    double trial = 1.0;                                      ///< seconds
    // latency
    double time = 5.0;           ///< seconds measured, of each row
    double warm_up = 0.5;        ///< seconds before them
    bool ping_pong = true;       ///< one heap at a time
    std::vector<double> loads;   ///< additional rates at which heaps are sent
    std::string histogram_path;  ///< empty: none
    bool operator==(const PairOptions&) const = default;
};

struct PairCase {
    std::uint32_t payload = 0;  ///< bytes per packet
    std::uint64_t heap = 0;     ///< bytes; = payload: one packet
};
std::vector<PairCase> cases_of(const PairOptions& options);

/// Throws UsageError for options that contradict each other.
void check_pair(const PairOptions& options);

/// Says which ends this process is.
struct Ends {
    bool near = false;
    bool far = false;
};

/// Returns the plan of one case: stream "there" and sender "d0" go from the near end to the far one, "back"
/// and "d1" return.
runtime::Plan pair_plan(const PairOptions& options, const PairCase& c, Ends ends);

/// Counts the heaps that arrive.
class CountingSink final : public runtime::Sink {
  public:
    /// Counts from now on heaps with this count and later ones, from 0. Any thread.
    void begin(std::uint64_t first) noexcept;
    void consume(const heap::HeapHandle& heap) override;
    std::uint64_t complete() const noexcept {
        return begun() ? complete_.load(std::memory_order_relaxed) : 0;
    }
    /// Returns the number of incomplete heaps.
    std::uint64_t broken() const noexcept { return begun() ? broken_.load(std::memory_order_relaxed) : 0; }

  private:
    /// Returns whether counting has begun. The counts belong to the consuming thread, which restarts them
    /// when it sees the request.
    bool begun() const noexcept {
        return counted_from_.load(std::memory_order_acquire) == first_.load(std::memory_order_acquire);
    }
    std::atomic<std::uint64_t> first_{0};
    std::atomic<std::uint64_t> counted_from_{0};
    std::atomic<std::uint64_t> complete_{0};
    std::atomic<std::uint64_t> broken_{0};
};

/// Sends every complete heap back, with its count and its payload.
class ReflectingSink final : public runtime::Sink {
  public:
    /// Sets the heaps to send with. Call it before the first heap.
    void send_with(BenchHeaps& heaps) noexcept { heaps_ = &heaps; }
    void consume(const heap::HeapHandle& heap) override;

  private:
    BenchHeaps* heaps_ = nullptr;
};

/// Represents the far end at the near one.
class FarEnd {
  public:
    virtual ~FarEnd() = default;
    struct Count {
        std::uint64_t complete = 0;
        std::uint64_t broken = 0;
    };
    /// Starts the far end's engine, which runs when this returns.
    virtual void open(std::size_t number_of_case) = 0;
    virtual void begin(std::uint64_t first) = 0;
    virtual Count count() = 0;
    /// Returns how often threads of the far end's process gave up their CPU without sleeping; 0: it is
    /// this process.
    virtual std::uint64_t preemptions() = 0;
    /// Stops the far end's engine; returns its problems.
    virtual std::vector<std::string> close() = 0;
};

/// Holds a running case for a benchmark, which works in a thread beside the engine.
struct PairRun {
    std::size_t number = 0;
    PairCase c;
    BenchHeaps& heaps;
    FarEnd& far;
    /// Becomes true when the run is to end; read in every loop.
    const std::atomic<bool>& cancelled;
};

/// Holds the functions of a benchmark.
struct PairBench {
    /// Makes the sink for returned heaps; latency only.
    std::function<std::unique_ptr<runtime::Sink>()> make_return_sink;
    /// Measures. Throws Interrupted when cancelled.
    std::function<void(PairRun&)> measure;
};

struct PairOutcome {
    std::vector<std::string> problems;       ///< one sentence each
    bool interrupted = false;                ///< a signal ended it early
    std::string packet_pages;                ///< page size of the near end's packets (Eal::pages)
    std::optional<PairPlacement> placement;  ///< of two processes of this machine
};
/// Returns the line that says where both processes ran; empty: there were no two.
std::string placement_text(const PairOutcome& outcome);
/// Returns the same as JSON; null: there were no two.
nlohmann::ordered_json placement_json(const PairOutcome& outcome);

/// Runs all cases at the near end, with the far one if it is in this process. `eal_args` are the user's.
/// Throws Error.
PairOutcome run_pair(const PairOptions& options, const std::vector<std::string>& eal_args,
                     const PairBench& bench);

/// Serves as the far end: `options.server`.
PairOutcome serve_pair(const PairOptions& options, const std::vector<std::string>& eal_args);

/// Returns the text of --check.
std::string describe_pair(const PairOptions& options, const std::vector<std::string>& eal_args);

}  // namespace spead::app
