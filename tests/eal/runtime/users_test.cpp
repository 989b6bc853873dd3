// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <map>
#include <thread>

#include "base/verify_sequence.hpp"
#include "runtime/heap_items.hpp"
#include "runtime/user_queues.hpp"
#include "tests/eal/runtime/live_rig.hpp"

/// Tests streams whose heaps a user takes, who may be fast, slow or gone.
namespace spead::runtime::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using Reason = Engine::Reason;

/// Holds the users of the streams of a run, by name.
struct Users {
    std::shared_ptr<UserQueues>& of(const std::string& name) {
        std::shared_ptr<UserQueues>& users = all[name];
        if (!users)
            users = std::make_shared<UserQueues>();
        return users;
    }
    EngineHooks hooks() {
        EngineHooks s;
        s.user_queues = [this](const std::string& name) { return of(name); };
        s.consumer_patience = 500ms;
        return s;
    }
    std::map<std::string, std::shared_ptr<UserQueues>> all;
};

ReceivePlan& for_user(ReceivePlan& r, std::size_t memory = 8 * kMiB) {
    r.sink.kind = SinkKind::user;
    r.memory = memory;
    return r;
}

/// Takes all heaps until the stream ends, on a thread of its own.
class Taker {
  public:
    explicit Taker(std::shared_ptr<UserQueues> users)
        : users_(std::move(users)), thread_([this] {
              while (std::optional<HeapLoan> loan = users_->take(-1)) {
                  complete_ += loan->heap.complete() ? 1 : 0;
                  taken_++;
              }
          }) {}
    ~Taker() {
        if (thread_.joinable())
            thread_.join();
    }
    Taker(const Taker&) = delete;
    Taker& operator=(const Taker&) = delete;
    /// Waits for the end; returns the number of complete heaps.
    std::uint64_t complete() {
        thread_.join();
        return complete_;
    }
    std::uint64_t taken() const { return taken_; }

  private:
    std::shared_ptr<UserQueues> users_;
    std::atomic<std::uint64_t> taken_{0};
    std::uint64_t complete_ = 0;
    std::thread thread_;
};

TEST(Users, TakeEveryHeapOfARunAndLearnOfItsEnd) {
    Users users;
    Plan plan = loopback(500);
    for_user(plan.receives[0]);
    Taker taker(users.of("s0"));
    const Ended e = run(plan, users.hooks());
    EXPECT_EQ(e.reason, Reason::sent);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(taker.complete(), 500U);
    EXPECT_EQ(e.stream().heaps_delivered + e.stream().heaps_queued, 500U);
    EXPECT_TRUE(users.of("s0")->ended());
}

TEST(Users, HoldHeapsThatOutliveTheEngine) {
    Users users;
    Plan plan = loopback(20);
    plan.sends[0].verify = true;
    for_user(plan.receives[0]);
    const Ended e = run(plan, users.hooks());
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.stream().heaps_queued, 20U) << "nobody took them, and they stay";
    std::vector<HeapLoan> held;
    while (std::optional<HeapLoan> loan = users.of("s0")->take(-1))
        held.push_back(std::move(*loan));
    ASSERT_EQ(held.size(), 20U);
    users.all.clear();
    VerifySink verify("s0");
    for (const HeapLoan& loan : held)
        verify.consume(loan.heap);
    verify.show_compared();
    EXPECT_EQ(verify.verified(), 20U);
    EXPECT_EQ(verify.wrong(), 0U);
    std::thread([all = std::move(held)]() mutable { all.clear(); }).join();
}

TEST(Users, NeedMemoryOfTheirOwnAndSomebodyWhoIsThere) {
    Plan plan = loopback(1);
    plan.receives[0].sink.kind = SinkKind::user;
    Users users;
    EXPECT_THAT(error_of([&] { run(plan, users.hooks()); }), HasSubstr("memory of its own"));
    for_user(plan.receives[0]);
    EXPECT_THAT(error_of([&] { run(plan); }), HasSubstr("no user takes its heaps"));
}

TEST(Users, WhoTakeNothingHoldUpASourceThatWaitsAndItsEndHasABound) {
    Users users;
    Plan plan = loopback(-1);
    plan.end.duration = 0.2;
    plan.receives[0].queue_depth = 4;
    for_user(plan.receives[0]);
    EngineHooks hooks = users.hooks();
    hooks.port_patience = 100ms;
    const Ended e = run(plan, hooks);
    EXPECT_EQ(e.reason, Reason::duration);
    EXPECT_THAT(e.problems, testing::Contains(HasSubstr("the consumer of stream s0")));
    EXPECT_EQ(e.stream().heaps_delivered, 0U);
    EXPECT_EQ(e.stream().heaps_queued, 4U);
    int left = 0;
    while (users.of("s0")->take(-1))
        left++;
    EXPECT_EQ(left, 4);
}

