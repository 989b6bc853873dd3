// SPDX-License-Identifier: BSD-3-Clause
#include "base/mailbox.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spead {
namespace {

using namespace std::chrono_literals;

/// An lcore: serves its mailbox until it is told to leave.
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

TEST(Mailbox, RunsAFunctionOnTheThreadThatServesAndReturnsWhenItHasRun) {
    Mailbox mailbox;
    Lcore lcore(mailbox);
    std::thread::id ran_on;
    EXPECT_EQ(mailbox.call([&] { ran_on = std::this_thread::get_id(); }), Mailbox::Answer::done);
    EXPECT_EQ(ran_on, lcore.id());
}

TEST(Mailbox, RunsAFunctionOnTheCallersThreadWhileItIsClosed) {
    Mailbox mailbox;
    std::thread::id ran_on;
    EXPECT_EQ(mailbox.call([&] { ran_on = std::this_thread::get_id(); }, 0ns), Mailbox::Answer::done);
    EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Mailbox, RunsAFunctionOnTheCallersThreadAgainOnceTheLcoreHasLeft) {
    Mailbox mailbox;
    int owned = 0;
    {
        Lcore lcore(mailbox);
        EXPECT_EQ(mailbox.call([&] { owned++; }), Mailbox::Answer::done);
    }
    std::thread::id ran_on;
    mailbox.call([&] {
        owned++;
        ran_on = std::this_thread::get_id();
    });
    EXPECT_EQ(owned, 2);
    EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Mailbox, IsOpenedAgainAfterItWasClosed) {
    Mailbox mailbox;
    for (int i = 0; i < 3; i++) {
        Lcore lcore(mailbox);
        std::thread::id ran_on;
        EXPECT_EQ(mailbox.call([&] { ran_on = std::this_thread::get_id(); }), Mailbox::Answer::done);
        EXPECT_EQ(ran_on, lcore.id());
    }
}

TEST(Mailbox, IsClosedTwiceOrWithoutHavingBeenOpen) {
    Mailbox mailbox;
    mailbox.close();
    mailbox.open();
    mailbox.close();
    mailbox.close();
    bool ran = false;
    EXPECT_EQ(mailbox.call([&] { ran = true; }), Mailbox::Answer::done);
    EXPECT_TRUE(ran);
}

TEST(Mailbox, GivesUpWhenNobodyServesAndTheFunctionNeverRuns) {
    Mailbox mailbox;
    mailbox.open();
    int ran = 0;
    EXPECT_EQ(mailbox.call([&] { ran++; }, 1ms), Mailbox::Answer::timeout);
    mailbox.serve();
    mailbox.close();
    mailbox.serve();
    EXPECT_EQ(ran, 0);
}

TEST(Mailbox, WorksAfterACallThatTimedOut) {
    Mailbox mailbox;
    mailbox.open();
    int dropped = 0;
    EXPECT_EQ(mailbox.call([&] { dropped++; }, 0ns), Mailbox::Answer::timeout);
    Lcore lcore(mailbox);
    int ran = 0;
    EXPECT_EQ(mailbox.call([&] { ran++; }), Mailbox::Answer::done);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(dropped, 0);
}

TEST(Mailbox, WaitsForAFunctionThatHasStartedHoweverLongItTakes) {
    Mailbox mailbox;
    Lcore lcore(mailbox);
    // Whether it starts before 1 ms is over is the machine's affair; when it does it is waited for.
    for (int i = 0; i < 100; i++) {
        bool finished = false;
        const Mailbox::Answer answer = mailbox.call(
            [&] {
                const auto until = std::chrono::steady_clock::now() + 3ms;
                while (std::chrono::steady_clock::now() < until) {
                }
                finished = true;
            },
            1ms);
        ASSERT_EQ(finished, answer == Mailbox::Answer::done);
        if (finished)
            return;
    }
    FAIL() << "the lcore never took a function within a millisecond";
}

/// What the lcore owns is plain memory: ThreadSanitizer would tell if calls did not order the accesses.
TEST(Mailbox, OrdersWhatCallerAndLcoreDoToTheSameMemory) {
    Mailbox mailbox;
    std::array<std::uint64_t, 8> owned{};
    Lcore lcore(mailbox);
    for (std::uint64_t i = 1; i <= 2000; i++) {
        std::array<std::uint64_t, 8> copy{};
        std::uint64_t add = i;
        ASSERT_EQ(mailbox.call([&] {
            for (std::uint64_t& word : owned)
                word += add;
            copy = owned;
        }),
                  Mailbox::Answer::done);
        add = 0;
        for (const std::uint64_t word : copy)
            ASSERT_EQ(word, i * (i + 1) / 2);
    }
}

TEST(Mailbox, TakesCallsOfSeveralThreadsOneAtATime) {
    Mailbox mailbox;
    std::uint64_t owned = 0;
    {
        Lcore lcore(mailbox);
        std::vector<std::thread> callers;
        for (int t = 0; t < 4; t++)
            callers.emplace_back([&] {
                for (int i = 0; i < 200; i++)
                    EXPECT_EQ(mailbox.call([&] { owned++; }), Mailbox::Answer::done);
            });
        for (std::thread& t : callers)
            t.join();
    }
    EXPECT_EQ(owned, 800U);
}

/// A call meets a mailbox that is open, posted to, or closed just now; it runs once in every case, and no
/// call hangs.
TEST(Mailbox, RunsACallExactlyOnceThatMeetsTheClosing) {
    for (int i = 0; i < 60; i++) {
        Mailbox mailbox;
        std::uint64_t owned = 0;
        Lcore lcore(mailbox);
        std::atomic<int> called{0};
        std::thread caller([&] {
            for (int k = 0; k < 3; k++) {
                EXPECT_EQ(mailbox.call([&] { owned++; }), Mailbox::Answer::done);
                called.fetch_add(1, std::memory_order_release);
            }
        });
        while (called.load(std::memory_order_acquire) < i % 3)
            std::this_thread::yield();
        lcore.leave();
        caller.join();
        ASSERT_EQ(owned, 3U);
    }
}

/// The lcore never serves, only closes: whatever was posted before that must run there, not be lost.
TEST(Mailbox, RunsAPostedFunctionBeforeItCloses) {
    int on_lcore = 0;
    for (int i = 0; i < 500 && on_lcore == 0; i++) {
        Mailbox mailbox;
        mailbox.open();
        std::atomic<bool> about_to_call{false};
        int ran = 0;
        std::thread::id ran_on;
        std::thread caller([&] {
            about_to_call.store(true, std::memory_order_release);
            EXPECT_EQ(mailbox.call([&] {
                ran++;
                ran_on = std::this_thread::get_id();
            }),
                      Mailbox::Answer::done);
        });
        while (!about_to_call.load(std::memory_order_acquire))
            std::this_thread::yield();
        for (int k = 0; k < i; k++)
            std::this_thread::yield();
        mailbox.close();
        caller.join();
        ASSERT_EQ(ran, 1);
        on_lcore += ran_on == std::this_thread::get_id();
    }
    EXPECT_EQ(on_lcore, 1) << "the call never came before the closing";
}

}  // namespace
}  // namespace spead
