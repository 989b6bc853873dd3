// SPDX-License-Identifier: BSD-3-Clause
#include "app/option_set.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using test::expect_usage_error;

/// Parses words with the options that `add` made.
class OptionSetTest : public testing::Test {
  protected:
    void parse(std::vector<std::string> words) {
        std::reverse(words.begin(), words.end());
        app.parse(std::move(words));
    }

    CLI::App app;
    OptionSet options{app};
};

TEST_F(OptionSetTest, EachKindSetsItsValue) {
    std::uint32_t count = 1;
    std::uint64_t size = 2;
    double rate = 3;
    double time = 4;
    double real = 5;
    bool flag = false;
    std::string text;
    std::optional<unsigned> cpu;
    auto poll = runtime::PollMode::adaptive;
    options.integer("--count", count, config::Limits<std::uint32_t>{1, 100}, "");
    options.size("--size", size, {1, 1u << 20}, "");
    options.rate("--rate", rate, "");
    options.duration("--time", time, true, "");
    options.real("--real", real, {1, 10}, "");
    options.flag("--flag", flag, "");
    options.text("--text", text, "T", "");
    options.cpu("--cpu", cpu, "");
    options.choice("--poll", poll, config::kPollModes, "");
    parse({"--count", "7", "--size", "64KiB", "--rate", "8Mbps", "--time", "2min", "--real", "1.5", "--flag",
           "--text", "a b", "--cpu", "3", "--poll", "busy"});
    EXPECT_EQ(count, 7u);
    EXPECT_EQ(size, 65536u);
    EXPECT_EQ(rate, 1e6);
    EXPECT_EQ(time, 120);
    EXPECT_EQ(real, 1.5);
    EXPECT_TRUE(flag);
    EXPECT_EQ(text, "a b");
    EXPECT_EQ(cpu, 3u);
    EXPECT_EQ(poll, runtime::PollMode::busy);
}

TEST_F(OptionSetTest, WhatIsNotTypedKeepsItsDefault) {
    std::uint32_t count = 42;
    options.integer("--count", count, config::Limits<std::uint32_t>{1, 100}, "");
    parse({});
    EXPECT_EQ(count, 42u);
}

TEST_F(OptionSetTest, HelpShowsTypeAndDefault) {
    std::uint64_t size = 65536;
    double time = 0;
    options.size("--size", size, {1, 1u << 20}, "How large");
    options.duration("--time", time, true, "How long");
    const std::string help = app.help();
    for (const char* part : {"--size", "SIZE", "64KiB", "How large", "TIME", "off"})
        EXPECT_NE(help.find(part), std::string::npos) << part << " is not in\n" << help;
}

TEST_F(OptionSetTest, AnOptionInAValuesPlaceIsAMissingValue) {
    std::string text;
    options.text("--text", text, "T", "");
    expect_usage_error([&] { parse({"--text", "--other"}); }, {"--text: its value is missing", "`--other`"});
    parse({"--text", "-"});
    EXPECT_EQ(text, "-");
}

/// Tests each key by itself, as its option gives it. A new key with an option is tested without more code.
TEST_F(OptionSetTest, EveryKeyWithAnOptionTakesItsDefaultAndRefusesNothing) {
    for (const config::Section& section : config::sections())
        for (const config::Key& key : section.keys) {
            if (!key.option.starts_with("--") || section.root() == "port" || key.name == "port")
                continue;
            SCOPED_TRACE(key.option);
            runtime::Plan plan;
            plan.receives.emplace_back().capture.emplace();
            plan.receives.back().chunk.emplace();
            plan.sends.emplace_back();
            const runtime::Plan before = plan;
            config::for_each_part(plan, section, [&](const std::string&, config::Part part) {
                CLI::App command;
                OptionSet(command).key(fmt::format("{}.{}{}", section.root(), section.prefix(), key.name),
                                       part);
                const std::string help = command.help("", CLI::AppFormatMode::All);
                EXPECT_NE(help.find(key.option), std::string::npos) << help;
                const std::string name(key.option);
                const CLI::Option* option = command.get_option(name);
                EXPECT_EQ(option->get_description(), key.help);
                EXPECT_TRUE(key.field.type == config::KeyType::flag || !option->get_type_name().empty());
                const std::string shown = option->get_default_str();
                if (shown.empty())
                    return;
                command.parse(fmt::format("{} {}", name, shown));
            });
            EXPECT_EQ(plan, before);
        }
}

TEST_F(OptionSetTest, CpusAreNumbersAndRanges) {
    runtime::ReceivePlan stream;
    options.key("receive.lcores", &stream);
    parse({"--lcores", "7,1-3,0"});
    EXPECT_EQ(stream.lcores, (std::vector<unsigned>{7, 1, 2, 3, 0}));
    for (const char* text :
         {"", "a", "1-", "-1", "1--2", "1;2", "1,", "99999999999", "1024", "0-1024", "1.5"})
        expect_usage_error([&] { parse({std::string("--lcores=") + text + (text[0] == '\0' ? "," : "")}); },
                           {"--lcores", "CPU number"});
}

TEST_F(OptionSetTest, SinksAreThree) {
    runtime::SinkPlan sink;
    options.sink("--sink", sink, "");
    parse({"--sink", "file:a:b"});
    EXPECT_EQ(sink, (runtime::SinkPlan{runtime::SinkKind::file, "a:b"}));
    parse({"--sink", "verify"});
    EXPECT_EQ(sink, (runtime::SinkPlan{runtime::SinkKind::verify, ""}));
    parse({"--sink", "null"});
    EXPECT_EQ(sink, (runtime::SinkPlan{runtime::SinkKind::null, ""}));
}

TEST_F(OptionSetTest, ListsHaveCommas) {
    std::vector<std::uint32_t> numbers{9};
    std::vector<std::uint64_t> sizes{9};
    options.integers("--numbers", numbers, {1, 100}, "");
    options.sizes("--sizes", sizes, {1, 1u << 20}, "packet", "");
    parse({"--numbers", "1,2,100", "--sizes", "packet,64KiB"});
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 100}));
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{0, 65536}));
    expect_usage_error([&] { parse({"--numbers", "1,101"}); }, {"--numbers: `101`", "1 to 100"});
    expect_usage_error(
        [&] {
            parse({"--sizes", "2MiB"});
        },
        {"--sizes: `2MiB` is out of range", "1 B to 1 MiB"});
}

TEST_F(OptionSetTest, SplitListKeepsEmptyParts) {
    EXPECT_EQ(split_list("a,b,,c"), (std::vector<std::string>{"a", "b", "", "c"}));
    EXPECT_EQ(split_list(""), std::vector<std::string>{""});
}

}  // namespace
}  // namespace spead::app
