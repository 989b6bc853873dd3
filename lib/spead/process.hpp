// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <spead/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace spead {

namespace door {
class Session;
}

/// Says how EAL (DPDK's environment) is started, once per operating system process.
struct ProcessConfig {
    /// Begins EAL's --file-prefix, before the process id: 1 to 63 letters, digits, `_`, `-` or `.`, a letter
    /// or digit first.
    std::string name = "dpdk-spead";
    std::optional<unsigned> main_cpu{};  ///< of the process's own thread; default: the first allowed
    std::vector<unsigned> lcores{};      ///< CPUs that streams may have; empty: all allowed but main_cpu
    /// Holds the bytes of EAL memory (packet buffers) for ports that are opened later; used if no huge pages
    /// are free, since EAL's memory cannot grow then.
    std::size_t eal_memory = std::size_t{256} << 20;
    /// Adds arguments of EAL. Those that end the process, and --proc-type, are refused.
    std::vector<std::string> eal{};
    std::string log_level = "error";  ///< "error", "warning", "notice", "info" or "debug"; to standard error

    /// Returns the defaults, changed by DPDK_SPEAD_NAME, DPDK_SPEAD_MAIN_CPU, DPDK_SPEAD_LCORES ("2,3,4" or
    /// "2-4"), DPDK_SPEAD_EAL_MEMORY ("512MiB"), DPDK_SPEAD_EAL (words) and DPDK_SPEAD_LOG_LEVEL. Throws
    /// UsageError, with the variable's name, for an invalid value.
    static SPEAD_API ProcessConfig from_environment();
};

/// Owns EAL, the ports, the lcores and the control loop, on a thread of its own.
///
/// A handle: all copies mean the same session, which ends with stop() or with the last of the copies, streams
/// and memory that use it. Any thread may call anything here. The calling thread keeps its affinity, its
/// signals and its descriptors. Nothing here ends the operating system process.
///
/// EAL belongs to the operating system process and starts once: the first session that comes to life fixes
/// its lcores and its memory. A refused start may be retried. While one session lives, another one is refused
/// with an Error; after its end the next one takes the same EAL over. It may name some of EAL's CPUs, or
/// none; `name`, `eal_memory` and `eal` are ignored then. exit() ends the session, and no other one starts.
class SPEAD_API Process {
  public:
    /// Starts EAL and the control loop. Throws Error and UsageError.
    explicit Process(const ProcessConfig& config = ProcessConfig::from_environment());

    /// Copies the handle: all copies mean the same session. There is no move.
    Process(const Process&) = default;
    Process& operator=(const Process&) = default;
    ~Process() = default;

    /// Returns the session that runs, or starts one from the environment.
    static Process shared();
    /// Returns the session that runs; empty if there is none, and in a child of fork(2).
    static std::optional<Process> current();

    /// Returns the version of DPDK that this process has loaded, as "22.11.11".
    static std::string dpdk_version();

    /// Ends all streams and then the session: senders finish the heaps that they have begun, streams hand
    /// their last heaps over. The wait for that is bounded. Heaps that users hold stay readable. Idempotent.
    void stop() noexcept;
    bool running() const noexcept;

    /// Returns why the session ended by itself (an lcore that does not answer, a port that failed); empty
    /// while it has not.
    std::vector<std::string> problems() const;

    /// Runs the ports, streams and senders of a configuration file's text beside those of this program. Each
    /// call replaces those of the call before; an empty text ends them. Streams that stay the same lose
    /// nothing. A sender that changes more than its rate, say, needs another name. `name` stands for the file
    /// in errors. Of [runtime], only `log_level` has an effect. A stream without `memory` of its own has an
    /// equal part of [memory] `heaps`. Throws Error and UsageError; then nothing has changed.
    void apply(std::string_view plan, std::string_view name = "plan");

    /// Returns all counters as JSON, as in the program's --json file. Throws Error once it has ended.
    std::string report() const;

  private:
    friend class ChunkRing;
    friend class ChunkStream;
    friend class ChunkStreamGroup;
    friend class RecvStream;
    friend class SendStream;
    friend class Memory;

    explicit Process(std::shared_ptr<door::Session> session) noexcept : session_(std::move(session)) {}

    std::shared_ptr<door::Session> session_;
};

}  // namespace spead
