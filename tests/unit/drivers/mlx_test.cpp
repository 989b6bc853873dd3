// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/mlx.hpp"

#include <gmock/gmock.h>
#include <linux/capability.h>

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "base/error.hpp"
#include "drivers/table.hpp"
#include "tests/support/fake_machine.hpp"
#include "tests/support/refusal.hpp"

namespace spead::drivers {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kMellanoxCard = "0000:03:00.0";

port::PortRequest request_for(const std::string& device) {
    port::PortRequest request;
    request.name = "p0";
    request.device = device;
    request.rx_queues = 1;
    request.tx_queues = 1;
    request.max_rx_packet = 8192;
    request.max_tx_packet = 1472;
    request.buffer_size = std::size_t{16} << 20;
    return request;
}

/// Makes one card of a kind, with all that it needs.
template <bool Five>
class MlxCard : public testing::Test {
  protected:
    MlxCard() {
        machine_.card(kMellanoxCard, port::kMellanox, Five ? "mlx5_core" : "mlx4_core");
        netdev_ = &machine_.netdev("ens1f0", kMellanoxCard);
        netdev_->mtu = 9000;
        machine_.rdma(kMellanoxCard, Five ? "mlx5_0" : "mlx4_0");
        driver_ = Five ? mlx5_on(machine_.view()) : mlx4_on(machine_.view());
    }
    port::PreparedDevice plan(const port::PortRequest& request) const { return driver_->plan(request); }
    port::PreparedDevice plan(const std::string& device = kMellanoxCard) const {
        return plan(request_for(device));
    }
    std::string refusal(const port::PortRequest& request) const {
        return spead::test::refusal([&] { plan(request); });
    }
    std::string refusal(const std::string& device = kMellanoxCard) const {
        return refusal(request_for(device));
    }

    spead::test::FakeMachine machine_;
    port::NetdevFacts* netdev_ = nullptr;
    std::unique_ptr<port::Driver> driver_;
};

using Mlx5 = MlxCard<true>;
using Mlx4 = MlxCard<false>;

// Needs of both kinds.

TEST_F(Mlx5, WhatIsMissingIsNamedWithTheCommand) {
    EXPECT_EQ(refusal(), "");
    machine_.without(CAP_NET_RAW);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("port p0: 0000:03:00.0 needs CAP_NET_RAW"), HasSubstr("setcap")));
    machine_.remove("/dev/infiniband/uverbs0");
    EXPECT_THAT(refusal(), HasSubstr("/dev/infiniband/uverbs0 is not there"));
    machine_.remove(fmt::format("/sys/bus/pci/devices/{}/infiniband_verbs", kMellanoxCard));
    EXPECT_THAT(refusal(), HasSubstr("modprobe ib_uverbs"));
    machine_.remove(fmt::format("/sys/bus/pci/devices/{}/infiniband", kMellanoxCard));
    EXPECT_THAT(refusal(), HasSubstr("modprobe mlx5_ib"));
    machine_.link(fmt::format("/sys/bus/pci/devices/{}/driver", kMellanoxCard), "../vfio-pci");
    EXPECT_THAT(refusal(), HasSubstr("is bound to vfio-pci, not to mlx5_core"));
    EXPECT_THAT(refusal("0000:09:00.0"), HasSubstr("0000:09:00.0 is not a PCI device"));
}

TEST_F(Mlx5, TheInterfaceMustBeUpAndHere) {
    netdev_->up = false;
    EXPECT_THAT(refusal(), HasSubstr("ens1f0 is down; run `ip link set ens1f0 up`"));
    machine_.remove(fmt::format("/sys/bus/pci/devices/{}/net", kMellanoxCard));
    EXPECT_THAT(refusal(), HasSubstr("no network interface here"));
}

