// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/health_monitor.hpp"

#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using stats::StreamEvent;
using testing::ElementsAre;
using testing::IsEmpty;

/// Watches two streams on no lcore. Each may be silent for a second at most.
struct WatchedStreams {
    std::vector<ReceivePlan> plans{2};
    HealthMonitor::Streams streams;
    std::vector<std::string> heard;
    EventReporter events{"",
                         {},
                         {[this](const std::string& stream, const stats::LastEvent& event) {
                              heard.push_back(stream + ": " + std::string(stats::name_of(event.kind)));
                          },
                          {}}};
    HealthMonitor monitor{events};
    stats::StreamSnapshot removed;
    stats::Snapshot now;

    WatchedStreams() {
        now.streams.resize(2);
        for (std::uint32_t i = 0; i < 2; i++) {
            streams.push_back(std::make_unique<Stream>());
            streams[i]->number = i + 1;
            plans[i].name = streams[i]->name = "s" + std::to_string(i);
            plans[i].silent_after = 1;
        }
        step(0.02, 10, 10);
    }
    /// Lets `first` and `second` packets come within `duration` seconds. The main thread looks every 20 ms
    /// meanwhile.
    void step(double duration, std::uint64_t first, std::uint64_t second) {
        const double end = now.duration_s + duration;
        now.streams[0].received += first;
        if (now.streams.size() > 1)
            now.streams[1].received += second;
        while (now.duration_s < end - 1e-9) {
            now.duration_s += 0.02;
            monitor.watch(now, plans, streams, removed);
        }
    }
    std::uint64_t count(const stats::StreamSnapshot& s, StreamEvent e) const {
        return s.events[static_cast<std::size_t>(e)];
    }
};

TEST(HealthMonitor, ReportsTheStreamThatIsSilentAndNoOther) {
    WatchedStreams w;
    for (int i = 0; i < 6; i++)
        w.step(0.25, 5, 0);
    EXPECT_THAT(w.heard, ElementsAre("s1: silent"));
    w.step(0.02, 1, 1);
    EXPECT_THAT(w.heard, ElementsAre("s1: silent", "s1: back"));
    stats::Snapshot shown = w.now;
    w.monitor.add_to(shown, w.streams);
    EXPECT_EQ(shown.streams[0].health, "ok");
    EXPECT_EQ(w.count(shown.streams[1], StreamEvent::silent), 1U);
    ASSERT_TRUE(shown.streams[1].last_event);
    EXPECT_EQ(shown.streams[1].last_event->kind, StreamEvent::back);
}

TEST(HealthMonitor, JudgesNothingAnewThatHappenedWhileTheProgramStoodStill) {
    WatchedStreams w;
    w.now.duration_s += 3600;  // SIGSTOP, SIGCONT
    w.step(0.5, 0, 0);
    EXPECT_THAT(w.heard, IsEmpty());
    w.step(1, 0, 0);
    EXPECT_THAT(w.heard, ElementsAre("s0: silent", "s1: silent"));
}

TEST(HealthMonitor, ExpectsNothingOfAStreamThatIsStopped) {
    WatchedStreams w;
    w.plans[0].enabled = false;
    w.step(3, 0, 1);
    EXPECT_THAT(w.heard, ElementsAre("s1: silent"));
    stats::Snapshot shown = w.now;
    w.monitor.add_to(shown, w.streams);
    EXPECT_EQ(shown.streams[0].health, "");
}

TEST(HealthMonitor, KeepsTheEventsOfAStreamThatIsRemoved) {
    WatchedStreams w;
    w.step(2, 1, 0);
    ASSERT_THAT(w.heard, ElementsAre("s1: silent", "s0: silent"));
    w.plans.pop_back();
    w.streams.pop_back();
    w.now.streams.pop_back();
    w.step(0.02, 0, 0);
    EXPECT_EQ(w.count(w.removed, StreamEvent::silent), 1U);
    w.step(1, 0, 0);
    EXPECT_EQ(w.count(w.removed, StreamEvent::silent), 1U) << "once";
}

}  // namespace
}  // namespace spead::runtime
