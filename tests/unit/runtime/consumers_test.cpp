// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/consumers.hpp"

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <sched.h>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

/// Records the heaps that it gets.
class RecordingSink : public Sink {
  public:
    void consume(const heap::HeapHandle& heap) override {
        const std::lock_guard lock(mutex_);
        counts_.push_back(heap.cnt());
        threads_.insert(std::this_thread::get_id());
        if (fail_at_ != 0 && counts_.size() == fail_at_)
            throw Error("sink", message_);
    }
    void finish() override {
        const std::lock_guard lock(mutex_);
        finished_++;
        if (fails_to_finish_)
            throw Error("sink", "cannot finish");
    }

    /// Makes the n-th heap fail.
    void fail_at(std::size_t n, std::string message) {
        fail_at_ = n;
        message_ = std::move(message);
    }
    void fail_to_finish() { fails_to_finish_ = true; }

    std::vector<std::uint64_t> counts() const {
        const std::lock_guard lock(mutex_);
        return counts_;
    }
    std::size_t size() const { return counts().size(); }
    std::set<std::thread::id> threads() const { return threads_; }
    int finished() const {
        const std::lock_guard lock(mutex_);
        return finished_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::uint64_t> counts_;
    std::set<std::thread::id> threads_;
    std::size_t fail_at_ = 0;
    std::string message_;
    bool fails_to_finish_ = false;
    int finished_ = 0;
};

/// Holds streams with a window, a queue and a sink each. In each of them, heap counts begin at 1.
struct Streams {
    explicit Streams(std::size_t n) : next(n, 1) {
        for (std::size_t i = 0; i < n; i++) {
            rigs.push_back(std::make_unique<Rig>());
            sinks.push_back(std::make_unique<RecordingSink>());
        }
    }
    void feed(Consumers& consumers) {
        for (std::size_t i = 0; i < rigs.size(); i++)
            feeds.push_back(&consumers.add(rigs[i]->queue(), *sinks[i]));
    }
    /// Ends `heaps` heaps in stream `i`; the queue takes them as far as it has room.
    void give(std::size_t i, std::size_t heaps) {
        for (std::size_t k = 0; k < heaps; k++)
            EXPECT_EQ(rigs[i]->give(Packet(next[i]++).whole(8)), PacketOutcome::placed);
    }
    void close() {
        for (const auto& rig : rigs)
            rig->queue().close();
    }
    std::size_t consumed() const {
        std::size_t sum = 0;
        for (const auto& sink : sinks)
            sum += sink->size();
        return sum;
    }
    std::size_t queued() const {
        std::size_t sum = 0;
        for (const auto& rig : rigs)
            sum += rig->queued();
        return sum;
    }

    std::deque<std::unique_ptr<Rig>> rigs;
    std::deque<std::unique_ptr<RecordingSink>> sinks;
    std::vector<std::uint64_t> next;
    std::vector<Consumers::Feed*> feeds;  ///< after feed()
};

std::vector<std::uint64_t> count_to(std::uint64_t n) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 1; i <= n; i++)
        all.push_back(i);
    return all;
}

/// Compares every heap, and records how many more were to be seen verified than delivered at that moment.
class ComparingSink : public Sink {
  public:
    void consume(const heap::HeapHandle&) override {
        count_compared(true);
        if (verified() > feed->done().delivered)
            ahead++;
    }
    const Consumers::Feed* feed = nullptr;
    std::uint64_t ahead = 0;
};

TEST(Consumers, ShowNoHeapVerifiedBeforeItIsDelivered) {
    Rig rig;
    ComparingSink sink;
    Consumers consumers(0);
    sink.feed = &consumers.add(rig.queue(), sink);
    for (std::uint64_t cnt = 1; cnt <= 3; cnt++)
        EXPECT_EQ(rig.give(Packet(cnt).whole(8)), PacketOutcome::placed);
    rig.queue().close();
    consumers.start(1, {});
    consumers.join();
    EXPECT_EQ(sink.ahead, 0U);
    EXPECT_EQ(sink.verified(), 3U);
    EXPECT_EQ(sink.feed->done().delivered, 3U);
}

/// Settles its heaps when it is asked to, as one whose disk is behind. The third is lost.
class LateSink : public Sink {
  public:
    void hand(heap::HeapHandle, const Settled& settled) noexcept override { waiting_.push_back(settled); }
    void settle() noexcept override {
        for (const Settled& settled : std::exchange(waiting_, {}))
            settled(++settled_ != 3);
    }
    void consume(const heap::HeapHandle&) override {}
    void finish() override { settle(); }

  private:
    std::vector<Settled> waiting_;
    int settled_ = 0;
};

