// SPDX-License-Identifier: BSD-3-Clause
#include "port/source_address.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace spead::port {
namespace {

SourceAddress address(const char* text, int unfitness = 0) {
    return {parse_ip(text), unfitness};
}

TEST(SourceAddresses, AreThoseOfTheInterface) {
    EXPECT_TRUE(std::ranges::any_of(source_addresses("lo"), [](const SourceAddress& one) {
        return one.address == parse_ip("127.0.0.1") && one.unfitness == 0;
    }));
    EXPECT_TRUE(source_addresses("no-such-interface").empty());
}

TEST(ChooseSource, TakesTheFirstOfTheFittest) {
    const std::vector<SourceAddress> all{
        address("fe80::1", SourceAddress::kLinkLocal), address("10.0.0.1"),   address("10.0.0.2"),
        address("fd00::1", SourceAddress::kTemporary), address("fd00::2", 0), address("fd00::3")};
    EXPECT_EQ(choose_source(all, false), parse_ip("10.0.0.1"));
    EXPECT_EQ(choose_source(all, true), parse_ip("fd00::2"));
    EXPECT_TRUE(choose_source({}, true).is_unspecified());
    EXPECT_TRUE(choose_source({address("fd00::1", SourceAddress::kFailed)}, true).is_unspecified());
    EXPECT_EQ(choose_source({address("fe80::1", SourceAddress::kLinkLocal)}, true), parse_ip("fe80::1"));
}

TEST(ChooseSource, StaysWithAnAddressThatIsAsFit) {
    const std::vector<SourceAddress> all{address("10.0.0.1"), address("10.0.0.2"), address("fd00::1"),
                                         address("fd00::2"), address("fd00::3", SourceAddress::kDeprecated)};
    EXPECT_EQ(choose_source(all, false, parse_ip("10.0.0.2")), parse_ip("10.0.0.2"));
    EXPECT_EQ(choose_source(all, true, parse_ip("fd00::2")), parse_ip("fd00::2"));
    EXPECT_EQ(choose_source(all, true, parse_ip("fd00::3")), parse_ip("fd00::1")) << "deprecated";
}

TEST(ChooseSource, DoesNotMoveToAnAddressThatMayNotBeUsedYet) {
    EXPECT_EQ(choose_source({address("fd00::1", SourceAddress::kDeprecated),
                             address("fd00::2", SourceAddress::kTentative)},
                            true, parse_ip("fd00::1")),
              parse_ip("fd00::1"));
    EXPECT_EQ(choose_source({address("fd00::1", SourceAddress::kTemporary), address("fd00::2")}, true),
              parse_ip("fd00::2"))
        << "receivers name it";
}

TEST(ChooseSource, ALinkLocalAddressWithoutTheInterfaceDoesNotStay) {
    EXPECT_TRUE(choose_source({}, true, parse_ip("fe80::1")).is_unspecified())
        << "the MAC address may be another";
}

TEST(ChooseSource, ALostAddressStaysUntilThereIsAnotherOfItsKind) {
    EXPECT_EQ(choose_source({}, false, parse_ip("10.0.0.1")), parse_ip("10.0.0.1"));
    EXPECT_EQ(choose_source({address("10.0.0.2")}, false, parse_ip("10.0.0.1")), parse_ip("10.0.0.2"));
    EXPECT_EQ(choose_source({address("fe80::1", SourceAddress::kLinkLocal)}, true, parse_ip("fd00::1")),
              parse_ip("fd00::1"));
    EXPECT_EQ(choose_source({address("fe80::1", SourceAddress::kLinkLocal), address("fd00::2")}, true,
                            parse_ip("fd00::1")),
              parse_ip("fd00::2"));
    EXPECT_EQ(choose_source({address("fe80::1", SourceAddress::kLinkLocal)}, true, parse_ip("fe80::2")),
              parse_ip("fe80::1"));
    EXPECT_EQ(choose_source(
                  {address("fe80::1", SourceAddress::kLinkLocal), address("fd00::1", SourceAddress::kFailed)},
                  true, parse_ip("fd00::1")),
              parse_ip("fe80::1"))
        << "another host has it";
}

}  // namespace
}  // namespace spead::port
