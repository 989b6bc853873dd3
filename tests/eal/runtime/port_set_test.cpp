// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/port_set.hpp"

#include <gmock/gmock.h>
#include <linux/capability.h>

#include "port/netdev.hpp"
#include "tests/eal/runtime/rig.hpp"

namespace spead::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Opens and starts two rings.
class Ports : public testing::Test {
  protected:
    Ports() {
        Plan plan;
        plan.memory.heaps = 16 * kMiB;
        plan.ports = {{"a", "net_ring0", 0}, {"b", "net_ring1", 0}};
        plan.receives = {receive("s0", "239.1.0.0:7148", "a"), receive("s1", "239.1.0.1:7148", "b")};
        layout = layout_of(plan);
        ports.open(plan.ports, layout.ports);
        ports.start();
    }
    ~Ports() override {
        for (std::size_t i = 0; i < ports.size(); i++)
            ports[i].device().close();
    }
    static Endpoint endpoint(const std::string& text) { return parse_endpoints(text).front(); }

    Layout layout;
    PortSet ports;
    std::vector<std::string> problems, remarks;
};

TEST_F(Ports, AreFoundByTheirNamesInThePlansOrder) {
    ASSERT_EQ(ports.size(), 2U);
    EXPECT_EQ(ports.index_of("a"), 0U);
    EXPECT_EQ(ports.index_of("b"), 1U);
    EXPECT_EQ(ports.index_of("c"), 2U) << "there is none";
    EXPECT_EQ(&ports["b"], &ports[1]);
    EXPECT_EQ(ports[1].device().name(), "b");
    EXPECT_TRUE(ports[0].device().started());
}

TEST_F(Ports, KeepTheirGroupsUntilTheyAreLeftOrTheyAreTakenOff) {
    const Endpoint e0 = endpoint("239.1.0.0:7148"), e1 = endpoint("239.1.0.1:7148");
    // Two streams may have one endpoint.
    const PortSet::Groups wanted{{e0, e0, e1}, {e1}};
    ports.join(wanted, -1);
    EXPECT_THAT(ports[0].not_joined(wanted[0]), IsEmpty());
    ports.leave_groups_but({{e1}, {e1}});
    EXPECT_THAT(ports[0].not_joined(wanted[0]), ElementsAre(e0, e0));
    ports[1].take_off();
    EXPECT_THAT(ports[1].not_joined(wanted[1]), ElementsAre(e1));
    ports.join(wanted, -1);
    EXPECT_THAT(ports[0].not_joined(wanted[0]), IsEmpty());
    EXPECT_THAT(ports[1].not_joined(wanted[1]), ElementsAre(e1)) << "nothing is joined on a port that is off";
    ports[1].put_on();
    ports.join(wanted, -1);
    EXPECT_THAT(ports[1].not_joined(wanted[1]), IsEmpty());
}

TEST_F(Ports, SayWhetherTheyRun) {
    EXPECT_EQ(ports[0].snapshot().state, "running");
    ports[0].take_off();
    EXPECT_FALSE(ports[0].is_on());
    EXPECT_EQ(ports[0].snapshot().state, "stopped");
    EXPECT_EQ(ports[1].snapshot().state, "running");
    ports[0].put_on();
    EXPECT_EQ(ports[0].snapshot().state, "running");
    ports.report_end(problems, remarks);
    EXPECT_THAT(problems, IsEmpty());
    EXPECT_THAT(remarks, IsEmpty());
}

TEST_F(Ports, AreAwayUntilTheyAreOpenedAgain) {
    LivePort& port = ports[0];
    port.lose("eth9");
    EXPECT_TRUE(port.is_detached());
    EXPECT_EQ(port.detached_netdev(), "eth9");
    port.take_off();
    port.device().stop();
    port.device().close();
    port.keep_counts();
    EXPECT_EQ(port.snapshot().state, "detached");
    EXPECT_FALSE(port.give_up_reopening("eth9", "no such device")) << "it is not open";
    ports.report_end(problems, remarks);
    EXPECT_THAT(problems, ElementsAre(HasSubstr("port a: its network interface eth9 has disappeared")));
    EXPECT_THAT(remarks, IsEmpty());

    problems.clear();
    ASSERT_TRUE(port.reopen());
    EXPECT_FALSE(port.is_detached());
    EXPECT_TRUE(port.device().started());
    port.put_on();
    EXPECT_EQ(port.snapshot().state, "running");
    ports.report_end(problems, remarks);
    EXPECT_THAT(problems, IsEmpty());
    EXPECT_THAT(remarks, ElementsAre("port a: its network interface was detached 1 time"));
    EXPECT_TRUE(port.give_up_reopening("eth9", "its rules were refused")) << "to be closed again";
    EXPECT_TRUE(port.is_detached());
}

TEST(PacketSocket, WhoseDeviceStringHasALengthKnowsALongerOne) {
    if (!port::has_capability(CAP_NET_ADMIN) || !port::has_capability(CAP_NET_RAW))
        GTEST_SKIP() << "it needs CAP_NET_ADMIN and CAP_NET_RAW";
    Plan plan;
    plan.memory.heaps = 16 * kMiB;
    plan.ports = {{"a", "net_af_packet0,iface=lo,framecnt=512", 0}};
    plan.receives = {receive("s0", "239.1.0.0:7148", "a")};
    const Layout layout = layout_of(plan);
    PortSet ports;
    ports.open(plan.ports, layout.ports);
    const stats::PortSettings known = ports[0].snapshot().settings;
    EXPECT_EQ(known.larger_buffer, 0U) << "it has no effect";
    EXPECT_EQ(known.longer_device, "net_af_packet0,iface=lo,framecnt=1024");
    EXPECT_EQ(known.larger_queue, 1024U);
    ports[0].device().close();
}

}  // namespace
}  // namespace spead::runtime::test
