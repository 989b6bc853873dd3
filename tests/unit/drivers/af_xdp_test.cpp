// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <functional>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <vector>

#include "base/error.hpp"
#include "drivers/table.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/drivers/xdp_lab.hpp"

namespace spead::drivers::test {

namespace {

using spead::test::refusal;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

port::PortRequest request(std::uint16_t rx = 1, std::uint16_t tx = 0, std::uint32_t packet = 1472,
                          const std::string& device = "net_af_xdp0,iface=dut") {
    port::PortRequest r;
    r.name = "p0";
    r.device = device;
    r.rx_queues = rx;
    r.tx_queues = tx;
    r.max_rx_packet = packet;
    r.max_tx_packet = tx == 0 ? 0 : packet;
    return r;
}

port::PreparedDevice plan(const port::PortRequest& r) {
    return port::plan_ports({&r, 1}, table()).front().device;
}

std::string plan_refusal(const port::PortRequest& r) {
    return refusal([&] { plan(r); });
}

bool drop_capability(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    data[capability / 32].effective &= ~(1U << (capability % 32));
    return ::syscall(SYS_capset, &header, data) == 0;
}

/// Returns the refusal that a child without these capabilities gets.
std::string refusal_without(const std::vector<unsigned>& capabilities, rlim_t lockable = RLIM_INFINITY) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return "no pipe";
    }
    if (::fork() == 0) {
        const rlimit limit{lockable, lockable};
        bool ready = lockable == RLIM_INFINITY || ::setrlimit(RLIMIT_MEMLOCK, &limit) == 0;
        for (const unsigned capability : capabilities) {
            ready = ready && drop_capability(capability);
        }
        const std::string text = ready ? plan_refusal(request()) : "cannot drop them";
        const auto written = ::write(ends[1], text.data(), text.size());
        ::_exit(written < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string text(4096, '\0');
    const auto length = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    ::wait(nullptr);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return text;
}

class AfXdp : public testing::Test {
  protected:
    void SetUp() override { enter(""); }
    static void enter(const std::string& options) {
        if (const auto reason = enter_lab(options); !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }
};

TEST_F(AfXdp, OneQueueToReceive) {
    const auto device = plan(request());
    EXPECT_EQ(device.devargs, "net_af_xdp0,iface=dut,busy_budget=0");  // veth copies
    EXPECT_EQ(device.netdev, "dut");
    EXPECT_EQ(device.rx_queues, 1);
    EXPECT_EQ(device.tx_queues, 1);  // they come in pairs
    EXPECT_EQ(device.rx_pools, 1);
    EXPECT_THAT(device.remarks, IsEmpty());
    EXPECT_EQ(device.capabilities.steering, port::Steering::xdp_map);
    EXPECT_EQ(device.capabilities.membership, port::Membership::kernel_socket);
    EXPECT_FALSE(device.capabilities.distributes_flows);
    EXPECT_FALSE(device.capabilities.tx_multi_segment);
    EXPECT_FALSE(device.capabilities.tx_external_buffer);
    EXPECT_EQ(device.capabilities.link_frame, 1522U);
}

TEST_F(AfXdp, AnMbufFillsAPageAndTheKernelsShareIsThereTwice) {
    const auto device = plan(request());
    EXPECT_EQ(device.rx_slot, 4096U);
    EXPECT_EQ(port::kObjectHeader + port::kMbufHeader + device.rx.data_room, 4096U);
    EXPECT_EQ(device.rx.data_room, port::kHeadroom + 256 + device.capabilities.max_rx_frame);
    EXPECT_EQ(device.rx_kept, 2048U);
    EXPECT_GE(device.rx.mbufs, 2048U + 512);
    EXPECT_GE(device.rx.pool_bytes, device.rx.mbufs * std::size_t{4096});
    EXPECT_LT(device.rx.pool_bytes, device.rx.mbufs * std::size_t{4096} + (std::size_t{2} << 20));

    const auto sending = plan(request(1, 1));
    EXPECT_EQ(sending.rx_kept, 3 * 2048U);
    EXPECT_EQ(sending.rx.mbufs, device.rx.mbufs + 2 * 2048);
}

TEST_F(AfXdp, WhatIsOnlySentNeedsOneQueue) {
    const auto device = plan(request(0, 1));
    EXPECT_EQ(device.rx_queues, 1);
    EXPECT_EQ(device.rx_pools, 1);
}

TEST_F(AfXdp, TheMtuIsRaisedForWhatIsSent) {
    const auto device = plan(request(0, 1, 3470));
    EXPECT_EQ(device.netdev_mtu, 3498U);
    EXPECT_THAT(device.remarks, ElementsAre(HasSubstr("raised from 1500 to 3498")));
    EXPECT_EQ(device.capabilities.max_tx_frame, 3498U + 14 + 8);
}

TEST_F(AfXdp, LargerPacketsCannotBeSent) {
    EXPECT_THAT(plan_refusal(request(0, 1, 3471)),
                AllOf(HasSubstr("port p0"), HasSubstr("3498"), HasSubstr("3470"),
                      HasSubstr("net_af_packet0,iface=dut")));
    auto r = request();
    r.mtu = 9000;
    EXPECT_THAT(plan_refusal(r), HasSubstr("9000"));
}

TEST_F(AfXdp, LargerPacketsThatCannotComeAreOnlyRemarked) {
    const auto device = plan(request(1, 0, 9200));
    EXPECT_THAT(device.remarks, ElementsAre(AllOf(HasSubstr("above 1472 bytes"), HasSubstr("up to 3470"),
                                                  HasSubstr("ip link set dut mtu 3498"))));
}

TEST_F(AfXdp, LargerPacketsThatCouldComeAreRefused) {
    ASSERT_TRUE(run("ip link set dut mtu 9216"));
    EXPECT_THAT(
        plan_refusal(request(1, 0, 9200)),
        AllOf(HasSubstr("9216"), HasSubstr("--max-packet-size 3470"), HasSubstr("ip link set dut mtu 3498")));
    EXPECT_THAT(plan(request(1, 0, 3470)).remarks, IsEmpty());
}

TEST_F(AfXdp, TheInterfaceMustBeThereAndUp) {
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, "net_af_xdp0,iface=nothing")),
                HasSubstr("no network interface \"nothing\""));
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, "net_af_xdp0")), HasSubstr("needs iface=NAME"));
    ASSERT_TRUE(run("ip link set dut down"));
    EXPECT_THAT(plan_refusal(request()), HasSubstr("ip link set dut up"));
}

