// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/prompt/process.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "runtime/executor.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::test {

/// Stands in for a process: a plan and a snapshot. A change is validated and taken.
class FakeProcess : public app::Process {
  public:
    FakeProcess() {
        plan_ = config::parse_text(R"(version = 1
[[port]]
name = "p0"
device = "net_null0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.0.0+3:7148"]
[[send]]
name = "d0"
port = "p0"
endpoints = ["239.4.0.0:7148"]
)",
                                   "test");
        now_ = numbered_snapshot();
        auto recent = std::make_shared<stats::Snapshot>(now_);
        recent->duration_s -= 1;
        recent_ = std::move(recent);
    }

    runtime::Plan plan() override {
        if (busy)
            throw_error("control", "the program is busy");
        if (ending)
            throw runtime::Ending("control", "the program is ending");
        return plan_;
    }
    stats::Snapshot snapshot() override { return now_; }
    std::shared_ptr<const stats::Snapshot> recent() override { return recent_; }
    void change(const std::function<runtime::Plan(const runtime::Plan&)>& edit) override {
        const runtime::Plan wanted = edit(plan_);
        if (!refuses.empty())
            throw_error("", "{}", refuses);
        config::validate(wanted);
        plan_ = wanted;
    }
    void end() override { ended = true; }
    void log_level(const std::string& text) override {
        if (refuses_level)
            throw runtime::Busy("control", "busy");
        level = text;
    }
    std::vector<std::vector<stats::RuleSnapshot>> rules() override { return {now_.ports[0].rules}; }
    std::vector<std::pair<std::string, std::uint64_t>> xstats(const std::string&) override {
        return {{"rx_good_packets", 77}};
    }
    void stop_port(const std::string& port) override {
        if (on_stop_port)
            on_stop_port();
        done.push_back("stop port " + port);
    }
    void start_port(const std::string& port) override { done.push_back("start port " + port); }
    void start_capture(const std::string& stream, const capture::Options& options) override {
        done.push_back("capture " + stream + " to " + options.files.at(0));
        captured = options;
    }
    stats::CaptureSnapshot stop_capture(const std::string& stream) override {
        done.push_back("end capture of " + stream);
        stats::CaptureSnapshot c;
        c.taken = 12;
        c.written = 11;
        c.failure = capture_failure;
        return c;
    }
    send::DummyResult dummy(const std::string& send, std::uint32_t packets) override {
        done.push_back("dummy " + send);
        return {packets, true, true, nullptr};
    }
    std::vector<Pool> pools() override { return {{"pool0", 1024, 24, 2048}}; }

    runtime::Plan plan_;
    stats::Snapshot now_;
    std::shared_ptr<const stats::Snapshot> recent_;
    std::vector<std::string> done;
    capture::Options captured;
    std::string capture_failure;
    std::string refuses;
    std::string level;
    bool ended = false;
    bool busy = false;
    bool ending = false;
    bool refuses_level = false;
    std::function<void()> on_stop_port;
};

}  // namespace spead::test
