// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "app/prompt/process.hpp"
#include "spead/plan_run.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::app {

/// Represents an engine's process: every request goes to the main thread through its executor.
class EngineProcess : public Process {
  public:
    /// Refers to both, which outlive it. The run is open, and its snapshots are published.
    EngineProcess(door::PlanRun& run, const stats::LatestSnapshot& latest)
        : run_(run), latest_(latest), known_(run.engine().plan()) {}

    runtime::Plan plan() override;
    stats::Snapshot snapshot() override;
    runtime::Plan known_plan() override;
    Seen seen() override;
    std::shared_ptr<const stats::Snapshot> recent() override;
    void change(const std::function<runtime::Plan(const runtime::Plan&)>& edit) override;
    void end() override;
    void log_level(const std::string& text) override;
    std::vector<std::vector<stats::RuleSnapshot>> rules() override;
    std::vector<std::pair<std::string, std::uint64_t>> xstats(const std::string& port) override;
    void stop_port(const std::string& port) override;
    void start_port(const std::string& port) override;
    void start_capture(const std::string& stream, const capture::Options& options) override;
    stats::CaptureSnapshot stop_capture(const std::string& stream) override;
    send::DummyResult dummy(const std::string& send, std::uint32_t packets) override;
    std::vector<Pool> pools() override;

  private:
    runtime::Plan ask_for_plan(std::chrono::nanoseconds patience);

    door::PlanRun& run_;
    const stats::LatestSnapshot& latest_;
    std::mutex mutex_;
    runtime::Plan known_;  ///< guarded
};

}  // namespace spead::app
