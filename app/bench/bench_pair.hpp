// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_heaps.hpp"
#include "app/bench/json_channel.hpp"
#include "app/bench/rate_search.hpp"
#include "runtime/engine.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"

/// Benchmarks between two ends of a link: the near end sends, decides and reports; the far end receives, and
/// answers where latency is measured. Both are engines as `send` and `recv` run them: in one process on two
/// ports (or on one that receives what it sends), or in two processes, which talk over a JsonChannel besides.
namespace spead::app {

enum class PairKind : std::uint8_t { link, latency };

/// What was typed for bench link and bench latency.
struct PairOptions {
    PairKind kind = PairKind::link;
    std::vector<std::uint32_t> payload_sizes;  ///< SPEAD payload bytes per packet
    std::vector<std::uint64_t> heap_sizes;     ///< bytes; 0: one packet per heap
    std::string tx_port;                       ///< of the near end
    std::string rx_port;                       ///< of the far end
    std::string server;  ///< be the far end: [ADDRESS:]PORT to listen on, or fd:N, a socket that is there
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
    std::vector<double> loads;   ///< rates at which heaps are sent besides
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

/// Which ends this process is.
struct Ends {
    bool near = false;
    bool far = false;
};

/// The plan of one case: stream "there" and sender "d0" go from the near end to the far one, "back" and "d1"
/// return.
runtime::Plan pair_plan(const PairOptions& options, const PairCase& c, Ends ends);

/// Counts the heaps that arrive.
class CountingSink final : public runtime::Sink {
  public:
    /// From now on heaps with this count and later ones are counted, from 0. Any thread.
    void begin(std::uint64_t first) noexcept;
    void consume(const heap::HeapHandle& heap) override;
    std::uint64_t complete() const noexcept {
        return begun() ? complete_.load(std::memory_order_relaxed) : 0;
    }
    /// Heaps of which something arrived, and not all.
    std::uint64_t broken() const noexcept { return begun() ? broken_.load(std::memory_order_relaxed) : 0; }

  private:
    /// The counts belong to the one who consumes: it starts them anew when it sees that it should.
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
    /// Before the first heap.
    void send_with(BenchHeaps& heaps) noexcept { heaps_ = &heaps; }
    void consume(const heap::HeapHandle& heap) override;

  private:
    BenchHeaps* heaps_ = nullptr;
};

/// The far end as the near one sees it.
class FarEnd {
  public:
    virtual ~FarEnd() = default;
    struct Count {
        std::uint64_t complete = 0;
        std::uint64_t broken = 0;
    };
    /// Its engine runs when this returns.
    virtual void open(std::size_t number_of_case) = 0;
    virtual void begin(std::uint64_t first) = 0;
    virtual Count count() = 0;
    /// Its engine has stopped; what went wrong with it.
    virtual std::vector<std::string> close() = 0;
};

/// What a benchmark does with a running case, in a thread of its own beside the engine.
struct PairRun {
    std::size_t number = 0;
    PairCase c;
    BenchHeaps& heaps;
    FarEnd& far;
    /// The run is to end: looked at in every loop.
    const std::atomic<bool>& cancelled;
};

/// What a benchmark brings.
struct PairBench {
    /// Makes what takes the heaps that come back; latency only.
    std::function<std::unique_ptr<runtime::Sink>()> make_return_sink;
    /// Throws Interrupted when cancelled.
    std::function<void(PairRun&)> measure;
};

/// Runs all cases at the near end (and the far one, where it is in this process), or serves as the far end.
/// `eal_args` are the user's. Returns what went wrong, one sentence each; `interrupted` tells that a signal
/// ended it early. Throws Error.
struct PairOutcome {
    std::vector<std::string> problems;
    bool interrupted = false;
    std::string packet_pages;  ///< that the near end's packets were in (Eal::pages)
};
PairOutcome run_pair(const PairOptions& options, const std::vector<std::string>& eal_args,
                     const PairBench& bench);

/// The far end: `options.server`.
PairOutcome serve_pair(const PairOptions& options, const std::vector<std::string>& eal_args);

/// What --check prints.
std::string describe_pair(const PairOptions& options, const std::vector<std::string>& eal_args);

}  // namespace spead::app
