// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/peer_memory.hpp"

#include <bit>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/objects.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::gpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const Driver> fake_driver() {
    return Driver::load(fake_library());
}

TEST(PeerMemory, HasWholePagesOfItsOwn) {
    const int before = fake_objects();
    {
        PeerMemory memory = PeerMemory::allocate(fake_driver(), 5000);
        EXPECT_EQ(memory.region().length, PeerMemory::kPage);
        EXPECT_EQ(memory.address() % PeerMemory::kPage, 0U);
        EXPECT_FALSE(memory.region().cpu_accessible());
        const PeerMemory moved = std::move(memory);
        EXPECT_EQ(fake_objects(), before + 2) << "a context and the memory";
    }
    EXPECT_EQ(fake_objects(), before);
}

TEST(PeerMemory, OfTheUsersStaysTheUsers) {
    const DeviceMemory users(fake_context(), 10'000);
    const int before = fake_objects();
    {
        const PeerMemory memory = PeerMemory::of(fake_driver(), users.address() + 100, 9900);
        EXPECT_EQ(memory.address(), users.address() + 100);
        EXPECT_EQ(memory.region().length, 9900U);
    }
    EXPECT_EQ(fake_objects(), before);
}

TEST(PeerMemory, IsOnAGpuAsAWhole) {
    const auto refused = [](cuda::DevicePointer address, std::size_t bytes) {
        return test::refusal([&] { PeerMemory::of(fake_driver(), address, bytes); });
    };
    const ContextPointer context = fake_context();
    const DeviceMemory users(context, 10'000);
    EXPECT_THAT(refused(users.address() + 100, 9901), HasSubstr("go beyond their allocation"));
    EXPECT_THAT(refused(0, 100), HasSubstr("no range of memory"));
    EXPECT_THAT(refused(users.address(), 0), HasSubstr("no range of memory"));
    EXPECT_THAT(refused(users.address(), ~std::size_t{0}), HasSubstr("no range of memory"));
    int local = 0;
    EXPECT_THAT(refused(std::bit_cast<std::uintptr_t>(&local), 4),
                AllOf(HasSubstr("no memory that the driver knows"), HasSubstr("cuPointerGetAttribute(")));
    const memory::Mapping host(4096);
    const Registered registered(context, host.base(), host.length());
    EXPECT_THAT(refused(registered.address_of(host.base()), 100), HasSubstr("memory of the CPU"));
    const FakeWish managed("FAKE_CUDA_MANAGED", "1");
    EXPECT_THAT(refused(users.address(), 100), HasSubstr("managed memory"));
    EXPECT_THAT(test::refusal([] { PeerMemory::allocate(fake_driver(), 0); }), HasSubstr("at least 1"));
}

/// Finds a fault: memory for GPUs changed the GPU that a thread of the user's had chosen.
TEST(PeerMemory, LeavesTheContextOfTheThread) {
    void* const library = dlopen(fake_library().c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr);
    const auto set = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
    const auto get = reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxGetCurrent"));
    int other = 0;
    void* current = nullptr;
    set(&other);
    const auto expect_the_same = [&](const char* after) {
        get(&current);
        EXPECT_EQ(current, &other) << after;
    };
    {
        const PeerMemory memory = PeerMemory::allocate(fake_driver(), 5000);
        expect_the_same("allocate()");
        const PeerMemory part = PeerMemory::of(fake_driver(), memory.address(), 100);
        expect_the_same("of()");
        const memory::Mapping host(4096);
        const Registered registered(fake_context(), host.base(), host.length());
        expect_the_same("registered");
    }
    expect_the_same("all was given back");
}

}  // namespace
}  // namespace spead::gpu
