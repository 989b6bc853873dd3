// SPDX-License-Identifier: BSD-3-Clause
#include "stats/sink_findings.hpp"

#include <gtest/gtest.h>

#include "stats/diagnosis.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

namespace spead::stats::test {
namespace {

TEST(SinkFindings, CountChunksAsWell) {
    Snapshot s = clean();
    StreamSnapshot& stream = s.streams[0];
    const Advice advice(s);
    EXPECT_FALSE(unwritten_finding(stream, 0, "chunks", advice));
    stream.sink_loss = "its readers have left no room";
    const auto full = unwritten_finding(stream, 77, "chunks", advice);
    ASSERT_TRUE(full);
    EXPECT_EQ(full->cause, Cause::sink_full);
    EXPECT_EQ(full->sentence().find("s0: 77 chunks were not written"), 0U) << full->sentence();
    stream.sink_lacks_place = true;
    const auto placeless = unwritten_finding(stream, 77, "chunks", advice);
    EXPECT_EQ(placeless->cause, Cause::sink_no_place);
    EXPECT_NE(placeless->sentence().find("another directory"), std::string::npos);
    stream.sink_loss.clear();
    EXPECT_EQ(unwritten_finding(stream, 77, "chunks", advice)->cause, Cause::sink_failed);
}

TEST(SinkFindings, AFailureAfterALossIsAFailure) {
    Snapshot s = clean();
    s.streams[0].heaps_unwritten = 77;
    s.streams[0].sink_loss = "its readers have left no room";
    s.streams[0].sink_failure = "its semaphores were removed";
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, Cause::sink_failed);
    EXPECT_NE(found[0].sentence().find("make room"), std::string::npos);
}

}  // namespace
}  // namespace spead::stats::test
