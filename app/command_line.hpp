// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/bench/bench_pair.hpp"
#include "app/inspect/info.hpp"
#include "app/inspect/selftest.hpp"
#include "app/replay.hpp"
#include "app/top/top.hpp"
#include "port/candidates.hpp"
#include "runtime/plan.hpp"

/// `dpdk-spead [EAL options] -- COMMAND [options]`: the words a user types -> what to do.
///
/// Pure but for `--config FILE`, which reads the file: no EAL, no output, no exit.
namespace spead::app {

enum class Command : std::uint8_t {
    help,
    version,
    recv,
    capture,
    send,
    loopback,
    replay,
    run,
    info,
    check,
    selftest,
    top,
    attach,
    bench_assemble,
    bench_transmit,
    bench_link,
    bench_latency
};

/// What `bench` measures: every combination of the lists.
struct BenchOptions {
    std::vector<std::uint32_t> payload_sizes;  ///< SPEAD payload bytes per packet
    std::vector<std::uint64_t> heap_sizes;     ///< bytes; 0: one packet per heap
    std::vector<std::uint64_t> working_sets;   ///< assemble: bytes of heaps cycled through (warm and cold)
    std::vector<std::uint32_t> streams;        ///< assemble: number of streams fed in turn
    std::vector<std::uint32_t> live_heaps;     ///< assemble: heaps open at once, per stream
    double time = 1.0;                         ///< seconds measured per combination
    std::uint32_t rounds = 5;  ///< alternations between the work and its limit; the median counts
    std::string device;        ///< transmit: port to send into
    runtime::ZeroCopy zero_copy = runtime::ZeroCopy::automatic;
    double rate = 0;  ///< transmit: bytes per second, 0: unlimited
    std::optional<unsigned> lcore;
    bool operator==(const BenchOptions&) const = default;
};

/// Whom `attach` speaks with, and what it says.
struct AttachOptions {
    std::string target;                ///< a name or a path; empty: the only process there is
    std::vector<std::string> command;  ///< words after `--`; empty: what is typed
    bool operator==(const AttachOptions&) const = default;
};

/// Holds the values that options give besides the configuration file, and before it.
struct RuntimeOptions {
    std::string control;  ///< empty: nothing
    std::optional<ListenAddress> metrics;
    std::optional<runtime::KeptCapabilities> capabilities;
    std::optional<double> lcore_timeout;

    /// Writes what was given over what the file says.
    void apply_to(runtime::RuntimePlan& plan) const;
    bool operator==(const RuntimeOptions&) const = default;
};

struct CommandLine {
    /// The words before the first `--`, without the program's name; empty when there is no `--`.
    std::vector<std::string> eal_args;
    Command command = Command::help;
    runtime::Plan plan;                ///< recv, send, loopback, run, check
    RuntimeOptions given;              ///< in the plan already, and in each one that is read later
    InfoOptions info;                  ///< info
    SelftestOptions selftest;          ///< selftest
    TopOptions top;                    ///< top
    AttachOptions attach;              ///< attach
    bool interactive = false;          ///< recv, send, loopback, run: a prompt at the terminal
    std::string cmdline_file;          ///< commands to carry out at the start; empty: none
    ReplayOptions replay;              ///< replay
    bool json = false;                 ///< check: findings as JSON on standard output
    BenchOptions bench;                ///< bench_assemble, bench_transmit
    PairOptions pair;                  ///< bench_link, bench_latency
    std::string config_path;           ///< run: where the plan comes from, to be read again
    std::string json_path;             ///< final report; "-": standard output; empty: none
    bool quiet = false;                ///< no progress line, no final table
    bool check = false;                ///< print the effective plan and EAL's arguments, then exit
    std::string text;                  ///< help, version: what to print on standard output
    std::vector<std::string> remarks;  ///< lines to tell the user
};

/// Looks up an environment variable; null when it is not set (std::getenv fits).
using Environment = std::function<const char*(const char*)>;

/// Names an interface for recv and send when --port is not given.
inline constexpr const char* kInterfaceVariable = "DPDK_SPEAD_INTERFACE";

/// The one port to take when nothing names one; port::lone_port() of this machine, or a test's.
using FindLonePort = std::function<port::LonePort()>;

/// Exit status of the program.
enum ExitStatus : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

/// Throws UsageError (status 2) that names the option, quotes the text and says what may be typed; Error
/// (status 1) when the configuration file cannot be read.
/// `lone_port` is asked only when recv or send name no port and nothing else does; null: there is none.
CommandLine parse_command_line(int argc, const char* const* argv, const Environment& environment,
                               const FindLonePort& lone_port = {});

}  // namespace spead::app
