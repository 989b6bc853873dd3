// SPDX-License-Identifier: BSD-3-Clause
#include "port/host.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_host.hpp"

namespace spead::port {
namespace {

TEST(Host, SeesInterfacesOfItsOwnNamespaceOnly) {
    test::FakeHost machine;
    NetdevFacts facts = machine.netdev("eth0");
    EXPECT_TRUE(machine.host().sees(facts));
    facts.index++;
    EXPECT_FALSE(machine.host().sees(facts)) << "the same name elsewhere";
    facts.name = "eth1";
    EXPECT_FALSE(machine.host().sees(facts));
}

TEST(Host, ThisOneHasALoopbackInterface) {
    const auto lo = this_host().netdev("lo");
    ASSERT_TRUE(lo);
    EXPECT_TRUE(lo->loopback);
    EXPECT_EQ(this_host().netdev("no such name"), std::nullopt);
}

}  // namespace
}  // namespace spead::port
