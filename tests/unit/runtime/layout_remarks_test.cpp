// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout_remarks.hpp"

#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns the remarks on a port with these addresses, whose endpoint is that of a stream and of a sender.
std::vector<std::string> remarks(const std::string& address, const std::string& address6,
                                 const std::string& endpoint) {
    Plan plan;
    plan.ports = {{"p0", "net_null0", 0}, {"p1", "net_null1", 0}};
    if (!address.empty())
        plan.ports[0].address = parse_ipv4(address);
    if (!address6.empty())
        plan.ports[0].address6 = parse_ipv6(address6);
    plan.receives.emplace_back().port = plan.sends.emplace_back().port = "p0";
    plan.receives[0].endpoints = plan.sends[0].endpoints = parse_endpoints(endpoint);
    Layout layout;
    layout.ports.resize(2);
    layout.ports[0].request.name = "p0";
    layout.ports[1].request.name = "p1";
    add_remarks(plan, port::this_machine(), layout);
    return layout.remarks;
}

TEST(LayoutRemarks, AnAddressOfTheOtherIpVersionIsNamedWithTheRightKey) {
    const std::string four = "239.1.2.3:7148";
    const std::string six = "[ff15::1]:7148";
    EXPECT_THAT(remarks("10.0.0.1", "", four), IsEmpty());
    EXPECT_THAT(remarks("", "fd00::1", six), IsEmpty());
    EXPECT_THAT(remarks("10.0.0.1", "", six),
                ElementsAre(AllOf(HasSubstr("port p0: its `address` (--address) is 10.0.0.1"),
                                  HasSubstr("of IPv6; give an address of that with `address6`"))));
    EXPECT_THAT(remarks("10.0.0.1", "fd00::1", four),
                ElementsAre(AllOf(HasSubstr("its `address6` (--address) is fd00::1"),
                                  HasSubstr("of IPv4; give an address of that with `address`"))));
}

}  // namespace
}  // namespace spead::runtime
