// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "igmp_wire.hpp"
#include "port/igmp_host.hpp"

namespace spead::port {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Version = IgmpHost::Version;

TEST(IgmpHostVersions, AVersion2QuerierIsAnsweredInItsWords) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want(from(2, 7));
    w.run(kLong);
    w.said();
    const auto asked = w.now();
    w.times.clear();
    w.ask({.version = 2});
    EXPECT_EQ(w.host.version(), Version::v2);
    w.run(kLong);
    EXPECT_THAT(w.said(), UnorderedElementsAre("v2 239.1.0.1", "v2 239.1.0.2"));
    for (const auto time : w.times) {
        EXPECT_GT(time, asked);
        EXPECT_LE(time, asked + seconds(10));
    }
    w.host.want(from_any(3));
    w.host.want(from(2, 8));
    w.run(milliseconds(0));
    EXPECT_THAT(w.said(), ElementsAre("v2 239.1.0.3")) << "sources are of no interest in version 2";
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("v2 239.1.0.3"));
    w.host.leave(from_any(3));
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("leave 239.1.0.3"));
    w.ask({.version = 2, .group = group(1), .max_response = 10});
    w.ask({.version = 2, .group = group(4), .max_response = 10});
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("v2 239.1.0.1"));
}

TEST(IgmpHostVersions, Version3ComesBackWhenTheOldQuerierHasGone) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.ask({.version = 2});
    // Two query intervals of 125 s and one response interval (RFC 3376 8.12).
    w.run(seconds(259));
    EXPECT_EQ(w.host.version(), Version::v2);
    w.said();
    w.ask({});
    w.run(milliseconds(900));
    EXPECT_EQ(w.host.version(), Version::v2) << "a version 3 query ends nothing";
    w.run(milliseconds(200));
    w.host.want(from_any(2));
    w.run(kLong);
    EXPECT_EQ(w.host.version(), Version::v3);
    const auto said = w.said();
    EXPECT_EQ(std::ranges::count(said, "to_ex 239.1.0.2 {}"), 2);
}

TEST(IgmpHostVersions, OnlyAGeneralQueryTellsOfAVersion2Querier) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.said();
    w.ask({.version = 2, .group = group(1), .max_response = 10});
    EXPECT_EQ(w.host.version(), Version::v3);
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("is_ex 239.1.0.1 {}"));
}

TEST(IgmpHostVersions, Version1KnowsNoLeave) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.said();
    w.ask({.version = 1});
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("v1 239.1.0.1"));
    w.ask({.version = 2});
    EXPECT_EQ(w.host.version(), Version::v1) << "the oldest querier counts";
    w.host.leave_all();
    w.run(kLong);
    EXPECT_THAT(w.said(), IsEmpty());
    EXPECT_TRUE(w.host.idle());
    EXPECT_EQ(w.host.joined(), 0U);
}

TEST(IgmpHostVersions, WhatWasNotReportedYetIsReportedInTheNewWords) {
    Wire w;
    w.host.want(from_any(1));
    w.run(kLong);
    w.host.want(from_any(2));
    w.host.leave(from_any(1));
    w.run(milliseconds(0));
    w.said();
    w.ask({.version = 2, .max_response = 1});
    w.run(kLong);
    const auto said = w.said();
    EXPECT_EQ(std::ranges::count(said, "leave 239.1.0.1"), 1);
    EXPECT_EQ(std::ranges::count(said, "v2 239.1.0.2"), 3) << "twice by itself, once asked";
    EXPECT_EQ(said.size(), 4U);
}

TEST(IgmpHostVersions, AnotherMembersReportIsEnoughInVersion2) {
    Wire w;
    w.host.want(from_any(1));
    w.host.want(from_any(2));
    w.run(kLong);
    w.said();
    Frame report(wire::kIgmpLeastRoom);
    report.resize(wire::build_igmp(report, kQuerier, wire::IgmpType::v2_report, group(1)));
    w.ask({});
    w.host.receive(report, w.now());
    w.run(kLong);
    EXPECT_THAT(w.said(), SizeIs(2)) << "but not in version 3";
    w.ask({.version = 2});
    w.host.receive(report, w.now());
    w.run(kLong);
    EXPECT_THAT(w.said(), ElementsAre("v2 239.1.0.2"));
}

/// Tests any sequence of joins, leaves and queries. When all is quiet, routers know which groups are wanted.
/// This also holds when the first report of the last change is lost.
TEST(IgmpHostVersions, RoutersKnowWhatIsWanted) {
    for (unsigned seed = 1; seed <= 300; seed++) {
        Wire w(seed);
        std::mt19937 random(seed);
        const bool old = seed % 3 == 0;
        std::map<Endpoint, unsigned> wanted;
        for (int op = 0; op < 60; op++) {
            if (old && op % 20 == 0)
                w.ask({.version = 2});
            const auto g = static_cast<std::uint32_t>(random() % 3);
            const auto s = static_cast<std::uint32_t>(random() % 4);
            const Endpoint e = s == 0 ? from_any(g) : from(g, s);
            switch (random() % 4) {
                case 0:
                case 1:
                    w.host.want(e);
                    wanted[e]++;
                    break;
                case 2:
                    w.host.leave(e);
                    if (wanted.contains(e) && --wanted[e] == 0)
                        wanted.erase(e);
                    break;
                default:
                    if (random() % 2 == 0)
                        w.ask({.version = static_cast<std::uint8_t>(old ? 2 : 3),
                               .group = group(g),
                               .max_response = static_cast<std::uint8_t>(random())});
                    else
                        w.ask({.version = static_cast<std::uint8_t>(old ? 2 : 3), .max_response = 20});
            }
            w.run(milliseconds(random() % 3 == 0 ? random() % 2500 : random() % 3));
        }
        w.run(kLong);
        const auto check = [&] {
            std::map<Ipv4, Known> expected;
            for (const auto& [e, times] : wanted)
                if (e.source.v4().value == 0)
                    expected[e.address.v4()].any = true;
                else
                    expected[e.address.v4()].sources.insert(e.source.v4());
            for (std::uint32_t g = 0; g < 3; g++) {
                Known k = expected.contains(group(g)) ? expected[group(g)] : Known{};
                if (k.any)
                    k.sources.clear();
                if (old)
                    EXPECT_EQ(w.known_old.contains(group(g)), k != Known{}) << seed;
                else
                    EXPECT_EQ(w.known[group(g)], k) << seed;
            }
            EXPECT_TRUE(w.host.idle()) << seed;
        };
        check();
        if (old)
            continue;
        const Endpoint e = seed % 2 == 0 ? from_any(0) : from(0, 1 + seed % 3);
        w.lose = 1;
        w.host.want(e);
        wanted[e]++;
        w.run(kLong);
        check();
        w.host.leave_all();
        wanted.clear();
        w.run(kLong);
        check();
    }
}

}  // namespace
}  // namespace spead::port
