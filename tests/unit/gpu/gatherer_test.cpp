// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gatherer.hpp"

#include <bit>
#include <cstring>
#include <gmock/gmock.h>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::gpu {
namespace {

constexpr std::size_t kHeap = 65536;

/// Gathers pieces of any alignment into a heap on the GPU, and compares.
void expect_gathered(Gatherer::Way way) {
    const ContextPointer context = fake_context();
    memory::Mapping host(4 * kHeap);
    const Registered registered(context, host.base(), host.length());
    const DeviceMemory heap(context, kHeap);
    const Gatherer gatherer(context, way);
    EXPECT_EQ(gatherer.way(), way);
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 2 * kHeap; i++)
        host.base()[i] = static_cast<std::byte>(random());
    std::vector<std::byte> expected(kHeap, std::byte{0xee});
    auto* const pieces = reinterpret_cast<gather::Piece*>(host.base() + 2 * kHeap);
    std::size_t count = 0;
    for (std::size_t at = 5; at + 3000 < kHeap; count++) {
        const auto length = static_cast<unsigned>(random() % 2000);
        const std::size_t from = random() % (2 * kHeap - 2000);
        pieces[count] = {std::bit_cast<const std::byte*>(registered.address_of(host.base() + from)),
                         std::bit_cast<std::byte*>(heap.address() + at), length, 0};
        std::memcpy(expected.data() + at, host.base() + from, length);
        at += length + random() % 3;
    }
    const Stream stream(context);
    stream.fill(heap.address(), std::byte{0xee}, kHeap);
    gatherer.gather(stream, {pieces, count}, registered.address_of(pieces));
    gatherer.gather(stream, {pieces, 0}, registered.address_of(pieces));
    std::byte* const fetched = host.base() + 3 * kHeap;
    stream.download(fetched, heap.address(), kHeap);
    stream.finish();
    EXPECT_EQ(std::memcmp(fetched, expected.data(), kHeap), 0);
}

TEST(Gatherer, GathersByTheCopyEngine) {
    expect_gathered(Gatherer::Way::copy_engine);
}

TEST(Gatherer, GathersByTheKernelWhereThereIsOne) {
    if (kernels_ptx() != nullptr)
        expect_gathered(Gatherer::Way::kernel);
    else
        EXPECT_THROW(Gatherer(fake_context(), Gatherer::Way::kernel), Error);
}

TEST(Gatherer, TakesTheKernelByItself) {
    EXPECT_EQ(Gatherer(fake_context()).way(),
              kernels_ptx() != nullptr ? Gatherer::Way::kernel : Gatherer::Way::copy_engine);
}

TEST(Registered, RefusesMemoryThatIsRegisteredAlready) {
    const ContextPointer context = fake_context();
    memory::Mapping host(4096);
    const Registered first(context, host.base(), host.length());
    try {
        const Registered second(context, host.base(), host.length());
        FAIL() << "it was registered twice";
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("cuMemHostRegister_v2("),
                                             testing::HasSubstr("ALREADY_REGISTERED"),
                                             testing::HasSubstr("unregister it there first")));
    }
}

}  // namespace
}  // namespace spead::gpu
