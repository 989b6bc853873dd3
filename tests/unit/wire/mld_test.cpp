// SPDX-License-Identifier: BSD-3-Clause
#include "wire/mld.hpp"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire::mld_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Bytes;
using test::ExactCopy;
using test::from_hex;

constexpr MacAddress kMac{2, 0, 0, 0, 0, 1};
constexpr LinkAddress kHost{kMac, {}, {}, link_local_of(kMac)};
constexpr Ipv6 kGroup{0xFF15000000000000, 1};
constexpr Ipv6 kSecond{0xFF15000000000000, 2};
constexpr Ipv6 kThird{0xFF15000000000000, 3};
constexpr Ipv6 kSource{0xFD00000000000000, 7};
constexpr std::size_t kMessage = kEthernetHeader + kIpv6Header + kAlertOptions;

// Recorded messages of a Linux host (RFC 3810 5.2, RFC 2710 3): Ethernet, IPv6, router alert, message.
constexpr auto kLinuxToExclude =
    "333300000016 020000000001 86dd 6000000000240001 fe80000000000000000000fffe000001 "
    "ff020000000000000000000000000016 3a00050200000100 8f0070f600000001 "
    "04000000ff150000000000000000000000000001";
constexpr auto kLinuxToInclude =
    "333300000016 020000000001 86dd 6000000000240001 fe80000000000000000000fffe000001 "
    "ff020000000000000000000000000016 3a00050200000100 8f0071f600000001 "
    "03000000ff150000000000000000000000000001";
constexpr auto kLinuxAllow =
    "333300000016 020000000001 86dd 6000000000340001 fe80000000000000000000fffe000001 "
    "ff020000000000000000000000000016 3a00050200000100 8f0072dc00000001 "
    "05000001ff150000000000000000000000000002"
    "fd000000000000000000000000000007";
constexpr auto kLinuxV1Report =
    "333300000003 020000000001 86dd 6000000000200001 fe80000000000000000000fffe000001 "
    "ff150000000000000000000000000003 3a00050200000100 830080f900000000 ff150000000000000000000000000003";
constexpr auto kLinuxV1Done =
    "333300000002 020000000001 86dd 6000000000200001 fe80000000000000000000fffe000001 "
    "ff020000000000000000000000000002 3a00050200000100 8400800d00000000 ff150000000000000000000000000003";
/// Holds a report of a host that does not know yet whether its address is its own (RFC 3810 5.2.13).
constexpr auto kLinuxFromNobody =
    "333300000016 020000000001 86dd 6000000000240001 00000000000000000000000000000000 "
    "ff020000000000000000000000000016 3a00050200000100 8f006f8900000001 "
    "04000000ff0200000000000000000001ff000001";

/// Parses a frame that stays until the next one: views refer to it.
MldRefusal parse(const Bytes& bytes, MldView& view, const LinkAddress& own = kHost) {
    static Bytes frame;
    frame = bytes;
    return parse_mld(frame, own, view);
}

Bytes query(const MldQuery& q, const LinkAddress& from = kHost) {
    Bytes bytes(1600);
    const std::size_t length = build_mld_query(bytes, from, q);
    EXPECT_NE(length, 0U);
    bytes.resize(length);
    return bytes;
}

/// Makes the checksum right again, without complete_icmp6(). No VLAN tag; the options are 8 bytes.
void sum(Bytes& bytes) {
    const std::size_t length = load_be16(&bytes[18]) - kAlertOptions;
    store_be16(&bytes[kMessage + 2], 0);
    Bytes all(bytes.begin() + 22, bytes.begin() + 54);
    const std::array<std::uint8_t, 8> tail{
        0, 0, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length), 0, 0, 0, 58};
    all.insert(all.end(), tail.begin(), tail.end());
    all.insert(all.end(), bytes.begin() + kMessage,
               bytes.begin() + static_cast<std::ptrdiff_t>(kMessage + length));
    store_be16(&bytes[kMessage + 2], ipv4_checksum(all.data(), all.size()));
}

template <typename... Sources>
Bytes report(MldRecordType type, const Ipv6& group, Sources... sources) {
    Bytes bytes(200);
    const std::array<Ipv6, sizeof...(sources)> list{sources...};
    MldReport r(bytes, kHost);
    EXPECT_EQ(r.add(type, group, list), static_cast<int>(list.size()));
    bytes.resize(r.finish());
    return bytes;
}

Bytes message(MldType type, const Ipv6& group) {
    Bytes bytes(kMldLeastRoom);
    bytes.resize(build_mld(bytes, kHost, type, group));
    return bytes;
}

