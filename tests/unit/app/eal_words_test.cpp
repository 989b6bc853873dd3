// SPDX-License-Identifier: BSD-3-Clause
#include "app/eal_words.hpp"

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using Typed = std::vector<std::string>;

TEST(EalWords, AnOptionIsKnownWithItsValueToo) {
    EXPECT_TRUE(is_eal_option("-l"));
    EXPECT_TRUE(is_eal_option("--vdev"));
    EXPECT_TRUE(is_eal_option("--vdev=net_ring0"));
    EXPECT_FALSE(is_eal_option("--vdevs"));
    EXPECT_FALSE(is_eal_option("vdev"));
    EXPECT_FALSE(is_eal_option(""));
    test::expect_usage_error([] { refuse_eal_option("--vdev=net_ring0"); }, {"`--vdev`", "before `--`"});
}

TEST(EalWords, DevicesAreNamedWithoutTheirArguments) {
    EXPECT_EQ(eal_devices({}), Typed{});
    EXPECT_EQ(eal_devices({"-l", "0", "--vdev=net_ring0,a=b", "--vdev", "net_null0", "-a", "03:00.0"}),
              (Typed{"net_ring0", "net_null0"}));
    EXPECT_EQ(eal_devices({"--vdev"}), Typed{}) << "EAL says what is missing";
    EXPECT_EQ(eal_devices({"--vdev="}), Typed{});
}

}  // namespace
}  // namespace spead::app
