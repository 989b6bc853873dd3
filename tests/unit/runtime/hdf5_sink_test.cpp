// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/hdf5_sink.hpp"

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

}  // namespace
}  // namespace spead::runtime::unit_test
