// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/stats/format_cause_rows.hpp"
#include "tests/unit/stats/near_loss_cause_rows.hpp"
#include "tests/unit/stats/nothing_came_cause_rows.hpp"
#include "tests/unit/stats/port_cause_rows.hpp"
#include "tests/unit/stats/stream_cause_rows.hpp"

/// Tests each cause: the counts that lead to it, the count it names, and the words of its sentence.
namespace spead::stats::test {
namespace {

class Causes : public testing::TestWithParam<CauseRow> {};

TEST_P(Causes, IsTheOnlyFindingAndNamesWhatIsLostAndTheFix) {
    Snapshot s = clean();
    GetParam().change(s);
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(name_of(found[0].cause), name_of(GetParam().cause));
    EXPECT_EQ(name_of(found[0].stage), name_of(GetParam().stage));
    EXPECT_EQ(found[0].count, 77U);
    EXPECT_FALSE(found[0].cures.empty());
    const std::string sentence = found[0].sentence();
    EXPECT_EQ(sentence.find(GetParam().begins), 0U) << sentence;
    for (const char* part : GetParam().holds)
        EXPECT_NE(sentence.find(part), std::string::npos) << part << " is not in: " << sentence;
}

std::string name_of_row(const testing::TestParamInfo<CauseRow>& row) {
    return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(OfPorts, Causes, testing::ValuesIn(kPortCauseRows), name_of_row);
INSTANTIATE_TEST_SUITE_P(OfFormats, Causes, testing::ValuesIn(kFormatCauseRows), name_of_row);
INSTANTIATE_TEST_SUITE_P(OfNothing, Causes, testing::ValuesIn(kNothingCameCauseRows), name_of_row);
INSTANTIATE_TEST_SUITE_P(OfNearLosses, Causes, testing::ValuesIn(kNearLossCauseRows), name_of_row);
INSTANTIATE_TEST_SUITE_P(OfStreams, Causes, testing::ValuesIn(kStreamCauseRows), name_of_row);

TEST(DiagnosisCauses, EveryCauseHasARowAndAName) {
    std::vector<bool> seen(static_cast<std::size_t>(Cause::impaired) + 1);
    for (const CauseRow& row : kPortCauseRows)
        seen[static_cast<std::size_t>(row.cause)] = true;
    for (const CauseRow& row : kStreamCauseRows)
        seen[static_cast<std::size_t>(row.cause)] = true;
    for (const CauseRow& row : kNothingCameCauseRows)
        seen[static_cast<std::size_t>(row.cause)] = true;
    for (const CauseRow& row : kFormatCauseRows)
        seen[static_cast<std::size_t>(row.cause)] = true;
    for (const CauseRow& row : kNearLossCauseRows) {
        seen[static_cast<std::size_t>(row.cause)] = true;
        EXPECT_EQ(kind_of(row.cause), Kind::warning) << row.name;
    }
    for (std::size_t i = 0; i < seen.size(); i++)
        EXPECT_TRUE(seen[i]) << name_of(static_cast<Cause>(i));
}

}  // namespace
}  // namespace spead::stats::test
