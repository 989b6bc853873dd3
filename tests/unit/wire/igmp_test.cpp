// SPDX-License-Identifier: BSD-3-Clause
#include "wire/igmp.hpp"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Bytes;
using test::ExactCopy;
using test::from_hex;

constexpr LinkAddress kIgmpHost{{2, 0, 0, 0, 0, 1}, {0x0A090001}, {}};
constexpr Ipv4 kGroup{0xEF010203};

// Recorded messages of a Linux host and a Linux bridge. The host's are not padded on a virtual link.
constexpr auto kLinuxToExclude =
    "01005e000016 020000000001 0800 46c0002800004000 0102f9ef 0a090001 e0000016 94040000"
    "2200e8f900000001 04000000ef010203";
constexpr auto kLinuxToInclude =
    "01005e000016 020000000001 0800 46c0002800004000 0102f9ef 0a090001 e0000016 94040000"
    "2200e9f900000001 03000000ef010203";
constexpr auto kLinuxAllow =
    "01005e000016 020000000001 0800 46c0002c00004000 0102f9eb 0a090001 e0000016 94040000"
    "2200ddf000000001 05000001ef0102040a000007";
constexpr auto kLinuxV2Report =
    "01005e010205 020000000001 0800 46c0002000004000 0102e907 0a090001 ef010205 94040000 1600f8f8ef010205";
constexpr auto kLinuxV2Leave =
    "01005e000002 020000000001 0800 46c0002000004000 0102fa0b 0a090001 e0000002 94040000 1700f7f8ef010205";
constexpr auto kLinuxQuery =
    "01005e000001 020000000099 0800 46c0002400004000 01020413 00000000 e0000001 94040000"
    "1164ec1e00000000 027d0000";

Bytes padded(std::string_view hex) {
    Bytes bytes = from_hex(hex);
    bytes.resize(std::max(bytes.size(), kLeastFrame));
    return bytes;
}

IgmpRefusal parse(const Bytes& bytes, IgmpView& view, const LinkAddress& own = kIgmpHost) {
    return parse_igmp(bytes, own, view);
}

Bytes query(const IgmpQuery& q, const LinkAddress& from = kIgmpHost) {
    Bytes bytes(1600);
    const std::size_t length = build_igmp_query(bytes, from, q);
    EXPECT_NE(length, 0U);
    bytes.resize(length);
    return bytes;
}

/// Makes both checksums right again. No VLAN tag.
void sum(Bytes& bytes) {
    std::uint8_t* const ip = &bytes[14];
    const std::size_t header = static_cast<std::size_t>(ip[0] & 15) * 4;
    store_be16(ip + 10, 0);
    store_be16(ip + 10, ipv4_checksum(ip, header));
    const std::size_t length = std::size_t{load_be16(ip + 2)} - header;
    store_be16(ip + header + 2, 0);
    store_be16(ip + header + 2, ipv4_checksum(ip + header, length));
}

template <typename... Sources>
Bytes report(IgmpRecordType type, Ipv4 group, Sources... sources) {
    Bytes bytes(200);
    const std::array<Ipv4, sizeof...(sources)> list{sources...};
    IgmpReport r(bytes, kIgmpHost);
    EXPECT_EQ(r.add(type, group, list), static_cast<int>(list.size()));
    bytes.resize(r.finish());
    return bytes;
}

TEST(Igmp, ReportsAreThoseOfALinuxHost) {
    EXPECT_EQ(report(IgmpRecordType::to_exclude, kGroup), padded(kLinuxToExclude));
    EXPECT_EQ(report(IgmpRecordType::to_include, kGroup), padded(kLinuxToInclude));
    EXPECT_EQ(report(IgmpRecordType::allow, Ipv4{0xEF010204}, Ipv4{0x0A000007}), padded(kLinuxAllow));
    Bytes bytes(kIgmpLeastRoom);
    ASSERT_EQ(build_igmp(bytes, kIgmpHost, IgmpType::v2_report, {0xEF010205}), kLeastFrame);
    bytes.resize(kLeastFrame);
    EXPECT_EQ(bytes, padded(kLinuxV2Report));
    bytes.resize(kIgmpLeastRoom);
    ASSERT_EQ(build_igmp(bytes, kIgmpHost, IgmpType::v2_leave, {0xEF010205}), kLeastFrame);
    bytes.resize(kLeastFrame);
    EXPECT_EQ(bytes, padded(kLinuxV2Leave));
}

