// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

/// Returns the refusal of a sender of default packets to the endpoint, on a port with this MTU.
std::string refusal_of(const std::string& endpoint, std::uint32_t mtu) {
    runtime::Plan plan = test::valid_plan();
    plan.sends[0] = test::send_plan("d0", endpoint);
    plan.ports[0].mtu = mtu;
    try {
        validate(plan);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

TEST(SentSizes, DefaultsFitAnMtuOf1500) {
    EXPECT_EQ(refusal_of("239.20.0.1:7148", 1500), "");
    EXPECT_EQ(refusal_of("[ff15::1]:7148", 1500), "");
    const std::string text = refusal_of("[ff15::1]:7148", 1499);
    for (const char* part : {"1452", "48", "MTU 1499", "at most 1451", "at least 1500"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

TEST(SentSizes, ASizeThatIsNamedHolds) {
    runtime::SendPlan ipv6 = test::send_plan("d0", "[ff15::1]:7148");
    EXPECT_EQ(packet_size(ipv6), 1452U);
    EXPECT_EQ(payload_in_ipv4(ipv6), 1472U);
    ipv6.max_packet_size = 1472;
    EXPECT_EQ(packet_size(ipv6), 1472U);
    EXPECT_EQ(payload_in_ipv4(ipv6), 1492U);
    EXPECT_EQ(packet_size(test::send_plan("d0", "239.20.0.1:7148")), 1472U);
}

/// Leaves the sizes of stored heaps to those who read them.
TEST(SentSizes, AStoredHeapNeedsNoRoomForAMadeOne) {
    runtime::Plan plan = test::valid_plan();
    plan.sends[0].address_bits = 16;
    EXPECT_THROW(validate(plan), Error);
    plan.sends[0].from = "stored";
    EXPECT_NO_THROW(validate(plan));
}

}  // namespace
}  // namespace spead::config
