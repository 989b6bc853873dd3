// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pattern_heaps.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "send/heap_layout.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {
namespace {

SendPlan pattern_plan(HeapPattern pattern, const std::string& endpoints, std::uint32_t senders = 0) {
    SendPlan plan;
    plan.pattern = pattern;
    plan.senders = senders;
    plan.endpoints = parse_endpoints(endpoints);
    plan.heap_size = shape_of(pattern).heap_bytes;
    plan.max_packet_size = shape_of(pattern).packet_payload + 72;
    plan.max_heaps = 64;
    return plan;
}

TEST(PatternOrder, TimeIsOutermostAndSendersAreInnermost) {
    SendPlan plan = pattern_plan(HeapPattern::p3, "239.1.0.0+3:7148", 5);
    plan.first_time = 1000;
    const PatternOrder order(plan);
    EXPECT_EQ(order.heaps_per_step(), 20U);
    for (std::uint64_t i = 0; i < 200; i++) {
        const PatternHeap heap = order.heap(i);
        EXPECT_EQ(heap, (PatternHeap{1000 + i / 20, static_cast<std::uint32_t>(i / 5 % 4),
                                     static_cast<std::uint32_t>(i % 5)}));
        EXPECT_EQ(order.endpoint(heap), heap.group);
    }
}

TEST(PatternOrder, TheTelescopesOwnSenders) {
    EXPECT_EQ(PatternOrder(pattern_plan(HeapPattern::p1, "239.1.0.0+63:7148")).heaps_per_step(), 8U);
    EXPECT_EQ(PatternOrder(pattern_plan(HeapPattern::p2, "239.1.0.0+3:7148")).heaps_per_step(), 256U);
    EXPECT_EQ(PatternOrder(pattern_plan(HeapPattern::p3b, "239.1.0.0:7148")).heaps_per_step(), 680U);
    EXPECT_EQ(PatternOrder(pattern_plan(HeapPattern::p4, "239.1.0.0+63:7148")).heaps_per_step(), 64U);
}

/// Counts heaps of each sender to each endpoint over many steps.
std::map<std::pair<std::uint32_t, std::uint32_t>, int> shares(const SendPlan& plan, std::uint64_t heaps) {
    const PatternOrder order(plan);
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> counts;
    for (std::uint64_t i = 0; i < heaps; i++) {
        const PatternHeap heap = order.heap(i);
        EXPECT_LT(order.endpoint(heap), plan.endpoints.size());
        counts[{heap.sender, order.endpoint(heap)}]++;
    }
    return counts;
}

TEST(PatternOrder, ADigitiserUsesItsGroupsInTurn) {
    const auto counts = shares(pattern_plan(HeapPattern::p1, "239.1.0.0+63:7148"), 64 * 10);
    EXPECT_EQ(counts.size(), 64U);
    for (const auto& [who, count] : counts) {
        EXPECT_EQ(who.second / 8, who.first) << "eight groups each";
        EXPECT_EQ(count, 10);
    }
}

TEST(PatternOrder, DigitisersShareAGroup) {
    const auto counts = shares(pattern_plan(HeapPattern::p1, "239.1.0.0+1:7148"), 80);
    EXPECT_EQ(counts.size(), 8U);
    for (const auto& [who, count] : counts)
        EXPECT_EQ(who.second, who.first / 4);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> immediates_of(const send::HeapLayout& layout) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    const wire::Flavour flavour(48);
    for (const std::uint64_t raw : layout.pointers) {
        const std::uint64_t pointer = byte_swap(raw);
        if (flavour.is_immediate(pointer))
            found.emplace_back(flavour.id(pointer), flavour.value(pointer));
    }
    return found;
}

TEST(PatternHeaps, CarryTheItemsAndBytesOfTheirHeap) {
    for (const HeapPattern pattern : {HeapPattern::p1, HeapPattern::p2, HeapPattern::p3b, HeapPattern::p4}) {
        SendPlan plan = pattern_plan(pattern, "239.1.0.0+3:7148", pattern == HeapPattern::p4 ? 1 : 2);
        plan.heap_size = 6000;
        plan.repeat_items = pattern == HeapPattern::p2;
        PatternHeaps contents(plan);
        const PatternOrder order(plan);
        ASSERT_EQ(contents.payload_bytes(), 6000U);
        EXPECT_FALSE(contents.described());
        std::vector<std::byte> payload(contents.payload_bytes());
        const auto heap = contents.make(payload.data(), false);
        for (std::uint64_t i = 0; i < 20; i++) {
            const PatternHeap expected = order.heap(i);
            ASSERT_EQ(contents.fill(*heap, payload, i, 77), order.endpoint(expected));
            const send::HeapLayout& layout = heap->layout(packet_size(plan), nullptr);
            EXPECT_EQ(layout.repeat_pointers, plan.repeat_items);
            EXPECT_EQ(layout.payload_length, payload.size());
            const PatternItems pattern_sent = pattern_items(pattern, expected);
            std::vector<std::pair<std::uint64_t, std::uint64_t>> items;
            for (const PatternItem& item : pattern_sent.view())
                items.emplace_back(item.id, item.value);
            EXPECT_EQ(immediates_of(layout), items);
            EXPECT_EQ(layout.pointers.size(), items.size() + 1);
            EXPECT_EQ(pattern_check(payload, pattern, expected), payload.size());
        }
    }
}

TEST(PatternHeaps, GoOnInTimeAtTheNextStart) {
    const SendPlan plan = pattern_plan(HeapPattern::p1, "239.1.0.0:7148");
    PatternHeaps contents(plan);
    std::vector<std::byte> payload(contents.payload_bytes());
    const auto heap = contents.make(payload.data(), false);
    contents.start_again(0);
    contents.fill(*heap, payload, 3, 0);
    EXPECT_EQ(pattern_name(payload)->heap, (PatternHeap{0, 0, 3}));
    contents.start_again(17);
    contents.fill(*heap, payload, 0, 0);
    EXPECT_EQ(pattern_name(payload)->heap, (PatternHeap{2, 0, 1}));
    contents.start_again(1);
    contents.fill(*heap, payload, 0, 0);
    EXPECT_EQ(pattern_name(payload)->heap, (PatternHeap{2, 0, 2}));
}

TEST(PatternHeaps, HalfOfTheHeapsInFlightTravelTogether) {
    SendPlan plan = pattern_plan(HeapPattern::p3, "239.1.0.0+3:7148", 5);
    EXPECT_EQ(PatternHeaps(plan).together(0), 20U) << "one step of time";
    plan.max_heaps = 11;
    EXPECT_EQ(PatternHeaps(plan).together(0), 5U);
    plan.max_heaps = 1;
    EXPECT_EQ(PatternHeaps(plan).together(0), 1U);
}

TEST(PatternHeaps, HeapsOfTwoTimesDoNotTravelTogether) {
    SendPlan plan = pattern_plan(HeapPattern::p3, "239.1.0.0+3:7148", 5);
    plan.max_heaps = 16;
    PatternHeaps contents(plan);
    EXPECT_EQ(contents.together(0), 8U);
    EXPECT_EQ(contents.together(8), 8U);
    EXPECT_EQ(contents.together(16), 4U) << "the rest of a step of 20";
    EXPECT_EQ(contents.together(20), 8U);
    contents.start_again(17);
    EXPECT_EQ(contents.together(0), 3U) << "a later start begins within a step";
    EXPECT_EQ(contents.together(3), 8U);
}

}  // namespace
}  // namespace spead::runtime