TEST_F(Mlx5, MemoryThatCannotBeLockedIsRefused) {
    machine_.lockable = std::uint64_t{8} << 20;
    EXPECT_THAT(refusal(), AllOf(HasSubstr("`ulimit -l` allows 8388608"), HasSubstr("CAP_IPC_LOCK")));
    machine_.lockable = std::uint64_t{1} << 30;
    EXPECT_EQ(refusal(), "");
}

// mlx5.

TEST_F(Mlx5, DrivesItsCardsWhileTheKernelDoes) {
    port::PciDevice card;
    card.vendor = port::kMellanox;
    card.driver = "mlx5_core";
    EXPECT_TRUE(driver_->drives(card));
    card.driver = "vfio-pci";
    EXPECT_FALSE(driver_->drives(card));
    card.vendor = 0x8086;
    card.driver = "mlx5_core";
    EXPECT_FALSE(driver_->drives(card));
}

TEST_F(Mlx5, AnInterfaceIsTheAddressOfItsCard) {
    EXPECT_EQ(driver_->translate("ens1f0"), kMellanoxCard);
    EXPECT_EQ(driver_->translate("ens1f0,mprq_en=1"), fmt::format("{},mprq_en=1", kMellanoxCard));
    machine_.netdev("veth0");
    EXPECT_EQ(driver_->translate("veth0"), "");
}

TEST_F(Mlx5, APacketTakesOneMbufWhateverTheMtuLetsIn) {
    const auto p = plan();
    EXPECT_TRUE(p.pci);
    EXPECT_FALSE(p.physical_addresses);
    EXPECT_EQ(p.name, kMellanoxCard);
    EXPECT_EQ(p.netdev, "ens1f0");
    EXPECT_EQ(p.eal_mtu, 9000U) << "what EAL writes to the interface";
    EXPECT_EQ(p.netdev_mtu, 0U);
    // The PMD's condition: MTU + Ethernet header + FCS behind the headroom.
    EXPECT_GE(p.rx.data_room - port::kHeadroom, 9000U + 14 + 4);
    EXPECT_EQ(p.rx.descriptors & (p.rx.descriptors - 1), 0);
    EXPECT_GE(std::size_t{p.rx.descriptors} * 8242, std::size_t{16} << 20);
    EXPECT_GT(p.rx.mbufs, p.rx.descriptors + 2U * p.rx.cache);
    EXPECT_GT(p.tx.descriptors, 32);
    EXPECT_EQ(p.tx.descriptors & (p.tx.descriptors - 1), 0);
    EXPECT_EQ(p.capabilities.late_free_segments, 31);
}

TEST_F(Mlx5, RecommendedArgumentsYieldToTheUsers) {
    EXPECT_EQ(plan().devargs, "0000:03:00.0,max_dump_files_num=1");
    EXPECT_EQ(plan("0000:03:00.0,max_dump_files_num=8").devargs, "0000:03:00.0,max_dump_files_num=8");
    auto request = request_for("0000:03:00.0,txq_inline_max=0");
    request.exists = true;
    EXPECT_EQ(plan(request).devargs, "0000:03:00.0,txq_inline_max=0") << "EAL has it already";
    EXPECT_THAT(refusal("0000:03:00.0,dv_flow_en=2"), HasSubstr("dv_flow_en=2"));
}

TEST_F(Mlx5, SendSchedulingIsAskedForOnlyWhenItMustBeThere) {
    auto request = request_for(kMellanoxCard);
    request.max_tx_packet = 1472;
    request.tx_queues = 1;
    for (const auto use : {port::UseDevice::never, port::UseDevice::if_it_can}) {
        request.send_on_time = use;
        EXPECT_THAT(plan(request).devargs, Not(HasSubstr("tx_pp")));
    }
    request.send_on_time = port::UseDevice::must;
    EXPECT_THAT(plan(request).devargs, HasSubstr(",tx_pp=500"));
    request.device += ",tx_pp=1000";
    EXPECT_THAT(plan(request).devargs, AllOf(HasSubstr(",tx_pp=1000"), Not(HasSubstr("500"))));
}

