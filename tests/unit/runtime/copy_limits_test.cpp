// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/copy_limits.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"

namespace spead::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kCacheMiB = std::size_t{1} << 20;

/// Makes a machine whose CPUs 0, 1, 2, 8 share a third-level cache of 24 MiB, while CPU 3 has one of 2 MiB.
class CopyLimits : public ::testing::Test {
  protected:
    CopyLimits() {
        for (const unsigned cpu : {0U, 1U, 2U, 8U}) {
            cache(cpu, 0, "1", "32K", std::to_string(cpu));
            cache(cpu, 1, "1", "64K", std::to_string(cpu));
            cache(cpu, 2, "2", "1024K", std::to_string(cpu));
            cache(cpu, 3, "3", "24576K", "0-2,8");
        }
        cache(3, 0, "2", "2M", "3");
    }

    void cache(unsigned cpu, unsigned index, const std::string& level, const std::string& size,
               const std::string& cpus) {
        const std::string at =
            "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index);
        machine.file(at + "/level", level + "\n");
        machine.file(at + "/size", size + "\n");
        machine.file(at + "/shared_cpu_list", cpus + "\n");
    }

    spead::test::FakeMachine machine;
};

TEST_F(CopyLimits, TheLastCacheIsThatOfTheHighestLevel) {
    const LastCache cache = last_cache(machine.view().files, 1);
    EXPECT_EQ(cache.bytes, 24 * kCacheMiB);
    EXPECT_THAT(cache.cpus, ElementsAre(0, 1, 2, 8));
    EXPECT_EQ(last_cache(machine.view().files, 3).bytes, 2 * kCacheMiB);
    EXPECT_EQ(last_cache(machine.view().files, 4).bytes, 0U);
}

TEST_F(CopyLimits, LcoresThatShareACacheShareTheLimit) {
    const auto& files = machine.view().files;
    EXPECT_EQ(cache_share(files, 1, {1}), 8 * kCacheMiB);
    EXPECT_EQ(cache_share(files, 1, {1, 8, 3}), 4 * kCacheMiB);
    EXPECT_EQ(cache_share(files, 3, {1, 8, 3}), 2 * kCacheMiB / 3);
    EXPECT_EQ(cache_share(files, 4, {4}), kUsualCache / 3);
}

TEST_F(CopyLimits, SizesAndListsThatAreNoneAreUnknown) {
    cache(5, 0, "3", "huge", "0-99999999999");
    const LastCache cache = last_cache(machine.view().files, 5);
    EXPECT_EQ(cache.bytes, 0U);
    EXPECT_TRUE(cache.cpus.empty());
}

TEST_F(CopyLimits, UsersAreToldWhatWasMeasured) {
    const std::string text = describe_copies(machine.view().files, 0, {0});
    EXPECT_THAT(text, ::testing::HasSubstr("into the cache"));
    if (copy_trial(machine.view().files).streaming != 0) {
        EXPECT_THAT(text, ::testing::HasSubstr("4 KiB take"));
    }
}

}  // namespace
}  // namespace spead::runtime
