// SPDX-License-Identifier: BSD-3-Clause
/// Tests rules by rte_flow and the order of calls that a card insists on. A recorder stands in for the card.
#include "port/flow_rules.hpp"

#include <cerrno>
#include <cstring>
#include <gmock/gmock.h>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include "base/error.hpp"
#include "tests/eal/port/card.hpp"
#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr MacAddress kMac{0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

Rule rule_for(const char* endpoint, std::uint16_t queue) {
    Rule r;
    r.endpoint = parse_endpoints(endpoint).front();
    r.queues = {queue};
    return r;
}

class FlowRulesTest : public ::testing::Test {
  protected:
    Card card;
    DeviceCallsInstead instead{card};
    FlowRules rules{3, "port p0", kMac, true};
};

TEST_F(FlowRulesTest, MatchesExactlyTheEndpoint) {
    rules.add(rule_for("239.129.2.3:7148", 1));

    ASSERT_EQ(card.rules.size(), 1U);
    const Card::Seen& seen = card.rules.begin()->second;
    EXPECT_EQ(seen.text,
              "ingress group 0 priority 0 eth dst 01:00:5e:01:02:03/ff:ff:ff:ff:ff:ff type 0/0 ipv4 dst "
              "239.129.2.3/ffffffff src 0.0.0.0/0 proto 0/0 udp dst 7148/ffff src 0/0 count queue 1");
}

TEST_F(FlowRulesTest, MatchesTheSourceThatAnEndpointNames) {
    rules.add(rule_for("239.1.2.3:7148@10.0.0.7", 0));

    EXPECT_THAT(card.rules.begin()->second.text,
                HasSubstr("ipv4 dst 239.1.2.3/ffffffff src 10.0.0.7/ffffffff"));
}

TEST_F(FlowRulesTest, MatchesTheVlanOfThePort) {
    Rule r = rule_for("239.1.2.3:7148", 0);
    r.vlan = 42;
    rules.add(r);

    EXPECT_THAT(card.rules.begin()->second.text, HasSubstr("vlan 42/fff ipv4"));
    EXPECT_THAT(rules.rules().front().text, HasSubstr("/ vlan vid is 42 / ipv4"));
}

TEST_F(FlowRulesTest, MatchesUnicastByThePortsOwnAddress) {
    rules.add(rule_for("10.0.0.5:7148", 0));

    EXPECT_THAT(card.rules.begin()->second.text, HasSubstr("eth dst 02:11:22:33:44:55/ff:ff:ff:ff:ff:ff"));
}

TEST_F(FlowRulesTest, SpreadsSendersOverSeveralQueues) {
    Rule r = rule_for("239.1.2.3:7148", 0);
    r.queues = {0, 2, 5};
    rules.add(r);

    EXPECT_THAT(card.rules.begin()->second.text, HasSubstr("rss 0 2 5 by source"));
    EXPECT_THAT(rules.rules().front().text, HasSubstr("rss types ipv4 l3-src-only end queues 0 2 5 end"));
}

TEST_F(FlowRulesTest, RefusesSeveralQueuesWhereTheDeviceDoesNotSpread) {
    FlowRules exact(3, "port p0", kMac, false);
    Rule r = rule_for("239.1.2.3:7148", 0);
    r.queues = {0, 1};

    EXPECT_THAT(error_of([&] { exact.add(r); }), HasSubstr("names 2 queues"));
    EXPECT_TRUE(card.rules.empty());
}

TEST_F(FlowRulesTest, TellsTheRuleInTheWordsOfTestpmd) {
    rules.add(rule_for("239.1.2.3:7148@10.0.0.7", 1));

    EXPECT_EQ(rules.rules().front().text,
              "flow create 3 ingress pattern eth dst is 01:00:5e:01:02:03 / ipv4 dst is 239.1.2.3 src is "
              "10.0.0.7 / "
              "udp dst is 7148 / end actions count / queue index 1 / end");
}

TEST_F(FlowRulesTest, DoesWithoutCountsWhereTheDeviceHasNoneAndAsksOnce) {
    card.lacks = {RTE_FLOW_ACTION_TYPE_COUNT};
    rules.add(rule_for("239.1.2.3:7148", 0));
    EXPECT_EQ(card.validations, 2U);
    rules.add(rule_for("239.1.2.4:7148", 0));
    EXPECT_EQ(card.validations, 3U);

    for (const RuleState& state : rules.rules()) {
        EXPECT_FALSE(state.counted);
        EXPECT_EQ(state.hits, std::nullopt);
        EXPECT_THAT(state.text, Not(HasSubstr("count")));
    }
}