TEST(Mld, ReportsAreThoseOfALinuxHost) {
    EXPECT_EQ(report(MldRecordType::to_exclude, kGroup), from_hex(kLinuxToExclude));
    EXPECT_EQ(report(MldRecordType::to_include, kGroup), from_hex(kLinuxToInclude));
    EXPECT_EQ(report(MldRecordType::allow, kSecond, kSource), from_hex(kLinuxAllow));
    EXPECT_EQ(message(MldType::v1_report, kThird), from_hex(kLinuxV1Report));
    EXPECT_EQ(message(MldType::v1_done, kThird), from_hex(kLinuxV1Done));
}

TEST(Mld, MessagesOfALinuxHostAreUnderstood) {
    MldView view;
    ASSERT_EQ(parse(from_hex(kLinuxAllow), view), MldRefusal::none);
    EXPECT_EQ(view.type, MldType::v2_report);
    EXPECT_EQ(view.from, kHost.link_local);
    EXPECT_EQ(view.to, kAllMldRouters);
    ASSERT_EQ(view.records, 1U);
    MldRecordView record;
    auto rest = view.list;
    ASSERT_TRUE(MldView::next_record(rest, record));
    EXPECT_EQ(record.type, MldRecordType::allow);
    EXPECT_EQ(record.group, kSecond);
    ASSERT_EQ(record.sources.size(), 1U);
    EXPECT_EQ(record.sources[0], kSource);
    EXPECT_FALSE(MldView::next_record(rest, record));
    ASSERT_EQ(parse(from_hex(kLinuxV1Done), view), MldRefusal::none);
    EXPECT_EQ(view.type, MldType::v1_done);
    EXPECT_EQ(view.group, kThird);
    EXPECT_EQ(parse(from_hex(kLinuxFromNobody), view), MldRefusal::none);
}

TEST(Mld, QueriesOfBothVersionsAreReadBack) {
    MldView view;
    ASSERT_EQ(parse(query({}), view), MldRefusal::none);
    EXPECT_EQ(view.type, MldType::query);
    EXPECT_EQ(view.version, 2);
    EXPECT_EQ(view.to, kAllNodes);
    EXPECT_TRUE(is_unspecified(view.group));
    EXPECT_EQ(view.max_response, seconds(10));
    EXPECT_EQ(view.robustness, 2);
    EXPECT_EQ(view.interval, seconds(125));
    const std::array sources{kSource, Ipv6{1, 2}};
    const Bytes of_sources =
        query({.group = kGroup, .max_response = 500, .sources = sources, .suppress = true});
    ASSERT_EQ(parse(of_sources, view), MldRefusal::none);
    EXPECT_EQ(view.to, kGroup);
    EXPECT_EQ(view.group, kGroup);
    EXPECT_EQ(view.max_response, milliseconds(500));
    EXPECT_TRUE(view.suppress);
    ASSERT_EQ(view.sources.size(), 2U);
    EXPECT_EQ(view.sources[1], sources[1]);
    ASSERT_EQ(parse(query({.version = 1, .max_response = 300}), view), MldRefusal::none);
    EXPECT_EQ(view.version, 1);
    EXPECT_EQ(view.max_response, milliseconds(300));
}

TEST(Mld, LargeResponseTimesAreAFloatingPointNumber) {
    EXPECT_EQ(mld_decode(32767), 32767U);
    EXPECT_EQ(mld_decode(0x8000), 0x1000U << 3) << "RFC 3810 5.1.3";
    EXPECT_EQ(mld_decode(0xFFFF), 0x1FFFU << 10);
}

TEST(Mld, OnlyMessagesOfTheLinkCount) {
    MldView view;
    Bytes q = query({});
    q[21] = 2;  // the hop limit
    EXPECT_EQ(parse(q, view), MldRefusal::off_link);
    q = query({}, {kMac, {}, {}, kSource});
    EXPECT_EQ(parse(q, view), MldRefusal::off_link) << "the source is not link-local";
    q = query({}, {kMac, {}, {}, {}});
    EXPECT_EQ(parse(q, view), MldRefusal::off_link) << "a query from ::";
    q = query({});
    q[56] = 1;  // the router alert becomes padding of the same length
    EXPECT_EQ(parse(q, view), MldRefusal::no_alert);
    q = query({});
    q[59] = 1;  // a router alert for another protocol
    EXPECT_EQ(parse(q, view), MldRefusal::no_alert);
    q = query({});
    q[kMessage + 3] ^= 1;
    EXPECT_EQ(parse(q, view), MldRefusal::bad_checksum);
    q = query({}, {kMac, {}, 42, kHost.link_local});
    EXPECT_EQ(parse(q, view), MldRefusal::not_mld) << "another VLAN";
    EXPECT_EQ(parse(q, view, {kMac, {}, 42, kHost.link_local}), MldRefusal::none);
}

