// SPDX-License-Identifier: BSD-3-Clause
// Memory of a GPU at ports: its registration, and the drivers that never read it.
#include <algorithm>
#include <array>
#include <bit>
#include <gmock/gmock.h>
#include <string>

#include <rte_mbuf_dyn.h>
#include <rte_memory.h>
#include <rte_pmd_mlx5.h>

#include "gpu/peer_memory.hpp"
#include "port/region_registration.hpp"
#include "tests/eal/port/card.hpp"
#include "tests/eal/port/port_rig.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::port::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kDevice = memory::MemoryKind::device;
constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kLarge = 2 << 20;

TEST(DeviceRegion, HasPagesOfAGpu) {
    const auto pages = [](std::uintptr_t base, std::size_t length) {
        return pages_around(reinterpret_cast<void*>(base), length, kDevice);
    };
    EXPECT_EQ(pages(0x10000, 4096), (RegisteredPages{0x10000, kSmall, kSmall}));
    EXPECT_EQ(pages(0x1FFFF, 2), (RegisteredPages{0x10000, 2 * kSmall, kSmall}));
    EXPECT_EQ(pages(kLarge, 2 * kLarge), (RegisteredPages{kLarge, 2 * kLarge, kLarge}));
    EXPECT_EQ(pages(kLarge, kLarge + 1), (RegisteredPages{kLarge, kLarge + kSmall, kSmall}));
}

TEST(DeviceRegion, IsRefusedInTooManySmallPages) {
    const std::string said = error_of([] {
        const RegionRegistration region(reinterpret_cast<void*>(kLarge + kSmall), std::size_t{1} << 31,
                                        kDevice);
    });
    EXPECT_THAT(said, AllOf(HasSubstr("32768 pages of 65536 bytes"), HasSubstr("whole pages of 2 MiB")));
}

TEST(DeviceRegion, IsMappedAndUnmappedWithoutALook) {
    const auto memory = gpu::PeerMemory::allocate(gpu::Driver::load(gpu::fake_library()), 3 * kLarge);
    Card card;
    const DeviceCallsInstead instead(card);
    auto port = open_port(request("net_null0", 0, 1));
    card.calls.clear();
    {
        RegionRegistration region(memory.region().base, memory.region().length, kDevice);
        EXPECT_EQ(region.pages().page_size, kLarge);
        region.map(*port);
        EXPECT_NE(rte_mem_virt2memseg_list(memory.region().base), nullptr);
    }
    EXPECT_EQ(rte_mem_virt2memseg_list(memory.region().base), nullptr);
    EXPECT_EQ(card.calls, (std::vector<std::string>{"register", "map", "unmap", "unregister"}));
    card.maps = false;
    RegionRegistration region(memory.region().base, memory.region().length, kDevice);
    EXPECT_THAT(
        error_of([&] { region.map(*port); }),
        AllOf(HasSubstr("6291456 bytes"), HasSubstr("in a GPU's memory"), HasSubstr("nvidia-peermem")));
    port->close();
}

/// Drivers that copy, or whose peer or kernel reads, are not among these.
TEST(DeviceRegion, IsSentByDriversThatDoNotReadIt) {
    std::vector<std::string> names;
    for (const Driver* const driver : drivers::table())
        if (driver->declared().tx_device_memory)
            names.emplace_back(driver->name());
    EXPECT_THAT(names, testing::UnorderedElementsAre("net_ring", "net_null", "net_mlx5"));
    EXPECT_FALSE(plan(request("net_null0,copy=1", 0, 1)).capabilities.tx_device_memory);
    const auto sends = [](const std::string& device) {
        const auto port = open_port(request(device, 1, 1));
        return port->capabilities().tx_device_memory;
    };
    EXPECT_TRUE(sends("net_ring0"));
    EXPECT_FALSE(open_port(request("net_ring1", 1, 0))->capabilities().tx_device_memory)
        << "it sends nothing";
}

/// Has flags that ports ask for.
class Flagged final : public Driver {
  public:
    std::string_view name() const override { return "net_null"; }
    Capabilities declared() const override { return null_.declared(); }
    PreparedDevice plan(const PortRequest& r) const override { return null_.plan(r); }
    std::uint64_t device_memory_flags() const override {
        if (fails)
            throw Error("no flag is left");
        return 1U << 5;
    }
    bool fails = false;

  private:
    const Driver& null_ = *find_driver(drivers::table(), "net_null0");
};

TEST(DeviceRegion, PortsReserveTheFlagsOfItsPackets) {
    Flagged driver;
    const std::array<const Driver*, 1> table{&driver};
    const PortRequest r = request("net_null0", 0, 1);
    EXPECT_EQ(Port::open(r, table)->capabilities().tx_device_flags, 1U << 5);
    driver.fails = true;
    const auto port = Port::open(r, table);
    EXPECT_FALSE(port->capabilities().tx_device_memory);
    EXPECT_THAT(port->remarks(),
                testing::Contains(AllOf(HasSubstr("port p0"), HasSubstr("no flag is left"))));
}

TEST(DeviceRegion, ThePmdOfMlx5FindsItsFlag) {
    const auto found = std::ranges::find_if(
        drivers::table(), [](const Driver* driver) { return driver->name() == "net_mlx5"; });
    ASSERT_NE(found, drivers::table().end());
    const std::uint64_t flag = (*found)->device_memory_flags();
    EXPECT_EQ(std::popcount(flag), 1);
    const int bit = rte_mbuf_dynflag_lookup(RTE_PMD_MLX5_FINE_GRANULARITY_INLINE, nullptr);
    ASSERT_GE(bit, 0);
    EXPECT_EQ(flag, std::uint64_t{1} << bit);
    EXPECT_EQ((*found)->device_memory_flags(), flag) << "the next port has the same";
}

}  // namespace
}  // namespace spead::port::test
