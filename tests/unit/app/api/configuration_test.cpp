// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/configuration.hpp"

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/unit/app/prompt/fake_process.hpp"

namespace spead::app {
namespace {

TEST(Configuration, TheVersionFollowsTheText) {
    runtime::Plan plan = test::FakeProcess().plan_;
    const ConfigurationText before = configuration_text(plan);
    EXPECT_EQ(config::parse_text(before.toml, "test"), plan);
    EXPECT_EQ(configuration_text(plan).version, before.version);
    EXPECT_EQ(before.version.size(), 16U);
    plan.receives[0].enabled = false;
    const ConfigurationText after = configuration_text(plan);
    EXPECT_NE(after.version, before.version);
    plan.receives[0].enabled = true;
    EXPECT_EQ(configuration_text(plan).version, before.version);
}

TEST(Configuration, IfMatchNamesAVersion) {
    for (const char* const right : {"\"abc\"", "*", " * ", "\"x\", \"abc\"", "\"abc\",\"x\"", "  \"abc\""})
        EXPECT_TRUE(names_version(right, "abc")) << right;
    for (const char* const wrong : {"", "abc", "\"abcd\"", "\"ab\"", "W/\"abc\"", ",", "\"x\"", "\"abc"})
        EXPECT_FALSE(names_version(wrong, "abc")) << wrong;
}

}  // namespace
}  // namespace spead::app
