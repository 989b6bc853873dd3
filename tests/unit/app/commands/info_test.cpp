// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/info.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed;
using test::parsed_options;

TEST(InfoCommand, TakesPortsOrTheTable) {
    const CommandLine line = parsed("-a 03:00.0 -- info ens1f0 net_ring0,a=b --json");
    EXPECT_EQ(line.name, "info");
    const InfoOptions& info = test::options_of<InfoOptions>(line);
    EXPECT_EQ(info.ports, (std::vector<std::string>{"ens1f0", "net_ring0,a=b"}));
    EXPECT_TRUE(info.json);
    EXPECT_FALSE(info.drivers);
    EXPECT_TRUE(parsed_options<InfoOptions>("info --drivers").drivers);
    expect_refused("info --driver", {"--driver", "--drivers"});
}

TEST(InfoCommand, ATableExcludesPortsAndTheOtherTable) {
    EXPECT_TRUE(parsed_options<InfoOptions>("info --formats").formats);
    expect_refused("info --formats ens1f0", {"--formats: it is the same for all ports", "`ens1f0` is given"});
    expect_refused("info net_ring0 --drivers",
                   {"--drivers: it is the same for all ports", "`net_ring0` is given"});
    expect_refused("info --formats --drivers", {"--formats: it excludes --drivers"});
}

}  // namespace
}  // namespace spead::app
