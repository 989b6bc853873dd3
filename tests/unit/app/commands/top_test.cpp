// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::parsed;
using test::parsed_options;

TEST(TopCommand, HasAProcessAndAView) {
    EXPECT_EQ(parsed("top").name, "top");
    EXPECT_EQ(parsed_options<TopOptions>("top"), TopOptions{});
    const TopOptions top =
        parsed_options<TopOptions>("top capture1 --once --interval 250ms --page loss --sort rate");
    EXPECT_EQ(top.process, "capture1");
    EXPECT_TRUE(top.once);
    EXPECT_EQ(top.interval, 0.25);
    EXPECT_EQ(top.view.page, TopPage::loss);
    EXPECT_EQ(top.view.sort, TopSort::rate);
    test::expect_usage_error([] { parsed("top a b"); }, {"`b`"});
    test::expect_usage_error([] { parsed("top --interval 1ms"); }, {"--interval", "100ms"});
    test::expect_usage_error([] { parsed("top --page heaps"); }, {"--page", "`heaps`", "streams"});
}

}  // namespace
}  // namespace spead::app
