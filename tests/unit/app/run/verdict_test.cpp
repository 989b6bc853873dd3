// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/verdict.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Reason = runtime::EndReason;

stats::Snapshot came_back(std::uint64_t sent, std::uint64_t complete, std::uint64_t verified,
                          std::uint64_t wrong = 0) {
    stats::Snapshot s;
    s.duration_s = 2;
    s.sends.resize(1);
    s.sends[0].counters.heaps = sent;
    s.streams.resize(1);
    s.streams[0].name = "s0";
    s.streams[0].heaps_ended[static_cast<std::size_t>(HeapEnd::complete)] = complete;
    s.streams[0].heaps_verified = verified;
    s.streams[0].heaps_wrong = wrong;
    return s;
}

TEST(JudgeLoopback, IsGoodWhenEverythingSentCameBackRight) {
    const LoopbackVerdict v = judge_loopback(came_back(5, 5, 5), Reason::sent);
    EXPECT_TRUE(v.good);
    EXPECT_THAT(v.sentence, HasSubstr("5 heaps sent, 5 complete, 5 verified, 0 wrong"));
}

TEST(JudgeLoopback, IsBadWhenAnythingIsMissingOrWrong) {
    EXPECT_FALSE(judge_loopback(came_back(5, 4, 4), Reason::sent).good);
    EXPECT_FALSE(judge_loopback(came_back(5, 5, 4), Reason::sent).good);
    EXPECT_FALSE(judge_loopback(came_back(5, 5, 4, 1), Reason::interrupted).good);
}

TEST(JudgeLoopback, LetsHeapsOfDescriptorsAloneBeReceivedUnverified) {
    stats::Snapshot s = came_back(5, 6, 5);
    EXPECT_FALSE(judge_loopback(s, Reason::sent).good) << "one too many";
    s.sends[0].counters.control_heaps = 2;
    EXPECT_TRUE(judge_loopback(s, Reason::sent).good) << "and a stop heap, which is no data";
    s.streams[0].heaps_ended[static_cast<std::size_t>(HeapEnd::complete)] = 8;
    EXPECT_FALSE(judge_loopback(s, Reason::sent).good);
}

TEST(JudgeLoopback, IsBadWhenNothingWasSent) {
    for (const Reason reason : {Reason::duration, Reason::sent, Reason::failure}) {
        const LoopbackVerdict v = judge_loopback(came_back(0, 0, 0), reason);
        EXPECT_FALSE(v.good);
        EXPECT_THAT(v.sentence, EndsWith("nothing was verified, because no heap was sent in that time"));
    }
}

TEST(JudgeLoopback, LeavesAUserInPeaceWhoInterruptsBeforeTheFirstHeap) {
    stats::Snapshot s = came_back(0, 0, 0);
    s.duration_s = 0;
    const LoopbackVerdict v = judge_loopback(s, Reason::interrupted);
    EXPECT_TRUE(v.good);
    EXPECT_THAT(v.sentence, Not(HasSubstr("nan")));
}

runtime::Plan verifying(runtime::SinkKind kind = runtime::SinkKind::verify) {
    runtime::Plan plan;
    plan.receives.resize(1);
    plan.receives[0].name = "s0";
    plan.receives[0].sink.kind = kind;
    return plan;
}

TEST(VerificationProblems, AreHeapsThatDiffer) {
    EXPECT_THAT(verification_problems(verifying(), came_back(0, 5, 3, 2)),
                ElementsAre("stream s0: 2 heaps differ from the verification sequence"));
}

TEST(VerificationProblems, ArePacketsOfWhichNothingCouldBeVerified) {
    stats::Snapshot s = came_back(0, 0, 0);
    s.streams[0].received = 7;
    EXPECT_THAT(verification_problems(verifying(), s),
                ElementsAre("stream s0: 7 packets came and not one heap was verified"));
    EXPECT_THAT(verification_problems(verifying(runtime::SinkKind::null), s), IsEmpty());
    s.streams[0].heaps_verified = 1;
    EXPECT_THAT(verification_problems(verifying(), s), IsEmpty());
}

TEST(VerificationProblems, AreNoneWhereNoDataCame) {
    stats::Snapshot s = came_back(0, 0, 0);
    EXPECT_THAT(verification_problems(verifying(), s), IsEmpty());
    s.streams[0].received = 2;
    s.streams[0].packets[static_cast<std::size_t>(PacketOutcome::control)] = 2;
    EXPECT_THAT(verification_problems(verifying(), s), IsEmpty()) << "stop items alone";
}

TEST(VerificationProblems, AreOfTheStreamThatHasTheName) {
    // The plan is the one that the run began with. One of its two streams was deleted, so the other stands in
    // the first one's place.
    runtime::Plan plan = verifying();
    plan.receives.insert(plan.receives.begin(), runtime::ReceivePlan{});
    plan.receives[0].name = "deleted";
    stats::Snapshot s = came_back(0, 0, 0);
    s.streams[0].received = 7;
    EXPECT_THAT(verification_problems(plan, s),
                ElementsAre("stream s0: 7 packets came and not one heap was verified"));
}

}  // namespace
}  // namespace spead::app
