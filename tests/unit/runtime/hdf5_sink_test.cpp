// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/hdf5_sink.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>

#include "sink/hdf5_description.hpp"
#include "tests/unit/runtime/chunk_rig.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

constexpr const char* kFourTimes = "heap 4; time: item 0x1600 / 4096 [4]";

TEST(Hdf5Sink, OverwritesNoFileOfASetWithoutPayload) {
    if (!sink::has_hdf5())
        GTEST_SKIP() << "built without HDF5";
    const Directory directory;
    for (const char* const name : {"s0.presence", "s0-2.h5"})
        std::ofstream(directory.file(name)) << "mine";
    ChunkRig rig(kFourTimes);
    Hdf5Sink sink(directory.path(), "s0", {chunk::Placement::parse(kFourTimes), {}, 0});
    EXPECT_TRUE(sink.take_chunk(rig.chunk(7, {0}, [](chunk::Chunk&) {}))) << sink.failure();
    sink.end();
    EXPECT_EQ(text_of(directory.file("s0.presence")), "mine");
    EXPECT_EQ(text_of(directory.file("s0-2.h5")), "mine");
    EXPECT_FALSE(std::filesystem::exists(directory.file("s0.raw")));
    EXPECT_FALSE(std::filesystem::exists(directory.file("s0-2.raw")));
    EXPECT_EQ(text_of(directory.file("s0-3.presence")), std::string("\1\0\0\0", 4));
    EXPECT_TRUE(std::filesystem::exists(directory.file("s0-3.h5")));
}

TEST(Hdf5Sink, DescribesTheLastChunkWhileNoneComes) {
    if (!sink::has_hdf5())
        GTEST_SKIP() << "built without HDF5";
    const Directory directory;
    ChunkRig rig(kFourTimes);
    Hdf5Sink sink(directory.path(), "s0", {chunk::Placement::parse(kFourTimes), {}, 0});
    const auto write = [&](std::int64_t id) {
        EXPECT_TRUE(sink.take_chunk(rig.chunk(id, {0}, [](chunk::Chunk&) {}))) << sink.failure();
    };
    write(7);
    const std::string first = text_of(directory.file("s0.h5"));
    write(8);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (text_of(directory.file("s0.h5")) == first && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    EXPECT_NE(text_of(directory.file("s0.h5")), first) << "no other chunk came, and the sink goes on";
    sink.end();
}

TEST(Hdf5Sink, TellsTheValuesOfATimeThatIsShifted) {
    if (!sink::has_hdf5())
        GTEST_SKIP() << "built without HDF5";
    constexpr const char* kShifted = "heap 4; time: item 0x1600 >> 6 / 4 [2]";
    const Directory directory;
    ChunkRig rig(kShifted);
    Hdf5Sink sink(directory.path(), "s0", {chunk::Placement::parse(kShifted), {}, 0});
    EXPECT_TRUE(sink.take_chunk(rig.chunk(4, {0}, [](chunk::Chunk&) {}))) << sink.failure();
    sink.end();
    std::array<std::uint64_t, 2> times{};
    const std::string text = text_of(directory.file("s0.timestamps"));
    ASSERT_EQ(text.size(), sizeof times);
    std::memcpy(times.data(), text.data(), sizeof times);
    EXPECT_THAT(times, testing::ElementsAre(8 * 256, 9 * 256));
}

}  // namespace
}  // namespace spead::runtime::unit_test
