// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_options.hpp"

#include <gtest/gtest.h>

#include "app/bench/transmit_point.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed_options;

TEST(BenchAssemble, DefaultsCoverThePacketAndHeapSizesOfInterest) {
    const BenchOptions bench = parsed_options<BenchOptions>("bench assemble");
    EXPECT_EQ(bench.payload_sizes, (std::vector<std::uint32_t>{64, 256, 1024, 1408, 4096, 8192}));
    EXPECT_EQ(bench.heap_sizes, (std::vector<std::uint64_t>{0, 65536, 4194304}));
    EXPECT_EQ(bench.working_sets, (std::vector<std::uint64_t>{8388608, 1073741824}));
    EXPECT_EQ(bench.streams, std::vector<std::uint32_t>{1});
    EXPECT_EQ(bench.live_heaps, std::vector<std::uint32_t>{4});
    EXPECT_EQ(bench.time, 1.0);
    EXPECT_EQ(bench.rounds, 5u);
    EXPECT_EQ(bench.lcore, std::nullopt);
}

TEST(BenchAssemble, EveryOptionArrives) {
    const BenchOptions bench = parsed_options<BenchOptions>(
        "bench assemble --payload 1024,8192 --heap-size packet,64KiB --set 4MiB "
        "--streams 1,64 --live-heaps 4,1024 --time 250ms "
        "--rounds 3 --lcore 2");
    EXPECT_EQ(bench.payload_sizes, (std::vector<std::uint32_t>{1024, 8192}));
    EXPECT_EQ(bench.heap_sizes, (std::vector<std::uint64_t>{0, 65536}));
    EXPECT_EQ(bench.working_sets, std::vector<std::uint64_t>{4194304});
    EXPECT_EQ(bench.streams, (std::vector<std::uint32_t>{1, 64}));
    EXPECT_EQ(bench.live_heaps, (std::vector<std::uint32_t>{4, 1024}));
    EXPECT_EQ(bench.time, 0.25);
    EXPECT_EQ(bench.rounds, 3u);
    EXPECT_EQ(bench.lcore, 2u);
}

TEST(BenchAssemble, PacketsAndHeapsHaveSetsOfTheirOwn) {
    const BenchOptions bench = parsed_options<BenchOptions>(
        "bench assemble --packet-set 4MiB,1GiB --heap-set 64MiB --reuse lifo --reader same --copy streaming");
    EXPECT_EQ(bench.packet_sets, (std::vector<std::uint64_t>{4194304, 1073741824}));
    EXPECT_EQ(bench.heap_sets, std::vector<std::uint64_t>{67108864});
    EXPECT_EQ(bench.reuse, Reuse::lifo);
    EXPECT_EQ(bench.reader, Reader::same);
    EXPECT_EQ(bench.copy, memory::CopySetting::streaming);
    expect_refused("bench assemble --heap-set 64MiB",
                   {"--heap-set: the sets of packets and heaps go together"});
    expect_refused("bench assemble --packet-set 4MiB",
                   {"--packet-set: the sets of packets and heaps go together"});
    expect_refused("bench assemble --lend --reader same", {"leave out --reader"});
    expect_refused("bench assemble --lend --descriptors 512", {"--lend", "512 mbufs", "--descriptors 0"});
}

TEST(BenchAssemble, TakesTheShapeOfAnothersBenchmark) {
    const BenchOptions bench = parsed_options<BenchOptions>("bench assemble --like spead2-mem");
    EXPECT_EQ(bench.payload_sizes, (std::vector<std::uint32_t>{1424, 4112, 8924}));
    EXPECT_EQ(bench.heap_sizes, std::vector<std::uint64_t>{4194304});
    EXPECT_EQ(bench.packet_sets, std::vector<std::uint64_t>{1073741824});
    EXPECT_EQ(bench.reuse, Reuse::lifo);
    EXPECT_EQ(bench.live_heaps, std::vector<std::uint32_t>{1});
    EXPECT_EQ(bench.descriptors, std::vector<std::uint32_t>{4096});
    EXPECT_EQ(
        parsed_options<BenchOptions>("bench assemble --like spead2-mem --descriptors 0,512").descriptors,
        (std::vector<std::uint32_t>{0, 512}));
}

TEST(BenchAssemble, LaysPacketsBackToBackOnRequest) {
    const std::uint64_t set = std::uint64_t{64} << 20;
    AssemblePoint point{1424, std::uint64_t{4} << 20, set, set, 1, 1};
    const std::uint64_t own = point.packets();
    EXPECT_EQ(point.packet_bytes(), point.sizes().element);
    point.descriptors = 512;
    EXPECT_EQ(point.packet_bytes(), 1536U) << "24 lines for 14 + 20 + 8 + 8 + 5 * 8 + 1424 bytes";
    EXPECT_GT(point.packets(), own);
    EXPECT_LE(point.packets() * point.packet_bytes(), set);
}

TEST(BenchChunks, OneLcoreFillsThemUnlessMoreAreNamed) {
    EXPECT_EQ(parsed_options<BenchOptions>("bench chunks").lcores, std::vector<std::uint32_t>{1});
    const BenchOptions bench = parsed_options<BenchOptions>("bench chunks --lcores 2,4 --lcore 1");
    EXPECT_EQ(bench.lcores, (std::vector<std::uint32_t>{2, 4}));
    EXPECT_EQ(bench.lcore, 1u);
}

