// SPDX-License-Identifier: BSD-3-Clause
#include "stats/near_losses.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stats/finding_log.hpp"

/// Tests which values are close to a limit, and when a loss says more.
namespace spead::stats {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Makes the snapshots of a run, a fifth of a second apart, in which a thousand packets come. The receive
/// queue holds 2048, so that it fills in 0.4 s.
class Receiving {
  public:
    Receiving() {
        now_.detailed = true;
        now_.ticks_per_second = 1e9;
        StreamSnapshot& s = now_.streams.emplace_back();
        s.name = "s0";
        s.number = 1;
        s.port = "p0";
        s.state = "received";
        s.queue_capacity = 256;
        s.pool_bytes = 1000;
        PortSnapshot& p = now_.ports.emplace_back();
        p.name = "p0";
        p.rx_descriptors = 2048;
        p.buffers = {4096, 2048, 2048, 2048};
        LcoreSnapshot& l = now_.lcores.emplace_back();
        l.ports = {{"p0", 0}};
        l.streams = {{"s0", 0, 1}};
    }

    Snapshot& now() { return now_; }
    StreamSnapshot& stream() { return now_.streams[0]; }
    PortSnapshot& port() { return now_.ports[0]; }
    LcoreSnapshot& lcore() { return now_.lcores[0]; }

    /// Returns the causes that are found a fifth of a second later, in which `what` happens.
    std::vector<Cause> after(const std::function<void(Receiving&)>& what = [](Receiving&) {}) {
        now_.duration_s += 0.2;
        stream().received += 1000;
        stream().queue_most_now = 3;
        stream().pool_most_now = 100;
        port().rx_packets += 1000;
        port().rx_bytes += 1'000'000;
        port().buffers->fewest_free_now = 2048;
        lcore().ports[0].received += 1000;
        lcore().counters.loops += 1000;
        lcore().longest_loop_now = 100'000;
        what(*this);
        Snapshot s = now_;
        log_.observe(s);
        std::vector<Cause> causes;
        for (const Finding& f : *s.findings)
            causes.push_back(f.cause);
        last_ = *s.findings;
        return causes;
    }
    const std::vector<Finding>& last() const { return last_; }
    FindingLog& log() { return log_; }

  private:
    Snapshot now_;
    FindingLog log_;
    std::vector<Finding> last_;
};

void loop_of(Receiving& run, std::uint64_t milliseconds) {
    run.lcore().longest_loop_now = milliseconds * 1'000'000;
}

TEST(NearLosses, ALongLoopIsAWarningBeforeAnythingIsLost) {
    Receiving run;
    EXPECT_THAT(run.after(), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 49); }), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 76); }), ElementsAre(Cause::lcore_held_up));
    EXPECT_EQ(run.last()[0].what,
              "it did not run for up to 76 ms, because other work had its CPU; nothing was lost yet: its "
              "receive queue fills in 410 ms at the present rate");
    EXPECT_EQ(run.last()[0].count, 1U);
    run.after([](Receiving& r) { loop_of(r, 60); });
    EXPECT_EQ(run.last()[0].count, 2U);
    EXPECT_NE(run.last()[0].what.find("76 ms"), std::string::npos) << "the longest one is named";
}

TEST(NearLosses, AShortLoopIsLongForAQueueThatFillsSoon) {
    Receiving run;
    run.port().rx_descriptors = 64;  // 12.8 ms
    run.after();
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 6); }), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 7); }), ElementsAre(Cause::lcore_held_up));
    Receiving sockets;
    sockets.port().settings.socket_buffer = 64'000;
    sockets.after();
    EXPECT_THAT(sockets.after([](Receiving& r) { loop_of(r, 6); }), IsEmpty());
    EXPECT_THAT(sockets.after([](Receiving& r) { loop_of(r, 7); }), ElementsAre(Cause::lcore_held_up));
}

