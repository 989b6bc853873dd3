// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/selftest.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

TEST(SelftestCommand, HasAPortAndADestination) {
    const SelftestOptions options =
        test::parsed_options<SelftestOptions>("selftest --port net_ring0 --to 239.1.2.3:9 --json");
    EXPECT_EQ(options.port, "net_ring0");
    EXPECT_EQ(options.destination, "239.1.2.3:9");
    EXPECT_TRUE(options.json);
    EXPECT_EQ(test::parsed_options<SelftestOptions>("selftest --port p").destination,
              SelftestOptions{}.destination);
    test::expect_refused("selftest", {"--port: it is missing", "dpdk-spead info"});
    EXPECT_TRUE(test::parsed_options<SelftestOptions>("selftest --gpu").gpu);
    test::expect_refused("selftest --gpu --to 239.1.2.3:9", {"--to: ", "`239.1.2.3:9`", "give --port, too"});
    test::expect_refused("selftest net_ring0", {"`net_ring0` is an extra argument of selftest"});
}

}  // namespace
}  // namespace spead::app
