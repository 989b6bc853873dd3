// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/host_findings.hpp"

#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace spead::app {
namespace {

std::string finding(const std::string& cause, double last, const std::string& until = "null") {
    return fmt::format(
        R"({{"where":"vis","cause":"{}","stage":"consumer","count":3,"unit":"heaps","what":"were lost",)"
        R"("cures":["raise it",1,""],"first_s":1,"last_s":{},"until_s":{}}})",
        cause, last, until);
}

TEST(HostFindings, TakesThoseThatGrow) {
    const auto found = findings_now(fmt::format("[{},{},{},{}]", finding("a", 18), finding("b", 10),
                                                finding("c", 18, "17"), finding("impaired", 18)),
                                    20);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].where, "vis");
    EXPECT_EQ(found[0].cause, "a");
    EXPECT_EQ(found[0].stage, "consumer");
    EXPECT_EQ(found[0].what, "3 heaps were lost");
    EXPECT_EQ(found[0].cures, std::vector<std::string>{"raise it"});
    EXPECT_EQ(found[0].first_s, 1);
    EXPECT_EQ(findings_now(fmt::format("[{}]", finding("state", 0)), 1000).size(), 1U);
}

TEST(HostFindings, LeavesOutWarningsAndNotes) {
    std::string all;
    for (const char* const kind : {"warning", "note", "loss"})
        all += fmt::format(R"({}{{"where":"vis","cause":"of {}","kind":"{}","last_s":18,"until_s":null}})",
                           all.empty() ? "" : ",", kind, kind);
    const auto found = findings_now("[" + all + "]", 20);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, "of loss");
}

TEST(HostFindings, KeepsAFew) {
    std::string all = finding("a", 9);
    for (int i = 0; i < 20; i++)
        all += "," + finding("a", 9);
    EXPECT_EQ(findings_now("[" + all + "]", 10).size(), kMostFindings);
}

TEST(HostFindings, TrustsNoText) {
    const auto found = findings_now("[" + finding(std::string(5000, 'x') + "\\u001b[2J", 9) + "]", 10);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, std::string(kLongestText, 'x'));
    EXPECT_EQ(findings_now("[" + finding("a\\u001bb", 9) + "]", 10)[0].cause, "a\\x1bb");
    for (const char* const text : {"", "{}", "[", "null", "[1,null,\"a\",[],{}]", "<html>",
                                   R"([{"cause":1,"where":[],"last_s":"x"}])"})
        EXPECT_TRUE(findings_now(text, 1).empty()) << text;
    EXPECT_TRUE(findings_now(std::string(100'000, '['), 1).empty());
}

}  // namespace
}  // namespace spead::app
