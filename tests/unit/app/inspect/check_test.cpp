// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check.hpp"

#include <array>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "port/device_string.hpp"
#include "tests/support/fake_machine.hpp"
#include "tests/unit/app/inspect/expected_finding.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

constexpr const char* kCard = "0000:03:00.0";

/// Drives network interfaces of the kernel.
class OnNetdev final : public port::Driver {
  public:
    inline static port::MtuAdvice advice;

    std::string_view name() const override { return "net_fake"; }
    port::Capabilities declared() const override {
        port::Capabilities c;
        c.membership = port::Membership::kernel_socket;
        return c;
    }
    int netdev_rank() const override { return 1; }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("net_fake,iface={}", netdev);
    }
    port::PreparedDevice plan(const port::PortRequest& request) const override {
        const auto device = port::DeviceString::parse(request.device, "");
        if (device.has("refuse"))
            throw_error(port::where(request), "refused");
        port::PreparedDevice d;
        d.name = device.name();
        d.devargs = device.text();
        d.netdev = device.find("iface").value_or("");
        d.mtu_advice = advice;
        d.capabilities = declared();
        return d;
    }
};

class CheckAll : public testing::Test {
  protected:
    CheckAll() {
        machine_.card(kCard, 0x8086, "ice");
        facts_ = &machine_.netdev("ens1", kCard);
        OnNetdev::advice = {"the MTU of ens1 is 9216", "", true};
        machine_.file("/sys/class/net/ens1/device/numa_node", "1\n");
        for (unsigned cpu = 0; cpu < 64; cpu++)
            machine_.directory(fmt::format("/sys/devices/system/cpu/cpu{}/node1", cpu));
        plan_.ports.push_back({"p0", "ens1", 0});
        runtime::ReceivePlan& stream = plan_.receives.emplace_back();
        stream.name = "s0";
        stream.port = "p0";
        stream.endpoints = parse_endpoints("239.1.2.3:7148");
        stream.max_packet_size = 9000;
        stream.max_bytes = 1 << 20;
        plan_.memory.heaps = 16 << 20;
    }
    Findings all() {
        return check_all(machine_.view(), plan_, {}, kDrivers,
                         [this](const std::string&) { return paused_; });
    }
    Finding about(const std::string& subject) {
        for (const Finding& f : all())
            if (f.subject == subject)
                return f;
        return {Verdict::ok, "nothing", "nothing", {}};
    }

    static const OnNetdev kFamily;
    static const std::array<const port::Driver*, 1> kDrivers;
    spead::test::FakeMachine machine_;
    port::NetdevFacts* facts_ = nullptr;
    runtime::Plan plan_;
    std::optional<bool> paused_ = false;
};
const OnNetdev CheckAll::kFamily;
const std::array<const port::Driver*, 1> CheckAll::kDrivers{&kFamily};

TEST_F(CheckAll, AGoodMachineFailsNothing) {
    EXPECT_FALSE(any_failed(all())) << describe(all());
    expect(about("p0"), Verdict::ok, "net_fake: net_fake0,iface=ens1");
    expect(about("p0 link"), Verdict::ok, "ens1 is up");
    expect(about("p0 MTU"), Verdict::ok, "the MTU of ens1 is 9216");
    expect(about("p0 NUMA"), Verdict::ok, "node 1");
    expect(about("groups"), Verdict::ok, "1 to join");
    expect(about("memory"), Verdict::ok, "for heaps");
}

TEST_F(CheckAll, TheInterface) {
    // A remark of the port itself is shown, and nothing else.
    OnNetdev::advice = {"the MTU of ens1 is 1500: packets", "ip link set ens1 mtu 3498", false};
    expect(about("p0 MTU"), Verdict::warn, "the MTU of ens1 is 1500: packets", "ip link set ens1 mtu 3498");
    OnNetdev::advice = {};
    expect(about("p0 MTU"), Verdict::ok, "nothing");
    facts_->running = false;
    expect(about("p0 link"), Verdict::warn, "no carrier", "ethtool ens1");
    paused_ = true;
    expect(about("p0 pause frames"), Verdict::warn, "on:", "ethtool -A ens1");
    paused_ = false;
    expect(about("p0 pause frames"), Verdict::ok, "off");
    paused_.reset();
    expect(about("p0 pause frames"), Verdict::ok, "nothing");
}

TEST_F(CheckAll, ACpuOnTheWrongNode) {
    machine_.file("/sys/class/net/ens1/device/numa_node", "0\n");
    expect(about("p0 NUMA"), Verdict::warn, "on node 0, CPU", "/sys/devices/system/node/node0/cpulist");
    const auto layout = runtime::lay_out(plan_, {}, kDrivers, machine_.view());
    EXPECT_THAT(layout.remarks, testing::Contains(HasSubstr("port p0 on node 0"))) << "said at every start";
}

TEST_F(CheckAll, MembershipLimits) {
    machine_.file("/proc/sys/net/ipv4/igmp_max_memberships", "0\n");
    expect(about("groups"), Verdict::fail, "igmp_max_memberships is 0",
           "sysctl -w net.ipv4.igmp_max_memberships=20");
    machine_.file("/proc/sys/net/ipv4/igmp_max_memberships", "20\n");
    machine_.file("/proc/sys/net/ipv4/igmp_max_msf", "0\n");
    expect(about("groups"), Verdict::ok, "1 to join");
    plan_.receives[0].endpoints = parse_endpoints("239.1.2.3:7148@10.0.0.7");
    expect(about("groups"), Verdict::fail, "igmp_max_msf is 0", "sysctl -w net.ipv4.igmp_max_msf=10");
}

TEST_F(CheckAll, StrictReversePathsEndMemberships) {
    machine_.file("/proc/sys/net/ipv4/conf/all/rp_filter", "0\n");
    machine_.file("/proc/sys/net/ipv4/conf/ens1/rp_filter", "1\n");
    expect(about("IGMP queries"), Verdict::warn, "rp_filter of ens1 is strict", "rp_filter=2");
    machine_.file("/proc/sys/net/ipv4/conf/all/rp_filter", "2\n");
    expect(about("IGMP queries"), Verdict::ok, "nothing");
}

TEST_F(CheckAll, APlanThatCannotBeIsAFindingThatFails) {
    plan_.ports[0].device = "ens7";
    expect(about("plan"), Verdict::fail, "no driver for the device \"ens7\"");
    plan_.ports[0].device = "ens1,refuse=1";
    expect(about("plan"), Verdict::fail, "port p0: refused");
    EXPECT_TRUE(any_failed(all()));
}

TEST_F(CheckAll, WithoutPortsTheMachineIsLookedAt) {
    plan_ = {};
    EXPECT_FALSE(any_failed(all()));
    expect(about("ports"), Verdict::ok, "no port is named");
    EXPECT_NE(about("huge pages").text, "nothing");
}

}  // namespace
}  // namespace spead::app