TEST_F(Mlx5, TheMtuIsRaisedForWhatIsSentAndRemarkedForWhatIsNotReceived) {
    netdev_->mtu = 1500;
    auto request = request_for(kMellanoxCard);
    EXPECT_THAT(plan(request).remarks,
                testing::ElementsAre(HasSubstr("packets above 1472 bytes of UDP payload will not arrive")));
    request.ipv6 = true;
    EXPECT_THAT(plan(request).remarks,
                testing::ElementsAre(HasSubstr("packets above 1452 bytes of UDP payload over IPv6")));
    request.max_tx_packet = 8972;
    const auto p = plan(request);
    EXPECT_EQ(p.netdev_mtu, 9000U);
    EXPECT_EQ(p.eal_mtu, 9000U);
    EXPECT_THAT(p.remarks, testing::ElementsAre(HasSubstr("is raised from 1500 to 9000")));
    machine_.without(CAP_NET_ADMIN);
    EXPECT_THAT(refusal(request),
                AllOf(HasSubstr("needs CAP_NET_ADMIN"), HasSubstr("ip link set ens1f0 mtu 9000")));
}

TEST_F(Mlx5, MultiPacketQueuesAreTheUsersChoice) {
    EXPECT_THAT(plan().devargs, Not(HasSubstr("mprq")));
    EXPECT_THAT(plan("0000:03:00.0,mprq_en=0").devargs, Not(HasSubstr("rxqs_min_mprq")));
    EXPECT_THAT(plan("0000:03:00.0,mprq_en=1").devargs,
                AllOf(HasSubstr(",rxqs_min_mprq=1"), HasSubstr(",mprq_log_stride_size=11")));
    netdev_->mtu = 1500;
    EXPECT_THAT(plan("0000:03:00.0,mprq_en=1").devargs, Not(HasSubstr("mprq_log_stride_size")))
        << "a stride holds a whole frame";
    EXPECT_THAT(plan("0000:03:00.0,mprq_en=1,rxqs_min_mprq=4").remarks,
                testing::Contains(HasSubstr("keeps mprq_en=1 off")));
    EXPECT_THAT(refusal("0000:03:00.0,mprq_en=1,mprq_log_stride_num=13"),
                HasSubstr("needs more than 8192 descriptors"));
    port::PortRequest request = request_for("0000:03:00.0,mprq_en=1");
    request.gathered_mbufs = 4096;
    EXPECT_THAT(refusal(request), HasSubstr("mprq_en=1 puts packets into memory of the PMD's own"));
}

TEST_F(Mlx5, SplitsPacketsInTwoSegments) {
    const auto whole = plan();
    EXPECT_FALSE(whole.split);
    port::PortRequest request = request_for(kMellanoxCard);
    request.split = 138;
    const auto p = plan(request);
    ASSERT_TRUE(p.split);
    EXPECT_EQ(p.split->by, port::Splitting::card);
    EXPECT_EQ(p.rx.descriptors, 2 * whole.rx.descriptors) << "they count segments";
    EXPECT_EQ(p.rx.mbufs, whole.rx.mbufs);
    EXPECT_EQ(p.rx.data_room, 320U);
    EXPECT_GE(p.split->payload.data_room + 138, p.capabilities.max_rx_frame);
    EXPECT_LT(p.eal_bytes(), whole.eal_bytes()) << "data lie elsewhere";
    request.split = 9200;
    EXPECT_THAT(refusal(request), HasSubstr("no packet would be cut"));
    request.split = 138;
    request.device = "0000:03:00.0,mprq_en=1";
    EXPECT_THAT(refusal(request), HasSubstr("mprq_en=1 leaves packets whole"));
}

