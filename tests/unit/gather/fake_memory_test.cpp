// SPDX-License-Identifier: BSD-3-Clause
#include "gather/fake_memory.hpp"

#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "memory/arena.hpp"

namespace spead::gather::fake_memory_test {
namespace {

/// Returns the signal that ends a child which does `touch`; 0: it lives.
template <typename Touch>
int signal_of_child(const Touch& touch) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        // A sanitizer would report it at length, and exit.
        std::signal(SIGSEGV, SIG_DFL);
        touch();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(FakeMemory, KillsCodeThatTouchesIt) {
    const FakeMemory memory(1);
    EXPECT_EQ(memory.region().length, std::size_t{2} << 20);
    EXPECT_FALSE(memory.region().cpu_accessible());
    volatile std::byte* const base = memory.region().base;
    EXPECT_EQ(signal_of_child([] {}), 0);
    EXPECT_EQ(signal_of_child([base] { static_cast<void>(base[0]); }), SIGSEGV);
    EXPECT_EQ(signal_of_child([base] { base[(2U << 20) - 1] = std::byte{1}; }), SIGSEGV);
    std::byte* const view = memory.engine_address(memory.region().base + 77);
    EXPECT_EQ(signal_of_child([view] { *view = std::byte{1}; }), 0);
}

TEST(FakeMemory, KnowsItsOwnAddresses) {
    const FakeMemory memory((std::size_t{2} << 20) + 1);
    const memory::Region& r = memory.region();
    ASSERT_EQ(r.length, std::size_t{4} << 20);
    EXPECT_TRUE(memory.contains(r.base, r.length));
    EXPECT_TRUE(memory.contains(r.base + 5, r.length - 5));
    EXPECT_FALSE(memory.contains(r.base + 5, r.length - 4));
    EXPECT_FALSE(memory.contains(r.base - 1, 1));
    EXPECT_FALSE(memory.contains(r.base, r.length + 1));
    EXPECT_FALSE(memory.contains(r.base + 1, SIZE_MAX));
    *memory.engine_address(r.base + r.length - 1) = std::byte{7};
    EXPECT_EQ(memory.engine_address(r.base + r.length - 1) - memory.engine_address(r.base),
              static_cast<std::ptrdiff_t>(r.length - 1));
}

TEST(FakeMemory, IsDividedByAnArenaThatDoesNotTouchIt) {
    const FakeMemory memory(1);
    memory::Arena arena({memory.region().base, memory.region().length}, 64 * 1024);
    std::size_t blocks = 0;
    for (memory::Block b = arena.alloc(60'000); b; b = arena.alloc(60'000)) {
        EXPECT_TRUE(memory.contains(b.base, 65536));
        blocks++;
    }
    EXPECT_EQ(blocks, 32U);
}

}  // namespace
}  // namespace spead::gather::fake_memory_test
