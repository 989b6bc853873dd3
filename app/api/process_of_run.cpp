// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/process_of_run.hpp"

#include "runtime/executor.hpp"

namespace spead::app {

/// Holds the process during one call.
class ProcessOfRun::Held {
  public:
    explicit Held(ProcessOfRun& of) : of_(of) {
        const std::lock_guard lock(of_.mutex_);
        if (of_.process_ == nullptr)
            throw runtime::Ending("the run has not begun yet, or it ends; nothing was changed");
        process_ = of_.process_;
        of_.calls_++;
    }
    ~Held() {
        const std::lock_guard lock(of_.mutex_);
        of_.calls_--;
        // Under the lock: without it, the waiting thread could free the condition meanwhile.
        of_.left_.notify_all();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    Process* operator->() const { return process_; }

  private:
    ProcessOfRun& of_;
    Process* process_ = nullptr;
};

void ProcessOfRun::attach(Process& process) {
    const std::lock_guard lock(mutex_);
    process_ = &process;
}

void ProcessOfRun::detach() noexcept {
    std::unique_lock lock(mutex_);
    process_ = nullptr;
    left_.wait(lock, [this] { return calls_ == 0; });
}

runtime::Plan ProcessOfRun::plan() {
    return Held(*this)->plan();
}

stats::Snapshot ProcessOfRun::snapshot() {
    return Held(*this)->snapshot();
}

runtime::Plan ProcessOfRun::known_plan() {
    return Held(*this)->known_plan();
}

Process::Seen ProcessOfRun::seen() {
    return Held(*this)->seen();
}

std::shared_ptr<const stats::Snapshot> ProcessOfRun::recent() {
    return Held(*this)->recent();
}

void ProcessOfRun::change(const std::function<runtime::Plan(const runtime::Plan&)>& edit) {
    Held(*this)->change(edit);
}

void ProcessOfRun::end() {
    Held(*this)->end();
}

void ProcessOfRun::log_level(const std::string& text) {
    Held(*this)->log_level(text);
}

std::vector<std::vector<stats::RuleSnapshot>> ProcessOfRun::rules() {
    return Held(*this)->rules();
}

std::vector<std::pair<std::string, std::uint64_t>> ProcessOfRun::xstats(const std::string& port) {
    return Held(*this)->xstats(port);
}

void ProcessOfRun::stop_port(const std::string& port) {
    Held(*this)->stop_port(port);
}

void ProcessOfRun::start_port(const std::string& port) {
    Held(*this)->start_port(port);
}

void ProcessOfRun::start_capture(const std::string& stream, const capture::Options& options) {
    Held(*this)->start_capture(stream, options);
}

stats::CaptureSnapshot ProcessOfRun::stop_capture(const std::string& stream) {
    return Held(*this)->stop_capture(stream);
}

send::DummyResult ProcessOfRun::dummy(const std::string& send, std::uint32_t packets) {
    return Held(*this)->dummy(send, packets);
}

std::vector<Process::Pool> ProcessOfRun::pools() {
    return Held(*this)->pools();
}

}  // namespace spead::app