TEST(NearLosses, ALoopInWhichNothingCanBeLostIsNone) {
    Receiving run;
    run.stream().settings.is_lossless = true;
    run.after();
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 600); }), IsEmpty());
    run.stream().settings.is_lossless = false;
    EXPECT_THAT(run.after([](Receiving& r) {
        loop_of(r, 600);
        r.lcore().ports[0].received -= 1000;
    }),
                IsEmpty())
        << "no packet came";
    EXPECT_THAT(run.after([](Receiving& r) {
        loop_of(r, 600);
        r.lcore().counters.loops -= 1000;
    }),
                IsEmpty())
        << "the lcore has not answered since";
}

TEST(NearLosses, WhereSomethingIsLostTheLossSaysMore) {
    Receiving run;
    run.after();
    EXPECT_THAT(run.after([](Receiving& r) {
        loop_of(r, 76);
        r.port().nic.missed = 9;
    }),
                ElementsAre(Cause::lcore_interrupted));
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 76); }), ElementsAre(Cause::lcore_interrupted));
    for (int i = 0; i < 25; i++)
        run.after();
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 76); }),
                ElementsAre(Cause::lcore_held_up, Cause::lcore_interrupted))
        << "that was five seconds ago";
}

TEST(NearLosses, AQueueWithHardlyAPlaceIsAWarning) {
    Receiving run;
    EXPECT_THAT(run.after([](Receiving& r) { r.stream().queue_most_now = 223; }), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { r.stream().queue_most_now = 224; }),
                ElementsAre(Cause::queue_nearly_full));
    Receiving waiting;
    waiting.stream().settings.waits = true;
    EXPECT_THAT(waiting.after([](Receiving& r) { r.stream().queue_most_now = 256; }), IsEmpty());
    Receiving small;
    small.stream().queue_capacity = 4;
    EXPECT_THAT(small.after([](Receiving& r) { r.stream().queue_most_now = 4; }), IsEmpty());
    Receiving dropping;
    EXPECT_THAT(dropping.after([](Receiving& r) {
        r.stream().queue_most_now = 256;
        r.stream().heaps_dropped_full = 1;
    }),
                ElementsAre(Cause::consumer_too_slow));
}

TEST(NearLosses, MemoryOfAStreamAloneOnItsLcoreIsWatched) {
    Receiving run;
    EXPECT_THAT(run.after([](Receiving& r) { r.stream().pool_most_now = 874; }), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { r.stream().pool_most_now = 876; }),
                ElementsAre(Cause::pool_nearly_full));
    Receiving shared;
    shared.lcore().streams.push_back({"s1", 0, 2});
    EXPECT_THAT(shared.after([](Receiving& r) { r.stream().pool_most_now = 2000; }), IsEmpty())
        << "it may borrow";
}

TEST(NearLosses, BuffersThatAreNotOfTheQueueAreWatched) {
    Receiving run;
    EXPECT_THAT(run.after([](Receiving& r) { r.port().buffers->fewest_free_now = 128; }), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { r.port().buffers->fewest_free_now = 127; }),
                ElementsAre(Cause::buffers_nearly_out));
    Receiving lost;
    EXPECT_THAT(lost.after([](Receiving& r) {
        r.port().buffers->fewest_free_now = 0;
        r.port().nic.no_mbuf = 5;
    }),
                ElementsAre(Cause::no_buffers));
}

TEST(NearLosses, ClearedCountersForgetThem) {
    Receiving run;
    run.after([](Receiving& r) { loop_of(r, 76); });
    run.lcore().silences = 2;
    EXPECT_THAT(run.after(), ElementsAre(Cause::lcore_silent, Cause::lcore_held_up));
    Snapshot base = run.now();
    base.lcores[0].held_up = {1, 76'000'000, 0};
    run.log().clear(base);
    EXPECT_THAT(run.after(), IsEmpty());
    EXPECT_THAT(run.after([](Receiving& r) { loop_of(r, 60); }), ElementsAre(Cause::lcore_held_up));
    EXPECT_NE(run.last()[0].what.find("up to 60 ms"), std::string::npos) << run.last()[0].what;
}

}  // namespace
}  // namespace spead::stats
