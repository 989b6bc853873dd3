// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/queue_assignment.hpp"

#include <gmock/gmock.h>
#include <set>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Cpus = std::vector<unsigned>;
using Queues = std::vector<std::uint16_t>;

port::Capabilities rules(bool spreads = false) {
    port::Capabilities c;
    c.steering = port::Steering::rte_flow;
    c.spreads_sources = spreads;
    return c;
}

port::Capabilities flows() {
    port::Capabilities c;
    c.steering = port::Steering::xdp_map;
    c.distributes_flows = true;
    return c;
}

const std::vector<Endpoint> kOne = parse_endpoints("239.1.0.1:7148");
const std::vector<Endpoint> kOther = parse_endpoints("239.1.0.2:7148");
const std::vector<Endpoint> kFour = parse_endpoints("239.2.0.1+3:7148");

/// Returns the lcores that get packets of an endpoint from a queue. If the queue brings none, the list is
/// empty.
Cpus cpus_of(const PortAssignment& s, std::uint16_t queue, std::size_t receive, std::uint16_t endpoint) {
    for (const Delivery& d : s.queues[queue].deliveries)
        if (d.receive == receive && d.endpoint == endpoint)
            return d.cpus;
    return {};
}

TEST(PortAssignment, OneLcoreHasTheQueueToItself) {
    const std::vector<StreamOnPort> streams{{0, kFour, {5}}};
    const PortAssignment s = assign_queues(2, {}, Cpus{5}, 1, streams, {});

    ASSERT_THAT(s.queues, SizeIs(1));
    EXPECT_EQ(s.queues[0].port, 2U);
    EXPECT_EQ(s.queues[0].cpu, 5U);
    ASSERT_THAT(s.queues[0].deliveries, SizeIs(4));
    for (std::uint16_t e = 0; e < 4; e++)
        EXPECT_THAT(cpus_of(s, 0, 0, e), ElementsAre(5));
    EXPECT_THAT(s.rules, IsEmpty()) << "software classifies";
    EXPECT_FALSE(s.by_heap_count);
}

TEST(PortAssignment, EndpointsOfIpv6HaveEntriesOfTheXdpMap) {
    const std::vector<Endpoint> six = parse_endpoints("[ff15::1]+1:7148@fd00::7");
    const std::vector<StreamOnPort> streams{{0, six, {5}}};
    const PortAssignment s = assign_queues(0, flows(), Cpus{5}, 1, streams, {});
    ASSERT_THAT(s.rules, SizeIs(2));
    EXPECT_EQ(s.rules[1].rule.endpoint, six[1]);
}

TEST(PortAssignment, WhereThereIsOneQueueTheOtherLcoresWorkBehindIt) {
    const std::vector<StreamOnPort> streams{{0, kOne, {5, 6, 7}}, {1, kFour, {6}}};
    const PortAssignment s = assign_queues(0, {}, Cpus{5, 6, 7}, 1, streams, {});

    ASSERT_THAT(s.queues, SizeIs(1));
    EXPECT_EQ(s.queues[0].cpu, 5U);
    EXPECT_THAT(cpus_of(s, 0, 0, 0), ElementsAre(5, 6, 7));
    EXPECT_THAT(cpus_of(s, 0, 1, 3), ElementsAre(6)) << "a stream stays on the lcore that it names";
    EXPECT_TRUE(s.by_heap_count);
}

