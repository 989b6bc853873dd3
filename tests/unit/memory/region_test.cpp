// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"

#include <atomic>
#include <gmock/gmock.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::memory {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Returns a pointer that is never dereferenced.
std::byte* at(std::uintptr_t address) {
    return reinterpret_cast<std::byte*>(address);
}

Region region(std::uintptr_t address, std::size_t length, bool cpu = true) {
    return {at(address), length, cpu ? MemoryKind::pinned : MemoryKind::device};
}

TEST(RegionTable, FindsRangesInsideOneRegionOnly) {
    RegionTable table;
    table.add(region(0x1000, 0x100));
    table.add(region(0x1100, 0x100));
    EXPECT_TRUE(table.contains(at(0x1000), 1));
    EXPECT_TRUE(table.contains(at(0x1000), 0x100));
    EXPECT_TRUE(table.contains(at(0x10FF), 1));
    EXPECT_TRUE(table.contains(at(0x1180), 0x80));
    EXPECT_FALSE(table.contains(at(0x0FFF), 1));
    EXPECT_FALSE(table.contains(at(0x0FFF), 2));
    EXPECT_FALSE(table.contains(at(0x1200), 1));
    EXPECT_FALSE(table.contains(at(0x10F0), 0x20)) << "neighbours are not one region";
    EXPECT_FALSE(table.contains(at(0x1180), 0x81));
    EXPECT_FALSE(table.contains(at(0x1180), SIZE_MAX)) << "the end of the range must not wrap";
}

TEST(RegionTable, GivesTheSameAnswersThroughACache) {
    RegionTable table;
    table.add(region(0x1000, 0x100));
    table.add(region(0x3000, 0x100));
    RegionTable::Cache cache = 0;
    EXPECT_TRUE(table.contains(at(0x3000), 8, cache));
    EXPECT_TRUE(table.contains(at(0x3008), 8, cache));
    EXPECT_TRUE(table.contains(at(0x1000), 8, cache));
    EXPECT_FALSE(table.contains(at(0x2000), 8, cache));
    table.remove(at(0x1000));
    EXPECT_FALSE(table.contains(at(0x1000), 8, cache));
    EXPECT_TRUE(table.contains(at(0x3000), 8, cache));
}

TEST(RegionTable, RefusesOverlapsAndShowsBothRanges) {
    RegionTable table;
    table.add(region(0x10000, 0x1000));
    for (const Region& r : {region(0x10000, 0x1000), region(0xF000, 0x1001), region(0x10FFF, 1),
                            region(0x10800, 0x10), region(0xF000, 0x3000)}) {
        EXPECT_THAT([&] { table.add(r); },
                    ThrowsMessage<Error>(
                        AllOf(HasSubstr("[0x10000, 0x11000)"), HasSubstr("overlaps"),
                              HasSubstr(fmt::format("[{:#x},", reinterpret_cast<std::uintptr_t>(r.base))))));
    }
    table.add(region(0xF000, 0x1000));
    table.add(region(0x11000, 0x1000));
    EXPECT_EQ(table.size(), 3U);
}

TEST(RegionTable, RefusesEmptyAndWrappingRegions) {
    RegionTable table;
    EXPECT_THAT([&] { table.add(region(0x1000, 0)); }, ThrowsMessage<Error>(HasSubstr("empty")));
    EXPECT_THAT([&] { table.add({nullptr, 16}); }, ThrowsMessage<Error>(HasSubstr("empty")));
    EXPECT_THAT([&] { table.add(region(UINTPTR_MAX - 10, 100)); },
                ThrowsMessage<Error>(HasSubstr("end of the address")));
    EXPECT_EQ(table.size(), 0U);
}

TEST(RegionTable, HoldsSoManyRegionsAndReusesRemovedPlaces) {
    RegionTable table;
    for (std::size_t i = 0; i < RegionTable::kMaxRegions; ++i)
        table.add(region(0x1000 * (i + 1), 0x1000));
    EXPECT_THAT([&] { table.add(region(0x10000000, 1)); }, ThrowsMessage<Error>(HasSubstr("4096 already")));
    table.remove(at(0x5000));
    EXPECT_FALSE(table.contains(at(0x5000), 1));
    table.add(region(0x10000000, 1));
    EXPECT_TRUE(table.contains(at(0x10000000), 1));
    EXPECT_TRUE(table.contains(at(0x1000 * RegionTable::kMaxRegions), 0x1000));
    EXPECT_TRUE(table.contains(at(0x40000), 0x1000));
    EXPECT_EQ(table.size(), RegionTable::kMaxRegions);
}

TEST(RegionTable, RefusesToRemoveWhatIsNotThere) {
    RegionTable table;
    table.add(region(0x1000, 0x100));
    EXPECT_THAT([&] { table.remove(at(0x1001)); }, ThrowsMessage<Error>(HasSubstr("0x1001")));
    table.remove(at(0x1000));
    EXPECT_THROW(table.remove(at(0x1000)), Error);
}

