// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "config/keys.hpp"
#include "runtime/change.hpp"
#include "tests/unit/config/plans.hpp"
#include "tests/unit/config/random_values.hpp"

// Engine::reconfigure changes keys as the tables of keys say.
namespace spead::config {
namespace {

using runtime::Plan;

Plan running_plan() {
    Plan plan = test::valid_plan();
    plan.receives[0].capture.emplace().files = {"s0.pcap"};
    plan.receives[0].chunk.emplace().placement = "heap 64; time: item 0x1600 / 1 [8]";
    return plan;
}

/// Returns the plan with another value under the key.
Plan changed(const Plan& plan, const Section& section, const Key& key) {
    Plan other = plan;
    test::RandomValues values(3);
    while (other == plan)
        for_each_part(other, section, [&](const std::string&, Part part) {
            test::set_random(values, key, part);
            if (key.field.type == KeyType::text && other == plan)
                key.field.set(part, test::example_text(key), [](std::string_view) { return std::string(); });
        });
    return other;
}

/// Returns what a running process does about the change.
Change observed(const Plan& now, Plan wanted) {
    try {
        const runtime::Change change = runtime::compare(now, wanted);
        if (!change.removed.empty() || !change.removed_sends.empty())
            return Change::refused;  // another name is another stream, not a change of this one
        for (const runtime::Change::Receive& one : change.receives)
            if (one.kind == runtime::Change::Kind::lanes)
                return Change::anew;
        return Change::immediate;
    } catch (const Error&) {
        return Change::refused;
    }
}

TEST(KeyChanges, EachKeyChangesAsItsTableSays) {
    const Plan now = running_plan();
    for (const Section& section : sections())
        for (const Key& key : section.keys) {
            SCOPED_TRACE(fmt::format("{} {}", section.head(), key.name));
            EXPECT_EQ(observed(now, changed(now, section, key)), key.change);
        }
}

/// Tests that the refusal lists the keys that can change.
TEST(KeyChanges, ARefusalNamesTheKeysThatCanChange) {
    const Plan now = running_plan();
    for (const std::string_view root : {"send", "runtime"}) {
        const Section& section = section_of(root);
        std::string refusal;
        try {
            Plan wanted = changed(now, section, *find_key(root, root == "send" ? "items" : "live"));
            runtime::compare(now, wanted);
        } catch (const Error& error) {
            refusal = error.what();
        }
        for (const Key& key : section.keys) {
            const auto named = testing::HasSubstr(fmt::format("`{}`", key.name));
            if (key.change == Change::immediate)
                EXPECT_THAT(refusal, named);
            else
                EXPECT_THAT(refusal, testing::Not(named));
        }
    }
}

}  // namespace
}  // namespace spead::config