TEST(BenchDistribute, SharesAQueueAmongTwoLcoresAtLeast) {
    EXPECT_EQ(parsed_options<BenchOptions>("bench distribute").lcores, (std::vector<std::uint32_t>{2, 4}));
    EXPECT_EQ(parsed_options<BenchOptions>("bench distribute --lcores 8").lcores,
              std::vector<std::uint32_t>{8});
    test::expect_refused("bench distribute --lcores 1", {"--lcores"});
}

TEST(BenchTransmit, EveryOptionArrives) {
    EXPECT_EQ(parsed_options<BenchOptions>("bench transmit").device, "net_null0");
    const BenchOptions bench = parsed_options<BenchOptions>(
        "bench transmit --device net_memif0 --zero-copy never --rate 10Gbps --payload 64");
    EXPECT_EQ(bench.device, "net_memif0");
    EXPECT_EQ(bench.zero_copy, runtime::ZeroCopySetting::never);
    EXPECT_EQ(bench.rate, 1.25e9);
    EXPECT_EQ(bench.payload_sizes, std::vector<std::uint32_t>{64});
    EXPECT_EQ(bench.working_sets, std::vector<std::uint64_t>{});
    EXPECT_EQ(bench.heap_sets, std::vector<std::uint64_t>{});
    EXPECT_EQ(bench.groups, std::vector<std::uint32_t>{1});
    EXPECT_EQ(bench.reuse, Reuse::fifo);
    const BenchOptions memory = parsed_options<BenchOptions>(
        "bench transmit --heap-set 8MiB,1GiB --reuse lifo --group 1,64 --heap-size packet,64KiB");
    EXPECT_EQ(memory.heap_sets, (std::vector<std::uint64_t>{8388608, 1073741824}));
    EXPECT_EQ(memory.reuse, Reuse::lifo);
    EXPECT_EQ(memory.groups, (std::vector<std::uint32_t>{1, 64}));
}

TEST(BenchTransmit, TakesTheShapeOfAnothersBenchmark) {
    const BenchOptions bench = parsed_options<BenchOptions>("bench transmit --like spead2-mem --group 8");
    EXPECT_EQ(bench.payload_sizes, (std::vector<std::uint32_t>{1424, 4112, 8924}));
    EXPECT_EQ(bench.heap_sizes, std::vector<std::uint64_t>{4194304});
    EXPECT_EQ(bench.heap_sets, std::vector<std::uint64_t>{50331648});
    EXPECT_EQ(bench.reuse, Reuse::lifo);
    EXPECT_EQ(bench.groups, std::vector<std::uint32_t>{1});
    for (const TransmitPoint& point : transmit_points(bench))
        EXPECT_EQ(point.heaps(), 12U);
}

TEST(BenchTransmit, EveryHeapHasMemoryOfItsOwnInTheSet) {
    const BenchOptions bench = parsed_options<BenchOptions>(
        "bench transmit --heap-size packet,4MiB --payload 64,8192 --heap-set 8MiB,64MiB --group 1,64");
    for (const TransmitPoint& point : transmit_points(bench)) {
        EXPECT_GE(point.step(), point.heap);
        EXPECT_LE(point.heaps() * point.step(), point.memory());
        EXPECT_GE(point.heaps(), 2 * point.heaps_in_flight()) << "as many wait as are in flight";
        EXPECT_GE(point.heaps_in_flight(), point.group);
        EXPECT_LE(point.bare_memory(), point.memory());
        EXPECT_GE(point.bare_memory(), point.heaps() * point.heap) << "as much as the heaps have";
    }
}

TEST(BenchTransmit, TheBareLoopGoesThroughAsMuchMemoryAsTheHeapsHave) {
    const BenchOptions bench =
        parsed_options<BenchOptions>("bench transmit --heap-size 64KiB,4MiB --payload 1024");
    for (const TransmitPoint& point : transmit_points(bench))
        EXPECT_EQ(point.bare_memory(), point.heaps() * point.heap);
}

TEST(Bench, WrongValuesAreNamed) {
    expect_refused("bench assemble --payload 64,,8", {"--payload: `` is not a whole number from 1 to 65400"});
    expect_refused("bench assemble --payload 0", {"--payload: `0`"});
    expect_refused("bench assemble --heap-size 64K", {"--heap-size: `64K`"});
    expect_refused("bench assemble --heap-size 1KiB --payload 2048",
                   {"--heap-size", "1 KiB", "2048", "`packet`"});
    expect_refused("bench assemble --set packet", {"--set: `packet`"});
    expect_refused("bench assemble --time 0", {"--time", "a time of 0"});
    expect_refused("bench transmit --heap-set 4MiB --heap-size 4MiB", {"--heap-set", "4 MiB", "two heaps"});
    expect_refused("bench transmit --group 1025", {"--group: `1025`", "1 to 1024"});
    expect_refused("bench transmit --set 1MiB", {"`--set` is not an option of bench transmit"});
}

}  // namespace
}  // namespace spead::app
