// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "app/prompt/context.hpp"
#include "app/prompt/words.hpp"
#include "config/config.hpp"
#include "config/edit.hpp"
#include "runtime/paths.hpp"
#include "stats/diagnosis.hpp"
#include "tests/unit/app/parsed.hpp"
#include "tests/unit/stats/each_row.hpp"

/// Tests that the commands and options which cures propose are accepted when they are typed.
namespace spead::app {
namespace {

using stats::Finding;
using stats::Snapshot;
using stats::test::each_snapshot;

constexpr std::string_view kAttach = "dpdk-spead attach /run/x.sock -- ";

/// Returns the texts between backticks of all cures of the snapshot.
std::vector<std::string> quoted(const Snapshot& s) {
    std::vector<std::string> all;
    for (const Finding& f : stats::diagnose(s))
        for (const std::string& cure : f.cures)
            for (std::size_t at = cure.find('`'); at != cure.npos;) {
                const std::size_t end = cure.find('`', at + 1);
                all.push_back(cure.substr(at + 1, end - at - 1));
                at = cure.find('`', end + 1);
            }
    return all;
}

/// Replaces words in capitals as a user does.
std::string filled_in(std::string text) {
    for (const auto& [word, by] :
         {std::pair("ADDRESS:PORT", "239.77.0.1:7148"), std::pair("TWIN", "239.77.0.2:7148"),
          std::pair("DIRECTORY", "/tmp"), std::pair("'PLACEMENT'", "'heap 8192; time: heap [8]'"),
          std::pair("\"PLACEMENT\"", "'heap 8192; time: heap [8]'")})
        if (const std::size_t at = text.find(word); at != text.npos)
            text.replace(at, std::string_view(word).size(), by);
    return text;
}

/// Returns the words of a shell's command line with single quotes alone.
std::vector<std::string> shell_words(std::string text) {
    std::ranges::replace(text, '\'', '"');
    return split_words(text).words;
}

/// Returns a plan with the streams and ports of the snapshot.
runtime::Plan plan_of(const Snapshot& s) {
    std::string text = "version = 1\n";
    std::set<std::string> ports;
    for (const stats::PortSnapshot& p : s.ports)
        ports.insert(p.name);
    for (const stats::StreamSnapshot& r : s.streams)
        ports.insert(r.path_ports.begin(), r.path_ports.end());
    int number = 0;
    for (const std::string& name : ports)
        text += fmt::format("[[port]]\nname = \"{}\"\ndevice = \"net_null{}\"\n", name, number++);
    int group = 1;
    for (const stats::StreamSnapshot& r : s.streams) {
        const stats::StreamSettings& set = r.settings;
        text += fmt::format("[[receive]]\nname = \"{}\"\n", r.name);
        if (r.path_ports.empty())
            text += fmt::format("port = \"{}\"\n", r.port);
        else
            text += fmt::format("paths = [\"{}\"]\n", fmt::join(r.path_ports, "\", \""));
        if (r.path_endpoints.size() == 2)
            text += fmt::format("endpoints = [\"{}\"]\npath_endpoints = [\"{}\"]\n",
                                fmt::join(r.path_endpoints[0], "\", \""),
                                fmt::join(r.path_endpoints[1], "\", \""));
        else
            text += fmt::format("endpoints = [\"239.66.0.{}:7148\"]\n", group++);
        if (!r.path_ports.empty() && set.path_skew > 0)
            text += fmt::format("path_skew = {}\n", set.path_skew);
        text += "[receive.heaps]\n";
        if (set.heap_timeout > 0)
            text += fmt::format("timeout = {}\n", set.heap_timeout);
        if (set.history_time > 0)
            text += fmt::format("history_time = {}\n", set.history_time);
        if (r.chunks.any() || set.chunks != 0)
            text += "[receive.chunk]\nplacement = \"heap 8192; time: heap [4]\"\n";
        if (!set.directory.empty() || !r.sink_losses.empty())
            text += "[receive.sink]\nkind = \"file\"\ndirectory = \"/tmp\"\n";
    }
    for (const stats::SendSnapshot& d : s.sends)
        text += fmt::format("[[send]]\nname = \"{}\"\nport = \"{}\"\nendpoints = [\"239.55.0.1:7148\"]\n",
                            d.name, s.ports[0].name);
    return config::parse_text(text, "test");
}

TEST(CuresTyped, CommandsOfThePromptAreUnderstoodAndTheirChangesAccepted) {
    const Grammar grammar(prompt_commands());
    std::size_t commands = 0;
    each_snapshot([&](const char* row, const Snapshot& s) {
        for (const std::string& text : quoted(s)) {
            if (!text.starts_with(kAttach))
                continue;
            SCOPED_TRACE(std::string(row) + ": " + text);
            commands++;
            Vocabulary names{{}, {}, {}, {"1"}, {}};
            for (const stats::PortSnapshot& p : s.ports)
                names.ports.push_back(p.name);
            for (const stats::StreamSnapshot& r : s.streams)
                names.streams.push_back(r.name);
            for (const stats::SendSnapshot& d : s.sends)
                names.sends.push_back(d.name);
            const auto found = grammar.understand(shell_words(filled_in(text.substr(kAttach.size()))), names);
            const runtime::Plan plan = plan_of(s);
            const std::string_view syntax = found.command->syntax;
            EXPECT_NO_THROW({
                if (syntax.starts_with("stream set"))
                    config::set_stream(plan, found.call.value("STREAM"), found.call.settings);
                else if (syntax.starts_with("send set"))
                    config::set_send(plan, found.call.value("SEND"), found.call.settings);
                else if (syntax.starts_with("endpoint add"))
                    config::add_endpoints(plan, found.call.value("STREAM"), found.call.value("ENDPOINTS"));
            });
        }
    });
    EXPECT_GT(commands, 20U);
}

/// Takes the command line of a run as the only way to set something.
TEST(CuresTyped, OptionsAreThoseOfTheCommand) {
    for (const char* line :
         {"recv --port a 239.1.2.3:7148", "capture --port a 239.1.2.3:7148 a.pcap", "loopback"}) {
        std::size_t options = 0;
        const std::vector<std::string> known =
            test::options_of<RunOptions>(test::parsed(line)).command_options;
        ASSERT_NE(std::ranges::find(known, "--buffer-size"), known.end());
        each_snapshot([&](const char* row, Snapshot s) {
            stats::test::by_options(s);
            s.settings.by_options = true;
            s.settings.options = known;
            for (const Finding& f : stats::diagnose(s))
                for (const std::string& cure : f.cures)
                    for (const std::string& option : stats::test::options_in(cure)) {
                        options++;
                        EXPECT_NE(std::ranges::find(known, option), known.end())
                            << line << ": " << row << ": " << cure;
                    }
        });
        EXPECT_GT(options, 10U) << line;
    }
}

TEST(CuresTyped, CaptureReassembles) {
    EXPECT_TRUE(test::planned("capture --port a --reassemble 239.1.2.3:7148 a.pcap").ports.at(0).reassemble);
}

}  // namespace
}  // namespace spead::app