TEST(Igmp, AQueryIsThatOfALinuxBridge) {
    const LinkAddress bridge{{2, 0, 0, 0, 0, 0x99}, {}, {}};
    EXPECT_EQ(query({}, bridge), padded(kLinuxQuery));
    IgmpView view;
    ASSERT_EQ(parse(from_hex(kLinuxQuery), view), IgmpRefusal::none);
    EXPECT_EQ(view.type, IgmpType::query);
    EXPECT_EQ(view.version, 3);
    EXPECT_EQ(view.from.value, 0U);
    EXPECT_EQ(view.to, kAllSystems);
    EXPECT_EQ(view.group.value, 0U);
    EXPECT_EQ(view.max_response, seconds(10));
    EXPECT_EQ(view.robustness, 2);
    EXPECT_EQ(view.interval, seconds(125));
    EXPECT_FALSE(view.suppress);
    EXPECT_TRUE(view.sources.empty());
}

TEST(Igmp, TheVersionOfAQueryIsItsLengthAndItsCode) {
    IgmpView view;
    ASSERT_EQ(parse(query({.version = 1}), view), IgmpRefusal::none);
    EXPECT_EQ(view.version, 1);
    EXPECT_EQ(view.max_response, seconds(10));
    ASSERT_EQ(parse(query({.version = 2, .max_response = 25}), view), IgmpRefusal::none);
    EXPECT_EQ(view.version, 2);
    EXPECT_EQ(view.max_response, milliseconds(2500));
    ASSERT_EQ(parse(query({.version = 2, .group = kGroup, .max_response = 0xFF}), view), IgmpRefusal::none);
    EXPECT_EQ(view.max_response, milliseconds(25500)) << "version 2 has no floating-point form";
    EXPECT_EQ(view.group, kGroup);
    EXPECT_EQ(view.to, kGroup);
    ASSERT_EQ(parse(query({.max_response = 0}), view), IgmpRefusal::none);
    EXPECT_EQ(view.version, 3);
    EXPECT_EQ(view.max_response, milliseconds(0));
}

TEST(Igmp, AQueryForSourcesNamesThem) {
    const std::array<Ipv4, 3> sources{Ipv4{1}, Ipv4{0x0A000007}, Ipv4{0xFFFFFFFE}};
    const Bytes bytes = query({.group = kGroup,
                               .max_response = 0x80,
                               .sources = sources,
                               .suppress = true,
                               .robustness = 7,
                               .interval = 0xFF});
    IgmpView view;
    ASSERT_EQ(parse(bytes, view), IgmpRefusal::none);
    ASSERT_EQ(view.sources.size(), 3U);
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_EQ(view.sources[i], sources[i]);
    EXPECT_EQ(view.max_response, milliseconds(12800));
    EXPECT_EQ(view.interval, seconds(31744));
    EXPECT_EQ(view.robustness, 7);
    EXPECT_TRUE(view.suppress);
}

TEST(Igmp, CodesAreFloatingPointAbove127) {
    // RFC 3376 4.1.1: (mant | 0x10) << (exp + 3).
    EXPECT_EQ(igmp_decode(0), 0U);
    EXPECT_EQ(igmp_decode(127), 127U);
    EXPECT_EQ(igmp_decode(0x80), 128U);
    EXPECT_EQ(igmp_decode(0x8F), 248U);
    EXPECT_EQ(igmp_decode(0x90), 256U);
    EXPECT_EQ(igmp_decode(0xFF), 31744U);
    for (unsigned code = 0; code < 256; code++)
        EXPECT_EQ(igmp_encode(igmp_decode(static_cast<std::uint8_t>(code))), code);
    for (std::uint32_t value = 0; value < 31744; value++) {
        const std::uint8_t code = igmp_encode(value);
        ASSERT_LE(igmp_decode(code), value);
        ASSERT_GT(igmp_decode(static_cast<std::uint8_t>(code + 1)), value);
    }
    EXPECT_EQ(igmp_encode(UINT32_MAX), 0xFF);
}

