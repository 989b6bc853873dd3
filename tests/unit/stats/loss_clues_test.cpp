// SPDX-License-Identifier: BSD-3-Clause
#include "stats/loss_clues.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "base/outcome.hpp"
#include "stats/diagnosis.hpp"
#include "tests/unit/stats/known_run.hpp"

/// Tests what streams of a port tell about a loss of one of them.
namespace spead::stats::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Returns a run whose first stream has lost a tenth of its heaps on the way, and a second one beside it.
Snapshot two_streams(std::uint64_t lost_of_second, const char* source) {
    Snapshot s = known();
    s.streams[0].heaps_ended = {900, 100, 0, 0};
    s.streams[0].heaps_started = 1000;
    StreamSnapshot& other = s.streams.emplace_back(known().streams[0]);
    other.name = "s1";
    other.heaps_ended = {1000 - lost_of_second, lost_of_second, 0, 0};
    other.heaps_started = 1000;
    s.ports[0].talkers.push_back({source, "s1", 1000, 0});
    return s;
}

Finding loss_of_first(const Snapshot& s) {
    for (const Finding& f : diagnose(s))
        if (f.where == "s0" && f.cause == Cause::network_loss)
            return f;
    return {};
}

TEST(LossClues, AnotherStreamOfTheSameSenderIsWhole) {
    const Finding found = loss_of_first(two_streams(0, "10.0.0.1"));
    EXPECT_THAT(found.what, HasSubstr("did not arrive; s1, of the same sender by port p0, lost nothing"));
    EXPECT_THAT(found.cures.at(0), HasSubstr("look at what only s0 passes"));
}

TEST(LossClues, AStreamOfAnotherSenderIsWhole) {
    const Finding found = loss_of_first(two_streams(0, "10.0.0.2"));
    EXPECT_THAT(found.what, HasSubstr("s1, of another sender by port p0, lost nothing"));
    EXPECT_THAT(found.cures.at(0), HasSubstr("look first at the sender of s0 and its way to the switch"));
}

TEST(LossClues, AllStreamsLoseAlike) {
    const Finding found = loss_of_first(two_streams(60, "10.0.0.2"));
    EXPECT_THAT(found.what, HasSubstr("another stream of port p0 loses alike"));
    EXPECT_THAT(found.cures.at(0), HasSubstr("ip -s link show eth0")) << "this machine is shared, too";
    EXPECT_THAT(found.cures.at(1), HasSubstr("look at what they share: the link to port p0"));
}

TEST(LossClues, OthersMayTellNothing) {
    Snapshot s = two_streams(0, "10.0.0.1");
    s.streams[1].heaps_ended = {70, 0, 0, 0};
    EXPECT_THAT(loss_of_first(s).what, Not(HasSubstr("s1"))) << "it has too few heaps";
    s = two_streams(0, "10.0.0.1");
    s.streams[1].port = "p1";
    EXPECT_THAT(loss_of_first(s).what, Not(HasSubstr("s1"))) << "it comes by another port";
    s = two_streams(10, "10.0.0.1");
    EXPECT_TRUE(clue_of_others(s, s.streams[0]).what.empty()) << "it loses ten times less";
}

TEST(LossClues, ChunksTellOfEachOther) {
    Snapshot s = known();
    with_chunks(s);
    s.streams.push_back(s.streams[0]);
    s.streams[1].name = "s1";
    s.streams[0].chunks.heaps_present = 900;
    s.streams[0].chunks.heaps_missing = 100;
    EXPECT_THAT(loss_of_first(s).what, HasSubstr("s1, of another sender by port p0, lost nothing"));
}

}  // namespace
}  // namespace spead::stats::test
