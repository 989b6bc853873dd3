// SPDX-License-Identifier: BSD-3-Clause
#include "config/pattern_rules.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

using runtime::SendPlan;
using testing::HasSubstr;

SendPlan pattern_of(HeapPattern pattern, const std::string& endpoints = "239.1.0.0:7148") {
    SendPlan plan = spead::test::send_plan("d0", endpoints);
    plan.pattern = pattern;
    plan.address_bits = 48;
    plan.max_packet_size = 5192;
    return plan;
}

void expect_fault(const SendPlan& plan, std::string_view key, const std::string& says) {
    const auto fault = pattern_fault(plan);
    ASSERT_TRUE(fault) << key << ": " << says;
    EXPECT_EQ(fault->key, key);
    EXPECT_THAT(fault->what, HasSubstr(says));
}

TEST(PatternRules, StoredHeapsHaveNoPattern) {
    SendPlan plan = spead::test::send_plan("d0", "239.1.0.0:7148");
    plan.from = "/data/out";
    EXPECT_FALSE(pattern_fault(plan));
    plan.verify = true;
    expect_fault(plan, "from", "`pattern` (--pattern) and `verify` (--verify) make others");
    plan = pattern_of(HeapPattern::p1);
    plan.from = "/data/out";
    expect_fault(plan, "from", "leave one of them out");
}

TEST(PatternRules, ThePatternsAreGoodAsTheyAre) {
    EXPECT_FALSE(pattern_fault(spead::test::send_plan("d0", "239.1.0.0:7148")));
    for (const auto pattern :
         {HeapPattern::p1, HeapPattern::p2, HeapPattern::p3, HeapPattern::p3b, HeapPattern::p4})
        EXPECT_FALSE(pattern_fault(pattern_of(pattern)));
    EXPECT_FALSE(pattern_fault(pattern_of(HeapPattern::p1, "239.1.0.0+63:7148")));
    EXPECT_FALSE(pattern_fault(pattern_of(HeapPattern::p1, "239.1.0.0+3:7148")));
    EXPECT_FALSE(pattern_fault(pattern_of(HeapPattern::p3, "239.1.0.0+255:7148")));
}

TEST(PatternRules, DigitisersShareEndpointsEvenly) {
    expect_fault(pattern_of(HeapPattern::p1, "239.1.0.0+11:7148"), "endpoints", "12 endpoints");
    SendPlan plan = pattern_of(HeapPattern::p1, "239.1.0.0+11:7148");
    plan.senders = 4;
    EXPECT_FALSE(pattern_fault(plan));
    plan.senders = 5;
    expect_fault(plan, "endpoints", "5 senders");
}

TEST(PatternRules, KeysThatAPatternDecidesAreRefused) {
    SendPlan plan = pattern_of(HeapPattern::p3);
    plan.items = 2;
    expect_fault(plan, "items", "p3");
    plan = pattern_of(HeapPattern::p3);
    plan.address_bits = 56;
    expect_fault(plan, "addr_bits", "48");
    plan = pattern_of(HeapPattern::p4);
    plan.senders = 2;
    expect_fault(plan, "senders", "p4");
    expect_fault(pattern_of(HeapPattern::p3, "239.1.0.0+256:7148"), "endpoints", "257");
}

TEST(PatternRules, KeysOfAPatternNeedOne) {
    SendPlan plan = pattern_of(HeapPattern::none);
    plan.senders = 1;
    expect_fault(plan, "senders", "`pattern`");
    plan.senders = 0;
    plan.first_time = 1;
    expect_fault(plan, "first_time", "`pattern`");
}

TEST(PatternRules, RepeatedItemsFitEveryPacket) {
    // A packet has 40 bytes of its own; 8 bytes of payload and of padding's pointer stay free.
    SendPlan plan = pattern_of(HeapPattern::p3);
    plan.repeat_items = true;
    plan.max_packet_size = 40 + 4 * 8 + 8;
    expect_fault(plan, "repeat_items", "80 bytes");
    *plan.max_packet_size += 8;
    EXPECT_FALSE(pattern_fault(plan));
    plan = pattern_of(HeapPattern::none);
    plan.repeat_items = true;
    plan.items = 10;  // and 10 descriptors
    plan.max_packet_size = 40 + 20 * 8 + 8;
    expect_fault(plan, "repeat_items", "20 item pointers");
    *plan.max_packet_size += 8;
    EXPECT_FALSE(pattern_fault(plan));
    plan.items = 5000;  // the descriptors have a heap of their own
    plan.max_packet_size = 40 + 5001 * 8 + 8;
    EXPECT_FALSE(pattern_fault(plan));
}

SendPlan parsed(const std::string& keys) {
    const std::string text =
        "version = 1\n[[port]]\nname = \"p\"\ndevice = \"net_null0\"\n[[send]]\nname = \"d\"\nport = "
        "\"p\"\nendpoints = [\"239.1.0.0:7148\"]\n" +
        keys;
    return parse_text(text, "patterns").sends.at(0);
}

TEST(PatternRules, APatternSetsTheSizesOfItsTelescope) {
    const SendPlan p1 = parsed("pattern = \"p1\"");
    EXPECT_EQ(p1.heap_size, 5120U);
    EXPECT_EQ(p1.max_packet_size, 5192U);
    EXPECT_EQ(p1.address_bits, 48);
    EXPECT_EQ(p1.max_heaps, 64U);
    const SendPlan p4 = parsed("pattern = \"p4\"");
    EXPECT_EQ(p4.heap_size, 53084160U);
    EXPECT_EQ(p4.max_packet_size, 8192U + 64);
    EXPECT_EQ(p4.max_heaps, 4U);
    EXPECT_EQ(parsed("pattern = \"p3b\"").max_heaps, 1360U);
    EXPECT_EQ(parsed("pattern = \"none\"").heap_size, SendPlan{}.heap_size);
}

TEST(PatternRules, ABeamIsRefusedWithTheReason) {
    spead::test::expect_usage_error([] { parsed("pattern = \"p5\""); }, {"pattern", "`p5`", "not SPEAD"});
    spead::test::expect_usage_error([] { parsed("pattern = \"p6\""); }, {"`p6` is not a choice"});
}

TEST(PatternRules, KeysBesideAPatternChangeItsSizesInAnyOrder) {
    const SendPlan plan =
        parsed("heap_size = \"16KiB\"\nmax_heaps = 9\nmax_packet_size = 1096\npattern = \"p3\"");
    EXPECT_EQ(plan.heap_size, 16384U);
    EXPECT_EQ(plan.max_heaps, 9U);
    EXPECT_EQ(plan.max_packet_size, 1096U);
    EXPECT_EQ(parsed("heap_size = \"4MiB\"\npattern = \"p3\"").heap_size, 4U << 20)
        << "the default, but given";
}

}  // namespace
}  // namespace spead::config
