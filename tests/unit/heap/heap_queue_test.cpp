// SPDX-License-Identifier: BSD-3-Clause
#include "heap/heap_queue.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/readable.hpp"

namespace spead::heap {
namespace {

/// Holds a queue and the records that go through it. Each record has its number as heap count.
struct Queue {
    explicit Queue(std::size_t heaps, std::size_t count)
        : records(std::make_unique<Record[]>(count)), queue(heaps, count) {
        for (std::size_t i = 0; i < count; i++)
            records[i].key = i;
    }

    std::size_t push(std::size_t from, std::size_t count) {
        std::vector<Record*> list;
        for (std::size_t i = 0; i < count; i++)
            list.push_back(&records[from + i]);
        const std::size_t n = queue.push(list.data(), list.size());
        queue.wake();
        return n;
    }
    std::vector<std::uint64_t> reclaim(std::size_t max = 1000) {
        std::vector<Record*> out(max);
        out.resize(queue.reclaim(out.data(), max));
        std::vector<std::uint64_t> keys;
        for (const Record* r : out)
            keys.push_back(r->key);
        return keys;
    }

    std::unique_ptr<Record[]> records;
    HeapQueue queue;
};

using Keys = std::vector<std::uint64_t>;

TEST(HeapQueue, GivesHeapsInTheOrderTheyWerePushed) {
    Queue q(8, 8);
    EXPECT_TRUE(q.queue.empty());
    EXPECT_FALSE(q.queue.try_pop());
    EXPECT_EQ(q.push(0, 3), 3U);
    EXPECT_EQ(q.queue.size(), 3U);
    for (std::uint64_t k = 0; k < 3; k++)
        EXPECT_EQ(q.queue.try_pop().cnt(), k);
    EXPECT_TRUE(q.queue.empty());
    EXPECT_EQ(q.queue.taken(), 3U);
    EXPECT_EQ(q.reclaim(), (Keys{0, 1, 2}));
}

TEST(HeapQueue, HoldsExactlyItsCapacity) {
    for (const std::size_t capacity : {1U, 2U, 3U, 7U, 8U, 9U, 100U}) {
        Queue q(capacity, 2 * capacity + 1);
        EXPECT_EQ(q.queue.capacity(), capacity);
        EXPECT_EQ(q.push(0, capacity + 1), capacity) << "as many as fit, the first ones";
        EXPECT_EQ(q.push(capacity, 1), 0U);
        EXPECT_EQ(q.queue.try_pop().cnt(), 0U);
        EXPECT_EQ(q.push(capacity, 1), 1U);
        while (HeapHandle h = q.queue.try_pop()) {
        }
    }
}

TEST(HeapQueue, HasRoomForAllRecordsOnTheirWayBack) {
    Queue q(4, 300);
    for (std::size_t at = 0; at < 300; at += 4) {
        ASSERT_EQ(q.push(at, 4), 4U);
        while (HeapHandle h = q.queue.try_pop()) {
        }
    }
    EXPECT_EQ(q.reclaim(64).size(), 64U) << "as many as are asked for";
    EXPECT_EQ(q.reclaim().size(), 236U);
    EXPECT_TRUE(q.reclaim().empty());
}

TEST(HeapQueue, PopsAndReleasesManyAtOnce) {
    Queue q(200, 200);
    ASSERT_EQ(q.push(0, 200), 200U);
    std::vector<HeapHandle> heaps(150);
    EXPECT_EQ(q.queue.pop_burst(heaps), 150U);
    for (std::uint64_t k = 0; k < 150; k++)
        EXPECT_EQ(heaps[k].cnt(), k);
    EXPECT_EQ(q.queue.taken(), 150U);
    std::vector<HeapHandle> rest(100);
    EXPECT_EQ(q.queue.pop_burst(rest), 50U);
    EXPECT_FALSE(rest[50]);
    EXPECT_EQ(q.queue.pop_burst(std::span<HeapHandle>{}), 0U);
    q.queue.release_burst(heaps);
    for (const HeapHandle& h : heaps)
        EXPECT_FALSE(h);
    q.queue.release_burst(rest);
    q.queue.release_burst(rest);
    EXPECT_EQ(q.reclaim().size(), 200U);
}

TEST(HeapQueue, GivesBackWhatABurstPopsOver) {
    Queue q(4, 4);
    ASSERT_EQ(q.push(0, 2), 2U);
    std::array<HeapHandle, 1> slot;
    EXPECT_EQ(q.queue.pop_burst(slot), 1U);
    EXPECT_EQ(q.queue.pop_burst(slot), 1U);
    EXPECT_EQ(slot[0].cnt(), 1U);
    EXPECT_EQ(q.reclaim(), Keys{0});
}

TEST(HeapQueue, LetsTheLcoreTakeTheOldestBack) {
    Queue q(4, 4);
    EXPECT_EQ(q.queue.take_oldest(), nullptr);
    q.push(0, 3);
    EXPECT_EQ(q.queue.take_oldest()->key, 0U);
    EXPECT_EQ(q.queue.try_pop().cnt(), 1U);
    EXPECT_EQ(q.queue.taken(), 1U) << "what the lcore took back was never delivered";
}

TEST(HeapQueue, RefusesSizesThatMakeNoQueue) {
    EXPECT_THROW(HeapQueue(0, 10), Error);
    EXPECT_THROW(HeapQueue(10, 0), Error);
    EXPECT_THROW(HeapQueue(std::size_t{1} << 32, 10), Error);
    EXPECT_THROW(HeapQueue(10, std::size_t{1} << 40), Error);
}

TEST(HeapQueueEvent, IsSilentUnlessArmed) {
    Queue q(4, 4);
    q.push(0, 1);
    EXPECT_FALSE(spead::test::is_readable(q.queue.event_fd()));
    EXPECT_EQ(q.queue.try_pop().cnt(), 0U);
}

TEST(HeapQueueEvent, FiresOnceForAnArmedQueue) {
    Queue q(4, 4);
    ASSERT_TRUE(q.queue.arm());
    EXPECT_FALSE(spead::test::is_readable(q.queue.event_fd()));
    q.push(0, 1);
    EXPECT_TRUE(spead::test::is_readable(q.queue.event_fd()));
    q.queue.disarm();
    EXPECT_FALSE(spead::test::is_readable(q.queue.event_fd()));
    q.push(1, 1);
    EXPECT_FALSE(spead::test::is_readable(q.queue.event_fd())) << "not armed again";
    while (HeapHandle h = q.queue.try_pop()) {
    }
}

TEST(HeapQueueEvent, DoesNotArmWhenHeapsAreThere) {
    Queue q(4, 4);
    q.push(0, 1);
    EXPECT_FALSE(q.queue.arm());
    q.push(1, 1);
    EXPECT_FALSE(spead::test::is_readable(q.queue.event_fd()));
    while (HeapHandle h = q.queue.try_pop()) {
    }
}

TEST(HeapQueueEvent, CanBeArmedAgainAndAgain) {
    Queue q(1, 1);
    for (int i = 0; i < 10; i++) {
        ASSERT_TRUE(q.queue.arm());
        ASSERT_EQ(q.push(0, 1), 1U);
        ASSERT_TRUE(spead::test::is_readable(q.queue.event_fd()));
        q.queue.disarm();
        ASSERT_TRUE(q.queue.try_pop());
        ASSERT_EQ(q.reclaim().size(), 1U);
    }
}

TEST(HeapQueueEvent, WithoutAHeapFiresWhenConsumersAreWoken) {
    Queue q(4, 4);
    ASSERT_TRUE(q.queue.arm());
    q.queue.wake_consumers();
    EXPECT_TRUE(spead::test::is_readable(q.queue.event_fd()));
    q.queue.disarm();
    EXPECT_FALSE(spead::test::is_readable(q.queue.event_fd()));
}

TEST(HeapQueueWait, ReturnsAtOnceWhenAHeapIsThere) {
    Queue q(4, 4);
    q.push(0, 1);
    EXPECT_TRUE(q.queue.wait(-1));
    EXPECT_EQ(q.queue.try_pop().cnt(), 0U);
}

TEST(HeapQueueWait, EndsWithItsTimeout) {
    Queue q(4, 4);
    EXPECT_FALSE(q.queue.wait(0));
    EXPECT_FALSE(q.queue.wait(1));
}

TEST(HeapQueueWait, EndsWhenConsumersWereWokenBefore) {
    Queue q(4, 4);
    q.queue.wake_consumers();
    EXPECT_FALSE(q.queue.wait(-1));
}

TEST(HeapQueueWait, OfAClosedQueueNeverSleepsAndStillTellsOfHeaps) {
    Queue q(4, 4);
    q.push(0, 1);
    q.queue.close();
    EXPECT_TRUE(q.queue.closed());
    EXPECT_TRUE(q.queue.wait(-1));
    EXPECT_EQ(q.queue.try_pop().cnt(), 0U);
    EXPECT_FALSE(q.queue.wait(-1));
    EXPECT_FALSE(q.queue.wait(-1));
}

TEST(HeapQueueWait, EndsWhenAHeapComesFromAnotherThread) {
    Queue q(4, 4);
    std::thread producer([&] { q.push(0, 1); });
    // A late event may end a wait early; a lost one would leave this here for ever.
    while (!q.queue.wait(-1)) {
    }
    EXPECT_EQ(q.queue.try_pop().cnt(), 0U);
    producer.join();
}

TEST(HeapQueueWait, EndsWhenTheQueueIsClosedByAnotherThread) {
    Queue q(4, 4);
    std::thread closer([&] { q.queue.close(); });
    while (!q.queue.closed())
        EXPECT_FALSE(q.queue.wait(-1));
    closer.join();
}

/// Plays the lcore in the tests with threads. It numbers heaps, pushes them, and reuses those that come back.
class Producer {
  public:
    Producer(Queue& q, std::size_t records) : q_(q) {
        for (std::size_t i = 0; i < records; i++)
            free_.push_back(&q.records[i]);
    }

