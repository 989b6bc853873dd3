// SPDX-License-Identifier: BSD-3-Clause
#include "stats/finding.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/stats/nothing_came_cause_rows.hpp"
#include "tests/unit/stats/port_cause_rows.hpp"
#include "tests/unit/stats/stream_cause_rows.hpp"

namespace spead::stats {
namespace {

using testing::StartsWith;

TEST(Finding, OneOfThemHasNoPlural) {
    Finding f{
        Cause::contradictions, Stage::packet, "s0", 2, "packets", "contradict others of their heap", "x"};
    EXPECT_EQ(f.sentence(), "s0: 2 packets contradict others of their heap; x");
    f.count = 1;
    EXPECT_EQ(f.sentence(), "s0: 1 packet contradicts others of its heap; x");
    f.what = "were lost before they could be fetched";
    EXPECT_EQ(f.sentence(), "s0: 1 packet was lost before it could be fetched; x");
    f.what = "came in vain: they were too long, and others were not";
    EXPECT_EQ(f.sentence(), "s0: 1 packet came in vain: it was too long, and others were not; x");
    f.what = "were lost before they could be fetched";
    f.until_s = 3;
    EXPECT_THAT(f.sentence(), StartsWith("s0: 1 packet was lost before it could be fetched (until s0 was"));
    f.unit = "times";
    f.what = "port p0 took nothing, and others were idle";
    EXPECT_THAT(f.sentence(), StartsWith("s0: 1 time port p0 took nothing, and others were idle"));
}

/// Tests all causes: `what` begins with a verb whose form for one is known, or that has one form.
TEST(Finding, EveryCauseCanBeToldOfOne) {
    const auto check = [](const test::CauseRow& row) {
        Snapshot s = test::clean();
        row.change(s);
        for (Finding& f : diagnose(s)) {
            f.count = 1;
            EXPECT_THAT(f.unit_text(), testing::Not(testing::EndsWith("s"))) << row.name;
            const std::string first = f.what_text().substr(0, f.what_text().find(' '));
            EXPECT_THAT(first, testing::AnyOf("was", "is", "has", "lacks", "breaks", "contradicts", "came",
                                              "had", "brought", "stayed", "could", "it", "its", "port", "the",
                                              "in", "without"))
                << row.name << ": " << f.sentence();
        }
    };
    for (const test::CauseRow& row : test::kPortCauseRows)
        check(row);
    for (const test::CauseRow& row : test::kStreamCauseRows)
        check(row);
    for (const test::CauseRow& row : test::kNothingCameCauseRows)
        check(row);
}

}  // namespace
}  // namespace spead::stats
