// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

std::string refusal_of(const Ipv6& address) {
    runtime::Plan plan = test::valid_plan();
    plan.ports[0].address6 = address;
    return test::usage_error_of([&] { validate(plan); });
}

TEST(PortAddress, OfIpv6IsAHosts) {
    for (const Ipv6 address : {Ipv6{0xFF02000000000000, 1}, Ipv6{0, 1}}) {
        const std::string text = refusal_of(address);
        EXPECT_NE(text.find(to_string(IpAddress(address))), std::string::npos) << text;
        EXPECT_NE(text.find("fd00::5"), std::string::npos) << text;
    }
    for (const Ipv6 address : {Ipv6{0, 0}, Ipv6{0xFD00000000000000, 5}, Ipv6{0xFE80000000000000, 5}}) {
        runtime::Plan plan = test::valid_plan();
        plan.ports[0].address6 = address;
        EXPECT_NO_THROW(validate(plan)) << to_string(IpAddress(address));
    }
}

TEST(PortAddress, IsNotTheOneThatMeansNone) {
    const std::string port = "version = 1\n[[port]]\nname = \"p0\"\ndevice = \"net_null0\"\n";
    for (const char* line : {"address = \"0.0.0.0\"\n", "address6 = \"::\"\n"})
        EXPECT_NE(
            test::usage_error_of([&] { parse_text(port + line, ""); }).find("is not the address of a host"),
            std::string::npos)
            << line;
}

TEST(PortAddress, OfIpv6IsNoneOfIpv4) {
    const std::string port = "version = 1\n[[port]]\nname = \"p0\"\ndevice = \"net_null0\"\n";
    for (const char* address : {"10.0.0.5", "::ffff:10.0.0.5", "fe80::1%eth0", "[fd00::5]"})
        EXPECT_NE(test::usage_error_of([&] {
                      parse_text(port + "address6 = \"" + address + "\"\n", "");
                  }).find(address),
                  std::string::npos)
            << address;
    EXPECT_NE(test::usage_error_of([&] {
                  parse_text(port + "address = \"fd00::5\"\n", "");
              }).find("give it as `address6`"),
              std::string::npos);
}

}  // namespace
}  // namespace spead::config