    /// Pushes heap counts [0, total). Each record's `length` repeats its count, written before the push.
    void run(std::uint64_t total) {
        for (std::uint64_t next = 0; next < total;) {
            reclaim();
            std::array<Record*, 16> burst;
            std::size_t n = 0;
            while (n < burst.size() && n < free_.size() && next + n < total) {
                Record* const r = free_[free_.size() - 1 - n];
                r->key = next + n;
                r->length = next + n;
                burst[n++] = r;
            }
            const std::size_t pushed = n == 0 ? 0 : q_.queue.push(burst.data(), n);
            if (pushed == 0) {
                std::this_thread::yield();
                continue;
            }
            q_.queue.wake();
            free_.resize(free_.size() - n);
            for (std::size_t i = n; i > pushed; i--)
                free_.push_back(burst[i - 1]);
            next += pushed;
        }
        q_.queue.close();
    }

    std::size_t reclaim() {
        std::array<Record*, 16> back;
        for (;;) {
            const std::size_t n = q_.queue.reclaim(back.data(), back.size());
            free_.insert(free_.end(), back.begin(), back.begin() + static_cast<std::ptrdiff_t>(n));
            if (n < back.size())
                return free_.size();
        }
    }

  private:
    Queue& q_;
    std::vector<Record*> free_;
};

TEST(HeapQueueThreads, OneConsumerSleepsAndGetsEveryHeapInOrder) {
    constexpr std::uint64_t kTotal = 50'000;
    Queue q(8, 24);
    Producer producer(q, 24);
    std::thread lcore([&] { producer.run(kTotal); });
    std::uint64_t next = 0;
    for (;;) {
        const HeapHandle h = q.queue.try_pop();
        if (!h) {
            if (q.queue.closed() && q.queue.empty())
                break;
            q.queue.wait(-1);
            continue;
        }
        ASSERT_EQ(h.cnt(), next);
        ASSERT_EQ(h.length(), next) << "written before it was pushed, seen after it was popped";
        next++;
    }
    lcore.join();
    EXPECT_EQ(next, kTotal);
    EXPECT_EQ(q.queue.taken(), kTotal);
    EXPECT_EQ(producer.reclaim(), 24U) << "every record came back";
}

TEST(HeapQueueThreads, SeveralConsumersShareEveryHeapOnce) {
    constexpr std::uint64_t kTotal = 30'000;
    Queue q(16, 64);
    Producer producer(q, 64);
    std::vector<std::atomic<int>> seen(kTotal);
    const auto consume = [&](bool in_bursts) {
        std::array<HeapHandle, 5> heaps;
        for (;;) {
            std::size_t n = 0;
            if (in_bursts) {
                n = q.queue.pop_burst(heaps);
            } else if (HeapHandle h = q.queue.try_pop()) {
                heaps[0] = std::move(h);
                n = 1;
            }
            if (n == 0) {
                if (q.queue.closed() && q.queue.empty())
                    return;
                std::this_thread::yield();
            }
            for (std::size_t i = 0; i < n; i++) {
                EXPECT_EQ(heaps[i].length(), heaps[i].cnt());
                seen[heaps[i].cnt()].fetch_add(1, std::memory_order_relaxed);
            }
            q.queue.release_burst({heaps.data(), n});
        }
    };
    std::vector<std::thread> consumers;
    for (int i = 0; i < 3; i++)
        consumers.emplace_back(consume, i % 2 == 0);
    producer.run(kTotal);
    for (std::thread& t : consumers)
        t.join();
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }));
    EXPECT_EQ(producer.reclaim(), 64U);
}

