// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/user_queues.hpp"

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/readable.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using heap::test::holds_pattern;
using namespace std::chrono_literals;

/// Makes a stream's share on an lcore: window, arena and queue. The queue's owners keep them alive.
std::shared_ptr<Rig> make_rig(std::size_t queue_heaps = 64,
                              heap::FullPolicy policy = heap::FullPolicy::drop_newest) {
    heap::WindowConfig config = heap::test::small_window();
    config.on_full = policy;
    return std::make_shared<Rig>(config, heap::test::RigSizes{.queue_heaps = queue_heaps});
}

std::shared_ptr<UserQueues::Queue> add(UserQueues& users, const std::shared_ptr<Rig>& rig) {
    return users.add(std::shared_ptr<heap::HeapQueue>(rig, &rig->queue()));
}

void give(Rig& rig, std::uint64_t cnt) {
    EXPECT_EQ(rig.give(Packet(cnt).whole(100)), PacketOutcome::placed);
}

TEST(UserQueues, GiveTheHeapsOfAllQueuesInTurn) {
    UserQueues users;
    std::vector<std::shared_ptr<Rig>> rigs{make_rig(), make_rig()};
    std::vector<std::shared_ptr<UserQueues::Queue>> queues;
    for (const auto& rig : rigs)
        queues.push_back(add(users, rig));
    EXPECT_FALSE(users.try_take());
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
        for (std::size_t i = 0; i < 2; i++)
            give(*rigs[i], cnt * 2 + i);
    std::vector<std::uint64_t> next{2, 3};
    for (int i = 0; i < 80; i++) {
        const std::optional<HeapLoan> loan = users.try_take();
        ASSERT_TRUE(loan);
        std::uint64_t& expected = next[loan->heap.cnt() % 2];
        EXPECT_EQ(loan->heap.cnt(), expected);
        EXPECT_TRUE(holds_pattern(loan->heap));
        expected += 2;
    }
    EXPECT_FALSE(users.try_take());
    EXPECT_FALSE(users.ended());
    for (const auto& queue : queues) {
        EXPECT_EQ(queue->done().delivered, 40U);
        const auto done = users.remove(*queue);
        ASSERT_TRUE(done);
        EXPECT_EQ(done->delivered, 40U);
        EXPECT_EQ(done->unwritten, 0U);
    }
    users.set_ended(true);
    EXPECT_TRUE(users.ended());
}

TEST(UserQueues, LetTheOneWhoFillsAQueueWaitForRoom) {
    UserQueues users;
    const auto rig = make_rig(2, heap::FullPolicy::block);
    const auto queue = add(users, rig);
    EXPECT_FALSE(queue->wait_for_room(60s)) << "it has room";
    give(*rig, 1);
    give(*rig, 2);
    EXPECT_TRUE(queue->wait_for_room(1ns)) << "it is full";
    std::thread user([&users] { EXPECT_TRUE(users.take(-1)); });
    // Ends when the user takes a heap, before or after the wait has begun.
    while (rig->queue().size() == 2)
        EXPECT_TRUE(queue->wait_for_room(60s) || rig->queue().size() < 2);
    user.join();
    EXPECT_FALSE(queue->wait_for_room(60s));
}

TEST(UserQueues, CountAHeapWhenTheUserHasIt) {
    UserQueues users;
    const auto rig = make_rig();
    const auto queue = add(users, rig);
    for (std::uint64_t cnt = 1; cnt <= 10; cnt++)
        give(*rig, cnt);
    for (std::uint64_t n = 1; n <= 10; n++) {
        EXPECT_FALSE(users.remove(*queue)) << "heaps wait";
        ASSERT_TRUE(users.try_take());
        EXPECT_EQ(queue->done().delivered, n);
    }
    EXPECT_TRUE(users.remove(*queue));
}

