// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "app/prompt/process.hpp"

namespace spead::app {

/// Represents the process of a run that may end while other threads still use this. Each call holds the run
/// only while it lasts. A job that reads a body or writes a file between two calls does not delay the end.
/// Calls without a process throw runtime::Ending. Any thread.
class ProcessOfRun : public Process {
  public:
    /// Makes calls reach `process`, until detach().
    void attach(Process& process);
    /// Refuses calls from now on, and waits for those under way. The process's executor is closed before,
    /// which bounds this wait: a call waits for nothing else, and gets the error that the program ends.
    void detach() noexcept;

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
    class Held;

    std::mutex mutex_;
    std::condition_variable left_;
    Process* process_ = nullptr;  ///< guarded; null: there is none
    std::size_t calls_ = 0;       ///< guarded; under way
};

}  // namespace spead::app
