// SPDX-License-Identifier: BSD-3-Clause
#include "port/igmp_host.hpp"

#include <array>
#include <gmock/gmock.h>

#include "igmp_wire.hpp"

namespace spead::port {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(IgmpHost, AJoinIsReportedAtOnceAndOnceAgain) {
    Wire w;
    w.host.want(from_any(1));
    w.run(milliseconds(0));
    EXPECT_THAT(w.said(), ElementsAre("to_ex 239.1.0.1 {}"));
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("to_ex 239.1.0.1 {}"));
    ASSERT_THAT(w.times, SizeIs(2));
    EXPECT_GT(w.times[1], w.times[0]);
    EXPECT_LE(w.times[1], w.times[0] + IgmpHost::kReportInterval);
    EXPECT_TRUE(w.host.idle());
    EXPECT_EQ(w.host.next(), IgmpHost::Time::max());
    EXPECT_EQ(w.host.joined(), 1U);
}

TEST(IgmpHost, ALeaveIsReportedAtOnceAndOnceAgain) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.said();
    w.host.leave(from_any(1));
    EXPECT_FALSE(w.host.idle());
    w.run(milliseconds(0));
    EXPECT_THAT(w.said(), ElementsAre("to_in 239.1.0.1 {}"));
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("to_in 239.1.0.1 {}"));
    EXPECT_TRUE(w.host.idle());
    EXPECT_EQ(w.host.joined(), 0U);
    w.ask({});
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
}

TEST(IgmpHost, AGroupWantedTwiceIsLeftTwice) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want({group(1), 7149, {}});
    w.run(kLong);
    EXPECT_THAT(w.said(), SizeIs(2));
    w.host.leave(from_any(1));
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
    w.host.leave(from_any(1));
    w.host.leave(from_any(1));
    w.host.leave(from_any(9));
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("to_in 239.1.0.1 {}", "to_in 239.1.0.1 {}"));
}

TEST(IgmpHost, WhatWasNotReportedYetNeedsNoLeave) {
    Wire w;
    w.host.want(from_any(1));
    EXPECT_EQ(w.host.pending(), 1U);
    w.host.leave(from_any(1));
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
}

TEST(IgmpHost, UnicastAndAllSystemsAreNeverReported) {
    Wire w;
    w.host.want({{0x0A000001}, 7148, {}});
    w.host.want({wire::kAllSystems, 7148, {}});
    EXPECT_TRUE(w.host.idle());
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
}

TEST(IgmpHost, SourcesAreAllowedAndBlocked) {
    Wire w;
    w.host.want(from(1, 7));
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("allow 239.1.0.1 {10.0.0.7}", "allow 239.1.0.1 {10.0.0.7}"));
    w.host.want(from(1, 8));
    w.host.want(from(1, 9));
    w.run(kLong);
    EXPECT_THAT(w.said(),
                ElementsAre("allow 239.1.0.1 {10.0.0.8,10.0.0.9}", "allow 239.1.0.1 {10.0.0.8,10.0.0.9}"));
    w.host.leave(from(1, 7));
    w.host.want(from(1, 6));
    w.run(milliseconds(0));
    EXPECT_THAT(w.said(), ElementsAre("allow 239.1.0.1 {10.0.0.6}", "block 239.1.0.1 {10.0.0.7}"));
    w.run(kLong);
    w.said();
    w.host.leave(from(1, 6));
    w.host.leave(from(1, 8));
    w.host.leave(from(1, 9));
    w.run(milliseconds(0));
    EXPECT_THAT(w.said(), ElementsAre("block 239.1.0.1 {10.0.0.6,10.0.0.8,10.0.0.9}"));
    w.run(kLong);
    EXPECT_TRUE(w.host.idle());
    EXPECT_EQ(w.known[group(1)], Known{});
}

TEST(IgmpHost, AnybodyIncludesTheSources) {
    Wire w;
    w.host.want(from(1, 7));
    w.run(kLong);
    w.said();
    w.host.want(from_any(1));
    w.host.want(from(1, 8));
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("to_ex 239.1.0.1 {}", "to_ex 239.1.0.1 {}"));
    w.host.leave(from_any(1));
    w.run(kLong);
    EXPECT_THAT(w.said(),
                ElementsAre("to_in 239.1.0.1 {10.0.0.7,10.0.0.8}", "to_in 239.1.0.1 {10.0.0.7,10.0.0.8}"));
}

TEST(IgmpHost, AChangeDuringTheRepetitionsStartsThemAnew) {
    Wire w;
    w.ask({.robustness = 4});
    w.host.want(from(1, 7));
    w.run(milliseconds(0));
    w.host.want(from(1, 8));
    w.run(kLong);
    EXPECT_THAT(w.said(),
                ElementsAre("allow 239.1.0.1 {10.0.0.7}", "allow 239.1.0.1 {10.0.0.7,10.0.0.8}",
                            "allow 239.1.0.1 {10.0.0.7,10.0.0.8}", "allow 239.1.0.1 {10.0.0.7,10.0.0.8}",
                            "allow 239.1.0.1 {10.0.0.8}", "is_in 239.1.0.1 {10.0.0.7,10.0.0.8}"))
        << "and the query is answered, too";
}

