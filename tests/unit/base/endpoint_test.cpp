// SPDX-License-Identifier: BSD-3-Clause
#include "base/endpoint.hpp"

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using test::expect_usage_error;

TEST(Ipv4, IsReadInHostOrder) {
    EXPECT_EQ(parse_ipv4("239.1.2.3").value, 0xEF010203u);
    EXPECT_EQ(parse_ipv4("0.0.0.0").value, 0u);
    EXPECT_EQ(parse_ipv4("255.255.255.255").value, 0xFFFFFFFFu);
}

TEST(Ipv4, PrintsWhatItReads) {
    for (const char* text : {"0.0.0.0", "10.0.0.7", "239.255.0.1", "255.255.255.255"})
        EXPECT_EQ(to_string(parse_ipv4(text)), text);
}

TEST(Ipv4, TextsThatAreNoAddressAreQuotedWithAnExample) {
    for (const char* text :
         {"", "239", "239.1.2", "239.1.2.3.4", "239.1.2.", ".1.2.3", "239..2.3", "a.b.c.d", "239.1.2.3 ",
          " 239.1.2.3", "239.1.2.-3", "239.1.2.+3", "239.1.2.0x3", "localhost", "::1"})
        expect_usage_error([&] { parse_ipv4(text); }, {std::string("`") + text + "`", "239.1.2.3"});
}

TEST(Ipv4, AnOctetAbove255IsNamed) {
    expect_usage_error([] { parse_ipv4("239.1.256.3"); }, {"`256`", "above 255"});
    expect_usage_error([] { parse_ipv4("239.1.2.99999999999999999999"); },
                       {"99999999999999999999", "above 255"});
}

TEST(Ipv4, ALeadingZeroIsRefusedBecauseItMayMeanOctal) {
    expect_usage_error([] { parse_ipv4("239.010.2.3"); }, {"`010`", "leading zero"});
}

TEST(Endpoint, OneAddressAndPort) {
    const auto endpoints = parse_endpoints("239.1.2.3:7148");
    ASSERT_EQ(endpoints.size(), 1u);
    EXPECT_EQ(endpoints[0], (Endpoint{{0xEF010203}, 7148, {}}));
    EXPECT_FALSE(endpoints[0].has_source());
}

TEST(Endpoint, ASchemeIsAccepted) {
    EXPECT_EQ(parse_endpoints("spead://239.1.2.3:7148"), parse_endpoints("239.1.2.3:7148"));
}

TEST(Endpoint, ASourceIsRead) {
    const auto endpoints = parse_endpoints("239.1.2.3:7148@10.0.0.7");
    ASSERT_EQ(endpoints.size(), 1u);
    EXPECT_TRUE(endpoints[0].has_source());
    EXPECT_EQ(endpoints[0].source.v4().value, 0x0A000007u);
}

TEST(Endpoint, ARangeOfFifteenMoreIsSixteenConsecutiveAddresses) {
    const auto endpoints = parse_endpoints("239.10.10.250+15:7148@10.0.0.7");
    ASSERT_EQ(endpoints.size(), 16u);
    for (std::uint32_t i = 0; i < 16; i++)
        EXPECT_EQ(endpoints[i], (Endpoint{{0xEF0A0AFA + i}, 7148, {0x0A000007}}));
    EXPECT_EQ(to_string(endpoints[15]), "239.10.11.9:7148@10.0.0.7");
}

TEST(Endpoint, ARangeOfZeroMoreIsOneAddress) {
    EXPECT_EQ(parse_endpoints("239.1.2.3+0:7148").size(), 1u);
}