TEST(Mld, LengthsThatContradictEachOtherAreRefused) {
    MldView view;
    const std::array sources{kSource};
    Bytes q = query({.group = kGroup, .sources = sources});
    q[kMessage + 27] = 2;  // one source more than there is
    sum(q);
    EXPECT_EQ(parse(q, view), MldRefusal::malformed);
    q = query({});
    q[kMessage + 27] = 1;
    sum(q);
    EXPECT_EQ(parse(q, view), MldRefusal::malformed);
    q = query({.group = kGroup, .sources = sources});
    std::fill_n(q.begin() + kMessage + 8, 16, std::uint8_t{0});  // sources of no group
    sum(q);
    EXPECT_EQ(parse(q, view), MldRefusal::malformed);
    q = query({.group = kSource});
    EXPECT_EQ(parse(q, view), MldRefusal::malformed) << "no group";
    for (std::uint16_t more = 1; more < 4; more++) {
        q = query({.version = 1});
        q.resize(kMessage + kMldMessage + more);
        store_be16(&q[18], static_cast<std::uint16_t>(kAlertOptions + kMldMessage + more));
        sum(q);
        EXPECT_EQ(parse(q, view), MldRefusal::malformed) << more << " bytes after version 1 (RFC 3810 8.1)";
    }
    q = report(MldRecordType::allow, kGroup, kSource);
    q[kMessage + 11] = 9;  // sources of the record
    sum(q);
    EXPECT_EQ(parse(q, view), MldRefusal::malformed);
    q = query({});
    q[18] = 0xFF;  // the payload's length
    EXPECT_EQ(parse(q, view), MldRefusal::malformed);
    q = query({});
    q[55] = 9;  // the options' length
    EXPECT_EQ(parse(q, view), MldRefusal::malformed);
    q = query({});
    q[57] = 200;  // an option's length
    EXPECT_EQ(parse(q, view), MldRefusal::no_alert);
}

TEST(Mld, AReportTakesWhatFits) {
    Bytes bytes(kMessage + kMldReportHead + 3 * kMldRecord + 2 * kMldSource);
    MldReport r(bytes, kHost);
    const std::array<Ipv6, 3> sources{kSource, kSource, kSource};
    EXPECT_EQ(r.add(MldRecordType::allow, kGroup, sources), 3);
    EXPECT_EQ(r.add(MldRecordType::is_exclude, kGroup, {}), 0);
    EXPECT_EQ(r.add(MldRecordType::allow, kGroup, sources), -1);
    EXPECT_EQ(r.records(), 2);
    MldView view;
    bytes.resize(r.finish());
    EXPECT_EQ(parse(bytes, view), MldRefusal::none);
    EXPECT_EQ(view.records, 2);
}

TEST(Mld, NothingIsReadBeyondTheFrame) {
    std::mt19937 random(1);
    const std::array sources{kSource, kSource};
    const std::array<Bytes, 3> frames{query({.group = kGroup, .sources = sources}),
                                      report(MldRecordType::allow, kGroup, kSource),
                                      from_hex(kLinuxV1Report)};
    for (const Bytes& whole : frames) {
        for (std::size_t length = 0; length <= whole.size(); length++) {
            const ExactCopy cut(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
            MldView view;
            const MldRefusal refusal = parse_mld({cut.data(), cut.size()}, kHost, view);
            EXPECT_EQ(refusal == MldRefusal::none, length == whole.size());
        }
        for (int i = 0; i < 20'000; i++) {
            Bytes wrong = whole;
            for (int k = 0; k < 3; k++)
                wrong[random() % wrong.size()] = static_cast<std::uint8_t>(random());
            if (i % 2 == 0 && load_be16(&wrong[18]) + 54U == wrong.size())
                sum(wrong);
            const ExactCopy exact(wrong);
            MldView view;
            if (parse_mld({exact.data(), exact.size()}, kHost, view) != MldRefusal::none)
                continue;
            MldRecordView record;
            for (auto rest = view.list; MldView::next_record(rest, record);)
                for (std::size_t s = 0; s < record.sources.size(); s++)
                    (void)record.sources[s];
        }
    }
}

}  // namespace
}  // namespace spead::wire::mld_test
