// SPDX-License-Identifier: BSD-3-Clause
#include "port/mld_host.hpp"

#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "base/ipv6_bytes.hpp"

/// Tests the parts of MLD alone, and that the machine, which is the IGMP host's (igmp_host_test.cpp), follows
/// RFC 3810.
namespace spead::port::mld_host_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Version = MldHost::Version;

constexpr milliseconds kLong{60'000};
constexpr MacAddress kMac{2, 0, 0, 0, 0, 1};
constexpr wire::LinkAddress kOwn{kMac, {}, {}, wire::link_local_of(kMac), {0xFD00000000000000, 0x77}};
constexpr wire::LinkAddress kQuerier{{2, 0, 0, 0, 0, 0x99}, {}, {}, {0xFE80000000000000, 0x99}};

Ipv6 group(std::uint64_t n) {
    return {0xFF15000000000000, n};
}
Ipv6 source(std::uint64_t n) {
    return {0xFD00000000000000, n};
}
Endpoint from_any(std::uint64_t n) {
    return {group(n), 7148, {}};
}
Endpoint from(std::uint64_t n, std::uint64_t s) {
    return {group(n), 7148, source(s)};
}

/// Runs an MldHost on a clock of its own, and records what the network receives.
class Link {
  public:
    explicit Link(unsigned seed = 1) : random_(seed) {}

    MldHost::Time now() const { return now_; }
    void run(milliseconds d) {
        const auto end = now_ + d;
        for (;;) {
            for (const Frame& frame : host.step(now_))
                hear(frame);
            const auto next = std::max(host.next(), now_ + milliseconds(1));
            if (next > end)
                break;
            now_ = next;
        }
        now_ = end;
    }
    std::vector<std::string> said() { return std::exchange(said_, {}); }
    void ask(const wire::MldQuery& q, const wire::LinkAddress& who = kQuerier) {
        Frame frame(2000);
        frame.resize(wire::build_mld_query(frame, who, q));
        host.receive(frame, now_);
    }

    /// Sends the query to this address, whatever it asks for (RFC 3810 5.1.15).
    void ask_at(const Ipv6& to, const wire::MldQuery& q) {
        Frame frame(2000);
        frame.resize(wire::build_mld_query(frame, kQuerier, q));
        // The checksum covers the address (RFC 1624).
        constexpr std::size_t kTo = wire::kEthernetHeader + 24;
        constexpr std::size_t kChecksum = wire::kEthernetHeader + wire::kIpv6Header + 8 + 2;
        std::array<std::uint8_t, 16> bytes;
        store_ipv6(bytes.data(), to);
        std::uint32_t sum = static_cast<std::uint16_t>(~load_be16(&frame[kChecksum]));
        for (std::size_t i = 0; i < bytes.size(); i += 2)
            sum += static_cast<std::uint16_t>(~load_be16(&frame[kTo + i])) + load_be16(&bytes[i]);
        while (sum >> 16 != 0)
            sum = (sum & 0xFFFF) + (sum >> 16);
        store_be16(&frame[kChecksum], static_cast<std::uint16_t>(~sum));
        std::copy(bytes.begin(), bytes.end(), frame.begin() + kTo);
        host.receive(frame, now_);
    }

    MldHost host{kOwn, [this] { return static_cast<std::uint32_t>(random_()); }};
    std::vector<MldHost::Time> times;  ///< of all frames

  private:
    void hear(const Frame& frame) {
        times.push_back(now_);
        EXPECT_LE(frame.size(), wire::kEthernetHeader + MldHost::kLongestPacket);
        wire::MldView view;
        ASSERT_EQ(wire::parse_mld(frame, kQuerier, view), wire::MldRefusal::none);
        EXPECT_EQ(view.from, kOwn.link_local) << "reports come from the link-local address (RFC 3810 5.2.13)";
        if (view.type != wire::MldType::v2_report) {
            const bool done = view.type == wire::MldType::v1_done;
            said_.push_back(fmt::format("{} {}", done ? "done" : "v1", to_string(IpAddress(view.group))));
            EXPECT_EQ(view.to, done ? wire::kAllRouters6 : view.group);
            return;
        }
        EXPECT_EQ(view.to, wire::kAllMldRouters);
        wire::MldRecordView record;
        for (auto rest = view.list; wire::MldView::next_record(rest, record);)
            hear(record);
    }
    void hear(const wire::MldRecordView& record) {
        static constexpr const char* kNames[] = {"?", "is_in", "is_ex", "to_in", "to_ex", "allow", "block"};
        std::vector<std::string> list;
        for (std::size_t i = 0; i < record.sources.size(); i++)
            list.push_back(to_string(IpAddress(record.sources[i])));
        said_.push_back(fmt::format("{} {} {{{}}}", kNames[static_cast<int>(record.type)],
                                    to_string(IpAddress(record.group)), fmt::join(list, ",")));
    }

    std::mt19937 random_;
    MldHost::Time now_ = MldHost::Time(seconds(1000));
    std::vector<std::string> said_;
};

TEST(MldHost, JoinsAndLeavesAreReportedAtOnceAndOnceAgainWithinASecond) {
    Link l;
    l.host.want(from_any(1));
    l.host.want(from(2, 7));
    l.run(milliseconds(0));
    EXPECT_THAT(l.said(), ElementsAre("to_ex ff15::1 {}", "allow ff15::2 {fd00::7}"));
    l.run(MldHost::kReportInterval);
    EXPECT_THAT(l.said(), UnorderedElementsAre("to_ex ff15::1 {}", "allow ff15::2 {fd00::7}"));
    l.run(kLong);
    EXPECT_THAT(l.said(), IsEmpty());
    EXPECT_EQ(l.host.joined(), 2U);
    l.host.leave(from_any(1));
    l.host.leave(from(2, 7));
    l.run(milliseconds(0));
    EXPECT_THAT(l.said(), ElementsAre("to_in ff15::1 {}", "block ff15::2 {fd00::7}"));
    l.run(kLong);
    EXPECT_THAT(l.said(), UnorderedElementsAre("to_in ff15::1 {}", "block ff15::2 {fd00::7}"));
    EXPECT_TRUE(l.host.idle());
    EXPECT_EQ(l.host.joined(), 0U);
}

TEST(MldHost, TheQuerierSaysHowOftenToRepeat) {
    Link l;
    l.ask({.robustness = 4});
    l.host.want(from_any(1));
    l.run(kLong);
    const auto said = l.said();
    EXPECT_EQ(std::ranges::count(said, "to_ex ff15::1 {}"), 4);
}

TEST(MldHost, SomeGroupsAreNeverReported) {
    Link l;
    l.host.want({wire::kAllNodes, 7148, {}});
    l.host.want({Ipv6{0xFF01000000000000, 5}, 7148, {}});  // stays on the interface
    l.host.want({Ipv6{0xFF00000000000000, 5}, 7148, {}});  // reserved
    l.host.want({source(1), 7148, {}});
    l.host.want({Ipv4{0xEF010101}, 7148, {}});
    l.host.leave({Ipv4{0xEF010101}, 7148, {}});
    EXPECT_TRUE(l.host.idle());
    l.host.want({Ipv6{0xFF02000000000000, 5}, 7148, {}});
    l.run(milliseconds(0));
    EXPECT_THAT(l.said(), ElementsAre("to_ex ff02::5 {}")) << "a link-local group is";
}

TEST(MldHost, QueriesAreAnsweredWithinTheirTime) {
    Link l;
    l.host.want(from_any(1));
    l.host.want(from(2, 7));
    l.host.want(from(2, 8));
    l.run(kLong);
    l.said();
    l.times.clear();
    const auto asked = l.now();
    l.ask({.max_response = 500});
    l.run(kLong);
    EXPECT_THAT(l.said(), UnorderedElementsAre("is_ex ff15::1 {}", "is_in ff15::2 {fd00::7,fd00::8}"));
    ASSERT_THAT(l.times, SizeIs(1));
    EXPECT_GT(l.times[0], asked);
    EXPECT_LE(l.times[0], asked + milliseconds(500));
    l.ask({.group = group(2)});
    l.ask({.group = group(3)});
    l.run(kLong);
    EXPECT_THAT(l.said(), ElementsAre("is_in ff15::2 {fd00::7,fd00::8}"));
    const std::array sources{source(8), source(9)};
    l.ask({.group = group(1), .sources = sources});
    l.ask({.group = group(2), .sources = sources});
    l.run(kLong);
    EXPECT_THAT(l.said(), UnorderedElementsAre("is_in ff15::1 {fd00::8,fd00::9}", "is_in ff15::2 {fd00::8}"));
    EXPECT_EQ(l.host.queries(), 5U);
}

TEST(MldHost, QueriesFromElsewhereAreRefused) {
    Link l;
    l.host.want(from_any(1));
    l.run(kLong);
    l.said();
    l.ask({}, {kQuerier.mac, {}, {}, source(1)});
    l.run(kLong);
    EXPECT_THAT(l.said(), IsEmpty());
    EXPECT_EQ(l.host.refused(), 1U);
    l.host.receive(Frame(60), l.now());
    EXPECT_EQ(l.host.refused(), 1U) << "this is none";
}

TEST(MldHost, QueriesToAnyAddressOfOursAreAnswered) {
    Link l;
    l.host.want(from_any(1));
    l.run(kLong);
    l.said();
    std::uint64_t queries = 0;
    for (const Ipv6& to : {kOwn.link_local, kOwn.ip6, group(1)}) {
        l.ask_at(to, {});
        l.run(kLong);
        EXPECT_THAT(l.said(), ElementsAre("is_ex ff15::1 {}")) << to_string(IpAddress(to));
        EXPECT_EQ(l.host.queries(), ++queries);
    }
    for (const Ipv6& to : {source(0x78), group(2), Ipv6{0, 0}}) {
        l.ask_at(to, {});
        l.run(kLong);
        EXPECT_THAT(l.said(), IsEmpty()) << to_string(IpAddress(to));
    }
    EXPECT_EQ(l.host.queries(), queries);
}

TEST(MldHost, AVersion1QuerierIsAnsweredInItsWords) {
    Link l;
    l.host.want(from_any(1));
    l.host.want(from(2, 7));
    l.run(kLong);
    l.said();
    l.ask({.version = 1});
    EXPECT_EQ(l.host.version(), Version::v1);
    l.run(kLong);
    EXPECT_THAT(l.said(), UnorderedElementsAre("v1 ff15::1", "v1 ff15::2"));
    l.host.want(from_any(3));
    l.run(kLong);
    EXPECT_THAT(l.said(), ElementsAre("v1 ff15::3", "v1 ff15::3"));
    l.host.leave(from_any(3));
    l.run(kLong);
    EXPECT_THAT(l.said(), ElementsAre("done ff15::3"));
    // Another member's report is enough.
    l.ask({.version = 1, .group = group(1), .max_response = 1000});
    Frame report(wire::kMldLeastRoom);
    report.resize(wire::build_mld(report, kQuerier, wire::MldType::v1_report, group(1)));
    l.host.receive(report, l.now());
    l.run(seconds(2));
    EXPECT_THAT(l.said(), IsEmpty());
    // Two query intervals of 125 s and one response interval after the last query (RFC 3810 9.12).
    l.run(seconds(260));
    l.host.want(from_any(4));
    l.run(kLong);
    EXPECT_EQ(l.host.version(), Version::v2);
    EXPECT_THAT(l.said(), ElementsAre("to_ex ff15::4 {}", "to_ex ff15::4 {}"));
}

TEST(MldHost, TheEndIsToldQuickly) {
    Link l;
    l.host.want(from_any(1));
    l.run(kLong);
    l.said();
    l.host.leave_all();
    l.run(MldHost::kLastReportInterval);
    EXPECT_THAT(l.said(), ElementsAre("to_in ff15::1 {}", "to_in ff15::1 {}"));
    EXPECT_TRUE(l.host.idle());
}

TEST(MldHost, ManyGroupsAndSourcesAreSplitOverReports) {
    Link l;
    for (std::uint64_t i = 0; i < 100; i++)
        l.host.want(from(1, i));
    for (std::uint64_t i = 2; i < 100; i++)
        l.host.want(from_any(i));
    l.run(kLong);
    l.said();
    l.times.clear();
    l.ask({});
    l.run(kLong);
    EXPECT_EQ(l.host.joined(), 99U);
    EXPECT_THAT(l.times, SizeIs(4 + 4)) << "of at most 576 bytes: 31 sources, or 26 groups, each";
}

}  // namespace
}  // namespace spead::port::mld_host_test
