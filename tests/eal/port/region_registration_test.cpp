// SPDX-License-Identifier: BSD-3-Clause
#include "port/region_registration.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <rte_memory.h>

#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using testing::HasSubstr;

/// Anonymous memory at a multiple of `alignment`.
class Mapping {
  public:
    explicit Mapping(std::size_t length, std::size_t alignment = 4096)
        : length_(length + alignment),
          base_(::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0)) {
        const auto address = reinterpret_cast<std::uintptr_t>(base_);
        data_ = reinterpret_cast<char*>(round_up<std::uintptr_t>(address, alignment));
    }
    ~Mapping() { ::munmap(base_, length_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    char* data() const { return data_; }

  private:
    std::size_t length_;
    void* base_;
    char* data_;
};

bool known_to_eal(const void* address) {
    return rte_mem_virt2memseg_list(address) != nullptr;
}

TEST(RegionRegistration, PagesAreWholeAndAsLargeAsBaseAndLengthAllow) {
    const auto pages = [](std::uintptr_t base, std::size_t length) {
        return pages_around(reinterpret_cast<void*>(base), length);
    };
    EXPECT_EQ(pages(0x10000, 4096), (RegisteredPages{0x10000, 4096, 4096}));
    EXPECT_EQ(pages(0x10001, 1), (RegisteredPages{0x10000, 4096, 4096}));
    EXPECT_EQ(pages(0x10FFF, 2), (RegisteredPages{0x10000, 8192, 4096}));
    EXPECT_EQ(pages(0x200000, 0x400000), (RegisteredPages{0x200000, 0x400000, 0x200000}));
    EXPECT_EQ(pages(0x200000, 0x400001), (RegisteredPages{0x200000, 0x401000, 4096}));
    EXPECT_EQ(pages(0x40000000, 0x80000000), (RegisteredPages{0x40000000, 0x80000000, 0x40000000}));
}

TEST(RegionRegistration, EalKnowsTheRegionWhileTheRegistrationLives) {
    const Mapping memory(1 << 20);
    {
        const RegionRegistration region(memory.data() + 100, 5000);
        EXPECT_TRUE(known_to_eal(memory.data()));
        EXPECT_TRUE(known_to_eal(memory.data() + 5099));
        EXPECT_FALSE(known_to_eal(memory.data() + 8192));
    }
    EXPECT_FALSE(known_to_eal(memory.data() + 100));
}

TEST(RegionRegistration, IsMappedForEveryPortOnceAndUnmappedAtTheEnd) {
    const Mapping memory(4 << 20, 2 << 20);
    auto null = open_port(request("net_null0", 0, 1));
    auto ring = open_port(request("net_ring0"));
    {
        RegionRegistration region(memory.data(), 4 << 20);
        EXPECT_EQ(region.pages().page_size, std::size_t{2} << 20);
        region.map(*null);
        region.map(*ring);
        region.map(*null);
    }
    RegionRegistration again(memory.data(), 4 << 20);
    again.map(*ring);
}

TEST(RegionRegistration, RegionsMayShareTheirPages) {
    const Mapping memory(1 << 20);
    auto port = open_port(request("net_null0", 0, 1));
    auto first = std::make_unique<RegionRegistration>(memory.data(), 100);
    auto second = std::make_unique<RegionRegistration>(memory.data() + 200, 100);
    auto third = std::make_unique<RegionRegistration>(memory.data() + 300, 5000);
    first->map(*port);
    second->map(*port);
    third->map(*port);
    first.reset();
    EXPECT_TRUE(known_to_eal(memory.data() + 200));
    third.reset();
    EXPECT_TRUE(known_to_eal(memory.data() + 200));
    second.reset();
    EXPECT_FALSE(known_to_eal(memory.data() + 200));
}

TEST(RegionRegistration, WhatCannotBeRegisteredIsRefusedWithTheReason) {
    const Mapping memory(1 << 20);
    EXPECT_THAT(error_of([&] { const RegionRegistration region(memory.data(), 0); }),
                HasSubstr("empty region"));
    EXPECT_THAT(error_of([&] { const RegionRegistration region(nullptr, 100); }), HasSubstr("empty region"));
    auto port = open_port(request("net_null0", 0, 1));
    port->close();
    RegionRegistration region(memory.data(), 100);
    EXPECT_THAT(error_of([&] { region.map(*port); }), HasSubstr("the port is closed"));
}

TEST(RegionRegistration, ATableThatIsFullIsToldAndUsableAfterwards) {
    const Mapping memory(400 * 8192);
    std::vector<std::unique_ptr<RegionRegistration>> regions;
    const auto text = error_of([&] {
        for (int i = 0; i < 400; ++i) {
            regions.push_back(std::make_unique<RegionRegistration>(memory.data() + i * 8192, 4096));
        }
    });
    EXPECT_THAT(text, HasSubstr("register fewer, larger regions"));
    EXPECT_GT(regions.size(), 64U);
    regions.clear();
    const RegionRegistration region(memory.data(), 4096);
    EXPECT_TRUE(known_to_eal(memory.data()));
}

}  // namespace
}  // namespace spead::port::test
