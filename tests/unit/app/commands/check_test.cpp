// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed;
using test::parsed_options;

TEST(CheckCommand, NamesPortsOrAFile) {
    const CommandLine line = parsed("check ens1f0 10.0.0.5 --json");
    EXPECT_EQ(line.name, "check");
    const CheckOptions& options = test::options_of<CheckOptions>(line);
    EXPECT_TRUE(options.json);
    ASSERT_EQ(options.plan.ports.size(), 2U);
    EXPECT_EQ(options.plan.ports[1].device, "10.0.0.5");
    EXPECT_EQ(options.plan.receives[1].port, "p1");
    EXPECT_NE(options.plan.receives[0].endpoints, options.plan.receives[1].endpoints);
    expect_refused("check ens1f0 --log-level debug", {"`--log-level` is not an option of check"});
    expect_refused("check ens1f0 --config x.toml", {"--config", "ens1f0"});
}

TEST(CheckCommand, WithNothingNamedTakesTheUsualPortOrNone) {
    EXPECT_TRUE(parsed_options<CheckOptions>("check").plan.ports.empty());
    EXPECT_EQ(
        parsed_options<CheckOptions>("check", {{"DPDK_SPEAD_INTERFACE", "ens2"}}).plan.ports.at(0).device,
        "ens2");
    const auto lone = [] { return port::LonePort{"ens1f0", {}}; };
    EXPECT_EQ(parsed_options<CheckOptions>({"check"}, {}, lone).plan.ports.at(0).device, "ens1f0");
    const auto none = [] { return port::LonePort{{}, "ens1f0, ens2 all qualify"}; };
    EXPECT_EQ(parsed({"check"}, {}, none).invocation.remarks,
              std::vector<std::string>{"no port is named: ens1f0, ens2 all qualify"});
}

}  // namespace
}  // namespace spead::app
