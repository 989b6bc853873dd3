// SPDX-License-Identifier: BSD-3-Clause
#include "stats/engine_findings.hpp"

#include <algorithm>
#include <gmock/gmock.h>

#include "stats/finding_log.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

namespace spead::stats::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Follows a run whose stream waits for an engine, a fifth of a second at a time.
class Gathered {
  public:
    Gathered() {
        now_.ports[0].driver = "net_ring";
        now_.sends[0].port = "p0";
        now_.engines.push_back({"cuda", {"s0"}});
        EXPECT_THAT(look(), IsEmpty());
    }

    PortSnapshot& port() { return now_.ports[0]; }
    StreamSnapshot& stream() { return now_.streams[0]; }
    SendSnapshot& send() { return now_.sends[0]; }
    /// Lets the engine be quiet for so long, and the sender be stuck from then on.
    void quiet(double seconds) {
        EngineSnapshot& e = now_.engines[0];
        if (seconds >= 1 && e.stalled_s == 0)
            e.stalls++;
        e.quiet_s = seconds;
        e.stalled_s = seconds >= 1 ? seconds : 0;
        e.all_stalled_s = std::max(e.all_stalled_s, e.stalled_s);
    }
    std::vector<Cause> look(double passed = 0.2) {
        now_.duration_s += passed;
        Snapshot s = now_;
        log_.observe(s);
        last_ = *s.findings;
        std::vector<Cause> causes;
        for (const Finding& f : last_)
            causes.push_back(f.cause);
        return causes;
    }
    void clear() {
        Snapshot s = now_;
        log_.clear(s);
    }
    const std::vector<Finding>& last() const { return last_; }

  private:
    Snapshot now_ = clean();
    FindingLog log_;
    std::vector<Finding> last_;
};

/// Loses something of each kind.
void lose(Gathered& run) {
    run.port().nic.missed += 100;
    run.port().rx_gather_full += 100'000;
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)] += 500;
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::no_memory)] += 7;
    run.send().counters.outages = 1;
}

TEST(EngineLosses, AreNotBlamedOnStreamsPortsAndSenders) {
    Gathered run;
    run.quiet(0.2);
    EXPECT_THAT(run.look(), IsEmpty());
    run.quiet(0.9);
    lose(run);
    EXPECT_THAT(run.look(), Not(IsEmpty())) << "it is not known yet";
    run.quiet(1.1);
    lose(run);
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled));
    EXPECT_THAT(
        run.last()[0].sentence(),
        AllOf(HasSubstr("engine cuda: 1 second has passed in which it moved no payload: s0 waits for it"),
              HasSubstr("its ports lost 200 packets meanwhile"), HasSubstr("`nvidia-smi`")));
    lose(run);
    run.quiet(9.1);
    EXPECT_THAT(run.look(8), ElementsAre(Cause::engine_stalled));
    // It is over, and what had waited comes late.
    run.quiet(0);
    lose(run);
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::late)] += 2000;
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled));
    EXPECT_THAT(run.last()[0].sentence(),
                HasSubstr("engine cuda: 1 time it moved no payload for a second or longer, "
                          "9.1 s in all; its ports lost 400 packets meanwhile"));
    EXPECT_THAT(run.look(10), ElementsAre(Cause::engine_stalled));
}

TEST(EngineLosses, HideNothingThatCameBeforeOrAfter) {
    Gathered run;
    lose(run);
    const std::vector<Cause> causes = run.look();
    EXPECT_THAT(causes, ElementsAre(Cause::network_loss, Cause::pool_too_small, Cause::engine_too_slow,
                                    Cause::port_takes_nothing));
    run.quiet(1.2);
    lose(run);
    run.look();
    EXPECT_EQ(run.last().size(), causes.size() + 1);
    EXPECT_EQ(run.last()[0].cause, Cause::engine_stalled) << "first of all";
    run.quiet(0);
    run.look(5);
    lose(run);
    run.look();
    const auto slow = std::ranges::find(run.last(), Cause::engine_too_slow, &Finding::cause);
    ASSERT_NE(slow, run.last().end());
    EXPECT_EQ(slow->count, 200U) << "those that were lost meanwhile are the engine's";
}