TEST(IgmpHost, JoinsArePaced) {
    Wire w;
    for (std::uint32_t i = 0; i < 100; i++)
        w.host.want(from_any(i));
    w.run(milliseconds(0));
    EXPECT_THAT(w.said(), SizeIs(IgmpHost::kJoinBurst));
    EXPECT_EQ(w.times.size(), 1U) << "one report holds them all";
    EXPECT_EQ(w.host.pending(), 100U - IgmpHost::kJoinBurst);
    w.run(milliseconds(100 - IgmpHost::kJoinBurst));
    EXPECT_EQ(w.host.pending(), 0U);
    w.run(kLong);
    EXPECT_EQ(w.known.size(), 100U);
}

TEST(IgmpHost, AGeneralQueryIsAnsweredOnceWithinItsTime) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want(from(2, 7));
    w.run(kLong);
    w.said();
    w.times.clear();
    const auto asked = w.now();
    w.ask({});
    w.ask({});
    w.run(kLong);
    EXPECT_THAT(w.said(), UnorderedElementsAre("is_ex 239.1.0.1 {}", "is_in 239.1.0.2 {10.0.0.7}"));
    ASSERT_THAT(w.times, SizeIs(1));
    EXPECT_GT(w.times[0], asked);
    EXPECT_LE(w.times[0], asked + seconds(10));
    EXPECT_EQ(w.host.queries(), 2U);
}

TEST(IgmpHost, DelaysDifferFromHostToHost) {
    std::set<std::int64_t> delays;
    for (unsigned seed = 0; seed < 20; seed++) {
        Wire w(seed);
        w.host.want(from_any(1));
        w.run(kLong);
        w.times.clear();
        const auto asked = w.now();
        w.ask({});
        w.run(kLong);
        ASSERT_THAT(w.times, SizeIs(1));
        delays.insert((w.times[0] - asked) / milliseconds(1));
    }
    EXPECT_GT(delays.size(), 15U);
    EXPECT_LT(*delays.begin(), 3000);
    EXPECT_GT(*delays.rbegin(), 7000);
}

TEST(IgmpHost, AQueryForAGroupIsForItsMembersOnly) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want(from_any(2));
    w.run(kLong);
    w.said();
    w.ask({.group = group(2), .max_response = 10});
    w.ask({.group = group(3), .max_response = 10});
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("is_ex 239.1.0.2 {}"));
}

TEST(IgmpHost, AQueryForSourcesIsAnsweredForThoseWanted) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want(from(2, 7));
    w.host.want(from(2, 8));
    w.run(kLong);
    w.said();
    const std::array<Ipv4, 2> asked{source(8), source(9)};
    const std::array<Ipv4, 1> unwanted{source(9)};
    w.ask({.group = group(1), .sources = asked});
    w.ask({.group = group(2), .sources = asked});
    w.run(kLong);
    EXPECT_THAT(w.said(),
                UnorderedElementsAre("is_in 239.1.0.1 {10.0.0.8,10.0.0.9}", "is_in 239.1.0.2 {10.0.0.8}"));
    w.ask({.group = group(2), .sources = unwanted});
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
}

TEST(IgmpHost, PendingAnswersAreMerged) {
    const std::array<Ipv4, 1> first{source(7)};
    const std::array<Ipv4, 1> second{source(8)};
    for (unsigned seed = 0; seed < 10; seed++) {
        Wire w(seed);
        w.host.want(from_any(1));
        w.run(kLong);
        w.said();
        w.ask({.group = group(1), .sources = first});
        w.ask({.group = group(1), .sources = second});
        w.run(kLong);
        EXPECT_THAT(w.said(), ElementsAre("is_in 239.1.0.1 {10.0.0.7,10.0.0.8}"));
        // Once the whole group is asked for, the sources are of no interest, before or after.
        w.ask({.group = group(1), .sources = first});
        w.ask({.group = group(1)});
        w.ask({.group = group(1), .sources = second});
        w.run(kLong);
        EXPECT_THAT(w.said(), ElementsAre("is_ex 239.1.0.1 {}"));
    }
}

TEST(IgmpHost, AGeneralAnswerThatComesSoonerAnswersAll) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.said();
    w.ask({.max_response = 1});
    w.ask({.group = group(1), .max_response = 0xFF});
    w.run(milliseconds(10'000'000));
    EXPECT_THAT(w.said(), ElementsAre("is_ex 239.1.0.1 {}"));
}

