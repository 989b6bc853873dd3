// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <gmock/gmock.h>

#include <rte_memory.h>

#include "base/error.hpp"
#include "memory/mapping.hpp"
#include "tests/eal/runtime/live_rig.hpp"

/// Tests chunks in pinned memory: EAL knows the memory while the stream lives, whatever goes first.
namespace spead::runtime::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Returns how many ranges of memory EAL knows that are not its own.
int registered_ranges() {
    int count = 0;
    rte_memseg_list_walk(
        [](const rte_memseg_list* list, void* n) {
            *static_cast<int*>(n) += static_cast<int>(list->external);
            return 0;
        },
        &count);
    return count;
}

ReceivePlan pinned_stream(const std::string& name, const std::string& endpoints) {
    ReceivePlan r = receive(name, endpoints);
    r.lcores = {5};
    r.chunk.emplace().placement = "heap 20000; time: heap [4]";
    r.chunk->memory = ChunkMemory::pinned;
    return r;
}

Plan pinned_plan() {
    Plan plan = live_plan(1);
    plan.receives[0] = pinned_stream("s0", "239.1.0.0:7148");
    return plan;
}

bool may_lock() {
    memory::Mapping memory(1);
    return memory.lock() == 0;
}

class PinnedChunks : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!may_lock())
            GTEST_SKIP() << "this process may not lock memory";
        before_ = registered_ranges();
    }
    void TearDown() override { EXPECT_EQ(registered_ranges(), before_) << "something stayed registered"; }

    bool delivers(const stats::Snapshot& s) const { return s.streams[0].chunks.delivered > 3; }
    int before_ = 0;
};

TEST_F(PinnedChunks, AreKnownToEalUntilTheEndOfTheRun) {
    Script script;
    script.wait([this](const stats::Snapshot& s) { return delivers(s); });
    script.add([this](Engine&, const stats::Snapshot&) { EXPECT_GT(registered_ranges(), before_); });
    const Ended e = script.run(pinned_plan());
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.last.streams[0].heaps_wrong, 0U);
}

TEST_F(PinnedChunks, AreForgottenWithTheirStreamWhileASenderGoesOn) {
    Script script;
    int with_stream = 0;
    script.wait([this](const stats::Snapshot& s) { return delivers(s); });
    script.add([&](Engine&, const stats::Snapshot&) { with_stream = registered_ranges(); });
    script.change([](Plan& p) { p.receives.push_back(pinned_stream("s1", "239.1.0.9:7148")); });
    script.add([&](Engine&, const stats::Snapshot&) { EXPECT_EQ(registered_ranges(), with_stream + 1); });
    script.change([](Plan& p) { p.receives.pop_back(); });
    script.wait([&](const stats::Snapshot&) { return registered_ranges() == with_stream; });
    script.change([](Plan& p) { p.receives[0].chunk->memory = ChunkMemory::host; });
    script.wait([&](const stats::Snapshot&) { return registered_ranges() == with_stream - 1; });
    EXPECT_THAT(script.run(pinned_plan()).problems, IsEmpty());
}

TEST_F(PinnedChunks, StayWhenSendersComeAndGo) {
    Script script;
    int alone = 0;
    SendPlan sender;
    script.wait([this](const stats::Snapshot& s) { return delivers(s); });
    script.change([&](Plan& p) {
        sender = p.sends[0];
        p.sends.clear();
    });
    script.wait([&](const stats::Snapshot& s) { return s.sends.empty(); });
    script.add([&](Engine&, const stats::Snapshot&) {
        alone = registered_ranges();
        EXPECT_GT(alone, before_);
    });
    script.change([&](Plan& p) { p.sends.push_back(sender); });
    script.change([](Plan& p) { p.receives.clear(); });
    EXPECT_THAT(script.run(pinned_plan()).problems, IsEmpty());
}

TEST_F(PinnedChunks, AreForgottenWhenTheStartFails) {
    Plan plan = pinned_plan();
    plan.receives.push_back(pinned_stream("s1", "239.1.0.9:7148"));
    EngineHooks hooks;
    int made = 0;
    hooks.make_chunk_sink = [&](const ReceivePlan& r) {
        if (made++ != 0)
            throw Error("sink", "there is no disk");
        return make_chunk_sink(r);
    };
    EXPECT_THAT(error_of([&] { Engine(plan, layout_on_cpus(plan), hooks).start(); }),
                HasSubstr("there is no disk"));
    EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace spead::runtime::test
