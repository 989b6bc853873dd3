// SPDX-License-Identifier: BSD-3-Clause
#include "memory/huge_turn.hpp"

#include <atomic>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.hpp"

namespace spead::memory {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNoPatience{0};
constexpr milliseconds kLong{60'000};

TEST(HugePageTurn, IsOnesAtATime) {
    const spead::test::ScratchDirectory directory;
    std::optional<HugePageTurn> first(std::in_place, directory.path().string(), kNoPatience);
    ASSERT_TRUE(first->held());
    EXPECT_FALSE(HugePageTurn(directory.path().string(), kNoPatience).held());
    EXPECT_FALSE(HugePageTurn(directory.path().string(), milliseconds(20)).held()) << "waiting in vain ends";
    first.reset();
    EXPECT_TRUE(HugePageTurn(directory.path().string(), kNoPatience).held());
}

TEST(HugePageTurn, IsWaitedFor) {
    const spead::test::ScratchDirectory directory;
    std::optional<HugePageTurn> first(std::in_place, directory.path().string(), kNoPatience);
    bool held = false;
    std::thread second([&] { held = HugePageTurn(directory.path().string(), kLong).held(); });
    first.reset();
    second.join();
    EXPECT_TRUE(held);
    EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "nothing stays behind";
}

TEST(HugePageTurn, IsOneThreadsAtATimeAmongMany) {
    const spead::test::ScratchDirectory directory;
    std::atomic<int> inside{0};
    std::atomic<int> turns{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int round = 0; round < 25; round++) {
                const HugePageTurn turn(directory.path().string(), kLong);
                EXPECT_TRUE(turn.held());
                EXPECT_EQ(inside++, 0);
                std::this_thread::yield();
                inside--;
                turns++;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(turns, 100);
}

TEST(HugePageTurn, IsNobodysWhereThereIsNoPlaceForIt) {
    EXPECT_FALSE(HugePageTurn("", kLong).held());
    EXPECT_FALSE(HugePageTurn("/nowhere/at/all", kLong).held());
}

TEST(HugePageTurn, FollowsNoLinkAndIsForItsUserOnly) {
    const spead::test::ScratchDirectory directory;
    const auto path = directory.path() / "dpdk-spead.huge-pages";
    std::filesystem::create_symlink(directory.path() / "elsewhere", path);
    EXPECT_FALSE(HugePageTurn(directory.path().string(), kLong).held());
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "elsewhere"));
    std::filesystem::remove(path);
    const HugePageTurn turn(directory.path().string(), kNoPatience);
    struct stat facts {};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace spead::memory