TEST(EngineLosses, LeaveTheNetworkWhatNoCounterExplains) {
    const auto timed_out = static_cast<std::size_t>(HeapEnd::timed_out);
    Gathered run;
    run.quiet(1.1);
    run.stream().heaps_ended[timed_out] = 500;
    run.port().nic.missed = 300;
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled));
    run.quiet(0);
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::late)] = 150;
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled)) << "more may come late";
    EXPECT_THAT(run.look(5), ElementsAre(Cause::network_loss, Cause::engine_stalled));
    EXPECT_EQ(run.last()[0].count, 50U);
}

TEST(EngineLosses, LeaveAPathWhatItsPortsHaveNotMissed) {
    Gathered run;
    StreamSnapshot& s = run.stream();
    s.path_ports = {"p0", "p1"};
    s.paths[0].packets = s.paths[0].placed = s.paths[0].passed = 1000;
    s.paths[1].packets = s.paths[1].redundant = s.paths[1].passed = 1000;
    EXPECT_THAT(run.look(), IsEmpty());
    run.quiet(1.1);
    s.paths[0].packets = s.paths[0].placed = s.paths[0].passed = s.paths[1].passed = 2000;
    run.port().nic.missed = 970;
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled));
    run.quiet(0);
    EXPECT_THAT(run.look(5), ElementsAre(Cause::engine_stalled, Cause::path_loss));
    EXPECT_EQ(run.last()[1].count, 30U);
}

TEST(EngineLosses, AreThoseOfAStallBetweenTwoLooks) {
    Gathered run;
    run.quiet(3);
    run.quiet(0);
    lose(run);
    EXPECT_THAT(run.look(6), ElementsAre(Cause::engine_stalled)) << "as in a shutdown, in which nobody looks";
}

TEST(EngineLosses, HideNoLaterLossOfTheirFinding) {
    const auto timed_out = static_cast<std::size_t>(HeapEnd::timed_out);
    Gathered run;
    run.quiet(1.1);
    run.stream().heaps_ended[timed_out] = 500;
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled));
    // The port's losses explain them for a while.
    run.port().nic.missed = 500;
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled));
    run.quiet(0);
    run.look(5);
    run.stream().heaps_ended[timed_out] += 520;
    run.look();
    const auto lost = std::ranges::find(run.last(), Cause::network_loss, &Finding::cause);
    ASSERT_NE(lost, run.last().end());
    EXPECT_EQ(lost->count, 520U) << "the port's losses explain the first 500";
}

TEST(EngineLosses, AreThoseOfAQuietEngineOnlyOnceItStandsStill) {
    Gathered run;
    run.quiet(0.3);
    lose(run);
    const std::vector<Cause> causes = run.look();
    EXPECT_THAT(causes, Not(IsEmpty()));
    run.quiet(0);
    EXPECT_EQ(run.look(), causes);
    run.quiet(1.1);
    EXPECT_EQ(run.look(2).size(), causes.size() + 1) << "that was another time";
    run.clear();
    EXPECT_THAT(run.look(), ElementsAre(Cause::engine_stalled)) << "it goes on";
    run.quiet(0);
    run.stream().received++;
    EXPECT_THAT(run.look(10), ElementsAre(Cause::engine_stalled)) << "a part of it came after the clear";
}

TEST(EngineLosses, KeepFindingsOfOnePartApart) {
    Snapshot now = clean();
    now.engines.push_back({"cuda", {"s0"}});
    EngineLosses losses;
    const auto look = [&](double quiet) {
        now.duration_s += 1;
        now.engines[0].quiet_s = now.engines[0].stalled_s = quiet;
        std::vector<Finding> found = {
            {Cause::path_loss, Stage::network, "s0", 1'000'000, "packets", "p0", ""},
            {Cause::path_loss, Stage::network, "s0", 10, "packets", "p1", ""}};
        losses.take_from(found, now);
        return found;
    };
    EXPECT_EQ(look(0).size(), 2U);
    const std::vector<Finding> found = look(2);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].count, 1'000'000U);
    EXPECT_EQ(found[1].count, 10U);
}

}  // namespace
}  // namespace spead::stats::test