TEST(RegionTable, TellsHowFarMemoryIsOfOneNature) {
    RegionTable table;
    table.add(region(0x2000, 0x100));
    table.add(region(0x1000, 0x100, false));
    const auto expect = [&](std::uintptr_t from, std::size_t asked, std::size_t length, bool registered,
                            bool cpu) {
        const RegionTable::Run run = table.run(at(from), asked);
        EXPECT_EQ(run.length, length) << std::hex << from;
        EXPECT_EQ(run.registered, registered) << std::hex << from;
        EXPECT_EQ(run.cpu_accessible, cpu) << std::hex << from;
    };
    expect(0x0F00, 0x10, 0x10, false, true);
    expect(0x0F00, 0x10000, 0x100, false, true);
    expect(0x1000, 0x10000, 0x100, true, false);
    expect(0x10F0, 0x8, 0x8, true, false);
    expect(0x1100, 0x10000, 0xF00, false, true);
    expect(0x2080, 0x10000, 0x80, true, true);
    expect(0x2100, 0x10000, 0x10000, false, true);
}

TEST(RegionTable, ChangesItsGenerationWithEveryChange) {
    RegionTable table;
    const auto first = table.generation();
    table.add(region(0x1000, 1));
    const auto second = table.generation();
    EXPECT_NE(first, second);
    EXPECT_THROW(table.add(region(0x1000, 1)), Error);
    EXPECT_EQ(table.generation(), second);
    table.remove(at(0x1000));
    EXPECT_NE(table.generation(), second);
}

/// Tests a slot that is reused for two regions of different places and sizes. A reader must never see the
/// beginning of one with the end of the other. It must always see the region that stays.
TEST(RegionTable, IsReadByOtherThreadsWhileItChanges) {
    RegionTable table;
    table.add(region(0x100000, 0x1000));
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::thread reader([&] {
        RegionTable::Cache cache = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            wrong += table.contains(at(0x100000), 0x1000, cache) ? 0 : 1;
            wrong += table.contains(at(0x3000), 0x1000, cache) ? 1 : 0;  // between the two that come and go
            wrong += table.run(at(0x3000), 0x1000).registered ? 1 : 0;
        }
    });
    for (int i = 0; i < 20'000; ++i) {
        table.add(region(0x1000, 0x1000));
        table.remove(at(0x1000));
        table.add(region(0x8000, 0x1000));
        table.remove(at(0x8000));
    }
    stop = true;
    reader.join();
    EXPECT_EQ(wrong.load(), 0);
}

/// Tests more regions than the slots with which a table begins. Every region stays visible while others come
/// and go behind it.
TEST(RegionTable, GrowsWhileOtherThreadsReadIt) {
    RegionTable table;
    std::atomic<std::size_t> there{0};
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    const auto place = [](std::size_t i) { return 0x100000 + 0x2000 * i; };
    const auto read = [&](std::size_t seed) {
        RegionTable::Cache cache = 0, run_cache = 0;
        for (std::size_t i = seed; !stop.load(std::memory_order_relaxed); i += 7919) {
            const std::size_t n = there.load(std::memory_order_acquire);
            if (n == 0)
                continue;
            wrong += table.contains(at(place(i % n)), 0x1000, cache) ? 0 : 1;
            const RegionTable::Run run = table.run(at(place(i % n) + 0x800), 0x2000, run_cache);
            wrong += run.registered && run.length == 0x800 ? 0 : 1;
            wrong += table.run(at(place(i % n) + 0x1000), 0x1000, run_cache).registered ? 1 : 0;
        }
    };
    std::thread one(read, 1), two(read, 2);
    for (std::size_t i = 0; i < 600; ++i) {
        table.add(region(place(i), 0x1000));
        there.store(i + 1, std::memory_order_release);
        table.add(region(0x1000, 0x1000));
        table.remove(at(0x1000));
    }
    stop = true;
    one.join();
    two.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(table.size(), 600U);
}

/// Tests that a later table at the same address does not look like the former one.
TEST(RegionTable, NoTwoTablesShareAGeneration) {
    const auto generation_of_new = [] { return RegionTable().generation(); };
    EXPECT_NE(generation_of_new(), generation_of_new());
}

TEST(RegionTable, ARunIsTheSameWithAndWithoutACache) {
    RegionTable table;
    table.add(region(0x1000, 0x100));
    table.add(region(0x3000, 0x100, false));
    RegionTable::Cache cache = 0;
    for (const std::uintptr_t from : {0x3000, 0x3010, 0x1000, 0x30FF, 0x2000, 0x3000, 0x10FF, 0x3100}) {
        const RegionTable::Run cached = table.run(at(from), 0x1000, cache),
                               plain = table.run(at(from), 0x1000);
        EXPECT_EQ(cached.length, plain.length) << std::hex << from;
        EXPECT_EQ(cached.registered, plain.registered) << std::hex << from;
        EXPECT_EQ(cached.cpu_accessible, plain.cpu_accessible) << std::hex << from;
    }
}

}  // namespace
}  // namespace spead::memory
