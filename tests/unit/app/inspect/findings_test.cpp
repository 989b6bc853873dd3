// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/findings.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace spead::app {
namespace {

TEST(FindingsText, HasALineEachAndTheCommandBelow) {
    const Findings findings{{Verdict::ok, "memory", "enough", {}},
                            {Verdict::warn, "p0 MTU", "1500", "ip link set eth0 mtu 9000"},
                            {Verdict::fail, "plan", "no", {}}};
    EXPECT_EQ(describe(findings),
              "ok    memory  enough\n"
              "warn  p0 MTU  1500\n"
              "              run: ip link set eth0 mtu 9000\n"
              "fail  plan    no\n"
              "1 ok, 1 to look at, 1 failed\n");
    EXPECT_TRUE(any_failed(findings));
    EXPECT_FALSE(any_failed({findings.data(), 2}));
    const auto json = findings_document(findings);
    EXPECT_EQ(json["failed"], 1);
    EXPECT_EQ(json["findings"][1]["fix"], "ip link set eth0 mtu 9000");
    EXPECT_EQ(json["findings"][1]["verdict"], "warn");
}

TEST(FindingOf, IsTheTextOrTheError) {
    const Finding good = finding_of("memory", [] { return std::string("enough"); });
    EXPECT_EQ(good.verdict, Verdict::ok);
    EXPECT_EQ(good.text, "enough");
    const Finding bad = finding_of("memory", []() -> std::string { throw Error("too little"); });
    EXPECT_EQ(bad.verdict, Verdict::fail);
    EXPECT_EQ(bad.subject, "memory");
    EXPECT_EQ(bad.text, "too little");
}

TEST(FindingsText, TellsWhetherWhatWasTypedIsAllThatFailed) {
    const Finding good{Verdict::ok, "memory", "enough", {}};
    const Finding typed{Verdict::fail, "plan", "no such parameter", {}, true};
    const Finding absent{Verdict::fail, "plan", "no such interface", {}};
    EXPECT_FALSE(only_usage_failed(Findings{good}));
    EXPECT_TRUE(only_usage_failed(Findings{good, typed}));
    EXPECT_FALSE(only_usage_failed(Findings{absent}));
    EXPECT_FALSE(only_usage_failed(Findings{typed, absent}));
}

}  // namespace
}  // namespace spead::app