TEST(IgmpHost, SourcesThatAreAskedForAreBounded) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.said();
    std::vector<Ipv4> sources;
    for (std::uint32_t i = 0; i < 300; i++)
        sources.push_back(source(i));
    for (int i = 0; i < 5; i++) {
        w.ask({.group = group(1), .sources = sources});
        for (Ipv4& s : sources)
            s.value += 300;
    }
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("is_ex 239.1.0.1 {}"));
}

TEST(IgmpHost, ManySourcesAreSplitOverReports) {
    Wire w;
    for (std::uint32_t i = 0; i < 1000; i++)
        w.host.want(from(1, i));
    w.run(kLong);
    EXPECT_EQ(w.known[group(1)].sources.size(), 1000U);
    w.said();
    w.times.clear();
    w.ask({});
    w.run(kLong);
    const auto records = w.said();
    EXPECT_THAT(records, SizeIs((1000 + 133) / 134)) << "of at most 576 bytes each";
    EXPECT_EQ(w.times.size(), records.size());
}

TEST(IgmpHost, FramesOfAStepAreBounded) {
    Wire w;
    for (std::uint32_t i = 0; i < 4096; i++)
        w.host.want(from_any(i));
    w.run(kLong);
    EXPECT_EQ(w.known.size(), 4096U);
    w.known.clear();
    w.said();
    w.ask({.max_response = 0});
    std::size_t answered = 0;
    for (int i = 0; i < 10; i++) {
        const auto frames = w.host.step(w.now());
        EXPECT_LE(frames.size(), IgmpHost::kFramesPerStep);
        for (const Frame& frame : frames) {
            EXPECT_LE(frame.size(), 14 + IgmpHost::kLongestPacket);
            wire::IgmpView view;
            ASSERT_EQ(wire::parse_igmp(frame, kQuerier, view), wire::IgmpRefusal::none);
            answered += view.records;
        }
    }
    EXPECT_EQ(answered, 4096U);
}

TEST(IgmpHost, TheEndIsToldQuickly) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want(from(2, 7));
    w.run(kLong);
    w.host.want(from_any(3));
    w.ask({.max_response = 1});
    w.host.leave_all();
    w.said();
    w.times.clear();
    w.run(IgmpHost::kLastReportInterval);
    EXPECT_THAT(w.said(), UnorderedElementsAre("to_in 239.1.0.1 {}", "block 239.1.0.2 {10.0.0.7}",
                                               "to_in 239.1.0.1 {}", "block 239.1.0.2 {10.0.0.7}"));
    EXPECT_TRUE(w.host.idle());
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
    EXPECT_EQ(w.known[group(1)], Known{});
    EXPECT_EQ(w.known[group(2)], Known{});
}

TEST(IgmpHost, AnEndDuringRepetitionsIsQuickToo) {
    Wire w;
    w.host.want(from_any(1));
    w.run(milliseconds(0));
    w.host.leave(from_any(1));
    w.run(milliseconds(0));
    w.host.leave_all();
    w.run(IgmpHost::kLastReportInterval);
    EXPECT_TRUE(w.host.idle());
}

TEST(IgmpHost, NothingIsAnsweredThatMayComeFromElsewhere) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.said();
    const auto refused = [&w](const std::vector<std::uint8_t>& frame) {
        const std::uint64_t before = w.host.refused();
        w.host.receive(frame, w.now());
        w.run(kLong);
        EXPECT_THAT(w.said(), IsEmpty());
        return w.host.refused() == before + 1;
    };
    const auto sum = [](std::vector<std::uint8_t>& frame) {
        store_be16(&frame[24], 0);
        store_be16(&frame[24], wire::ipv4_checksum(&frame[14], 24));
    };
    auto frame = w.query({});
    frame[22] = 2;
    sum(frame);
    EXPECT_TRUE(refused(frame)) << "TTL";
    frame = w.query({});
    frame[34] = frame[35] = frame[36] = frame[37] = 1;
    sum(frame);
    EXPECT_TRUE(refused(frame)) << "router alert";
    frame = w.query({});
    frame[40] ^= 1;
    EXPECT_TRUE(refused(frame)) << "checksum";
    frame = w.query({});
    frame[33] = 9;
    sum(frame);
    EXPECT_TRUE(refused(frame)) << "to 224.0.0.9";
    EXPECT_FALSE(refused(w.query({}, kOwn))) << "our own, looped back";
    EXPECT_FALSE(refused(std::vector<std::uint8_t>(60)));
    EXPECT_EQ(w.host.queries(), 0U);
    // To our address is to us.
    frame = w.query({});
    store_be32(&frame[30], kOwn.ip.value);
    sum(frame);
    w.host.receive(frame, w.now());
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("is_ex 239.1.0.1 {}"));
}

}  // namespace
}  // namespace spead::port