TEST(Endpoint, TheLargestRangeIsAcceptedAndOneMoreIsNot) {
    EXPECT_EQ(parse_endpoints("239.0.0.0+4095:7148").size(), kMaxEndpointRange);
    expect_usage_error([] { parse_endpoints("239.0.0.0+4096:7148"); },
                       {"239.0.0.0+4096:7148", "+4096", "0 to 4095"});
    expect_usage_error([] { parse_endpoints("239.0.0.0+99999999999:7148"); }, {"+99999999999", "0 to 4095"});
    expect_usage_error([] { parse_endpoints("239.0.0.0+:7148"); }, {"`+`", "0 to 4095"});
    expect_usage_error([] { parse_endpoints("239.0.0.0+-1:7148"); }, {"`+-1`", "0 to 4095"});
}

TEST(Endpoint, TheDefaultPortFillsInForAMissingOne) {
    EXPECT_EQ(parse_endpoints("239.1.2.3", 7148), parse_endpoints("239.1.2.3:7148"));
    EXPECT_EQ(parse_endpoints("239.1.2.3:8888", 7148), parse_endpoints("239.1.2.3:8888"));
    expect_usage_error([] { parse_endpoints("239.1.2.3"); },
                       {"`239.1.2.3`", "port is missing", "ADDRESS:PORT"});
}

TEST(Endpoint, APortOutOfRangeIsNamed) {
    for (const char* port : {"0", "65536", "-1", "x", "", "7148x", "99999999999"})
        expect_usage_error([&] { parse_endpoints(std::string("239.1.2.3:") + port); },
                           {std::string("`") + port + "` is not a UDP port", "1 to 65535"});
    EXPECT_EQ(parse_endpoints("239.1.2.3:65535")[0].port, 65535);
    EXPECT_EQ(parse_endpoints("239.1.2.3:1")[0].port, 1);
}

TEST(Endpoint, ABadAddressIsQuotedInTheWholeEndpoint) {
    expect_usage_error([] { parse_endpoints("239.1.2:7148"); },
                       {"endpoint `239.1.2:7148`", "`239.1.2` is not an IPv4"});
    expect_usage_error([] { parse_endpoints(":7148"); }, {"address is missing", "239.1.2.3:7148"});
    expect_usage_error([] { parse_endpoints(""); }, {"address is missing"});
}

TEST(Endpoint, AnotherSchemeIsRefused) {
    expect_usage_error([] { parse_endpoints("udp://239.1.2.3:7148"); }, {"udp://239.1.2.3:7148", "spead://"});
}

TEST(Endpoint, ARangePastTheLastAddressSaysWhatFits) {
    expect_usage_error([] { parse_endpoints("255.255.255.250+6:7148"); }, {"255.255.255.255", "+5"});
    EXPECT_EQ(parse_endpoints("255.255.255.250+5:7148").size(), 6u);
}

TEST(Endpoint, ARangeAcrossEitherEdgeOfTheMulticastBlockIsRefused) {
    expect_usage_error([] { parse_endpoints("223.255.255.255+1:7148"); }, {"multicast block", "224.0.0.0"});
    expect_usage_error([] { parse_endpoints("239.255.255.255+1:7148"); }, {"multicast block", "240.0.0.0"});
    EXPECT_EQ(parse_endpoints("239.255.255.254+1:7148").size(), 2u);
    EXPECT_EQ(parse_endpoints("223.255.255.254+1:7148").size(), 2u);
}

TEST(Endpoint, ASourceMustBeASender) {
    expect_usage_error([] { parse_endpoints("239.1.2.3:7148@239.0.0.1"); },
                       {"source 239.0.0.1", "multicast", "sender"});
    expect_usage_error([] { parse_endpoints("239.1.2.3:7148@"); }, {"source: ``", "not an IPv4"});
    expect_usage_error([] { parse_endpoints("239.1.2.3:7148@0.0.0.0"); }, {"0.0.0.0", "any source"});
}

TEST(Endpoint, PartsInTheWrongOrderAreRefused) {
    expect_usage_error([] { parse_endpoints("239.1.2.3:7148+3"); }, {"`7148+3` is not a UDP port"});
    expect_usage_error([] { parse_endpoints("239.1.2.3@10.0.0.7:7148"); }, {"`10.0.0.7:7148`"});
}