TEST(Consumers, CountAHeapWhenItsSinkHasSettledIt) {
    Rig rig;
    LateSink sink;
    Consumers consumers(0);
    Consumers::Feed& feed = consumers.add(rig.queue(), sink);
    consumers.start(1, {});
    for (std::uint64_t cnt = 1; cnt <= 4; cnt++)
        EXPECT_EQ(rig.give(Packet(cnt).whole(8)), PacketOutcome::placed);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (rig.queued() > 0 && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    EXPECT_EQ(feed.done().all(), 0U);
    rig.queue().close();
    consumers.join();
    EXPECT_EQ(feed.done().delivered, 3U);
    EXPECT_EQ(feed.done().unwritten, 1U);
}

TEST(Consumers, LetNoQueueGoBeforeItsHeapsAreSettled) {
    Rig rig;
    LateSink sink;
    Consumers consumers(0);
    Consumers::Feed& feed = consumers.add(rig.queue(), sink);
    consumers.start(1, {});
    for (std::uint64_t cnt = 1; cnt <= 4; cnt++)
        EXPECT_EQ(rig.give(Packet(cnt).whole(8)), PacketOutcome::placed);
    rig.queue().close();
    std::optional<Consumers::Done> done;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done && std::chrono::steady_clock::now() < limit) {
        done = consumers.remove(feed, false);
        std::this_thread::yield();
    }
    ASSERT_TRUE(done);
    EXPECT_EQ(done->delivered, 3U);
    EXPECT_EQ(done->unwritten, 1U);
}

TEST(Consumers, GiveEverySinkTheHeapsOfItsQueueInOrderAndFinishIt) {
    for (const unsigned threads : {0U, 1U, 2U, 3U, 8U}) {
        Streams s(3);
        Consumers consumers(0);
        s.feed(consumers);
        consumers.start(threads, {});
        for (int round = 0; round < 5; round++)
            for (std::size_t i = 0; i < 3; i++)
                s.give(i, 4 + i);
        s.close();
        consumers.join();
        std::set<std::thread::id> used;
        for (std::size_t i = 0; i < 3; i++) {
            EXPECT_EQ(s.sinks[i]->counts(), count_to(5 * (4 + i)));
            EXPECT_EQ(s.sinks[i]->finished(), 1);
            EXPECT_EQ(s.sinks[i]->threads().size(), 1U) << "a sink belongs to one thread";
            used.merge(s.sinks[i]->threads());
        }
        EXPECT_EQ(used.size(), std::min(3U, std::max(1U, threads)));
        EXPECT_FALSE(consumers.budget_used_up());
    }
}

TEST(Consumers, CountTheHeapsThatSinksAreDoneWithByFeed) {
    Streams s(2);
    s.sinks[1]->fail_at(3, "disk full");
    s.give(0, 5);
    s.give(1, 5);
    s.close();
    Consumers consumers(0);
    s.feed(consumers);
    EXPECT_EQ(s.feeds[0]->done().all(), 0U);
    consumers.start(1, {});
    consumers.join();
    EXPECT_EQ(s.feeds[0]->done().delivered, 5U);
    EXPECT_EQ(s.feeds[0]->done().unwritten, 0U);
    EXPECT_EQ(s.feeds[1]->done().delivered, 2U);
    EXPECT_EQ(s.feeds[1]->done().unwritten, 3U) << "the one that it failed with, and those after it";
}

TEST(Consumers, TakeQueuesInAndLetThemGoWhileTheyRun) {
    Streams s(3);
    Consumers consumers(0);
    consumers.start(2, {}, true);
    s.feed(consumers);
    s.give(0, 5);
    s.give(1, 3);
    s.rigs[0]->queue().close();
    while (!consumers.remove(*s.feeds[0], true))
        std::this_thread::yield();
    EXPECT_EQ(s.sinks[0]->size(), 5U) << "what was queued was taken";
    EXPECT_EQ(s.sinks[0]->finished(), 1);
    EXPECT_EQ(s.sinks[1]->finished(), 0);
    s.give(2, 4);
    s.close();
    consumers.join();
    EXPECT_EQ(s.sinks[0]->finished(), 1) << "it had left";
    EXPECT_EQ(s.sinks[1]->size(), 3U);
    EXPECT_EQ(s.sinks[2]->size(), 4U);
}

