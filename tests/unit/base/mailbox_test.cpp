// SPDX-License-Identifier: BSD-3-Clause
#include "base/mailbox.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spead {
namespace {

using namespace std::chrono_literals;

/// Is so long that only a fault lets it pass.
constexpr auto kLong = 60s;

/// Serves its mailbox as an lcore does, until leave().
class Lcore {
  public:
    explicit Lcore(Mailbox& mailbox) {
        mailbox.open();
        thread_ = std::thread([this, &mailbox] {
            while (!leave_.load(std::memory_order_acquire)) {
                mailbox.serve();
                std::this_thread::yield();
            }
            mailbox.close();
        });
    }
    ~Lcore() { leave(); }

    void leave() {
        leave_.store(true, std::memory_order_release);
        if (thread_.joinable())
            thread_.join();
    }
    std::thread::id id() const { return thread_.get_id(); }

  private:
    std::atomic<bool> leave_{false};
    std::thread thread_;
};

/// Stands for plain memory that the lcore owns.
struct Owned {
    std::uint64_t runs = 0;
    std::array<std::uint64_t, 8> words{};
};

const auto kWhere = [] { return std::this_thread::get_id(); };
const auto kCount = [](Owned* owned) { return ++owned->runs; };

TEST(Mailbox, RunsAFunctionOnTheThreadThatServesAndReturnsWhatItReturns) {
    Mailbox mailbox;
    Lcore lcore(mailbox);
    EXPECT_EQ(mailbox.call(kLong, kWhere), lcore.id());
}

TEST(Mailbox, RunsAFunctionOnTheCallersThreadWhileItIsClosed) {
    Mailbox mailbox;
    EXPECT_EQ(mailbox.call(0ns, kWhere), std::this_thread::get_id());
}

TEST(Mailbox, RunsAFunctionOnTheCallersThreadAgainOnceTheLcoreHasLeft) {
    Mailbox mailbox;
    Owned owned;
    {
        Lcore lcore(mailbox);
        EXPECT_EQ(mailbox.call(kLong, kCount, &owned), 1U);
    }
    EXPECT_EQ(mailbox.call(0ns, kCount, &owned), 2U);
    EXPECT_EQ(mailbox.call(0ns, kWhere), std::this_thread::get_id());
}

TEST(Mailbox, TellsThatAFunctionWithoutAResultHasRun) {
    Mailbox mailbox;
    Owned owned;
    Lcore lcore(mailbox);
    EXPECT_TRUE(mailbox.call(
        kLong, [](Owned* to) { to->runs++; }, &owned));
    EXPECT_EQ(owned.runs, 1U);
}

TEST(Mailbox, MovesArgumentsInAndResultsOut) {
    Mailbox mailbox;
    Lcore lcore(mailbox);
    std::optional<std::unique_ptr<int>> back = mailbox.call(
        kLong, [](std::unique_ptr<int>& n) { return std::move(n); }, std::make_unique<int>(7));
    ASSERT_TRUE(back);
    EXPECT_EQ(**back, 7);
}

TEST(Mailbox, IsOpenedAgainAfterItWasClosed) {
    Mailbox mailbox;
    for (int i = 0; i < 3; i++) {
        Lcore lcore(mailbox);
        EXPECT_EQ(mailbox.call(kLong, kWhere), lcore.id());
    }
}

TEST(Mailbox, IsClosedTwiceOrWithoutHavingBeenOpen) {
    Mailbox mailbox;
    mailbox.close();
    mailbox.open();
    mailbox.close();
    mailbox.close();
    Owned owned;
    EXPECT_EQ(mailbox.call(0ns, kCount, &owned), 1U);
}

TEST(Mailbox, GivesUpWhenNobodyServesAndTheFunctionNeverRuns) {
    Mailbox mailbox;
    mailbox.open();
    Owned owned;
    EXPECT_FALSE(mailbox.call(1ms, kCount, &owned));
    mailbox.serve();
    mailbox.close();
    mailbox.serve();
    EXPECT_EQ(owned.runs, 0U);
}

TEST(Mailbox, WorksAfterACallThatTimedOut) {
    Mailbox mailbox;
    mailbox.open();
    Owned dropped;
    EXPECT_FALSE(mailbox.call(0ns, kCount, &dropped));
    Lcore lcore(mailbox);
    Owned owned;
    EXPECT_EQ(mailbox.call(kLong, kCount, &owned), 1U);
    EXPECT_EQ(dropped.runs, 0U);
}

/// Holds the state of a function that is held up in the middle.
struct Held {
    std::latch begun{1};
    std::latch go_on{1};
    std::atomic<bool> gone{false};
};

/// Sets `gone` when it is destroyed.
class Witness {
  public:
    explicit Witness(std::shared_ptr<Held> held) : held_(std::move(held)) {}
    Witness(Witness&&) noexcept = default;
    Witness& operator=(Witness&&) = delete;
    ~Witness() {
        if (held_)
            held_->gone = true;
    }
    Held& held() const { return *held_; }