TEST(UserQueues, MakeTheDescriptorReadableWithTheNextHeapAndTheEnd) {
    UserQueues users;
    const auto rig = make_rig();
    const auto queue = add(users, rig);
    EXPECT_FALSE(users.try_take());
    EXPECT_FALSE(spead::test::is_readable(users.fd())) << "nothing has come";
    for (std::uint64_t cnt = 1; cnt <= 5; cnt++) {
        give(*rig, cnt);
        EXPECT_TRUE(spead::test::is_readable(users.fd()));
        EXPECT_TRUE(users.try_take());
        EXPECT_FALSE(users.try_take());
        EXPECT_FALSE(spead::test::is_readable(users.fd())) << "all was taken";
    }
    // Closing a queue wakes each thread that waits, and is no heap.
    rig->queue().close();
    EXPECT_FALSE(users.try_take());
    EXPECT_FALSE(spead::test::is_readable(users.fd()));
    // A queue that comes may have heaps.
    const auto other = make_rig();
    give(*other, 9);
    const auto second = add(users, other);
    EXPECT_TRUE(spead::test::is_readable(users.fd()));
    EXPECT_TRUE(users.try_take());
    EXPECT_FALSE(users.try_take());
    EXPECT_FALSE(spead::test::is_readable(users.fd()));
    users.set_ended(true);
    EXPECT_TRUE(spead::test::is_readable(users.fd()));
    EXPECT_FALSE(users.try_take());
    EXPECT_TRUE(spead::test::is_readable(users.fd())) << "for every thread that waits";
    // It goes on.
    users.set_ended(false);
    EXPECT_FALSE(users.try_take());
    EXPECT_FALSE(spead::test::is_readable(users.fd()));
    EXPECT_TRUE(users.remove(*queue));
    give(*other, 10);
    EXPECT_TRUE(spead::test::is_readable(users.fd()));
    EXPECT_TRUE(users.try_take());
    EXPECT_TRUE(users.remove(*second));
}

TEST(UserQueues, WaitForAHeapForATimeAndUntilTheEnd) {
    UserQueues users;
    const auto rig = make_rig();
    const auto queue = add(users, rig);
    EXPECT_FALSE(users.take(0));
    EXPECT_FALSE(users.take(1'000'000));
    std::thread lcore([&] {
        give(*rig, 1);
        users.set_ended(true);
    });
    EXPECT_TRUE(users.take(-1));
    EXPECT_FALSE(users.take(-1)) << "it has ended";
    EXPECT_FALSE(users.take(std::numeric_limits<std::int64_t>::max()));
    lcore.join();
    EXPECT_TRUE(users.remove(*queue));
}

TEST(UserQueues, EndWhenTheLastHeapWasTakenNotBefore) {
    UserQueues users;
    const auto rig = make_rig();
    const auto queue = add(users, rig);
    for (std::uint64_t cnt = 1; cnt <= 3; cnt++)
        give(*rig, cnt);
    users.set_ended(true);
    EXPECT_TRUE(users.no_more());
    for (int i = 0; i < 3; i++) {
        EXPECT_FALSE(users.ended());
        EXPECT_TRUE(users.take(-1));
    }
    EXPECT_TRUE(users.ended());
    EXPECT_TRUE(users.remove(*queue));
}

TEST(UserQueues, DropWhatWaitsAndWhatComesOnceTheUserIsGone) {
    UserQueues users;
    const auto rig = make_rig(64, heap::FullPolicy::block);
    const auto queue = add(users, rig);
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
        give(*rig, cnt);
    std::optional<HeapLoan> held = users.try_take();
    ASSERT_TRUE(held);
    users.abandon();
    EXPECT_EQ(queue->done().unwritten, 39U);
    for (std::uint64_t cnt = 41; cnt <= 50; cnt++)
        give(*rig, cnt);
    users.drop_if_abandoned();
    const auto done = users.remove(*queue);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->unwritten, 49U);
    EXPECT_EQ(done->delivered, 1U);
    rig->reclaim();
    EXPECT_EQ(rig->window().records_out(), 1U) << "the one that the user holds";
    EXPECT_TRUE(holds_pattern(held->heap));
}

TEST(UserQueues, LetAHeapOutliveQueueLcoreAndUsers) {
    std::optional<HeapLoan> held;
    std::weak_ptr<Rig> weak;
    {
        // Not a Rig: that expects everything back when it goes.
        struct Lane {
            memory::Arena arena{heap::test::kMiB, 64 * heap::test::kKiB};
            stats::StreamCounters counters;
            heap::HeapQueue queue{16, heap::Window::records_needed(heap::test::small_window(), 16)};
            heap::Window window{heap::test::small_window(), heap::PoolPlacer(arena, arena.capacity()), queue,
                                counters};
        };
        auto lane = std::make_shared<Lane>();
        UserQueues users;
        const auto queue = users.add(std::shared_ptr<heap::HeapQueue>(lane, &lane->queue));
        const Packet packet = Packet(7).whole(5000);
        const heap::Window::Accepted a = lane->window.accept(packet.view());
        ASSERT_EQ(a.outcome, PacketOutcome::placed);
        std::memcpy(a.record->base, packet.payload().data(), packet.payload().size());
        lane->window.commit();
        lane->window.hand_over(1);
        held = users.try_take();
        EXPECT_TRUE(users.remove(*queue));
    }
    ASSERT_TRUE(held);
    EXPECT_EQ(held->heap.cnt(), 7U);
    EXPECT_TRUE(holds_pattern(held->heap));
    std::thread([loan = std::move(*held)] { EXPECT_TRUE(holds_pattern(loan.heap)); }).join();
}