TEST_F(FlowRulesTest, ADeviceThatRefusesARuleForAnotherReasonIsStillAskedForCounts) {
    card.refuse = ENOTSUP;
    EXPECT_THAT(error_of([&] { rules.add(rule_for("239.1.2.3:7148", 0)); }), Not(HasSubstr("count")));
    EXPECT_EQ(card.validations, 2U);
    card.refuse = 0;
    rules.add(rule_for("239.1.2.3:7148", 0));

    EXPECT_TRUE(rules.rules().front().counted);
}

TEST_F(FlowRulesTest, ARefusalNamesTheRuleAndTheReason) {
    card.refuse = ENOSPC;
    card.message = "table full";

    const std::string text = error_of([&] { rules.add(rule_for("239.1.2.3:7148", 1)); });

    EXPECT_THAT(text, HasSubstr("port p0: the device refuses the rule for 239.1.2.3:7148: table full"));
    EXPECT_THAT(text, HasSubstr("flow create 3 ingress pattern eth dst is 01:00:5e:01:02:03"));
    EXPECT_THAT(text, HasSubstr("receive fewer endpoints"));
    EXPECT_EQ(card.validations, 1U) << "only a lack of support is worth another try";
    EXPECT_TRUE(rules.rules().empty());
}

TEST_F(FlowRulesTest, ARefusalWithoutAMessageIsStillToldOf) {
    card.refuse = EPERM;

    const std::string text = error_of([&] { rules.add(rule_for("239.1.2.3:7148", 1)); });

    EXPECT_THAT(text, HasSubstr("no reason given"));
    EXPECT_THAT(text, HasSubstr("cap_net_raw"));
}

TEST_F(FlowRulesTest, AnEndpointHasOneRule) {
    rules.add(rule_for("239.1.2.3:7148", 1));

    EXPECT_THAT(error_of([&] { rules.add(rule_for("239.1.2.3:7148", 0)); }), HasSubstr("already has a rule"));
    rules.remove(parse_endpoints("239.1.2.3:7148").front());
    EXPECT_TRUE(card.rules.empty());
    rules.add(rule_for("239.1.2.3:7148", 0));
    EXPECT_EQ(card.rules.size(), 1U);
}

TEST_F(FlowRulesTest, RemovingWhatIsNotThereDoesNothing) {
    rules.remove(parse_endpoints("239.1.2.3:7148").front());
    EXPECT_TRUE(card.calls.empty());
}

TEST_F(FlowRulesTest, ARuleThatTheDeviceKeepsStaysListed) {
    rules.add(rule_for("239.1.2.3:7148", 1));
    card.keep = true;

    EXPECT_THAT(error_of([&] { rules.remove(parse_endpoints("239.1.2.3:7148").front()); }),
                HasSubstr("cannot remove the rule for 239.1.2.3:7148"));
    EXPECT_EQ(rules.rules().size(), 1U);
    card.keep = false;
}

TEST_F(FlowRulesTest, ThePortsOwnHostHearsIgmpArpAndIcmpOfIpv6) {
    rules.add_host_rules(2, true);
    rules.add(rule_for("239.1.2.3:1", 0));

    std::vector<std::string> texts;
    for (const auto& [flow, seen] : card.rules) {
        texts.push_back(seen.text);
    }
    ASSERT_EQ(texts.size(), 4U);
    EXPECT_THAT(texts[0], AllOf(HasSubstr("type 806/ffff"), HasSubstr("queue 2"), Not(HasSubstr("ipv4"))));
    EXPECT_THAT(texts[1], AllOf(HasSubstr("type 800/ffff ipv4 dst 0.0.0.0/0"), HasSubstr("proto 2/ff"),
                                HasSubstr("queue 2"), Not(HasSubstr("udp"))));
    EXPECT_THAT(texts[2], AllOf(HasSubstr("type 86dd/ffff ipv6 proto 58/ff"), HasSubstr("queue 2"),
                                Not(HasSubstr("udp"))));
    EXPECT_EQ(rules.rules().size(), 1U);
    rules.clear();
    EXPECT_TRUE(card.rules.empty());
}

TEST_F(FlowRulesTest, ACardWithoutIpv6ServesPortsThatDoNotUseIt) {
    card.ipv6 = false;
    rules.add_host_rules(0, false);
    EXPECT_EQ(card.rules.size(), 2U);
    rules.clear();
    EXPECT_THAT(error_of([&] { rules.add_host_rules(0, true); }), HasSubstr("MLD and NDP"));
}