TEST(PortAssignment, RulesAssignEndpointsToQueues) {
    const std::vector<StreamOnPort> streams{{0, kFour, {5, 6}}};
    const PortAssignment s = assign_queues(1, rules(), Cpus{5, 6}, 2, streams, 42);

    EXPECT_THAT(cpus_of(s, 0, 0, 0), ElementsAre(5));
    EXPECT_THAT(cpus_of(s, 1, 0, 1), ElementsAre(6));
    EXPECT_THAT(cpus_of(s, 0, 0, 2), ElementsAre(5));
    EXPECT_THAT(cpus_of(s, 1, 0, 3), ElementsAre(6));
    EXPECT_THAT(s.queues[0].deliveries, SizeIs(2)) << "and nothing else comes there";
    EXPECT_FALSE(s.by_heap_count);
    ASSERT_THAT(s.rules, SizeIs(4));
    for (std::size_t e = 0; e < 4; e++) {
        EXPECT_EQ(s.rules[e].port, 1U);
        EXPECT_EQ(s.rules[e].rule.endpoint, kFour[e]);
        EXPECT_EQ(s.rules[e].rule.queues, Queues{static_cast<std::uint16_t>(e % 2)});
        EXPECT_EQ(s.rules[e].rule.vlan, 42);
    }
}

TEST(PortAssignment, StreamsKeepToTheirOwnQueues) {
    const std::vector<StreamOnPort> streams{{0, kOne, {6}}, {1, kFour, {5}}};
    const PortAssignment s = assign_queues(0, rules(), Cpus{6, 5}, 2, streams, {});

    EXPECT_EQ(s.rules[0].rule.queues, Queues{0});
    for (std::size_t e = 1; e < 5; e++) {
        EXPECT_EQ(s.rules[e].rule.queues, Queues{1});
    }
}

TEST(PortAssignment, OneEndpointForSeveralLcoresIsSpreadBySourceWhereTheDeviceCan) {
    const std::vector<StreamOnPort> streams{{0, kOne, {5, 6, 7}}};
    const PortAssignment s = assign_queues(0, rules(true), Cpus{5, 6, 7}, 3, streams, {});

    ASSERT_THAT(s.rules, SizeIs(1));
    EXPECT_EQ(s.rules[0].rule.queues, (Queues{0, 1, 2}));
    for (std::uint16_t q = 0; q < 3; q++)
        EXPECT_THAT(cpus_of(s, q, 0, 0), ElementsAre(5 + q));
    EXPECT_FALSE(s.by_heap_count);
}

TEST(PortAssignment, ElseByHeapCountBehindTheQueueOfTheFirst) {
    const std::vector<StreamOnPort> streams{{0, kOne, {5, 6, 7}}};
    const PortAssignment s = assign_queues(0, rules(), Cpus{5, 6, 7}, 3, streams, {});

    EXPECT_EQ(s.rules[0].rule.queues, Queues{0});
    EXPECT_THAT(cpus_of(s, 0, 0, 0), ElementsAre(5, 6, 7));
    EXPECT_TRUE(s.by_heap_count);
}

TEST(PortAssignment, LcoresBeyondTheQueuesOfTheDeviceWorkBehindThem) {
    const std::vector<StreamOnPort> streams{{0, kFour, {5, 6, 7, 8, 9}}};
    const PortAssignment s = assign_queues(0, rules(), Cpus{5, 6, 7, 8, 9}, 2, streams, {});

    ASSERT_THAT(s.queues, SizeIs(2));
    EXPECT_THAT(cpus_of(s, 0, 0, 0), ElementsAre(5, 7, 9));
    EXPECT_THAT(cpus_of(s, 1, 0, 1), ElementsAre(6, 8));
    EXPECT_TRUE(s.by_heap_count);
}

TEST(PortAssignment, WhereTheDeviceDistributesFlowsAnyPacketMayComeFromAnyQueue) {
    const std::vector<StreamOnPort> streams{{0, kFour, {5, 6}}, {1, kOne, {6}}};
    const PortAssignment s = assign_queues(0, flows(), Cpus{5, 6}, 2, streams, {});

    for (std::uint16_t e = 0; e < 4; e++) {
        EXPECT_THAT(cpus_of(s, 0, 0, e), ElementsAre(5));
        EXPECT_THAT(cpus_of(s, 1, 0, e), ElementsAre(6));
    }
    EXPECT_THAT(cpus_of(s, 0, 1, 0), ElementsAre(6)) << "passed on: its stream has no share on 5";
    EXPECT_THAT(cpus_of(s, 1, 1, 0), ElementsAre(6));
    EXPECT_TRUE(s.by_heap_count);
    ASSERT_THAT(s.rules, SizeIs(5)) << "the program must let each endpoint through";
    EXPECT_EQ(s.rules[4].rule.queues, (Queues{0, 1}));
}

