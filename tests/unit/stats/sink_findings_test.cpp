// SPDX-License-Identifier: BSD-3-Clause
#include "stats/sink_findings.hpp"

#include <gtest/gtest.h>

#include "stats/diagnosis.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

namespace spead::stats::test {
namespace {

using Lack = SinkLoss::Lack;

TEST(SinkFindings, CountChunksAsWell) {
    Snapshot s = clean();
    StreamSnapshot& stream = s.streams[0];
    const Advice advice(s);
    const auto found = [&] { return unwritten_findings(stream, 77, "chunks", advice); };
    EXPECT_TRUE(unwritten_findings(stream, 0, "chunks", advice).empty());
    stream.sink_losses = {{Lack::room, 77, "its readers have left no room"}};
    ASSERT_EQ(found().size(), 1U);
    EXPECT_EQ(found()[0].cause, Cause::sink_full);
    EXPECT_EQ(found()[0].sentence().find("s0: 77 chunks were not written"), 0U) << found()[0].sentence();
    stream.sink_losses = {{Lack::place, 77, "its file exists already"}};
    EXPECT_EQ(found()[0].cause, Cause::sink_no_place);
    EXPECT_NE(found()[0].sentence().find("another directory"), std::string::npos);
    stream.sink_losses = {{Lack::engine, 77, "late"}};
    s.engines.push_back({"cuda", {"s0"}});
    EXPECT_EQ(found()[0].cause, Cause::engine_stalled);
    EXPECT_EQ(found()[0].stage, Stage::memory);
    EXPECT_NE(found()[0].sentence().find("77 chunks were not fetched for the sink: late"), std::string::npos);
    EXPECT_NE(found()[0].sentence().find("nvidia-smi"), std::string::npos);
    stream.sink_losses.clear();
    EXPECT_EQ(found()[0].cause, Cause::sink_failed);
}

TEST(SinkFindings, NameEachReasonWithItsCount) {
    Snapshot s = clean();
    StreamSnapshot& stream = s.streams[0];
    stream.heaps_unwritten = 77;
    stream.sink_losses = {{Lack::room, 70, "its readers have left no room"}, {Lack::engine, 7, "late"}};
    std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].cause, Cause::sink_full);
    EXPECT_EQ(found[0].count, 70U);
    EXPECT_EQ(found[1].cause, Cause::engine_stalled);
    EXPECT_EQ(found[1].count, 7U);
    // A sink notes a loss before it counts.
    stream.heaps_unwritten = 76;
    found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[1].count, 6U);
    // Those of a former sink have no reason of their own.
    stream.heaps_unwritten = 80;
    found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].count, 73U);
}

TEST(SinkFindings, AFailureAfterALossIsAFailure) {
    Snapshot s = clean();
    s.streams[0].heaps_unwritten = 77;
    s.streams[0].sink_losses = {{Lack::room, 70, "its readers have left no room"}};
    s.streams[0].sink_failure = "its semaphores were removed";
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].cause, Cause::sink_full);
    EXPECT_EQ(found[1].cause, Cause::sink_failed);
    EXPECT_EQ(found[1].count, 7U);
    EXPECT_NE(found[1].sentence().find("make room"), std::string::npos);
}

}  // namespace
}  // namespace spead::stats::test
