// SPDX-License-Identifier: BSD-3-Clause
#include "config/keys.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "config/toml_table.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"
#include "tests/unit/config/random_values.hpp"

// The tables of keys guarantee these properties to all that derive from them. A new key is tested by all of
// this.
namespace spead::config {
namespace {

using runtime::Plan;

/// Calls `visit` with every key, its section and its full path.
void for_each_key(const std::function<void(const std::string& path, const Section&, const Key&)>& visit) {
    for (const Section& section : sections())
        for (const Key& key : section.keys) {
            const std::string path = fmt::format("{}.{}", section.table, key.name);
            SCOPED_TRACE(path);
            visit(path, section, key);
        }
}

/// Returns a plan with two ports, two streams and two senders, all with default values. One stream has a
/// capture.
Plan new_plan() {
    Plan plan;
    plan.ports.resize(2);
    plan.receives.resize(2);
    plan.receives[1].capture.emplace();
    plan.receives[1].chunk.emplace();
    plan.sends.resize(2);
    return plan;
}

Plan random_plan(unsigned seed) {
    test::RandomValues values(seed);
    Plan plan = new_plan();
    for (const Section& section : sections())
        for_each_part(plan, section, [&](const std::string&, Part part) {
            for (const Key& key : section.keys)
                if (key.required || values.coin())
                    test::set_random(values, key, part);
        });
    return plan;
}

Plan read_back(const std::string& text) {
    Source source("printed");
    toml::table tree = toml::parse(text);
    // The first of two paths is the port, which is not printed then.
    if (toml::array* const streams = tree["receive"].as_array(); streams != nullptr)
        for (toml::node& stream : *streams)
            if (toml::array* const paths = (*stream.as_table())["paths"].as_array(); paths != nullptr)
                stream.as_table()->insert("port", paths->front());
    return read_plan(tree, source);
}

TEST(Keys, EveryRandomPlanReadsBackEqual) {
    for (unsigned seed = 0; seed < 500; seed++) {
        const Plan plan = random_plan(seed);
        const std::string text = to_toml(plan);
        try {
            const Plan again = read_back(text);
            ASSERT_EQ(again, plan) << "seed " << seed << "\n" << text;
            ASSERT_EQ(to_toml(again), text) << "seed " << seed;
        } catch (const Error& error) {
            FAIL() << "seed " << seed << ": " << error.what() << "\n" << text;
        }
    }
}

TEST(Keys, EveryRandomValueIsGoodAndNeighboursOfRangesAreRefused) {
    test::RandomValues values(1);
    for_each_key([&](const std::string&, const Section&, const Key& key) {
        for (int i = 0; i < 50; i++)
            EXPECT_EQ(complaint(key, values.of(key)), "");
        const bool is_number = key.range.min != key.range.max;
        if (!is_number || key.field.type == KeyType::cpus)
            return;
        for (const std::int64_t number : {key.range.min - 1, key.range.max}) {
            if ((number == 0 && key.zero) || (number == key.range.max && number == INT64_MAX))
                continue;
            const std::int64_t outside = number == key.range.max ? number + 1 : number;
            const std::string wrong = complaint(key, outside);
            EXPECT_THAT(wrong, testing::HasSubstr(fmt::format("`{}` is ", key.name)));
            EXPECT_THAT(wrong, testing::HasSubstr("; give "));
        }
    });
}

/// Tests that no two keys share a member, and that no key touches more than its own.
/// Returns whether a key sets the value of another that a file leaves out: a pattern sets the sizes of its
/// telescope (PatternRules).
bool sets(const std::string& path, const std::string& other) {
    return path == "send.pattern" && (other == "send.heap_size" || other == "send.max_packet_size" ||
                                      other == "send.max_heaps" || other == "send.addr_bits");
}

TEST(Keys, EachHasAMemberOfItsOwn) {
    for_each_key([](const std::string& path, const Section& section, const Key& key) {
        Plan plan = new_plan();
        test::RandomValues values(7);
        for_each_part(plan, section, [&](const std::string&, Part part) {
            while (key.field.get(std::visit([](auto* p) { return ConstPart(p); }, part)) ==
                   default_value(section, key))
                test::set_random(values, key, part);
        });
        for_each_key([&](const std::string& other_path, const Section& other_section, const Key& other) {
            if (other_path == path || sets(path, other_path))
                return;
            for_each_part(std::as_const(plan), other_section, [&](const std::string& where, ConstPart part) {
                EXPECT_EQ(other.field.get(part), default_value(other_section, other))
                    << where << "." << other.name << " changed with " << path;
            });
        });
    });
}

TEST(Keys, NewPlansHaveDefaultsThatAreInRange) {
    for_each_key([](const std::string&, const Section& section, const Key& key) {
        if (key.required)
            return;
        EXPECT_EQ(complaint(key, default_value(section, key)), "");
    });
}

/// Converts to any member of a plan.
struct Anything {
    template <typename T>
    operator T() const;
};

/// Counts the members of a struct without constructors.
template <typename T, typename... Members>
constexpr std::size_t members_of() {
    if constexpr (requires { T{Members{}..., Anything{}}; })
        return members_of<T, Members..., Anything>();
    else
        return sizeof...(Members);
}

TEST(Keys, EveryMemberOfAPlanHasOne) {
    const auto keys = [](std::string_view table) { return section_of(table).keys.size(); };
    EXPECT_EQ(members_of<runtime::RuntimePlan>(), keys("runtime"));
    // `spare_eal` and a stream's own `memory` are for programs in C++ alone.
    EXPECT_EQ(members_of<runtime::MemoryPlan>(), keys("memory") + 1);
    EXPECT_EQ(members_of<runtime::PortPlan>(), keys("port"));
    EXPECT_EQ(members_of<runtime::EndPlan>(), keys("end"));
    EXPECT_EQ(members_of<runtime::SinkPlan>(), keys("receive.sink"));
    EXPECT_EQ(members_of<capture::Options>(), keys("receive.capture"));
    // `by_callback` is for programs in C++ alone.
    EXPECT_EQ(members_of<runtime::ChunkPlan>(), keys("receive.chunk") + 1);
    // Either list of endpoints stands in two members; `chunk`, `sink` and `capture` are tables of their own.
    EXPECT_EQ(members_of<runtime::SendPlan>(), keys("send") + 1);
    EXPECT_EQ(members_of<runtime::ReceivePlan>(), keys("receive") + keys("receive.heaps") + 6);
    // Dealing, not the file, says which `shard` a plan is; `version` is no member.
    EXPECT_EQ(members_of<Plan>(), names_in("").size() - 1 + 1) << "tables of the file";
}

TEST(Keys, HelpIsASentenceThatBeginsWithItsVerb) {
    for_each_key([](const std::string&, const Section&, const Key& key) {
        const std::string help(key.help);
        EXPECT_THAT(help, testing::MatchesRegex("[A-Z][a-z]+s[,; ].*[^.]")) << "no verb, or a full stop";
        EXPECT_LE(std::count(help.begin(), help.end(), ' '), 24) << "a sentence has 25 words at most";
    });
}

TEST(Keys, TextsHaveExamplesThatAreValid) {
    for_each_key([](const std::string&, const Section& section, const Key& key) {
        const KeyType type = key.field.type;
        const bool is_text =
            type == KeyType::text || type == KeyType::texts || type == KeyType::endpoints || key.required;
        if (!is_text)
            return;
        ASSERT_FALSE(key.example.empty());
        const toml::table tree = toml::parse(fmt::format("{} = {}", key.name, key.example));
        Plan plan = new_plan();
        Source source("example");
        // The table's other keys are missing; this one is read by itself.
        const TomlTable table(tree, source, "x", section.table);
        EXPECT_FALSE(std::holds_alternative<std::monostate>(table.value(key)));
        for_each_part(plan, section, [&](const std::string&, Part part) {
            EXPECT_NO_THROW(
                key.field.set(part, table.value(key), [](std::string_view) { return std::string(); }));
        });
    });
}

/// Tests that a key has a text for its unset value where the docs would show nothing. Otherwise the reader
/// would have to guess.
TEST(Keys, WhatHoldsWithoutAValueIsSaid) {
    for_each_key([](const std::string&, const Section& section, const Key& key) {
        const Value value = default_value(section, key);
        const std::string text = file_text(key, value);
        const bool nothing = text.empty() || text == "\"\"" || text == "[]";
        EXPECT_EQ(!key.unset.empty(), nothing && !key.required && key.field.type != KeyType::texts);
    });
}

TEST(Keys, ChoicesAreWordsOfTheirOwn) {
    EXPECT_THAT(choices(*find_key("send", "pacer")), testing::ElementsAre("software", "auto", "hardware"));
    EXPECT_THAT(choices(*find_key("receive", "in_order")), testing::ElementsAre("true", "false"));
    for_each_key([](const std::string&, const Section&, const Key& key) {
        EXPECT_EQ(key.field.type == KeyType::choice, !key.field.choices.empty());
        for (const std::string_view word : key.field.choices)
            EXPECT_EQ(complaint(key, Value{std::string(word)}), "");
    });
    EXPECT_EQ(complaint(*find_key("send", "pacer"), Value{std::string("hard")}),
              "`hard` is not a choice (did you mean `hardware`?); give software, auto or hardware");
}

TEST(Keys, AreFoundByTheirPath) {
    EXPECT_EQ(find_key("receive", "heaps.queue_depth")->option, "--ring-heaps");
    EXPECT_EQ(find_key("receive", "queue_depth"), nullptr);
    EXPECT_EQ(find_key("send", "heaps.queue_depth"), nullptr);
    EXPECT_THAT(key_paths("send"), testing::Contains("pacer"));
    for_each_key([](const std::string&, const Section& section, const Key& key) {
        EXPECT_EQ(find_key(section.root(), section.prefix() + std::string(key.name)), &key);
    });
}

TEST(Keys, OptionsLeadToThem) {
    EXPECT_EQ(name_here("max_heaps"), "max_live in [receive.heaps]");
    EXPECT_EQ(name_here("snaplen"), "snap_length in [receive.capture]");
    EXPECT_EQ(name_here("interface"), "device in [[port]]");
    EXPECT_EQ(name_here("colour"), "");
}

}  // namespace
}  // namespace spead::config