TEST(Consumers, KeepASinkWhoseQueuesChangeOnItsThread) {
    Streams s(2);
    Consumers consumers(0);
    consumers.start(2, {}, true);
    Consumers::Feed& before = consumers.add(s.rigs[0]->queue(), *s.sinks[0]);
    s.give(0, 2);
    Consumers::Feed& after = consumers.add(s.rigs[1]->queue(), *s.sinks[0]);
    s.give(1, 2);
    s.close();
    while (!consumers.remove(before, false))
        std::this_thread::yield();
    EXPECT_EQ(s.sinks[0]->finished(), 0) << "it has another queue";
    while (!consumers.remove(after, true))
        std::this_thread::yield();
    EXPECT_EQ(s.sinks[0]->finished(), 1);
    EXPECT_EQ(s.sinks[0]->size(), 4U);
    EXPECT_EQ(s.sinks[0]->threads().size(), 1U);
}

TEST(Consumers, FinishASinkOnceWhenAllItsQueuesLeaveTogether) {
    Streams s(2);
    Consumers consumers(0);
    consumers.start(1, {}, true);
    Consumers::Feed& a = consumers.add(s.rigs[0]->queue(), *s.sinks[0]);
    Consumers::Feed& b = consumers.add(s.rigs[1]->queue(), *s.sinks[0]);
    s.give(0, 3);
    s.give(1, 2);
    s.close();
    bool a_left = false;
    bool b_left = false;
    while (!a_left || !b_left) {
        a_left = a_left || consumers.remove(a, true).has_value();
        b_left = b_left || consumers.remove(b, true).has_value();
        std::this_thread::yield();
    }
    EXPECT_EQ(s.sinks[0]->size(), 5U);
    EXPECT_EQ(s.sinks[0]->finished(), 1);
}

TEST(Consumers, LetQueuesGoBeforeTheyRun) {
    Streams s(1);
    Consumers consumers(0);
    s.feed(consumers);
    s.close();
    EXPECT_TRUE(consumers.remove(*s.feeds[0], true).has_value());
    EXPECT_EQ(s.sinks[0]->finished(), 1);
}

TEST(Consumers, EndAtOnceWhenThereIsNothingToConsume) {
    Consumers consumers(5);
    consumers.start(4, {});
    consumers.join();
    EXPECT_FALSE(consumers.budget_used_up());
}

TEST(Consumers, AreStoppedWhileTheirQueuesStayOpen) {
    Streams s(2);
    Consumers consumers(0);
    s.feed(consumers);
    consumers.start(2, {});
    consumers.stop();
    consumers.join();
    s.give(0, 3);
    EXPECT_EQ(s.consumed() + s.queued(), 3U);
    EXPECT_EQ(s.queued(), 3U);
    EXPECT_EQ(s.sinks[0]->finished() + s.sinks[1]->finished(), 2);
}

TEST(Consumers, EndWithTheirOwner) {
    Streams s(1);
    {
        Consumers consumers(0);
        s.feed(consumers);
        consumers.start(1, {});
    }
    EXPECT_EQ(s.sinks[0]->finished(), 1);
}

TEST(Consumers, DrainWhatIsQueuedWhenTheQueueIsClosed) {
    Streams s(1);
    s.give(0, 40);
    s.close();
    Consumers consumers(0);
    s.feed(consumers);
    consumers.start(1, {});
    consumers.join();
    EXPECT_EQ(s.sinks[0]->counts(), count_to(40));
}

TEST(Consumers, TakeExactlyTheirBudgetOverAllQueues) {
    for (const std::uint64_t budget : {1U, 2U, 31U, 32U, 33U, 63U, 100U, 119U}) {
        Streams s(3);
        for (std::size_t i = 0; i < 3; i++)
            s.give(i, 40);
        Consumers consumers(budget);
        s.feed(consumers);
        consumers.start(3, {});
        consumers.join();  // no queue is closed: the budget ends them
        EXPECT_TRUE(consumers.budget_used_up());
        EXPECT_EQ(s.consumed(), budget);
        EXPECT_EQ(s.queued(), 120 - budget);
        for (const auto& sink : s.sinks)
            EXPECT_EQ(sink->finished(), 1);
    }
}

TEST(Consumers, EndBeforeTheirBudgetIsUsedUpWhenQueuesClose) {
    Streams s(2);
    s.give(0, 5);
    s.give(1, 5);
    s.close();
    Consumers consumers(11);
    s.feed(consumers);
    consumers.start(2, {});
    consumers.join();
    EXPECT_EQ(s.consumed(), 10U);
    EXPECT_FALSE(consumers.budget_used_up());
}