TEST_F(AfXdp, ArgumentsAreChecked) {
    const std::string device = "net_af_xdp0,iface=dut,";
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, device + "queues=2")), HasSubstr("queues"));
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, device + "shared_umem=1")), HasSubstr("pool of its own"));
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, device + "busy_budget=-1")), HasSubstr("busy_budget"));
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, device + "start_queue=1")),
                HasSubstr("1 receive queue, counted"));
    EXPECT_THAT(plan_refusal(request(1, 0, 1472, device + "queue_count=2")), HasSubstr("ethtool -l dut"));
    EXPECT_EQ(plan(request(1, 0, 1472, device + "busy_budget=64,force_copy=1")).devargs,
              device + "busy_budget=64,force_copy=1");
}

TEST_F(AfXdp, AProgramOfTheUsersDecidesInPlaceOfOurs) {
    const auto device = plan(request(1, 0, 1472, "net_af_xdp0,iface=dut,xdp_prog=/tmp/x.o"));
    EXPECT_EQ(device.capabilities.steering, port::Steering::software);
    EXPECT_THAT(device.remarks, ElementsAre(HasSubstr("/tmp/x.o selects")));
}

TEST_F(AfXdp, ADeviceOfEalsWithoutAProgramIsRefused) {
    const auto r = request(1, 0, 1472, "net_af_xdp0");
    const std::vector<std::string> vdevs{"net_af_xdp0,iface=dut"};
    EXPECT_THAT(refusal([&] { port::plan_ports({&r, 1}, table(), vdevs); }), HasSubstr("leave --vdev out"));
}

TEST_F(AfXdp, SomebodyElsesProgramIsRefused) {
    ASSERT_TRUE(attach_elses("dut"));
    EXPECT_THAT(plan_refusal(request()),
                AllOf(HasSubstr("\"elses\""), HasSubstr("ip link set dev dut xdp off")));
}

TEST_F(AfXdp, AStaleProgramOfOursIsNot) {
    const LoadedSteer steer;
    ASSERT_TRUE(steer.attach("dut"));
    EXPECT_EQ(plan(request()).rx_queues, 1);
}

TEST_F(AfXdp, MissingPrivilegeIsNamed) {
    EXPECT_THAT(refusal_without({CAP_NET_RAW}), AllOf(HasSubstr("CAP_NET_RAW"), HasSubstr("setcap")));
    EXPECT_THAT(refusal_without({CAP_NET_ADMIN}), AllOf(HasSubstr("CAP_NET_ADMIN"), HasSubstr("setcap")));
    EXPECT_THAT(refusal_without({CAP_BPF, CAP_SYS_ADMIN}), AllOf(HasSubstr("CAP_BPF"), HasSubstr("setcap")));
    EXPECT_THAT(refusal_without({CAP_SYS_ADMIN}), IsEmpty());
}

TEST_F(AfXdp, TooLittleLockableMemoryIsToldWithTheArithmetic) {
    EXPECT_THAT(refusal_without({CAP_IPC_LOCK}, 1 << 20),
                AllOf(HasSubstr("1 queue x 2944 x 4096"), HasSubstr("`ulimit -l` allows 1 MiB")));
}

class AfXdpQueues : public AfXdp {
  protected:
    void SetUp() override { enter("numrxqueues 2 numtxqueues 2"); }
};

// veth has no combined channels: the PMD binds one queue of such an interface.
TEST_F(AfXdpQueues, QueuesThatCannotAllBeBoundAreRefusedUnlessNamed) {
    EXPECT_THAT(plan_refusal(request()), AllOf(HasSubstr("2 receive queues"), HasSubstr("ethtool -L dut")));
    const auto device = plan(request(1, 0, 1472, "net_af_xdp0,iface=dut,start_queue=1"));
    EXPECT_EQ(device.rx_queues, 1);
    EXPECT_THAT(device.remarks, ElementsAre(HasSubstr("stay with the kernel")));
    EXPECT_THAT(plan(request(0, 1)).remarks, IsEmpty());
}

TEST_F(AfXdpQueues, OnlyAsManyLcoresReadAsThereAreQueues) {
    auto r = request(4, 0, 1472, "net_af_xdp0,iface=dut,start_queue=0");
    EXPECT_THAT(plan_refusal(r), HasSubstr("4 queues are needed"));
    r.fewer_queues_do = true;
    EXPECT_EQ(port::plan_ports({&r, 1}, table()).front().request.rx_queues, 1);
}

}  // namespace

}  // namespace spead::drivers::test