TEST(Igmp, ReportsOfOthersAreRead) {
    IgmpView view;
    ASSERT_EQ(parse(from_hex(kLinuxV2Report), view), IgmpRefusal::none);
    EXPECT_EQ(view.type, IgmpType::v2_report);
    EXPECT_EQ(view.group.value, 0xEF010205U);
    ASSERT_EQ(parse(from_hex(kLinuxV2Leave), view), IgmpRefusal::none);
    EXPECT_EQ(view.type, IgmpType::v2_leave);
    EXPECT_EQ(view.to, kAllRouters);

    Bytes bytes(200);
    IgmpReport r(bytes, kIgmpHost);
    const std::array<Ipv4, 2> sources{Ipv4{7}, Ipv4{8}};
    EXPECT_EQ(r.add(IgmpRecordType::is_include, kGroup, sources), 2);
    EXPECT_EQ(r.add(IgmpRecordType::is_exclude, {0xEF010209}, {}), 0);
    EXPECT_EQ(r.records(), 2);
    bytes.resize(r.finish());
    ASSERT_EQ(parse(bytes, view), IgmpRefusal::none);
    EXPECT_EQ(view.type, IgmpType::v3_report);
    EXPECT_EQ(view.to, kAllIgmpRouters);
    ASSERT_EQ(view.records, 2);
    std::span<const std::uint8_t> rest = view.list;
    IgmpRecordView record;
    ASSERT_TRUE(IgmpView::next_record(rest, record));
    EXPECT_EQ(record.type, IgmpRecordType::is_include);
    EXPECT_EQ(record.group, kGroup);
    ASSERT_EQ(record.sources.size(), 2U);
    EXPECT_EQ(record.sources[1].value, 8U);
    ASSERT_TRUE(IgmpView::next_record(rest, record));
    EXPECT_EQ(record.type, IgmpRecordType::is_exclude);
    EXPECT_EQ(record.group.value, 0xEF010209U);
    EXPECT_TRUE(record.sources.empty());
    EXPECT_FALSE(IgmpView::next_record(rest, record));
}

TEST(Igmp, AReportTakesWhatThereIsRoomFor) {
    const std::size_t head = 14 + 24 + 8;
    std::vector<Ipv4> sources;
    for (std::uint32_t i = 0; i < 100; i++)
        sources.push_back({0x0A000000 + i});
    for (std::size_t room = kIgmpLeastRoom; room < 200; room++) {
        Bytes bytes(room);
        IgmpReport r(bytes, kIgmpHost);
        const int taken = r.add(IgmpRecordType::is_include, kGroup, sources);
        EXPECT_EQ(taken, static_cast<int>((room - head - 8) / 4));
        while (r.add(IgmpRecordType::is_exclude, kGroup, {}) == 0) {
        }
        EXPECT_EQ(r.add(IgmpRecordType::is_include, kGroup, sources), -1);
        bytes.resize(r.finish());
        EXPECT_LE(bytes.size(), room);
        IgmpView view;
        EXPECT_EQ(parse(bytes, view), IgmpRefusal::none);
        EXPECT_EQ(view.records, r.records());
    }
    Bytes small(kIgmpLeastRoom - 1);
    EXPECT_EQ(build_igmp(small, kIgmpHost, IgmpType::v2_report, kGroup), 0U);
    EXPECT_EQ(build_igmp_query(small, kIgmpHost, {}), 0U);
    Bytes short_by_one(head - 8 + 12 + 4 * sources.size() - 1);
    EXPECT_EQ(build_igmp_query(short_by_one, kIgmpHost, {.group = kGroup, .sources = sources}), 0U);
}

