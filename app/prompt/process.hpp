// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/prompt/grammar.hpp"
#include "capture/options.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"
#include "stats/snapshot.hpp"

namespace spead::app {

/// Represents the running process for commands; any control thread may call it. Every function may throw
/// Error: the process is busy, or it ends.
class Process {
  public:
    virtual ~Process() = default;

    virtual runtime::Plan plan() = 0;
    /// Returns a consistent snapshot of this moment.
    virtual stats::Snapshot snapshot() = 0;

    // Also works while the main thread is busy (with a silent lcore, in the middle of a change): returns the
    // last known plan then.
    virtual runtime::Plan known_plan() { return plan(); }
    struct Seen {
        stats::Snapshot snapshot;
        double age_s = 0;  ///< 0: of this moment
    };
    virtual Seen seen() { return {snapshot(), 0}; }
    /// Returns the snapshot of about a second ago, from which rates are counted; null: there is none yet.
    virtual std::shared_ptr<const stats::Snapshot> recent() = 0;

    /// Carries out the plan that `edit` makes of the present one. Rethrows its exceptions; then nothing has
    /// changed.
    virtual void change(const std::function<runtime::Plan(const runtime::Plan&)>& edit) = 0;
    /// Ends the process, as Ctrl-C does; without waiting, and without fail.
    virtual void end() = 0;

    /// Sets the log level, as `--log-level` takes it.
    virtual void log_level(const std::string& text) = 0;

    /// Returns the rules by port, in the order of plan().ports.
    virtual std::vector<std::vector<stats::RuleSnapshot>> rules() = 0;
    virtual std::vector<std::pair<std::string, std::uint64_t>> xstats(const std::string& port) = 0;

    virtual void stop_port(const std::string& port) = 0;
    virtual void start_port(const std::string& port) = 0;
    virtual void start_capture(const std::string& stream, const capture::Options& options) = 0;
    /// Stops the capture. Returns when its files are complete; the running process does not wait for that.
    virtual stats::CaptureSnapshot stop_capture(const std::string& stream) = 0;
    virtual send::DummyResult dummy(const std::string& send, std::uint32_t packets) = 0;

    /// Describes a pool of packet buffers.
    struct Pool {
        std::string name;
        std::uint64_t size = 0;  ///< buffers
        std::uint64_t in_use = 0;
        std::uint64_t buffer_bytes = 0;
    };
    virtual std::vector<Pool> pools() = 0;
};

/// Returns the present names of `process`.
Vocabulary vocabulary_of(Process& process);

}  // namespace spead::app
