// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/replay_options.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"
#include "wire/net.hpp"

/// Tests the command `replay`.
namespace spead::app {
namespace {

using replay::Timing;
using test::expect_refused;
using test::parsed;
using test::parsed_options;

replay::Options options(const std::string& words) {
    return parsed_options<ReplayOptions>("replay --port p a.pcap " + words).replay;
}

TEST(ReplayCommand, SendsOnceAtTheCapturesTimesByDefault) {
    const CommandLine line = parsed("replay --port p a.pcap b.pcap");
    EXPECT_EQ(line.name, "replay");
    const ReplayOptions& typed = test::options_of<ReplayOptions>(line);
    EXPECT_EQ(typed.port, "p");
    const replay::Options& o = typed.replay;
    EXPECT_EQ(o.files, (std::vector<std::string>{"a.pcap", "b.pcap"}));
    EXPECT_EQ(o.timing, Timing::original);
    EXPECT_EQ(o.speed, 1);
    EXPECT_EQ(o.passes, 1);
    EXPECT_EQ(o.order, replay::Loader::Order::time);
    EXPECT_FALSE(o.rules.readdresses());
}

TEST(ReplayCommand, PacesExcludeEachOther) {
    EXPECT_EQ(options("--speed 2.5").speed, 2.5);
    EXPECT_EQ(options("--rate 8Gbps").timing, Timing::bytes);
    EXPECT_EQ(options("--rate 8Gbps").rate, 1e9);
    EXPECT_EQ(options("--rate 0").timing, Timing::greedy);
    EXPECT_EQ(options("--pps 1000").timing, Timing::packets);
    EXPECT_EQ(options("--pps 1000").rate, 1000);
    expect_refused("replay --port p a.pcap --speed 2 --rate 0", {"exclude each other"});
    expect_refused("replay --port p a.pcap --rate 1Gbps --pps 4", {"exclude each other"});
    expect_refused("replay --port p a.pcap --speed 0", {"--speed"});
}

TEST(ReplayCommand, DestinationsHaveTheirMacAddresses) {
    const replay::RewriteRules to = options("--to 239.2.2.2:99 --ttl 7 --strip-vlan").rules;
    ASSERT_TRUE(to.to);
    EXPECT_EQ(to.to->address, parse_ip("239.2.2.2"));
    EXPECT_EQ(to.to->port, 99);
    EXPECT_EQ(to.to->mac, wire::multicast_mac({0xEF020202}));
    EXPECT_EQ(to.ttl, 7);
    EXPECT_TRUE(to.strip_vlan);
    const auto map = options("--map 239.1.1.0+1:5=239.2.2.0+1:6 --map 239.1.1.9:5=10.0.0.1:7").rules.map;
    ASSERT_EQ(map.size(), 3U);
    EXPECT_EQ(map.at({parse_ip("239.1.1.1"), 5}).address, parse_ip("239.2.2.1"));
    EXPECT_EQ(map.at({parse_ip("239.1.1.1"), 5}).port, 6);
    EXPECT_EQ(map.at({parse_ip("239.1.1.9"), 5}).mac, MacAddress{}) << "found once the port is known";
    EXPECT_EQ(options("--map 239.1.1.0+3:5=239.2.2.2:6").rules.map.size(), 4U);
}

TEST(ReplayCommand, DestinationsMayBeOfIpv6) {
    const replay::RewriteRules to = options("--to [ff15::2:2]:99").rules;
    ASSERT_TRUE(to.to);
    EXPECT_EQ(to.to->address, parse_ip("ff15::2:2"));
    EXPECT_EQ(to.to->mac, wire::multicast_mac6({0, 0x20002}));
    const auto map = options("--map [ff15::1]+1:5=[ff15::9]+1:6 --map [ff15::7]:5=[fd00::7]:5").rules.map;
    ASSERT_EQ(map.size(), 3U);
    EXPECT_EQ(map.at({parse_ip("ff15::2"), 5}).address, parse_ip("ff15::a"));
    EXPECT_EQ(map.at({parse_ip("ff15::7"), 5}).mac, MacAddress{});
    expect_refused("replay --port p a.pcap --map 239.1.1.1:5=[ff15::9]:5",
                   {"--map", "one IP version to the other"});
    expect_refused("replay --port p a.pcap --map [ff15::9]:5=239.1.1.1:5", {"--map", "of one version"});
}

TEST(ReplayCommand, WhatIsWrongIsSaid) {
    expect_refused("replay --port p", {"replay needs a file"});
    expect_refused("replay a.pcap", {"replay needs a port"});
    expect_refused("replay --port p a.pcap --loop 0", {"--loop"});
    expect_refused("replay --port p a.pcap --loop -2", {"--loop"});
    expect_refused("replay --port p a.pcap --order random", {"--order", "time or sequence"});
    expect_refused("replay --port p a.pcap --to 239.1.1.0+3:5", {"--to", "4 destinations"});
    expect_refused("replay --port p a.pcap --to 239.1.1.0:5@10.0.0.1", {"--to", "source"});
    expect_refused("replay --port p a.pcap --map 239.1.1.1:5", {"OLD=NEW"});
    expect_refused("replay --port p a.pcap --map [ff15::1]:5@fd00::7=[ff15::2]:5",
                   {"--map", "[ff15::1]:5@fd00::7", "names a source"});
    expect_refused("replay --port p a.pcap --map 239.1.1.0+3:5=239.1.1.0+1:5", {"4 destinations to 2"});
    expect_refused("replay --port p a.pcap --map 239.1.1.1:5=239.1.1.2:5 --map 239.1.1.1:5=239.1.1.3:5",
                   {"mapped twice"});
    expect_refused("replay --port p a.pcap --lcore-timeout 500ms", {"--lcore-timeout"});
    expect_refused("replay --port p a.pcap --ttl 0", {"--ttl"});
    expect_refused("replay --port p a.pcap --memory 1KiB", {"--memory"});
}

}  // namespace
}  // namespace spead::app
