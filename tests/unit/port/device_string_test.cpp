// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_string.hpp"

#include <functional>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"

namespace spead::port {
namespace {

using spead::test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeviceString parse(const std::string& text) {
    return DeviceString::parse(text, "port p0");
}

TEST(DeviceString, GivesNameAndParametersInOrder) {
    const auto device = parse("net_pcap0,rx_pcap=a.pcap,rx_pcap=b.pcap,infinite_rx=1");
    EXPECT_EQ(device.name(), "net_pcap0");
    EXPECT_THAT(device.all("rx_pcap"), ElementsAre("a.pcap", "b.pcap"));
    EXPECT_EQ(device.find("rx_pcap"), "a.pcap");
    EXPECT_EQ(device.number("infinite_rx", 0, 1), 1U);
    EXPECT_FALSE(device.find("tx_pcap").has_value());
    EXPECT_THAT(device.all("tx_pcap"), IsEmpty());
    EXPECT_FALSE(device.has("tx_pcap"));
}

TEST(DeviceString, BecomesTheTextAgainWithWhatWasAdded) {
    auto device = parse("net_memif0,role=client,socket=/tmp/a=b");
    EXPECT_EQ(device.find("socket"), "/tmp/a=b");
    device.add("bsize", "2048");
    EXPECT_EQ(device.text(), "net_memif0,role=client,socket=/tmp/a=b,bsize=2048");
    device.set_name("net_memif3");
    EXPECT_EQ(device.name(), "net_memif3");
    EXPECT_EQ(parse("net_null0").text(), "net_null0");
}

TEST(DeviceString, AValueThatIsSetReplacesEachOfItsKey) {
    auto device = parse("net_memif0,bsize=9,role=client,bsize=8");
    device.set("bsize", "1");
    EXPECT_EQ(device.text(), "net_memif0,role=client,bsize=1");
    device.set("rsize", "4");
    EXPECT_EQ(device.text(), "net_memif0,role=client,bsize=1,rsize=4");
}

TEST(DeviceString, IgnoresTheBusNameAndEmptyPairsAsEalDoes) {
    EXPECT_EQ(parse("vdev:net_null0,size=64").text(), "net_null0,size=64");
    EXPECT_EQ(parse("net_null0,").text(), "net_null0");
    EXPECT_EQ(parse("net_null0,,size=64,").text(), "net_null0,size=64");
}

TEST(DeviceString, RefusesWhatPmdsWouldCrashOnOrMisread) {
    EXPECT_THAT(refusal([] { parse(""); }), HasSubstr("port p0: the device \"\" has no name"));
    EXPECT_THAT(refusal([] { parse("vdev:"); }), HasSubstr("has no name"));
    EXPECT_THAT(refusal([] { parse(",size=1"); }), HasSubstr("has no name"));
    EXPECT_THAT(refusal([] { parse("iface=eth0"); }), HasSubstr("starts with a parameter"));
    EXPECT_THAT(refusal([] { parse("net_null0,size"); }),
                HasSubstr("\"size\" in the device \"net_null0,size\""));
    EXPECT_THAT(refusal([] { parse("net_null0,size="); }), HasSubstr("is not key=value"));
    EXPECT_THAT(refusal([] { parse("net_null0,=1"); }), HasSubstr("is not key=value"));
    EXPECT_THAT(refusal([] { parse(std::string(64, 'x')); }),
                HasSubstr("has 64 characters, and EAL keeps at most 63"));
}

TEST(DeviceString, NumbersAreWholeAndWithinTheirRange) {
    const auto number = [](const std::string& value) {
        return refusal([&] { (void)parse("net_null0,size=" + value).number("size", 1, 100); });
    };
    for (const char* wrong : {"0", "101", "-1", "1k", " 1", "1 ", "0x10", "99999999999999999999", "ten"}) {
        EXPECT_EQ(number(wrong),
                  "port p0: size=" + std::string(wrong) + " of net_null0 is not a number from 1 to 100");
    }
    EXPECT_EQ(number("100"), "");
    EXPECT_FALSE(parse("net_null0").number("size", 1, 100).has_value());
}

TEST(DeviceString, UnknownAndRepeatedParametersAreRefused) {
    const auto device = parse("net_pcap0,rx_pcap=a,rx_pcap=b,infinite_rx=1");
    EXPECT_EQ(refusal([&] { device.check_keys({"rx_pcap", "infinite_rx"}, {"rx_pcap"}); }), "");
    EXPECT_EQ(refusal([&] {
                  device.check_keys({"rx_pcap", "infinite_rx"});
              }),
              "port p0: rx_pcap is given 2 times for net_pcap0; give it once");
    EXPECT_EQ(refusal([&] {
                  device.check_keys({"rx_pcap", "tx_pcap"}, {"rx_pcap"});
              }),
              "port p0: net_pcap0 has no parameter \"infinite_rx\"; it has rx_pcap, tx_pcap");
}

}  // namespace
}  // namespace spead::port