TEST_F(FlowRulesTest, Ipv6ThatComesLaterAsksAgainForMldAndNdp) {
    card.ipv6 = false;
    rules.add_host_rules(2, false);
    EXPECT_THAT(error_of([&] { rules.add(rule_for("[ff15::1]:7148", 0)); }),
                HasSubstr("MLD and NDP, which the program answers"));
    EXPECT_EQ(card.rules.size(), 2U);
    card.ipv6 = true;
    rules.add(rule_for("[ff15::1]:7148", 0));

    std::vector<std::string> texts;
    for (const auto& [flow, seen] : card.rules) {
        texts.push_back(seen.text);
    }
    ASSERT_EQ(texts.size(), 4U);
    EXPECT_THAT(texts[2], AllOf(HasSubstr("ipv6 proto 58/ff"), HasSubstr("queue 2")));
    EXPECT_THAT(texts[3], HasSubstr("udp dst 7148"));
    rules.clear();
    EXPECT_TRUE(card.rules.empty());
}

TEST_F(FlowRulesTest, ASenderOfIpv6ThatComesLaterAsksAgainForMldAndNdp) {
    card.ipv6 = false;
    rules.add_host_rules(2, false);
    EXPECT_THAT(error_of([&] { rules.use_ipv6(); }), HasSubstr("MLD and NDP, which the program answers"));
    card.ipv6 = true;
    rules.use_ipv6();
    EXPECT_EQ(card.rules.size(), 3U);
    rules.use_ipv6();
    EXPECT_EQ(card.rules.size(), 3U) << "one is enough";
    rules.clear();
}

TEST_F(FlowRulesTest, APortWithoutHostsOfOurOwnNeedsNoRuleForThem) {
    rules.add(rule_for("[ff15::1]:7148", 0));
    EXPECT_EQ(card.rules.size(), 1U);
}

TEST_F(FlowRulesTest, RulesGoInReverseOrder) {
    for (const char* endpoint : {"239.1.2.3:1", "239.1.2.3:2", "239.1.2.3:3"}) {
        rules.add(rule_for(endpoint, 0));
    }
    card.calls.clear();
    rules.clear();

    EXPECT_THAT(card.calls, ElementsAre("destroy 3", "destroy 2", "destroy 1"));
}

TEST_F(FlowRulesTest, HitsAreThoseOfTheDevice) {
    rules.add(rule_for("239.1.2.3:1", 0));
    card.rules.begin()->second.hits = 77;

    EXPECT_EQ(rules.rules().front().hits, 77U);
}

/// Opens a card's port: a real ethdev (net_null), whose rules the recorder keeps.
class CardPortTest : public ::testing::Test {
  protected:
    Card card;
    DeviceCallsInstead instead{card};

    std::unique_ptr<Port> open(std::uint16_t queues) {
        PortRequest r = request("net_null0,no-rx=1", queues, 1);
        return Port::open(r, card_table());
    }
};

TEST_F(CardPortTest, IsolatesBeforeConfigureAndTakesRulesOnlyWhileItRuns) {
    const auto port = open(2);
    EXPECT_THAT(error_of([&] { port->add_rule(rule_for("239.1.2.3:1", 0)); }),
                HasSubstr("while the port is started"));
    port->start();
    port->add_rule(rule_for("239.1.2.3:1", 0));
    port->add_rule(rule_for("239.1.2.3:2", 1));
    EXPECT_EQ(port->rules().size(), 2U);
    port->remove_rule(parse_endpoints("239.1.2.3:1").front());
    port->stop();
    EXPECT_TRUE(port->rules().empty());
    port->close();

    EXPECT_THAT(card.calls, ElementsAre("isolate", "configure 2 1", "start", "create 1", "create 2",
                                        "destroy 1", "destroy 2", "stop", "close"));
}

TEST_F(CardPortTest, RulesAreGivenAnewAtEveryStart) {
    const auto port = open(1);
    for (int i = 0; i < 2; ++i) {
        port->start();
        EXPECT_TRUE(port->rules().empty());
        port->add_rule(rule_for("239.1.2.3:1", 0));
        port->stop();
    }
    EXPECT_TRUE(card.rules.empty());
}

TEST_F(CardPortTest, Ipv6ThatComesLaterIsUsedAtEveryLaterStart) {
    const auto port = open(1);
    card.ipv6 = false;
    port->start();
    port->add_host_rules(0);
    EXPECT_EQ(card.rules.size(), 2U);
    EXPECT_THAT(error_of([&] { port->use_ipv6(); }), HasSubstr("MLD and NDP"));
    card.ipv6 = true;
    port->use_ipv6();
    EXPECT_EQ(card.rules.size(), 3U);
    port->stop();

    card.ipv6 = false;
    port->start();
    EXPECT_THAT(error_of([&] { port->add_host_rules(0); }), HasSubstr("MLD and NDP"));
}

TEST_F(CardPortTest, ACardThatDoesNotIsolateSaysSo) {
    card.isolates = false;
    const auto port = open(1);

    EXPECT_FALSE(port->capabilities().isolation);
    ASSERT_FALSE(port->remarks().empty());
    EXPECT_THAT(port->remarks().back(), HasSubstr("also receives packets of no stream"));
}

}  // namespace

}  // namespace spead::port::test