/// Tests an lcore that takes the oldest heaps back while consumers take heaps. A heap that a consumer missed
/// is no part of the budget.
TEST(Consumers, KeepTheirBudgetExactWhileTheLcoreTakesHeapsBack) {
    heap::WindowConfig config = heap::test::small_window();
    config.on_full = heap::FullPolicy::drop_oldest;
    heap::test::RigSizes sizes;
    sizes.queue_heaps = 4;
    for (int round = 0; round < 20; round++) {
        constexpr std::uint64_t kBudget = 300;
        Rig a(config, sizes);
        Rig b(config, sizes);
        RecordingSink sink_a;
        RecordingSink sink_b;
        Consumers consumers(kBudget);
        consumers.add(a.queue(), sink_a);
        consumers.add(b.queue(), sink_b);
        consumers.start(2, {});
        for (std::uint64_t cnt = 1; !consumers.budget_used_up(); cnt++)
            for (Rig* const rig : {&a, &b})
                ASSERT_EQ(rig->give(Packet(cnt).whole(8)), PacketOutcome::placed);
        consumers.join();
        ASSERT_EQ(sink_a.size() + sink_b.size(), kBudget);
    }
}

TEST(Consumers, GoOnWithTheOthersWhenASinkFails) {
    for (const unsigned threads : {1U, 3U}) {
        Streams s(3);
        s.sinks[1]->fail_at(3, "disk full");
        s.sinks[0]->fail_to_finish();
        Consumers consumers(0);
        s.feed(consumers);
        consumers.start(threads, {});
        for (std::size_t i = 0; i < 3; i++)
            s.give(i, 10);
        s.close();
        consumers.join();
        EXPECT_EQ(s.sinks[0]->counts(), count_to(10));
        EXPECT_EQ(s.sinks[1]->counts(), count_to(3)) << "it is asked no more";
        EXPECT_EQ(s.sinks[2]->counts(), count_to(10));
        EXPECT_EQ(s.queued(), 0U);
        EXPECT_EQ(s.feeds[1]->done().delivered, 2U);
        EXPECT_EQ(s.feeds[1]->done().unwritten, 8U);
        EXPECT_EQ(s.sinks[0]->failure(), "sink: cannot finish");
        EXPECT_EQ(s.sinks[1]->failure(), "sink: disk full");
        EXPECT_FALSE(s.sinks[2]->failed());
        for (const auto& sink : s.sinks)
            EXPECT_EQ(sink->finished(), 1) << "what it has buffered must be written";
        EXPECT_FALSE(consumers.failed());
    }
}

TEST(Consumers, SpendTheirBudgetOnSinksThatTakeHeaps) {
    Streams s(2);
    s.sinks[0]->fail_at(1, "disk full");
    Consumers consumers(20);
    s.feed(consumers);
    s.give(0, 1);
    consumers.start(1, {});
    while (!s.sinks[0]->failed())
        std::this_thread::yield();
    s.give(0, 30);
    s.give(1, 30);
    consumers.join();  // no queue is closed: the budget ends them
    EXPECT_EQ(s.sinks[1]->size(), 19U) << "the heap that the other one failed with was taken, too";
}

TEST(Consumers, TellWhatBecameOfAQueueThatLeaves) {
    Streams s(1);
    s.sinks[0]->fail_at(2, "disk full");
    Consumers consumers(0);
    s.feed(consumers);
    consumers.start(1, {}, true);
    s.give(0, 5);
    s.close();
    std::optional<Consumers::Done> done;
    while (!(done = consumers.remove(*s.feeds[0], true)))
        std::this_thread::yield();
    EXPECT_EQ(done->delivered, 1U);
    EXPECT_EQ(done->unwritten, 4U);
    EXPECT_EQ(s.sinks[0]->finished(), 1);
}

TEST(Consumers, KeepTheFirstOfSeveralFailuresAndTellItOnce) {
    Streams s(1);
    s.sinks[0]->fail_at(1, "first");
    s.sinks[0]->fail_to_finish();
    EXPECT_EQ(s.sinks[0]->news(), std::nullopt);
    s.give(0, 1);
    s.close();
    Consumers consumers(0);
    s.feed(consumers);
    consumers.start(1, {});
    consumers.join();
    EXPECT_EQ(s.sinks[0]->failure(), "sink: first");
    EXPECT_EQ(s.sinks[0]->news(), "sink: first");
    EXPECT_EQ(s.sinks[0]->news(), std::nullopt);
}

TEST(RunOn, ChangesNothingWithoutCpus) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    run_on({});
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(RunOn, BindsTheCallingThreadOnly) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    cpu_set_t bound;
    std::thread([&] {
        run_on({cpu});
        sched_getaffinity(0, sizeof bound, &bound);
    }).join();
    EXPECT_EQ(CPU_COUNT(&bound), 1);
    EXPECT_TRUE(CPU_ISSET(cpu, &bound));
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace spead::runtime::unit_test
