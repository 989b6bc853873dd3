// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/eal/runtime/rig.hpp"

/// Tests orderly ends: the consumers that a run waits for, the bounds, and the report when they pass.
namespace spead::runtime::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Reason = Engine::Reason;

/// Delays each of the first heaps, as a slow disk does.
class SlowSink : public VerifySink {
  public:
    SlowSink(const std::string& stream, std::chrono::milliseconds time, int heaps)
        : VerifySink(stream), time_(time), heaps_(heaps) {}
    void consume(const heap::HeapHandle& heap) override {
        if (heaps_-- > 0)
            std::this_thread::sleep_for(time_);
        VerifySink::consume(heap);
    }

  private:
    std::chrono::milliseconds time_;
    int heaps_;
};

EngineHooks slow(std::chrono::milliseconds time, int heaps) {
    EngineHooks s;
    s.make_sink = [=](const SinkPlan&, const std::string& stream) {
        return std::make_unique<SlowSink>(stream, time, heaps);
    };
    return s;
}

void expect_all_delivered(const Ended& e) {
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_THAT(e.remarks, IsEmpty());
    EXPECT_EQ(e.sent().counters.aborted, 0U);
    EXPECT_EQ(e.sent().control_heaps, 1U);
    EXPECT_EQ(e.complete(), e.sent().counters.heaps);
    EXPECT_EQ(e.stream().heaps_verified, e.sent().counters.heaps);
    EXPECT_EQ(e.stream().heaps_delivered, e.sent().counters.heaps);
}

TEST(End, WaitsForASenderThatWaitsForItsTime) {
    Plan plan = loopback(-1);
    plan.sends[0].rate = 100'000;
    plan.sends[0].burst_size = 15'000;  // one every 150 ms
    plan.end.duration = 0.3;
    EngineHooks hooks;
    hooks.port_patience = 50ms;
    const Ended e = run(plan, hooks);
    EXPECT_EQ(e.reason, Reason::duration);
    EXPECT_GT(e.sent().counters.heaps, 3U);
    expect_all_delivered(e);
}

TEST(End, FinishesTheHeapThatWasBegunWhereThereIsNoTimeForOthers) {
    Plan plan = loopback(-1, "239.1.2.3+1:7148");
    plan.sends[0].rate = 100'000;  // a heap takes 200 ms
    plan.sends[0].burst_size = 2'000;
    plan.sends[0].max_heaps = 40;
    plan.end.duration = 0.1;
    EngineHooks hooks;
    hooks.longest_finish = 3s;  // all take 8
    const Ended e = run(plan, hooks);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_THAT(e.remarks, ElementsAre(AllOf(HasSubstr("send d0: "), HasSubstr("the stop heaps were sent"))));
    EXPECT_GE(e.sent().counters.heaps, 1U);
    EXPECT_EQ(e.stream().heaps_started, e.complete()) << "what was begun was finished";
    EXPECT_EQ(e.stream().heaps_verified, e.sent().counters.heaps);
    EXPECT_GE(e.sent().counters.aborted, 30U);
    EXPECT_EQ(e.sent().control_heaps, 2U);
    EXPECT_EQ(e.stream().stop_items, 2U);
}

TEST(End, SendsTheStopHeapsOfASenderWhoseHeapTakesTooLong) {
    Plan plan = loopback(-1, "239.1.2.3+1:7148");
    plan.sends[0].rate = 10'000;
    plan.sends[0].burst_size = 15'000;  // the second burst would go in more than a second
    plan.sends[0].heap_size = 500'000;
    plan.end.duration = 0.1;
    EngineHooks hooks;
    hooks.longest_finish = 500ms;
    const Ended e = run(plan, hooks);
    EXPECT_THAT(e.problems, IsEmpty());
    // Their number after so short a time depends on how busy the machine is.
    EXPECT_GE(e.sent().counters.aborted, 1U);
    EXPECT_THAT(
        e.remarks,
        ElementsAre(HasSubstr(fmt::format("send d0: {} heaps were given up", e.sent().counters.aborted))));
    EXPECT_EQ(e.sent().counters.heaps, 0U);
    EXPECT_EQ(e.sent().counters.dropped, 0U);
    EXPECT_EQ(e.stream().stop_items, 2U);
}

TEST(End, WaitsForAConsumerThatHoldsUpASender) {
    Plan plan = loopback(-1);
    plan.receives[0].queue_depth = 1;
    plan.sends[0].max_heaps = 64;
    plan.end.duration = 0.1;
    EngineHooks hooks = slow(300ms, 3);
    hooks.port_patience = 50ms;
    hooks.longest_finish = 100ms;
    const Ended e = run(plan, hooks);
    EXPECT_EQ(e.reason, Reason::duration);
    expect_all_delivered(e);
}

/// Fills the ring while the consumer is busy. The stream blocks, although its plan does not ask for that.
TEST(End, WaitsForAConsumerThatHoldsUpPackets) {
    Plan plan = loopback(40);
    plan.sends[0].zero_copy = ZeroCopySetting::never;  // completed long before it is received
    plan.sends[0].max_heaps = 40;
    plan.receives[0].queue_depth = 1;
    plan.end.duration = 0.1;
    const Ended e = run(plan, slow(500ms, 3));
    EXPECT_EQ(e.sent().counters.heaps, 40U);
    expect_all_delivered(e);
}

TEST(End, WaitsForAConsumerThatNeedsLongForAHeap) {
    Plan plan = loopback(6);
    plan.receives[0].queue_depth = 1;
    plan.end.duration = 0.1;
    const Ended e = run(plan, slow(2500ms, 1));
    EXPECT_EQ(e.sent().counters.heaps, 6U);
    expect_all_delivered(e);
}

TEST(End, NamesTheStreamWhoseConsumerIsStuck) {
    Plan plan = loopback(-1);
    plan.receives[0].queue_depth = 1;
    plan.receives.push_back(receive("s1", "239.1.2.4:7148"));
    plan.end.duration = 0.1;
    EngineHooks hooks = slow(2000ms, 1);
    hooks.consumer_patience = 200ms;
    hooks.port_patience = 50ms;
    const Ended e = run(plan, hooks);
    const auto says = HasSubstr("the consumer of stream s0 has not finished a heap for 0.2 s");
    EXPECT_THAT(e.problems, ElementsAre(AllOf(HasSubstr("send d0: given up with"), says),
                                        AllOf(says, HasSubstr("the heaps that wait for it are dropped"))));
    EXPECT_GT(e.stream().heaps_dropped_full, 0U);
}

}  // namespace
}  // namespace spead::runtime::test
