// SPDX-License-Identifier: BSD-3-Clause
#include "spead/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(Memory, IsMappedWithoutASession) {
    constexpr std::size_t kBytes = 5000;
    const Memory memory = Memory::huge(kBytes);
    ASSERT_EQ(memory.bytes().size(), kBytes);
    EXPECT_EQ(memory.as<double>().size(), kBytes / sizeof(double));
    EXPECT_TRUE(std::ranges::all_of(memory.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_THAT(std::string(memory.pages()), AnyOf("huge pages", "transparent huge pages", "4 KiB pages"));

    const Memory same = memory;
    same.bytes().back() = std::byte{7};
    EXPECT_EQ(memory.bytes().back(), std::byte{7});
}

TEST(Memory, RefusesWhatNoMachineHas) {
    EXPECT_THAT(test::refusal([] { Memory::huge(0); }), HasSubstr("0 bytes"));
    EXPECT_THAT(test::refusal([] { Memory::huge(std::size_t{1} << 45); }), HasSubstr("ask for less"));
    EXPECT_NE(test::refusal([] { Memory::huge(std::numeric_limits<std::size_t>::max()); }), "");
}

TEST(Memory, IsRegisteredForGpusWhereThereIsADriver) {
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
        EXPECT_THAT(test::refusal([] { Memory::cuda_pinned(4096); }),
                    AllOf(HasSubstr("libcuda.so.1"), HasSubstr("install NVIDIA's driver")));
    }
    // Loaded by its path, it is found by its name, too.
    void* const driver = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(driver, nullptr) << dlerror();
    const auto registered = reinterpret_cast<int (*)()>(dlsym(driver, "fake_cuda_live"));
    {
        const Memory memory = Memory::cuda_pinned(5000);
        const Memory same = memory;
        ASSERT_EQ(memory.bytes().size(), 5000U);
        memory.bytes().back() = std::byte{7};
        EXPECT_EQ(registered(), 2) << "a context and the memory";
    }
    EXPECT_EQ(registered(), 0);
    EXPECT_THAT(test::refusal([] { Memory::cuda_pinned(0); }), HasSubstr("0 bytes"));
}

}  // namespace
}  // namespace spead