TEST(IpAddress, PrintsAsRfc5952Recommends) {
    const std::pair<const char*, const char*> cases[] = {
        {"ff15::1", "ff15::1"},
        {"2001:0DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},    // the first of equal runs
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // one zero is written
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // the longest run
        {"::", "::"},
        {"::1", "::1"},
        {"fe80::", "fe80::"},
        {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
        {"0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"},
        {"239.1.2.3", "239.1.2.3"}};
    for (const auto& [text, printed] : cases)
        EXPECT_EQ(to_string(parse_ip(text)), printed);
}

TEST(IpAddress, RefusesWhatIsNoAddress) {
    for (const char* text : {"ff15::1::2", "ff15:", "ff15::g", "12345::", "1:2:3:4:5:6:7:8:9", "[ff15::1]"})
        expect_usage_error([&] { parse_ip(text); }, {std::string("`") + text + "`", "ff15::1"});
    expect_usage_error([] { parse_ip("fe80::1%eth0"); }, {"`%eth0`", "leave it out"});
    expect_usage_error([] { parse_ip("::ffff:239.1.2.3"); }, {"239.1.2.3", "write the IPv4 address"});
}

TEST(IpAddress, TellsFamiliesGroupsAndScopesApart) {
    EXPECT_TRUE(IpAddress().is_v4());
    EXPECT_TRUE(IpAddress().is_unspecified());
    EXPECT_TRUE(parse_ip("::").is_unspecified());
    EXPECT_TRUE(parse_ip("::").is_v6());
    EXPECT_TRUE(parse_ip("ff15::1").is_multicast());
    EXPECT_FALSE(parse_ip("fe15::1").is_multicast());
    EXPECT_TRUE(parse_ip("fe80::1").is_link_local());
    EXPECT_TRUE(parse_ip("febf::1").is_link_local());
    EXPECT_FALSE(parse_ip("fec0::1").is_link_local());
    EXPECT_TRUE(parse_ip("ff02::1:7").is_link_local());
    EXPECT_TRUE(parse_ip("ff11::1").is_link_local());
    EXPECT_FALSE(parse_ip("ff15::1").is_link_local());
    EXPECT_FALSE(parse_ip("169.254.0.1").is_link_local());
}

TEST(IpAddress, KeysOfSendersAreTheirIpv4AddressesOrNone) {
    EXPECT_EQ(sender_key(parse_ip("10.0.0.7")), 0x0A000007U);
    EXPECT_EQ(sender_key(parse_ip("fd00::7")) >> 28, 0xFU);
    EXPECT_NE(sender_key(parse_ip("fd00::7")), sender_key(parse_ip("fd00::8")));
    EXPECT_NE(sender_key(parse_ip("fd00::7")), sender_key(parse_ip("fd00:0:0:1::7")));
    EXPECT_EQ(sender_text(0x0A000007), "10.0.0.7");
    EXPECT_EQ(sender_text(0xF0000012), "an IPv6 sender (hash 0x0000012)");
}

TEST(Endpoint, AnIpv6AddressStandsInBrackets) {
    const auto endpoints = parse_endpoints("spead://[ff15::fffe]+2:7148@[fd00::7]");
    ASSERT_EQ(endpoints.size(), 3U);
    EXPECT_EQ(to_string(endpoints[0]), "[ff15::fffe]:7148@fd00::7");
    EXPECT_EQ(to_string(endpoints[2]), "[ff15::1:0]:7148@fd00::7");
    EXPECT_EQ(parse_endpoints("[ff15::fffe]+2:7148@fd00::7"), endpoints);
    EXPECT_EQ(parse_endpoints("[fd00::1]", 7148), parse_endpoints("[fd00::1]:7148"));
    EXPECT_FALSE(parse_endpoints("[ff15::1]:7148")[0].has_source());
    for (const Endpoint& e : endpoints)
        EXPECT_EQ(parse_endpoints(to_string(e)), (std::vector{e}));
}

TEST(Endpoint, WrongIpv6TextsAreRefusedWithTheFix) {
    expect_usage_error([] { parse_endpoints("ff15::1:7148"); }, {"[ADDRESS]:PORT"});
    expect_usage_error([] { parse_endpoints("[ff15::1:7148"); }, {"`]` is missing"});
    expect_usage_error([] { parse_endpoints("[ff15::1]7148"); }, {"`7148` follows"});
    expect_usage_error([] { parse_endpoints("[ff15::1]"); }, {"UDP port is missing", "as in [ff15::1]:7148"});
    expect_usage_error([] { parse_endpoints("[ff15::1]:0"); }, {"not a UDP port"});
    expect_usage_error([] { parse_endpoints("[239.1.2.3]:7148"); }, {"`239.1.2.3`", "IPv6"});
    expect_usage_error([] { parse_endpoints("[ff15::1]:7148@10.0.0.7"); },
                       {"10.0.0.7 is an IPv4 address", "ff15::1", "`@fd00::7`", "any source"});
    expect_usage_error([] { parse_endpoints("239.1.2.3:7148@fd00::7"); },
                       {"fd00::7 is an IPv6 address", "239.1.2.3", "`@10.0.0.7`", "any source"});
    expect_usage_error([] { parse_endpoints("[ff15::1]:7148@host"); },
                       {"source: `host` is not an IPv6 address", "fd00::7"});
    expect_usage_error([] { parse_endpoints("239.1.2.3:7148@host"); },
                       {"source: `host` is not an IPv4 address", "10.0.0.7"});
    expect_usage_error([] { parse_endpoints("[ff15::1]:7148@ff15::2"); }, {"multicast group"});
    expect_usage_error([] { parse_endpoints("[ff15::1]:7148@::"); }, {"not a sender's address"});
    expect_usage_error([] { parse_endpoints("[ff12::1%eth0]:7148"); }, {"`%eth0`", "zone"});
    expect_usage_error([] { parse_endpoints("[ff15::1+3]:7149"); },
                       {"range is inside the brackets", "as in [ff15::1]+3:7149"});
    expect_usage_error([] { parse_endpoints("[ff15::ffff:ffff:ffff:fffe]+2:7148"); }, {"at most +1"});
}

TEST(Endpoint, AGroupOfAScopeThatReachesNobodyIsRefused) {
    expect_usage_error([] { parse_endpoints("[ff01::1]:7148"); },
                       {"`[ff01::1]:7148`", "scope 1", "stay on the host", "ff15::1", "ff1e::1"});
    expect_usage_error([] { parse_endpoints("[ff10::1]+3:7148"); },
                       {"scope 0", "reserved", "ff15::1", "ff1e::1"});
    expect_usage_error([] { parse_endpoints("[ff00::1]:7148"); }, {"scope 0", "reserved"});
    expect_usage_error([] { parse_endpoints("[ff1f::1]:7148"); }, {"scope f", "reserved", "ff1e::1"});
    expect_usage_error([] { parse_endpoints("[ff3f::8000:1]:7148@fd00::7"); },
                       {"scope f", "ff35::8000:1", "ff3e::8000:1"});
    for (const char* text : {"[ff02::1:7]:7148", "[ff13::1]:7148", "[ff15::1]:7148", "[ff1e::1]:7148"})
        EXPECT_EQ(parse_endpoints(text).size(), 1U) << text;
}

TEST(Endpoint, AGroupOfPacketsThatWereSeenMayHaveAnyScope) {
    for (const char* text : {"[ff01::1]:7148", "[ff11::1]:7148", "[ff1f::1]:7148", "[ff15::1]:7148"})
        EXPECT_EQ(to_string(parse_seen_endpoints(text).at(0)), text);
    EXPECT_EQ(parse_seen_endpoints("[ff11::1]+2:7148").size(), 3U);
    expect_usage_error([] { parse_seen_endpoints("[ff11::1]"); }, {"port is missing"});
}

}  // namespace
}  // namespace spead
