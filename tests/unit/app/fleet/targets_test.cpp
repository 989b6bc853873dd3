// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/targets.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Targets, AreAddressesWithCommas) {
    EXPECT_THAT(fleet_targets("recv-0:9100,10.0.0.1:9101,[fe80::1]:9100"),
                ElementsAre(FleetTarget{"recv-0:9100", ""}, FleetTarget{"10.0.0.1:9101", ""},
                            FleetTarget{"[fe80::1]:9100", ""}));
}

TEST(Targets, HaveTheirShardsInTheFile) {
    EXPECT_THAT(targets_in(R"([{"targets": ["a:1"], "labels": {"spead_shard": "0", "spead_shards": "2"}},
                               {"targets": ["b:1", "c:2"]}])",
                           "t.json"),
                ElementsAre(FleetTarget{"a:1", "0/2"}, FleetTarget{"b:1", ""}, FleetTarget{"c:2", ""}));
}

TEST(Targets, ThatAreNoneAreRefused) {
    for (const char* bad : {"a", "a:", ":1", "a:b", "a:123456", "a:65536", "a:0", "a/b:1", "u@h:1", "a:1?x:1",
                            "[::1:1]]:1", "h#:1", "a b:1", "%68:1"})
        EXPECT_THAT(test::refusal([&] { fleet_targets(bad); }), HasSubstr("HOST:PORT")) << bad;
    EXPECT_THAT(test::refusal([] { fleet_targets("a:1,a:1"); }), HasSubstr("twice"));
    EXPECT_THAT(test::refusal([] { fleet_targets(","); }), HasSubstr("HOST:PORT"));
}

TEST(Targets, OfNoFileOfTargetsAreRefused) {
    for (const char* bad : {"", "{", "{}", "1", "[1]", "[{}]", R"([{"targets": 1}])", "[]",
                            R"([{"targets": [1]}])", R"([{"targets": ["a:1\u001b[2J"]}])"}) {
        const std::string words = test::refusal([&] { targets_in(bad, "t.json"); });
        EXPECT_THAT(words, HasSubstr("t.json")) << bad;
        EXPECT_EQ(words.find('\x1b'), words.npos);
    }
}

}  // namespace
}  // namespace spead::app