TEST(Igmp, OnlyFramesOfOurVlanAreOurs) {
    const LinkAddress tagged{{2, 0, 0, 0, 0, 2}, {}, 0x6064};  // priority 3, VLAN 100
    const LinkAddress priority{{2, 0, 0, 0, 0, 2}, {}, 0xE000};
    IgmpView view;
    EXPECT_EQ(parse(query({}, tagged), view), IgmpRefusal::not_igmp);
    EXPECT_EQ(parse(query({}, tagged), view, {{}, {}, 100}), IgmpRefusal::none);
    EXPECT_EQ(parse(query({}, tagged), view, {{}, {}, 101}), IgmpRefusal::not_igmp);
    EXPECT_EQ(parse(query({}), view, {{}, {}, 100}), IgmpRefusal::not_igmp);
    EXPECT_EQ(parse(query({}, priority), view), IgmpRefusal::none);
}

TEST(Igmp, HostileFramesAreNamed) {
    struct Case {
        const char* what;
        IgmpRefusal refusal;
        void (*spoil)(Bytes&);
    };
    const Case cases[] = {
        {"nothing wrong", IgmpRefusal::none, [](Bytes& b) { sum(b); }},
        {"another ethertype", IgmpRefusal::not_igmp, [](Bytes& b) { b[12] = 0x86; }},
        {"UDP", IgmpRefusal::not_igmp, [](Bytes& b) { b[23] = 17; }},
        {"IPv6", IgmpRefusal::malformed, [](Bytes& b) { b[14] = 0x66, sum(b); }},
        {"header of 16 bytes", IgmpRefusal::malformed, [](Bytes& b) { b[14] = 0x44; }},
        {"header beyond the datagram", IgmpRefusal::malformed, [](Bytes& b) { b[14] = 0x4F; }},
        {"longer than the frame", IgmpRefusal::malformed, [](Bytes& b) { b[16] = 0x40; }},
        {"shorter than its header", IgmpRefusal::malformed, [](Bytes& b) { b[17] = 20; }},
        {"first fragment", IgmpRefusal::malformed, [](Bytes& b) { b[20] = 0x20, sum(b); }},
        {"last fragment", IgmpRefusal::malformed, [](Bytes& b) { b[21] = 1, sum(b); }},
        {"wrong IP checksum", IgmpRefusal::bad_checksum, [](Bytes& b) { b[24] ^= 1; }},
        {"wrong checksum", IgmpRefusal::bad_checksum, [](Bytes& b) { b[40] ^= 1; }},
        {"TTL 2", IgmpRefusal::off_link, [](Bytes& b) { b[22] = 2, sum(b); }},
        {"TTL 0", IgmpRefusal::off_link, [](Bytes& b) { b[22] = 0, sum(b); }},
        {"no router alert", IgmpRefusal::no_alert, [](Bytes& b) { b[34] = 1, b[35] = 1, sum(b); }},
        {"options that end", IgmpRefusal::no_alert, [](Bytes& b) { b[34] = 0, sum(b); }},
        {"option without end", IgmpRefusal::no_alert, [](Bytes& b) { b[35] = 5, sum(b); }},
        {"option of length 0", IgmpRefusal::no_alert, [](Bytes& b) { b[34] = 7, b[35] = 0, sum(b); }},
        {"7 bytes", IgmpRefusal::malformed, [](Bytes& b) { b[17] = 24 + 7, sum(b); }},
        {"no bytes", IgmpRefusal::malformed,
         [](Bytes& b) {
             store_be16(&b[16], 24), b[24] = 0, b[25] = 0, store_be16(&b[24], ipv4_checksum(&b[14], 24));
         }},
        {"9 bytes", IgmpRefusal::malformed, [](Bytes& b) { b[17] = 24 + 9, sum(b); }},
        {"11 bytes", IgmpRefusal::malformed, [](Bytes& b) { b[17] = 24 + 11, sum(b); }},
        {"a unicast group", IgmpRefusal::malformed, [](Bytes& b) { b[42] = 10, sum(b); }},
        {"more sources than bytes", IgmpRefusal::malformed,
         [](Bytes& b) { b[42] = 0xEF, b[49] = 1, sum(b); }},
        {"65535 sources", IgmpRefusal::malformed,
         [](Bytes& b) { b[42] = 0xEF, b[48] = 0xFF, b[49] = 0xFF, sum(b); }},
        {"sources of no group", IgmpRefusal::malformed, [](Bytes& b) { b[17] = 24 + 16, b[49] = 1, sum(b); }},
        {"additional data", IgmpRefusal::none, [](Bytes& b) { b[17] = 24 + 20, sum(b); }},
        {"an unknown type", IgmpRefusal::unknown_type, [](Bytes& b) { b[38] = 0x13, sum(b); }},
        {"a report of records that are not there", IgmpRefusal::malformed,
         [](Bytes& b) { b[38] = 0x22, b[45] = 9, sum(b); }},
        {"a version 2 report of no group", IgmpRefusal::malformed, [](Bytes& b) { b[38] = 0x16, sum(b); }},
    };
    for (const Case& c : cases) {
        Bytes bytes = query({});
        c.spoil(bytes);
        IgmpView view;
        EXPECT_EQ(parse(bytes, view), c.refusal) << c.what;
    }
}