TEST(HeapQueueThreads, TheLcoreTakesHeapsBackWhileConsumersPop) {
    constexpr std::uint64_t kTotal = 30'000;
    Queue q(4, 16);
    std::atomic<std::uint64_t> consumed{0};
    std::thread consumer([&] {
        for (;;) {
            if (const HeapHandle h = q.queue.try_pop())
                consumed.fetch_add(1, std::memory_order_relaxed);
            else if (q.queue.closed() && q.queue.empty())
                return;
            else
                std::this_thread::yield();
        }
    });
    std::vector<Record*> free;
    for (std::size_t i = 0; i < 16; i++)
        free.push_back(&q.records[i]);
    std::uint64_t pushed = 0;
    std::uint64_t taken_back = 0;
    while (pushed < kTotal) {
        std::array<Record*, 16> back;
        const std::size_t n = q.queue.reclaim(back.data(), back.size());
        free.insert(free.end(), back.begin(), back.begin() + static_cast<std::ptrdiff_t>(n));
        if (!free.empty() && q.queue.push(&free.back(), 1) == 1) {
            free.pop_back();
            pushed++;
        } else if (Record* const oldest = q.queue.take_oldest(); oldest != nullptr) {
            free.push_back(oldest);
            taken_back++;
        } else {
            std::this_thread::yield();
        }
    }
    q.queue.close();
    consumer.join();
    EXPECT_EQ(consumed + taken_back, kTotal);
    EXPECT_EQ(q.queue.taken(), consumed);
    EXPECT_EQ(free.size() + q.reclaim().size(), 16U);
}

}  // namespace
}  // namespace spead::heap