  private:
    std::shared_ptr<Held> held_;
};

const auto kHoldUp = [](Witness& w, std::vector<int>& numbers) {
    w.held().begun.count_down();
    w.held().go_on.wait();
    for (int& n : numbers)
        n *= 2;
    return numbers.size();
};

/// Has the lcore begin with a function, and gives that up.
std::shared_ptr<Held> hold_up(Mailbox& mailbox) {
    auto held = std::make_shared<Held>();
    // The function begins before the caller gives up, so that it cannot be withdrawn.
    std::unique_ptr<LcoreJob> job = std::make_unique<LcoreCall<decltype(kHoldUp), Witness, std::vector<int>>>(
        kHoldUp, Witness(held), std::vector<int>(1000, 1));
    EXPECT_TRUE(mailbox.post(job));
    held->begun.wait();
    EXPECT_FALSE(mailbox.wait(1ms));
    EXPECT_EQ(mailbox.withdraw(), nullptr) << "it has begun";
    EXPECT_EQ(mailbox.take(), nullptr) << "and is not finished";
    return held;
}

TEST(Mailbox, GivesUpAFunctionThatHasBegunAndKeepsWhatItWorksOn) {
    Mailbox mailbox;
    Lcore lcore(mailbox);
    const auto held = hold_up(mailbox);
    EXPECT_TRUE(mailbox.busy());
    EXPECT_FALSE(held->gone) << "the lcore still has it";
    EXPECT_FALSE(mailbox.call(1ms, kWhere)) << "one at a time";
    held->go_on.count_down();
    ASSERT_TRUE(mailbox.wait(kLong));
    EXPECT_EQ(mailbox.call(kLong, kWhere), lcore.id()) << "whose arguments are the next caller's to free";
    EXPECT_TRUE(held->gone);
}

TEST(Mailbox, GivesBackTheResultOfAFunctionThatWasGivenUpBefore) {
    Mailbox mailbox;
    Lcore lcore(mailbox);
    const auto held = hold_up(mailbox);
    held->go_on.count_down();
    ASSERT_TRUE(mailbox.wait(kLong));
    const std::unique_ptr<LcoreJob> job = mailbox.take();
    ASSERT_NE(job, nullptr);
    EXPECT_FALSE(mailbox.busy());
    auto& call = dynamic_cast<LcoreCall<decltype(kHoldUp), Witness, std::vector<int>>&>(*job);
    EXPECT_EQ(call.take_result(), 1000U);
}

TEST(Mailbox, FreesAFunctionThatWasGivenUpWhenTheLcoreHasLeft) {
    std::shared_ptr<Held> held;
    {
        Mailbox mailbox;
        {
            Lcore lcore(mailbox);
            held = hold_up(mailbox);
            held->go_on.count_down();
        }
        EXPECT_FALSE(held->gone);
        EXPECT_TRUE(mailbox.wait(0ns)) << "an lcore that leaves waits for nobody";
    }
    EXPECT_TRUE(held->gone);
}

TEST(Mailbox, MayBeLeftWhileAFinishedJobWaitsForItsCaller) {
    Mailbox mailbox;
    Owned owned;
    {
        Lcore lcore(mailbox);
        std::unique_ptr<LcoreJob> job = std::make_unique<LcoreCall<decltype(kCount), Owned*>>(kCount, &owned);
        ASSERT_TRUE(mailbox.post(job));
    }
    EXPECT_TRUE(mailbox.wait(0ns));
    EXPECT_NE(mailbox.take(), nullptr);
    EXPECT_EQ(owned.runs, 1U);
    EXPECT_EQ(mailbox.call(0ns, kCount, &owned), 2U);
}

/// Tests with plain memory that the lcore owns. If calls did not order the accesses, ThreadSanitizer would
/// report it.
TEST(Mailbox, OrdersWhatCallerAndLcoreDoToTheSameMemory) {
    Mailbox mailbox;
    Owned owned;
    Lcore lcore(mailbox);
    for (std::uint64_t i = 1; i <= 2000; i++) {
        const auto copy = mailbox.call(
            kLong,
            [](Owned* to, std::uint64_t add) {
                for (std::uint64_t& word : to->words)
                    word += add;
                return to->words;
            },
            &owned, i);
        ASSERT_TRUE(copy);
        for (const std::uint64_t word : *copy)
            ASSERT_EQ(word, i * (i + 1) / 2);
    }
}

/// Tests calls that meet an open, an occupied or a closing mailbox. Each call runs once, and none hangs.
TEST(Mailbox, RunsACallExactlyOnceThatMeetsTheClosing) {
    for (int i = 0; i < 60; i++) {
        Mailbox mailbox;
        Owned owned;
        Lcore lcore(mailbox);
        std::atomic<int> called{0};
        std::thread caller([&] {
            for (int k = 0; k < 3; k++) {
                EXPECT_TRUE(mailbox.call(kLong, kCount, &owned));
                called.fetch_add(1, std::memory_order_release);
            }
        });
        while (called.load(std::memory_order_acquire) < i % 3)
            std::this_thread::yield();
        lcore.leave();
        caller.join();
        ASSERT_EQ(owned.runs, 3U);
    }
}

/// Tests an lcore that only closes and never serves. A function that was posted before must run there.
TEST(Mailbox, RunsAPostedFunctionBeforeItCloses) {
    bool on_lcore = false;
    for (int i = 0; i < 500 && !on_lcore; i++) {
        Mailbox mailbox;
        mailbox.open();
        std::atomic<bool> about_to_call{false};
        std::optional<std::thread::id> ran_on;
        std::thread caller([&] {
            about_to_call.store(true, std::memory_order_release);
            ran_on = mailbox.call(kLong, kWhere);
        });
        while (!about_to_call.load(std::memory_order_acquire))
            std::this_thread::yield();
        for (int k = 0; k < i; k++)
            std::this_thread::yield();
        mailbox.close();
        caller.join();
        ASSERT_TRUE(ran_on);
        on_lcore = *ran_on == std::this_thread::get_id();
    }
    EXPECT_TRUE(on_lcore) << "the call never came before the closing";
}

/// Tests a withdrawal at the moment when the lcore takes the call. Both sides agree whether it runs.
TEST(Mailbox, RunsACallOrHasItWithdrawn) {
    Mailbox mailbox;
    Owned owned;
    Lcore lcore(mailbox);
    std::uint64_t ran = 0;
    for (int i = 0; i < 2000; i++) {
        std::unique_ptr<LcoreJob> job = std::make_unique<LcoreCall<decltype(kCount), Owned*>>(kCount, &owned);
        ASSERT_TRUE(mailbox.post(job));
        for (int k = 0; k < i % 7; k++)
            std::this_thread::yield();
        if (mailbox.withdraw() != nullptr)
            continue;
        ASSERT_TRUE(mailbox.wait(kLong));
        ASSERT_NE(mailbox.take(), nullptr);
        ran++;
    }
    lcore.leave();
    EXPECT_EQ(owned.runs, ran);
}

}  // namespace
}  // namespace spead
