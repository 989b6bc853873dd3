// SPDX-License-Identifier: BSD-3-Clause
#include "config/copy_rules.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "config/config.hpp"
#include "config/edit.hpp"

namespace spead::config::copy_rules_test {
namespace {

using runtime::Plan;
using runtime::SendPlan;
using testing::HasSubstr;

constexpr const char* kText = R"(
version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[port]]
name = "p1"
device = "net_ring1"
[[send]]
name = "a"
port = "p0"
endpoints = ["239.1.2.3+1:7148"]
heap_size = "1MiB"
verify = true
rate = "1Gbps"
lcore = 0
impair = "loss=1%"
)";

std::string text(const std::string& more, const std::string& base = kText) {
    return base + "[[send]]\nname = \"b\"\nport = \"p1\"\ncopy_of = \"a\"\n" + more;
}

std::string refusal(const std::string& plan) {
    try {
        parse_text(plan, "plan.toml");
    } catch (const UsageError& e) {
        return e.what();
    }
    return "accepted";
}

TEST(CopyRules, ACopyHasTheKeysThatItLeavesOutFromItsOriginal) {
    const Plan plan = parse_text(text("ttl = 7\n"), "plan.toml");
    const SendPlan& b = plan.sends[1];
    EXPECT_EQ(b.copy_of, "a");
    EXPECT_EQ(b.endpoints, plan.sends[0].endpoints);
    EXPECT_EQ(b.heap_size, std::uint64_t{1} << 20);
    EXPECT_TRUE(b.verify);
    EXPECT_EQ(b.rate, plan.sends[0].rate);
    EXPECT_EQ(b.ttl, 7);
    EXPECT_EQ(plan.sends[0].ttl, 1);
    EXPECT_EQ(b.lcore, std::nullopt) << "each path has its own";
    EXPECT_EQ(b.impair, "");
    EXPECT_EQ(parse_text(to_toml(plan), "saved.toml"), plan);
}

TEST(CopyRules, ACopyMayStandBeforeItsOriginal) {
    const Plan plan = parse_text(R"(
version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[send]]
name = "b"
port = "p0"
copy_of = "a"
endpoints = ["239.9.9.9:1"]
[[send]]
name = "a"
port = "p0"
endpoints = ["239.1.2.3:7148"]
items = 3
)",
                                 "plan.toml");
    EXPECT_EQ(plan.sends[0].items, 3U);
}

TEST(CopyRules, CopiesThatCannotBeAreRefused) {
    const std::string base = kText;
    EXPECT_THAT(
        refusal(text("heap_size = \"2MiB\"\n")),
        HasSubstr("`heap_size` of sender `a` is \"1MiB\", and of its copy `b` it is \"2MiB\"; leave it out"));
    EXPECT_THAT(refusal(text("max_packet_size = 1000\n")), HasSubstr("have up to 1472 bytes"));
    EXPECT_THAT(refusal(text("endpoints = [\"[ff15::1]+1:7148\"]\n")),
                HasSubstr("those of its copy `b` have 1452; give `a` a `max_packet_size`"));
    EXPECT_THAT(refusal(text("endpoints = [\"239.1.2.3:7148\"]\n")),
                HasSubstr("sender `a` has 2 endpoints, and its copy `b` has 1"));
    EXPECT_THAT(refusal(base + "[[send]]\nname = \"b\"\nport = \"p0\"\ncopy_of = \"a\"\n"),
                HasSubstr("send to the same endpoints by port `p0`"));
    EXPECT_THAT(refusal(base + "[[send]]\nname = \"b\"\nport = \"p1\"\nendpoints = [\"239.1.2.3:7148\"]\n"
                               "copy_of = \"c\"\n"),
                HasSubstr("there is no sender `c`"));
    EXPECT_THAT(refusal(base + "[[send]]\nname = \"b\"\nport = \"p1\"\nendpoints = [\"239.1.2.3:7148\"]\n"
                               "copy_of = \"b\"\n"),
                HasSubstr("sender `b` is to be a copy of itself"));
    EXPECT_THAT(refusal(base + "[[send]]\nname = \"b\"\nport = \"p1\"\ncopy_of = \"c\"\n"),
                HasSubstr("there is no sender `c` for `b` to copy"))
        << "although other keys are missing";
    EXPECT_THAT(refusal(base + "[[send]]\nname = \"b\"\nport = \"p1\"\ncopy_of = \"b\"\n"),
                HasSubstr("sender `b` is to be a copy of itself"));
    EXPECT_THAT(refusal(text("[[send]]\nname = \"c\"\nport = \"p1\"\ncopy_of = \"b\"\n"
                             "endpoints = [\"239.2.2.3+1:7148\"]\n")),
                HasSubstr("sender `b` is a copy itself"));
    EXPECT_THAT(refusal(text("[[send]]\nname = \"c\"\nport = \"p1\"\ncopy_of = \"a\"\n"
                             "endpoints = [\"239.2.2.3+1:7148\"]\n")),
                HasSubstr("sender `a` has two copies"));
}

TEST(CopyRules, AtThePromptACopyIsMadeAndKeepsItsOriginal) {
    Plan plan = parse_text(std::string(kText) + "[runtime]\nlive = true\n", "plan.toml");
    plan = add_send(plan, "b", "p1", "239.1.2.3+1:7148", {{"copy_of", "a"}});
    EXPECT_EQ(plan.sends[1].heap_size, std::uint64_t{1} << 20);
    try {
        delete_send(plan, "a");
        FAIL();
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("there is no sender `a` for `b` to copy"));
    }
    EXPECT_EQ(delete_send(delete_send(plan, "b"), "a").sends.size(), 0U);
}

}  // namespace
}  // namespace spead::config::copy_rules_test