TEST(Users, ComeAndGoWhileOthersLoseNothing) {
    Users users;
    Script script;
    const auto late = [](Plan& plan) {
        plan.receives.push_back(receive("late", "239.1.0.1:7148"));
        for_user(plan.receives.back());
    };
    std::vector<HeapLoan> held;
    const auto taken = [&](std::uint64_t n) {
        return [&users, &held, n](const stats::Snapshot& s) {
            while (std::optional<HeapLoan> loan = users.of("late")->try_take())
                if (held.size() < 5)
                    held.push_back(std::move(*loan));
            return snapshot_of(s, "late").heaps_delivered > n;
        };
    };
    script.change(late);
    script.wait(taken(50));
    // Moved: new parts, and the old ones wait for the user alone.
    script.change([](Plan& plan) { stream(plan, "late").lcores = {6}; });
    script.wait(taken(100));
    script.change([](Plan& plan) {
        set_endpoints(stream(plan, "late"), {"239.1.0.1:7148", "239.1.0.2:7148"});
    });
    script.wait(taken(200));
    // Stopped: it ends when the last heap was taken.
    script.change([](Plan& plan) { stream(plan, "late").enabled = false; });
    script.wait([&](const stats::Snapshot&) {
        while (users.of("late")->try_take()) {
        }
        return users.of("late")->ended();
    });
    script.change([](Plan& plan) { stream(plan, "late").enabled = true; });
    script.add([&](Engine&, const stats::Snapshot&) { EXPECT_FALSE(users.of("late")->no_more()); });
    script.wait(taken(300));
    script.add([&](Engine&, const stats::Snapshot&) { users.of("late")->abandon(); });
    script.change([](Plan& plan) { std::erase_if(plan.receives, [](auto& r) { return r.name == "late"; }); });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        EXPECT_EQ(engine.snapshot().removed.heaps_queued, 0U);
        EXPECT_GT(engine.snapshot().removed.heaps_delivered, 300U);
    });
    const Ended e = script.run(live_plan(1, 2), users.hooks());
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
    EXPECT_EQ(held.size(), 5U);
    VerifySink verify("late");
    for (const HeapLoan& loan : held)
        if (loan.heap.complete())
            verify.consume(loan.heap);
    verify.show_compared();
    EXPECT_EQ(verify.wrong(), 0U);
}

TEST(Users, WhoTakeNothingHoldUpNoChange) {
    Users users;
    Script script;
    script.change([](Plan& plan) {
        for (const char* const name : {"drops", "blocks"}) {
            plan.receives.push_back(receive(name, name[0] == 'd' ? "239.1.0.1:7148" : "239.1.0.2:7148"));
            for_user(plan.receives.back()).queue_depth = 4;
            plan.receives.back().on_full = name[0] == 'd' ? OnFullSetting::drop_newest : OnFullSetting::block;
        }
    });
    script.wait([](const stats::Snapshot& s) {
        return snapshot_of(s, "drops").heaps_queued >= 4 && snapshot_of(s, "blocks").heaps_queued >= 4;
    });
    // Neither of them takes anything; the source waits for one of them until it is removed.
    script.change([](Plan& plan) { stream(plan, "drops").lcores = {6}; });
    script.change(
        [](Plan& plan) { std::erase_if(plan.receives, [](auto& r) { return r.name == "blocks"; }); });
    std::uint64_t before = 0;
    script.add([&](Engine&, const stats::Snapshot& s) {
        before = s.streams[0].heaps_delivered;
        EXPECT_GT(s.removed.heaps_queued, 0U) << "they wait for the user";
    });
    script.wait([&](const stats::Snapshot& s) { return s.streams[0].heaps_delivered > before + 100; });
    script.wait([&](const stats::Snapshot& s) {
        users.of("blocks")->abandon();
        return s.removed.heaps_queued == 0;
    });
    // Not without an end, though: what waits keeps memory.
    script.add([&](Engine& engine, const stats::Snapshot&) {
        const auto move = [&](unsigned cpu) {
            Plan plan = engine.plan();
            stream(plan, "drops").lcores = {cpu};
            engine.reconfigure(plan);
        };
        const std::string refused = error_of([&] {
            for (unsigned i = 0; i < 40; i++)
                move(5 + i % 2);
        });
        EXPECT_THAT(refused, HasSubstr("still wait for the user"));
        while (users.of("drops")->try_take()) {
        }
    });
    script.add([](Engine&, const stats::Snapshot&) {});
    script.change([](Plan& plan) { stream(plan, "drops").queue_depth = 8; });
    const Ended e = script.run(live_plan(1, 2), users.hooks());
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

TEST(Users, LearnOfAStopItemAndOfTheEndOfTheirSource) {
    Users users;
    Plan plan = loopback(30);
    plan.receives[0].stop_on_stop_item = true;
    for_user(plan.receives[0]);
    EngineHooks hooks = users.hooks();
    Engine engine(plan, layout_of(plan), hooks);
    engine.stay();
    engine.start();
    Taker taker(users.of("s0"));
    engine.run(-1, [&](const stats::Snapshot& s) {
        expect_identities(s);
        if (users.of("s0")->ended())
            engine.interrupt();
    });
    EXPECT_EQ(taker.complete(), 30U);
    engine.stop();
}

TEST(Users, WhoseHeapsKeepBuffersMakeThePoolsLarger) {
    Plan plan = loopback(1);
    plan.ports[0].device = "net_null0";
    for_user(plan.receives[0]);
    const std::uint32_t before = layout_of(plan).ports[0].device.rx.mbufs;
    plan.receives[0].lend = 500;
    plan.receives[0].lcores = {0, 1};
    const Layout layout = layout_of(plan);
    EXPECT_GE(layout.ports[0].device.rx.mbufs, before + 1000);
    EXPECT_EQ(layout.ports[0].request.lent_mbufs, 1000U);
    EXPECT_GE(layout.ports[0].device.rx.pool_bytes, std::size_t{1000} * layout.ports[0].device.rx.data_room);
}

}  // namespace
}  // namespace spead::runtime::test
