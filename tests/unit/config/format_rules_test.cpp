// SPDX-License-Identifier: BSD-3-Clause
#include "config/format_rules.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::config::format_rules_test {
namespace {

using runtime::ReceivePlan;
using testing::HasSubstr;

ReceivePlan vdif() {
    ReceivePlan r;
    r.name = "s0";
    r.format = "vdif";
    return r;
}

ReceivePlan placed(const std::string& placement) {
    ReceivePlan r = vdif();
    r.chunk.emplace();
    r.chunk->placement = placement;
    return r;
}

void expect_fault(const ReceivePlan& r, std::string_view key, const std::string& says) {
    const auto fault = format_fault(r);
    ASSERT_TRUE(fault) << says;
    EXPECT_EQ(fault->key, key);
    EXPECT_THAT(fault->what, HasSubstr(says));
}

TEST(FormatRules, AskNothingOfSpead) {
    ReceivePlan r;
    r.sink.kind = runtime::SinkKind::verify;
    EXPECT_FALSE(format_fault(r));
}

TEST(FormatRules, TakePlacementsOfTheFormatsItems) {
    EXPECT_FALSE(format_fault(vdif()));
    EXPECT_FALSE(format_fault(
        placed("heap 8000; axis thread: item 0x4101 [4]; time: item 0x1600 [8]; extra u16: item 0x4100")));
    EXPECT_FALSE(format_fault(placed("heap 8000; axis e: endpoint [4]; time: heap [8]")));
}

TEST(FormatRules, RefuseItemsThatThePacketsDoNotHave) {
    expect_fault(placed("heap 8; time: item 0x1700 [8]"), "chunk.placement", "0x1700");
    expect_fault(placed("heap 8; time: item 0x1700 [8]"), "chunk.placement", "0x1600, 0x1601, 0x4101");
    expect_fault(placed("heap 8; time: item 0x1600 [8]; extra u8: item 0x3102"), "chunk.placement", "0x3102");
    ReceivePlan none = placed("heap 8; time: item 0x1600 [8]");
    none.format = "header 8; field n: u32 at 0; count n";
    expect_fault(none, "chunk.placement", "have none");
}

TEST(FormatRules, RefuseFiltersOfOtherItems) {
    ReceivePlan r = vdif();
    r.filter = "item 0x4101 == 2 and source == 10.0.0.7";
    EXPECT_FALSE(format_fault(r));
    r.filter = "item 0x4101 == 2 or item 0x4109 == 2";
    expect_fault(r, "filter", "the filter reads item 0x4109");
}

TEST(FormatRules, RefuseTheSinkThatKnowsSpeadsSenders) {
    ReceivePlan r = vdif();
    r.sink.kind = runtime::SinkKind::verify;
    expect_fault(r, "sink.kind", "verify");
}

}  // namespace
}  // namespace spead::config::format_rules_test