std::vector<Endpoint> all_of(std::initializer_list<const char*> texts) {
    std::vector<Endpoint> all;
    for (const char* const text : texts)
        all.push_back(parse_endpoints(text).front());
    return all;
}

// Only one socket can have a unicast address and port, and its queue is that of all its sources.
TEST(PortAssignment, SourcesOfAUnicastAddressShareTheQueueOfItsSocket) {
    const std::vector<Endpoint> sources = all_of({"10.0.0.1:7148@10.0.0.2", "10.0.0.1:7148@10.0.0.3"});
    const std::vector<Endpoint> another = all_of({"10.0.0.1:7148@10.0.0.4", "10.0.0.1:7149@10.0.0.4"});
    const std::vector<Endpoint> groups = all_of({"239.0.0.1:7148@10.0.0.2", "239.0.0.1:7148@10.0.0.3"});
    const std::vector<StreamOnPort> streams{{0, sources, {5, 6}}, {1, another, {6}}, {2, groups, {5, 6}}};
    port::Capabilities c = rules();
    c.steering = port::Steering::sockets;
    const PortAssignment s = assign_queues(0, c, Cpus{5, 6}, 2, streams, {});

    std::vector<std::uint16_t> queues;
    for (const PortRule& r : s.rules)
        queues.push_back(r.rule.queues.front());
    EXPECT_THAT(queues, ElementsAre(0, 0, 0, 1, 0, 1));
    EXPECT_THAT(cpus_of(s, 0, 0, 0), ElementsAre(5));
    EXPECT_THAT(cpus_of(s, 0, 0, 1), ElementsAre(6)) << "its lcore works behind that queue";
    EXPECT_THAT(cpus_of(s, 0, 1, 0), ElementsAre(6)) << "a stream stays on the lcore that it names";
    EXPECT_THAT(cpus_of(s, 1, 1, 1), ElementsAre(6)) << "the other port number has a socket of its own";
    EXPECT_TRUE(s.by_heap_count);
    EXPECT_EQ(assign_queues(0, rules(), Cpus{5, 6}, 2, streams, {}).rules[1].rule.queues, Queues{1})
        << "cards tell the sources apart";
}

/// Tests every shape. No endpoint is without a way, and every rule leads to a queue that knows the endpoint.
/// Every lcore of a stream has work, unless the stream has fewer endpoints and its device spreads by nothing
/// else.
TEST(PortAssignment, EveryPacketHasOneWay) {
    for (const port::Capabilities& c : {port::Capabilities{}, rules(), rules(true), flows()})
        for (unsigned lcores = 1; lcores <= 5; lcores++)
            for (std::uint16_t queues = 1; queues <= lcores; queues++) {
                if (c.steering == port::Steering::software && queues > 1)
                    continue;
                Cpus all;
                for (unsigned i = 0; i < lcores; i++)
                    all.push_back(10 + i);
                const std::vector<StreamOnPort> streams{
                    {0, kFour, all}, {1, kOne, {all.back()}}, {2, kOther, all}};
                const PortAssignment s = assign_queues(0, c, all, queues, streams, {});
                ASSERT_THAT(s.queues, SizeIs(queues));
                std::set<unsigned> busy;
                for (const QueueLayout& q : s.queues) {
                    std::set<std::pair<std::size_t, std::uint16_t>> seen;
                    for (const Delivery& d : q.deliveries) {
                        EXPECT_TRUE(seen.insert({d.receive, d.endpoint}).second);
                        ASSERT_FALSE(d.cpus.empty());
                        EXPECT_EQ(std::set(d.cpus.begin(), d.cpus.end()).size(), d.cpus.size());
                        if (d.receive == 1) {
                            EXPECT_THAT(d.cpus, ElementsAre(all.back()));
                        }
                        busy.insert(d.cpus.begin(), d.cpus.end());
                    }
                }
                EXPECT_THAT(busy, SizeIs(lcores));
                for (const StreamOnPort& stream : streams)
                    for (std::uint16_t e = 0; e < stream.endpoints.size(); e++) {
                        std::size_t ways = 0;
                        for (std::uint16_t q = 0; q < queues; q++)
                            ways += !cpus_of(s, q, stream.receive, e).empty();
                        EXPECT_GE(ways, 1U);
                        if (c.steering != port::Steering::rte_flow) {
                            EXPECT_EQ(ways, queues);
                        }
                    }
                for (const PortRule& r : s.rules) {
                    EXPECT_FALSE(r.rule.queues.empty());
                    if (c.steering == port::Steering::rte_flow && !c.spreads_sources) {
                        EXPECT_THAT(r.rule.queues, SizeIs(1));
                    }
                    for (const StreamOnPort& stream : streams)
                        for (std::uint16_t e = 0; e < stream.endpoints.size(); e++)
                            if (stream.endpoints[e] == r.rule.endpoint) {
                                for (const std::uint16_t q : r.rule.queues)
                                    EXPECT_FALSE(cpus_of(s, q, stream.receive, e).empty());
                            }
                }
            }
}