TEST(Igmp, ARecordThatPromisesTooMuchSpoilsTheReport) {
    const auto spoilt = [](std::size_t at, std::uint8_t value) {
        Bytes bytes = report(IgmpRecordType::allow, kGroup, Ipv4{7});
        bytes[at] = value;
        sum(bytes);
        IgmpView view;
        return parse(bytes, view);
    };
    EXPECT_EQ(spoilt(45, 1), IgmpRefusal::none);
    EXPECT_EQ(spoilt(45, 2), IgmpRefusal::malformed);  // records
    EXPECT_EQ(spoilt(49, 2), IgmpRefusal::malformed);  // sources
    EXPECT_EQ(spoilt(48, 0xFF), IgmpRefusal::malformed);
    EXPECT_EQ(spoilt(47, 1), IgmpRefusal::malformed);  // auxiliary data
    EXPECT_EQ(spoilt(47, 0xFF), IgmpRefusal::malformed);
}

TEST(Igmp, NoByteBeyondTheFrameIsRead) {
    const std::array<Ipv4, 2> sources{Ipv4{7}, Ipv4{8}};
    const Bytes frames[] = {query({}), query({.version = 2}), query({.group = kGroup, .sources = sources}),
                            report(IgmpRecordType::allow, kGroup, Ipv4{7}, Ipv4{9})};
    IgmpView view;
    for (const Bytes& whole : frames)
        for (std::size_t length = 0; length <= whole.size(); length++) {
            const ExactCopy cut(whole, length);
            (void)parse_igmp({cut.data(), cut.size()}, kIgmpHost, view);
        }
    std::minstd_rand random(1);
    std::uint32_t all = 0;
    for (int i = 0; i < 200'000; i++) {
        Bytes bytes = frames[random() % std::size(frames)];
        for (unsigned n = random() % 4; n != 0; n--)
            bytes[12 + random() % (bytes.size() - 12)] = static_cast<std::uint8_t>(random());
        if (load_be16(&bytes[16]) <= bytes.size() - 14 && load_be16(&bytes[16]) >= (bytes[14] & 15) * 4 + 4 &&
            (bytes[14] & 15) >= 5)
            sum(bytes);
        const ExactCopy exact(bytes);
        if (parse_igmp({exact.data(), exact.size()}, kIgmpHost, view) != IgmpRefusal::none)
            continue;
        std::uint32_t sum = 0;
        for (std::size_t s = 0; s < view.sources.size(); s++)
            sum += view.sources[s].value;
        IgmpRecordView record;
        unsigned records = 0;
        for (auto rest = view.list; IgmpView::next_record(rest, record); records++)
            for (std::size_t s = 0; s < record.sources.size(); s++)
                sum += record.sources[s].value;
        EXPECT_EQ(records, view.records);
        all += sum;
    }
    RecordProperty("sum", static_cast<int>(all >> 1));
}

}  // namespace
}  // namespace spead::wire
