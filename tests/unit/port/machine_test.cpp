// SPDX-License-Identifier: BSD-3-Clause
#include "port/machine.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"

namespace spead::port {
namespace {

TEST(Machine, SeesInterfacesOfItsOwnNamespaceOnly) {
    spead::test::FakeMachine machine;
    NetdevFacts facts = machine.netdev("eth0");
    EXPECT_TRUE(machine.view().sees(facts));
    facts.index++;
    EXPECT_FALSE(machine.view().sees(facts)) << "the same name elsewhere";
    facts.name = "eth1";
    EXPECT_FALSE(machine.view().sees(facts));
}

TEST(Machine, ThisOneHasALoopbackInterface) {
    const auto lo = this_machine().netdev("lo");
    ASSERT_TRUE(lo);
    EXPECT_TRUE(lo->loopback);
    EXPECT_EQ(this_machine().netdev("no such name"), std::nullopt);
}

}  // namespace
}  // namespace spead::port
