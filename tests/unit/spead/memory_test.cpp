// SPDX-License-Identifier: BSD-3-Clause
#include "spead/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <gmock/gmock.h>
#include <limits>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

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
        EXPECT_EQ(memory.gpu_address(), reinterpret_cast<std::uintptr_t>(memory.bytes().data()));
        EXPECT_EQ(Memory::huge(5000).gpu_address(), 0U);
    }
    EXPECT_EQ(registered(), 0);
    EXPECT_THAT(test::refusal([] { Memory::cuda_pinned(0); }), HasSubstr("0 bytes"));
}

/// Runs `check` in a child of fork(2). Returns its value, 0 to 100.
int in_child(const std::function<int()>& check) {
    const pid_t child = fork();
    if (child == 0)
        _exit(check());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

TEST(Memory, ForGpusIsLeftToTheParentOfAFork) {
    void* const driver = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(driver, nullptr) << dlerror();
    const auto registered = reinterpret_cast<int (*)()>(dlsym(driver, "fake_cuda_live"));
    std::optional<Memory> memory = Memory::cuda_pinned(5000);
    memory->bytes().front() = std::byte{5};
    EXPECT_EQ(in_child([&] {
                  const bool readable = memory->bytes().front() == std::byte{5};
                  memory.reset();
                  // Its driver has no thread here, which could do what it is asked for.
                  return readable ? registered() : 50;
              }),
              2)
        << "the child called its parent's driver";
    EXPECT_EQ(in_child([] {
                  const std::string said = test::refusal([] { Memory::cuda_pinned(4096); });
                  return said.find("fork(2)") != said.npos && said.find("exec(2)") != said.npos ? 7 : 0;
              }),
              7);
    EXPECT_EQ(registered(), 2);
    memory.reset();
    EXPECT_EQ(registered(), 0);
}

}  // namespace
}  // namespace spead