TEST_F(Mlx5, DescriptorsOfMultiPacketQueuesCountStrides) {
    const auto without = plan();
    EXPECT_EQ(without.rx.descriptors, 2048) << "packets of 8 KiB";
    const auto with = plan("0000:03:00.0,mprq_en=1");
    EXPECT_EQ(with.rx.descriptors, 8192) << "16 MiB in strides of 2048 bytes";
    // Each takes an mbuf of our pool, which holds any frame, should the PMD copy one or have no such queues.
    EXPECT_EQ(with.rx.mbufs - with.rx.descriptors, without.rx.mbufs - without.rx.descriptors);
    EXPECT_EQ(with.rx.data_room, without.rx.data_room);
    // 64 strides a buffer: 128 of them, and the PMD's pool has 4 x 128 + 32 of somewhat more than 128 KiB.
    const std::size_t pool = with.device_bytes - without.device_bytes;
    EXPECT_GT(pool, std::size_t{544} * (131072 + 64 * 24 + 256));
    EXPECT_LT(pool, std::size_t{544} * (131072 + 8192));
    const auto wide = plan("0000:03:00.0,mprq_en=1,mprq_log_stride_num=9,mprq_log_stride_size=12");
    EXPECT_EQ(wide.rx.descriptors, 4096);
    EXPECT_GT(wide.device_bytes - without.device_bytes, std::size_t{64} * 512 * (4096 + 24));
    auto much = request_for("0000:03:00.0,mprq_en=1");
    much.buffer_size = std::size_t{1} << 30;
    EXPECT_EQ(plan(much).rx.descriptors, 32768) << "what cards have at most";
    much.device = kMellanoxCard;
    EXPECT_EQ(plan(much).rx.descriptors, 8192);
}

TEST_F(Mlx5, InterfacesOfVirtualFunctionsAreNotTheCards) {
    machine_.netdev("a_first", kMellanoxCard);
    machine_.file("/sys/class/net/a_first/phys_port_name", "pf0vf0\n");
    machine_.file("/sys/class/net/ens1f0/phys_port_name", "p0\n");
    EXPECT_EQ(plan().netdev, "ens1f0");
}

// mlx4.

TEST_F(Mlx4, TakesThePortOfTheInterface) {
    EXPECT_EQ(plan().devargs, "0000:03:00.0,port=0");
    machine_.netdev("ens1f1", kMellanoxCard).mtu = 9000;
    machine_.file("/sys/class/net/ens1f1/dev_port", "1\n");
    machine_.file("/sys/class/net/ens1f0/dev_port", "0\n");
    EXPECT_EQ(driver_->translate("ens1f1,mr_ext_memseg_en=0"), "0000:03:00.0,port=1,mr_ext_memseg_en=0");
    EXPECT_EQ(plan("0000:03:00.0,port=1").netdev, "ens1f1");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("is the address of ens1f0 and ens1f1"), HasSubstr("port=1")));
}

TEST_F(Mlx4, NeedsTheModulesSteeringMode) {
    constexpr const char* kMode = "/sys/module/mlx4_core/parameters/log_num_mgm_entry_size";
    machine_.file(kMode, "10\n");
    EXPECT_THAT(refusal(),
                AllOf(HasSubstr("log_num_mgm_entry_size=10"), HasSubstr("/etc/modprobe.d/mlx4.conf")));
    machine_.file(kMode, "-1\n");
    EXPECT_EQ(refusal(), "");
    machine_.file(kMode, "-7\n");
    EXPECT_EQ(refusal(), "");
    auto tagged = request_for(kMellanoxCard);
    tagged.vlan = 7;
    EXPECT_THAT(refusal(tagged), HasSubstr("excludes VLANs"));
}

TEST_F(Mlx4, LendsNoMemoryToTheCard) {
    const auto p = plan();
    EXPECT_TRUE(p.capabilities.tx_multi_segment);
    EXPECT_FALSE(p.capabilities.tx_external_buffer);
    EXPECT_EQ(p.capabilities.late_free_segments, 63);
    EXPECT_EQ(p.eal_mtu, 9000U);
    EXPECT_THAT(p.remarks, IsEmpty());
}

}  // namespace
}  // namespace spead::drivers