/// Returns the lcores that get packets of an endpoint on a path, whatever queue brings them.
std::set<Cpus> lcores_of(const PortAssignment& s, std::uint16_t endpoint) {
    std::set<Cpus> all;
    for (const QueueLayout& q : s.queues)
        for (const Delivery& d : q.deliveries)
            if (d.endpoint == endpoint)
                all.insert(d.cpus);
    return all;
}

TEST(PortAssignment, AnEndpointHasTheSameLcoresOnBothPathsWhateverTheirQueues) {
    const Cpus lcores{5, 6, 7};
    const std::vector<Endpoint> two(kFour.begin(), kFour.begin() + 2);
    for (const std::vector<Endpoint>& endpoints : {kOne, two, kFour}) {
        // The first port has other streams, too, and the second has fewer queues.
        const std::vector<StreamOnPort> first{{0, kOther, {9, 7}}, {1, endpoints, lcores, 0, true}};
        const std::vector<StreamOnPort> second{{1, endpoints, lcores, 1, true}};
        for (const port::Capabilities& a : {rules(), rules(true), flows(), port::Capabilities{}})
            for (const port::Capabilities& b : {rules(), rules(true), flows(), port::Capabilities{}}) {
                const PortAssignment one = assign_queues(0, a, Cpus{9, 7, 5, 6}, 4, first, {});
                const PortAssignment other = assign_queues(1, b, lcores, 2, second, {});
                for (std::uint16_t e = 0; e < endpoints.size(); e++) {
                    std::set<Cpus> of_first;
                    for (const QueueLayout& q : one.queues)
                        for (const Delivery& d : q.deliveries)
                            if (d.receive == 1 && d.endpoint == e) {
                                EXPECT_EQ(d.path, 0U);
                                of_first.insert(d.cpus);
                            }
                    EXPECT_THAT(of_first, SizeIs(1)) << "endpoint " << e;
                    EXPECT_EQ(of_first, lcores_of(other, e)) << "endpoint " << e;
                }
            }
    }
}

TEST(PortAssignment, EveryLcoreOfTwoPathsHasWork) {
    const Cpus lcores{5, 6, 7};
    const std::vector<StreamOnPort> streams{{0, kFour, lcores, 0, true}};
    const PortAssignment s = assign_queues(0, rules(), lcores, 3, streams, {});
    std::set<unsigned> busy;
    for (const QueueLayout& q : s.queues)
        for (const Delivery& d : q.deliveries)
            busy.insert(d.cpus.begin(), d.cpus.end());
    EXPECT_THAT(busy, ElementsAre(5, 6, 7));
    EXPECT_FALSE(s.by_heap_count) << "endpoints are enough for all, and each comes by its lcore's queue";
}

}  // namespace
}  // namespace spead::runtime