TEST(UserQueues, MoveLoansFromOneStreamToAnother) {
    UserQueues users;
    const auto a = make_rig();
    const auto b = make_rig();
    const auto qa = add(users, a);
    const auto qb = add(users, b);
    give(*a, 1);
    give(*b, 2);
    HeapLoan first = std::move(*users.try_take());
    HeapLoan second = std::move(*users.try_take());
    first = std::move(second);
    EXPECT_FALSE(second.heap);
    EXPECT_TRUE(first.heap);
    a->reclaim();
    b->reclaim();
    EXPECT_EQ(a->window().records_out() + b->window().records_out(), 1U);
    first = HeapLoan();
    EXPECT_TRUE(users.remove(*qa));
    EXPECT_TRUE(users.remove(*qb));
}

/// Tests many threads. Lcores push; several users take and give back in any order and on any thread; queues
/// come and go. Every heap is taken once, and everything comes back.
TEST(UserQueues, LoseAndDoubleNothingAmongManyThreads) {
    constexpr std::uint64_t kHeaps = 3000;
    constexpr int kUsers = 3;
    UserQueues users;
    std::mutex mutex;
    std::map<std::uint64_t, int> seen;
    std::atomic<std::uint64_t> pushed{0};
    std::vector<std::thread> takers;
    for (int t = 0; t < kUsers; t++)
        takers.emplace_back([&, t] {
            std::mt19937_64 random(static_cast<std::uint64_t>(t));
            std::vector<HeapLoan> held;
            while (std::optional<HeapLoan> loan = t == 0 ? users.take(-1) : users.take(1'000'000'000)) {
                EXPECT_TRUE(holds_pattern(loan->heap));
                {
                    const std::lock_guard lock(mutex);
                    seen[loan->heap.cnt()]++;
                }
                held.push_back(std::move(*loan));
                if (held.size() > random() % 16) {
                    std::swap(held[random() % held.size()], held.back());
                    held.pop_back();
                }
            }
        });
    std::vector<std::thread> lcores;
    std::vector<std::shared_ptr<Rig>> rigs;
    std::vector<std::shared_ptr<UserQueues::Queue>> queues;
    for (std::uint64_t l = 0; l < 2; l++) {
        rigs.push_back(make_rig(32, heap::FullPolicy::block));
        queues.push_back(add(users, rigs.back()));
    }
    for (std::uint64_t l = 0; l < 2; l++)
        lcores.emplace_back([&, l] {
            Rig& rig = *rigs[l];
            for (std::uint64_t n = 0; n < kHeaps; n++) {
                const Packet packet = Packet(n * 2 + l).whole(100);
                while (rig.accept(packet) == heap::Window::kWait) {
                    rig.reclaim();
                    rig.hand_over();
                    std::this_thread::yield();
                }
                rig.commit();
                rig.hand_over();
                pushed++;
            }
            while (rig.window().has_ended()) {
                rig.reclaim();
                rig.hand_over();
            }
        });
    for (std::thread& lcore : lcores)
        lcore.join();
    for (std::size_t i = 0; i < queues.size(); i++)
        while (!users.remove(*queues[i]))
            std::this_thread::yield();
    users.set_ended(true);
    for (std::thread& taker : takers)
        taker.join();
    EXPECT_TRUE(users.ended());
    EXPECT_EQ(seen.size(), 2 * kHeaps);
    for (const auto& [cnt, times] : seen)
        EXPECT_EQ(times, 1) << cnt;
    EXPECT_EQ(queues[0]->done().delivered + queues[1]->done().delivered, 2 * kHeaps);
}

}  // namespace
}  // namespace spead::runtime::unit_test
