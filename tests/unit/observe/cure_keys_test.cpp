// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.hpp"
#include "config/edit.hpp"
#include "config/keys.hpp"
#include "stats/diagnosis.hpp"
#include "tests/unit/config/plans.hpp"
#include "tests/unit/stats/consumer_cure_rows.hpp"
#include "tests/unit/stats/cure_rows.hpp"

/// Tests that the values which cures propose are those of keys, and none that these refuse.
namespace spead::observe {
namespace {

namespace rows = stats::test;

constexpr const char* kPlacement = "heap 64; time: heap [8]";

/// Returns the word that a shell makes of a quoted one.
std::string unquoted(const std::string& word) {
    std::string text;
    FILE* const shell = popen(("printf %s " + word).c_str(), "r");
    EXPECT_NE(shell, nullptr);
    for (int c = 0; shell != nullptr && (c = fgetc(shell)) != EOF;)
        text += static_cast<char>(c);
    EXPECT_EQ(pclose(shell), 0) << word;
    return text;
}

/// Returns the value that a user gives in place of a word in capitals; another one as it is.
std::string given(const std::string& word) {
    const std::string value = word.find('\'') == word.npos ? word : unquoted(word);
    return value == "DIRECTORY" ? "/data/other" : value == "PLACEMENT" ? kPlacement : value;
}

/// Returns a plan of the stream's settings.
runtime::Plan plan_of(const stats::Snapshot& s) {
    runtime::Plan plan = spead::test::valid_plan();
    plan.memory.heaps = s.settings.heap_memory;
    runtime::ReceivePlan& r = plan.receives[0];
    const stats::StreamSettings& set = s.streams[0].settings;
    r.max_live = static_cast<std::uint32_t>(set.max_live);
    r.queue_depth = static_cast<std::uint32_t>(set.queue_depth);
    r.max_packet_size = static_cast<std::uint32_t>(set.max_packet_size);
    r.max_bytes = set.max_bytes;
    r.buffer_size = set.buffer_size;
    if (set.chunks != 0 || s.streams[0].chunks.buffers != 0) {
        r.chunk.emplace();
        r.chunk->placement = kPlacement;
        r.chunk->chunks = static_cast<std::uint32_t>(std::max<std::uint64_t>(set.chunks, 8));
        r.chunk->window = static_cast<std::uint32_t>(std::max<std::uint64_t>(set.window, 1));
    }
    if (!set.directory.empty())
        r.sink = {.kind = set.file_for_each ? runtime::SinkKind::file : runtime::SinkKind::raw,
                  .directory = set.directory};
    if (set.path_skew != 0) {
        r.paths = {"p0", "p0"};
        r.path_endpoint_texts = {"239.1.3.3:7148"};
        r.path_endpoints = parse_endpoints(r.path_endpoint_texts[0]);
        r.path_skew = set.path_skew;
    }
    return plan;
}

/// Returns the settings of a cure: keys with their values as the prompt takes them.
std::vector<config::Setting> settings_in(const std::string& cure) {
    std::vector<config::Setting> all;
    const auto each = [&cure](const char* pattern, const auto& take) {
        const std::regex expression(pattern);
        for (std::sregex_iterator at(cure.begin(), cure.end(), expression), end; at != end; ++at)
            take(*at);
    };
    each("stream set s0 (\\S+) ([^\\s`]+)`",
         [&all](const std::smatch& m) { all.emplace_back(m[1].str(), given(m[2].str())); });
    each("set `(\\w+) = \\[?\"?([^`\"\\]]+)\"?\\]?` in \\[+receive(?:\\.(\\w+))?\\]+",
         [&all](const std::smatch& m) {
             all.emplace_back((m[3].matched ? m[3].str() + '.' : std::string()) + m[1].str(),
                              given(m[2].str()));
         });
    each("restart with `(--\\S+) ([^`]+)`", [&all](const std::smatch& m) {
        if (m[1] == "--sink") {
            const std::string sink = given(m[2].str());
            all.emplace_back("sink.kind", sink.substr(0, sink.find(':')));
            all.emplace_back("sink.directory", sink.substr(sink.find(':') + 1));
            return;
        }
        for (const std::string& path : config::key_paths("receive"))
            // A port is not the stream's to change.
            if (path != "port" && config::find_key("receive", path)->option == m[1].str())
                all.emplace_back(path, m[2].str());
    });
    return all;
}

/// Carries the cures of a run out, one after the other. Returns how many settings they had.
std::size_t carry_out(const stats::Snapshot& s, const char* name) {
    std::size_t settings = 0;
    runtime::Plan plan = plan_of(s);
    for (const stats::Finding& f : stats::diagnose(s))
        for (const std::string& cure : f.cures) {
            if (std::smatch memory;
                std::regex_search(cure, memory, std::regex("set `heaps = \"(\\S+)\"` in \\[memory\\]")))
                plan.memory.heaps = parse_size(memory[1].str());
            for (const config::Setting& setting : settings_in(cure)) {
                settings++;
                EXPECT_NO_THROW(plan = config::set_stream(plan, "s0", {setting}))
                    << name << ": " << setting.first << ' ' << setting.second << " in: " << cure;
            }
        }
    return settings;
}

std::vector<rows::CureRow> all_rows() {
    std::vector<rows::CureRow> all(std::begin(rows::kCureRows), std::end(rows::kCureRows));
    all.insert(all.end(), std::begin(rows::kConsumerCureRows), std::end(rows::kConsumerCureRows));
    return all;
}

TEST(CureKeys, TakeTheProposedValues) {
    std::size_t settings = 0;
    for (const rows::CureRow& row : all_rows()) {
        stats::Snapshot s = rows::known();
        row.change(s);
        settings += carry_out(s, row.name);
    }
    EXPECT_GT(settings, 15U);
}

TEST(CureKeys, TakeThemNearTheirLimitsToo) {
    for (const rows::CureRow& row : all_rows())
        for (const bool by_prompt : {true, false}) {
            stats::Snapshot s = rows::known();
            if (!by_prompt)
                s.settings.attach = "";
            s.settings.heap_memory = std::uint64_t{64} << 30;
            stats::StreamSettings& set = s.streams[0].settings;
            set.max_live = kMostLiveHeaps - 1;
            set.queue_depth = kMostQueuedHeaps - 1;
            set.max_packet_size = kMostPacket - 1;
            set.max_bytes = kMostHeapBytes - 1;
            set.buffer_size = kMostBuffer / 2;
            row.change(s);
            carry_out(s, row.name);
        }
}

}  // namespace
}  // namespace spead::observe
