// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/shard_choice.hpp"

#include <gmock/gmock.h>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

std::optional<ShardChoice> chosen(const std::string& option, const Variables& variables,
                                  const std::string& host = "h") {
    return choose_shard(
        option,
        [&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        host);
}

/// Returns the shard, or the text of the refusal.
std::string shard_of(const std::string& option, const Variables& variables, const std::string& host = "h") {
    std::string text;
    const std::string why = test::refusal([&] {
        const auto choice = chosen(option, variables, host);
        text = choice ? config::to_string(choice->shard) + " " + choice->source : "whole";
    });
    return why.empty() ? text : why;
}

Variables array(const std::string& id, const std::string& count, const std::string& first,
                const std::string& last, const std::string& step = "1") {
    return {{"SLURM_ARRAY_TASK_ID", id},
            {"SLURM_ARRAY_TASK_COUNT", count},
            {"SLURM_ARRAY_TASK_MIN", first},
            {"SLURM_ARRAY_TASK_MAX", last},
            {"SLURM_ARRAY_TASK_STEP", step}};
}

TEST(ShardChoice, ThePlanIsWholeUnlessSomethingSaysOtherwise) {
    EXPECT_EQ(shard_of("", {}), "whole");
    EXPECT_THAT(shard_of("", {{"DPDK_SPEAD_SHARD", ""}}), HasSubstr("DPDK_SPEAD_SHARD: it is empty"));
    EXPECT_EQ(shard_of("", {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}}), "whole")
        << "only auto looks there";
}

TEST(ShardChoice, TheOptionComesBeforeTheEnvironment) {
    EXPECT_EQ(shard_of("1/3", {{"DPDK_SPEAD_SHARD", "0/2"}}), "1/3 --shard");
    EXPECT_EQ(shard_of("", {{"DPDK_SPEAD_SHARD", "0/2"}}), "0/2 DPDK_SPEAD_SHARD");
    EXPECT_THAT(shard_of("3/3", {}), HasSubstr("--shard: there is no shard 3 of 3"));
    EXPECT_THAT(shard_of("", {{"DPDK_SPEAD_SHARD", "2"}}), HasSubstr("DPDK_SPEAD_SHARD: `2` is not a shard"));
}

TEST(ShardChoice, AutoTakesAnArrayWhereverItBeginsAndWhateverItsStep) {
    const std::string source = " SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT";
    EXPECT_EQ(shard_of("auto", array("2", "3", "0", "2")), "2/3" + source);
    EXPECT_EQ(shard_of("auto", array("5", "3", "5", "7")), "0/3" + source);
    EXPECT_EQ(shard_of("auto", array("9", "3", "5", "9", "2")), "2/3" + source);
    EXPECT_EQ(shard_of("", {{"DPDK_SPEAD_SHARD", "auto"},
                            {"SLURM_ARRAY_TASK_ID", "1"},
                            {"SLURM_ARRAY_TASK_COUNT", "2"}}),
              "1/2" + source);
}

TEST(ShardChoice, AnArrayThatIsNotEvenlySpacedIsRefusedInEachOfItsElements) {
    for (const char* id : {"1", "5", "7"})
        EXPECT_THAT(shard_of("auto", array(id, "3", "1", "7")), HasSubstr("not evenly spaced")) << id;
    EXPECT_THAT(shard_of("auto", array("0", "3", "1", "3")), HasSubstr("not evenly spaced"));
    for (const char* text : {"x", "-1", "99999999999999999999"})
        EXPECT_THAT(shard_of("auto", array(text, "3", "1", "3")), HasSubstr("SLURM_ARRAY_TASK_ID:")) << text;
    EXPECT_NE(shard_of("auto", array("0", "0", "0", "0")), "whole");
    EXPECT_THAT(shard_of("auto", {{"SLURM_ARRAY_TASK_ID", "1"}}),
                HasSubstr("SLURM_ARRAY_TASK_COUNT: it is not set"));
}

TEST(ShardChoice, AutoTakesTheRankInAStepAfterThat) {
    const Variables step{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"DPDK_SPEAD_SHARDS", "9"}};
    EXPECT_EQ(shard_of("auto", step, "recv-4"), "1/3 SLURM_PROCID and SLURM_NTASKS");
    Variables both = array("0", "2", "0", "1");
    both.insert(step.begin(), step.end());
    EXPECT_EQ(shard_of("auto", both), "0/2 SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT");
    EXPECT_THAT(shard_of("auto", {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "3"}}),
                HasSubstr("no shard 3 of 3"));
    EXPECT_THAT(shard_of("auto", {{"SLURM_PROCID", "3"}}), HasSubstr("SLURM_NTASKS: it is not set"));
}

TEST(ShardChoice, AutoTakesTheNumberAtTheEndOfTheHostNameAfterThat) {
    const Variables count{{"DPDK_SPEAD_SHARDS", "12"}, {"DPDK_SPEAD_SHARD", "7/12"}};
    EXPECT_EQ(shard_of("auto", count, "recv-11"), "11/12 the host name recv-11 and DPDK_SPEAD_SHARDS");
    EXPECT_EQ(shard_of("auto", count, "my-recv-2.my-recv.ns.svc"),
              "2/12 the host name my-recv-2.my-recv.ns.svc and DPDK_SPEAD_SHARDS");
    EXPECT_THAT(shard_of("auto", count, "recv-12"), HasSubstr("no shard 12 of 12"));
    EXPECT_NE(shard_of("auto", count, "recv-99999999999999999999"), "whole");
    for (const char* host : {"", "recv", "recv-", "recv-a", "recv-1a", ".recv-1"})
        EXPECT_EQ(shard_of("auto", count, host), "7/12 DPDK_SPEAD_SHARD") << host;
    EXPECT_EQ(shard_of("auto", {{"DPDK_SPEAD_SHARD", "1/2"}}, "recv-0"), "1/2 DPDK_SPEAD_SHARD");
}

TEST(ShardChoice, AutoSaysWhereItLookedInVain) {
    for (const Variables& variables : {Variables{}, Variables{{"DPDK_SPEAD_SHARD", "auto"}}})
        test::expect_usage_error([&] { chosen("auto", variables, "node7"); },
                                 {"--shard:", "SLURM_ARRAY_TASK_ID", "SLURM_PROCID", "DPDK_SPEAD_SHARD",
                                  "DPDK_SPEAD_SHARDS", "`node7`", "give I/N"});
}

}  // namespace
}  // namespace spead::app
