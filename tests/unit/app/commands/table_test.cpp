// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/table.hpp"

#include <set>

#include <gtest/gtest.h>

#include "config/keys.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::parsed;

TEST(Commands, EachHasANameOfItsOwnAndCanBeMade) {
    std::set<std::string_view> names;
    for (const CommandEntry& entry : commands::table()) {
        SCOPED_TRACE(std::string(entry.name));
        EXPECT_TRUE(names.insert(entry.name).second);
        EXPECT_FALSE(entry.description.empty());
        EXPECT_NE(entry.make(), nullptr);
        const std::size_t blank = entry.name.find(' ');
        if (blank != entry.name.npos) {
            EXPECT_EQ(entry.name.substr(0, blank), commands::kBenchGroup) << "the only group";
        }
    }
}

TEST(Commands, EachIsInTheHelpAndHasOne) {
    const std::string all = parsed("--help").text + parsed("bench --help").text;
    for (const CommandEntry& entry : commands::table()) {
        SCOPED_TRACE(std::string(entry.name));
        EXPECT_NE(all.find(entry.description), std::string::npos);
        const std::string own = parsed(std::string(entry.name) + " --help").text;
        EXPECT_EQ(own.find(entry.description), 0u);
        const std::string usage =
            fmt::format("Usage: dpdk-spead [EAL options --] {} [options]{}{}\n", entry.name,
                        entry.arguments.empty() ? "" : " ", entry.arguments);
        EXPECT_NE(own.find(usage), std::string::npos) << own;
    }
}

TEST(Commands, EveryOptionOfAKeyIsThatOfACommand) {
    std::string all;
    for (const CommandEntry& entry : commands::table())
        if (entry.name.find(' ') == entry.name.npos)  // benchmarks run no plan
            all += parsed(std::string(entry.name) + " --help").text;
    for (const config::Section& section : config::sections())
        for (const config::Key& key : section.keys)
            if (key.option.starts_with("--")) {
                const std::string option(key.option);
                EXPECT_TRUE(all.find(" " + option + " ") != all.npos ||
                            all.find(" " + option + "\n") != all.npos)
                    << key.name << " has the option " << option;
            }
}

TEST(Commands, EveryOptionOfTheHelpStandsInALineOfBearableLength) {
    for (const CommandEntry& entry : commands::table()) {
        std::istringstream text(parsed(std::string(entry.name) + " --help").text);
        for (std::string row; std::getline(text, row);)
            EXPECT_LE(row.size(), 120u) << row;
    }
}

}  // namespace
}  // namespace spead::app
