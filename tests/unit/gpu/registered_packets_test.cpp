// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/registered_packets.hpp"

#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "memory/mapping.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::gpu::registered_packets_test {
namespace {

TEST(RegisteredPackets, RegisterEachPageOnce) {
    const ContextPointer context = fake_context();
    memory::Mapping host(65536);
    const std::span<const std::byte> memory(host.base(), 65536);
    const int before = fake_objects();
    RegisteredPackets packets;
    EXPECT_FALSE(packets.has(memory.data(), 1));
    // Bytes of the pages 2 and 3; then of 5 and 6; then of 0 to 8, which leaves 0 and 1, 4, 7 and 8.
    packets.add(context, memory.subspan(8200, 8000));
    EXPECT_EQ(fake_objects(), before + 1);
    EXPECT_TRUE(packets.has(memory.data() + 8192, 8192)) << "whole pages";
    EXPECT_FALSE(packets.has(memory.data() + 8191, 2));
    EXPECT_FALSE(packets.has(memory.data() + 16383, 2));
    packets.add(context, memory.subspan(20480, 8192));
    EXPECT_EQ(fake_objects(), before + 2);
    packets.add(context, memory.first(36000));
    EXPECT_EQ(fake_objects(), before + 5);
    EXPECT_TRUE(packets.has(memory.data(), 36864)) << "neighbours are one";
    EXPECT_FALSE(packets.has(memory.data(), 36865));
    packets.add(context, memory.subspan(4000, 20000));
    EXPECT_EQ(fake_objects(), before + 5);
    packets.clear();
    EXPECT_EQ(fake_objects(), before);
}

TEST(RegisteredPackets, KeepWhatTheyHaveWhenMoreIsRefused) {
    const ContextPointer context = fake_context();
    memory::Mapping host(65536);
    const std::span<const std::byte> memory(host.base(), 65536);
    RegisteredPackets packets;
    packets.add(context, memory.subspan(8192, 4096));
    {
        // Before it, and behind it, which is refused.
        const FakeWish wish("FAKE_CUDA_FAIL", "cuMemHostRegister_v2:2");
        EXPECT_THROW(packets.add(context, memory.first(20480)), Error);
    }
    EXPECT_TRUE(packets.has(memory.data() + 8192, 4096));
    EXPECT_FALSE(packets.has(memory.data() + 12288, 1));
    packets.add(context, memory.first(20480));
    EXPECT_TRUE(packets.has(memory.data(), 20480));
}

TEST(RegisteredPackets, KnowMemoryOfTheGpuWithoutRegistration) {
    const ContextPointer context = fake_context();
    const int before = fake_objects();
    const std::vector<std::byte> stands_in(16384);
    const std::span<const std::byte> memory(stands_in);
    RegisteredPackets packets;
    packets.add_of_gpu(memory.subspan(4096, 4096));
    EXPECT_EQ(fake_objects(), before);
    EXPECT_TRUE(packets.has(memory.data() + 4096, 4096));
    EXPECT_FALSE(packets.has(memory.data() + 4095, 2));
    // Memory of a port that was opened again, around it, and with a part of it.
    packets.add_of_gpu(memory.subspan(0, 12288));
    EXPECT_TRUE(packets.has(memory.data(), 12288));
    packets.add_of_gpu(memory.subspan(8192));
    EXPECT_TRUE(packets.has(memory.data(), 16384));
    EXPECT_FALSE(packets.has(memory.data(), 16385));
}

}  // namespace
}  // namespace spead::gpu::registered_packets_test
