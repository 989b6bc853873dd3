// SPDX-License-Identifier: BSD-3-Clause
#include "app/shards/plan_formats.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

runtime::Plan plan_from(const std::string& more = "") {
    return config::parse_text(
        "version = 1\n[runtime]\nname = \"fleet\"\n[[port]]\nname = \"p0\"\ndevice = \"eth0\"\nlink_rate = "
        "\"100Gbps\"\n[[receive]]\nname = \"vis\"\nport = \"p0\"\nendpoints = [\"239.1.0.0+7:7148\"]\n"
        "expected_rate = \"160Gbps\"\n" +
            more,
        "plan");
}
const char* const kUnrated = "[[receive]]\nname = \"low\"\nport = \"p0\"\nendpoints = [\"239.2.0.0:7148\"]\n";

TEST(PlanFormats, TheTableHasARowForEachShard) {
    const std::string text = plan_table(shares_of(plan_from(), 3, 0, "plan"));
    EXPECT_THAT(text, HasSubstr("plan fleet: 8 endpoints in 1 stream\n"));
    EXPECT_THAT(text,
                testing::ContainsRegex("0/3 +3 +60.0 Gb/s +p0 60 % of 100 Gb/s +vis 239.1.0.0\\+2:7148\n"));
    EXPECT_THAT(text,
                testing::ContainsRegex("2/3 +2 +40.0 Gb/s +p0 40 % of 100 Gb/s +vis 239.1.0.6\\+1:7148\n"));
    EXPECT_THAT(text, Not(HasSubstr("unknown")));
}

TEST(PlanFormats, WhatIsUnknownIsSaid) {
    const std::string unrated = plan_table(shares_of(plan_from(kUnrated), 3, 0, "plan"));
    EXPECT_THAT(unrated, HasSubstr("40.0 Gb/s and more"));
    EXPECT_THAT(unrated, HasSubstr("Streams without `expected_rate` are not in these rates."));
    runtime::Plan plan = plan_from();
    plan.ports.front().link_rate = 0;
    const std::string unlinked = plan_table(shares_of(plan, 10, 0, "plan"));
    EXPECT_THAT(unlinked, HasSubstr("The rate of a link is unknown"));
    EXPECT_THAT(unlinked, HasSubstr("2 of the 10 shards receive nothing."));
    EXPECT_THAT(unlinked, testing::ContainsRegex("9/10 +0 +0 +nothing"));
}

TEST(PlanFormats, MoreThanFourFifthsOfALinkAreTooMuch) {
    EXPECT_EQ(why_too_much(shares_of(plan_from(), 2, 0, "plan")), "") << "80 % are allowed";
    EXPECT_EQ(why_too_much(shares_of(plan_from(), 1, 0, "plan"))
                  .find("shard 0/1 expects 160 Gb/s on port p0, 160 %"),
              0U);
    EXPECT_THAT(why_too_much(shares_of(plan_from(), 3, 50e9 / 8, "plan")),
                HasSubstr("120 % of the link's 50.0 Gb/s"))
        << "the option is above the key";
    EXPECT_EQ(why_too_much(shares_of(plan_from(), 2, 400e9 / 8, "plan")), "");
    runtime::Plan plan = plan_from();
    plan.ports.front().link_rate = 0;
    EXPECT_EQ(why_too_much(shares_of(plan, 1, 0, "plan")), "") << "an unknown link is not judged";
}

TEST(PlanFormats, JsonHasTheSameNumbers) {
    const auto json = nlohmann::json::parse(plan_json(shares_of(plan_from(kUnrated), 2, 0, "plan")));
    EXPECT_EQ(json["plan"], "fleet");
    EXPECT_EQ(json["shards"].size(), 2U);
    const auto& first = json["shards"][0];
    EXPECT_EQ(first["endpoints"], 5);
    EXPECT_EQ(first["streams"][0]["endpoints"][0], "239.1.0.0+3:7148");
    EXPECT_EQ(first["ports"][0]["expected_rate"], 10e9);
    EXPECT_EQ(first["ports"][0]["of_link"], 0.8);
    EXPECT_EQ(first["ports"][0]["streams_without_rate"], 1);
}

TEST(PlanFormats, HostsAreAListOrAPattern) {
    EXPECT_THAT(hosts_of("a,b,10.0.0.7", 3), ElementsAre("a", "b", "10.0.0.7"));
    EXPECT_THAT(hosts_of("recv-{}.svc", 2), ElementsAre("recv-0.svc", "recv-1.svc"));
    for (const char* text : {"", "a", "a,b", "a,b,c,d", "a,,c", "a b,c,d", "a,b,c\"", "x{},y{},z{}"})
        EXPECT_THROW(hosts_of(text, 3), UsageError) << text;
    EXPECT_THROW(hosts_of(std::string(254, 'a'), 1), UsageError);
}

TEST(PlanFormats, PrometheusGetsATargetForEachShard) {
    const PlanShares shares = shares_of(plan_from(), 2, 0, "plan");
    const auto json = nlohmann::json::parse(plan_file_sd(shares, {"a", "b"}, 9100));
    EXPECT_EQ(json, nlohmann::json::parse(R"([
        {"targets": ["a:9100"], "labels": {"spead_plan": "fleet", "spead_shard": "0", "spead_shards": "2"}},
        {"targets": ["b:9100"], "labels": {"spead_plan": "fleet", "spead_shard": "1", "spead_shards": "2"}}])"));
}

TEST(PlanFormats, HelmGetsTheShardsAndTheWholeFile) {
    const std::string file = "version = 1 # \"quoted\"\n\tdevice: {{ x }}\n";
    EXPECT_EQ(plan_helm(shares_of(plan_from(), 2, 0, "plan"), file, 9100),
              "name: \"fleet\"\nmetricsPort: 9100\nshards:\n"
              "  - {shard: \"0/2\", endpoints: 4, expectedBitsPerSecond: 80000000000}\n"
              "  - {shard: \"1/2\", endpoints: 4, expectedBitsPerSecond: 80000000000}\n"
              "plan: \"version = 1 # \\\"quoted\\\"\\n\\tdevice: {{ x }}\\n\"\n");
}

TEST(PlanFormats, SlurmGetsAnArrayWhosePathNoShellTakesApart) {
    const std::string text = plan_slurm(shares_of(plan_from(), 3, 0, "plan"), "/a/it's $HOME.toml");
    EXPECT_THAT(text, HasSubstr("#SBATCH --array=0-2\n"));
    EXPECT_THAT(text, HasSubstr("plan='/a/it'\\''s $HOME.toml'\n"));
    EXPECT_THAT(text, HasSubstr("run --config \"$plan\" --shard \"$shard\" --quiet &\n"));
}

}  // namespace
}  // namespace spead::app
