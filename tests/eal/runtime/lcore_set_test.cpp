// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_set.hpp"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include "base/error.hpp"

namespace spead::runtime {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Holds an lcore up until it is opened.
struct Gate {
    std::atomic<bool> open{false};
    std::atomic<bool> passed{false};
};

/// Launches the lcores 1 and 2 of EAL.
class Lcores : public testing::Test {
  protected:
    Lcores() {
        for (unsigned lcore = 1; lcore <= 2; lcore++) {
            layouts[lcore - 1].lcore = lcore;
            layouts[lcore - 1].cpu = layouts[lcore - 1].planned_cpu = lcore + 10;
            lcores.add(layouts[lcore - 1]).loop =
                std::make_unique<LcoreLoop>(IdlePolicy(PollMode::adaptive, ReceivePlan{}.max_poll, 1000,
                                                       static_cast<double>(rte_get_tsc_hz()) / 1e6),
                                            true);
        }
        lcores.launch();
    }
    ~Lcores() override {
        gate.open = true;
        lcores.stop(60s);
        EXPECT_FALSE(lcores.any_lost());
    }
    Worker& worker(unsigned i) { return *lcores.begin()[i]; }

    void note_silence(bool silent) {
        silences.push_back(silent);
        if (silent && holds_until_told)
            gate.open = true;
    }

    Gate gate;
    bool holds_until_told = false;  ///< the gate opens as soon as an lcore is reported
    WorkerLayout layouts[2];
    std::vector<std::string> problems;
    std::vector<bool> silences;
    LcoreSet lcores{problems, {[this](const Worker&, bool silent) { note_silence(silent); }, {}}};
};

TEST_F(Lcores, DoWhatTheyAreAskedAndAnswer) {
    for (unsigned i = 0; i < 2; i++) {
        const unsigned id = lcores.ask(
            worker(i), [](int more) { return rte_lcore_id() + static_cast<unsigned>(more); }, 100);
        EXPECT_EQ(id, i + 101);
    }
    EXPECT_FALSE(lcores.any_silent());
    EXPECT_NO_THROW(lcores.need_answers());
    EXPECT_THAT(problems, IsEmpty());
}

TEST_F(Lcores, AreFoundByTheCpuThatTheyWerePlannedOn) {
    EXPECT_EQ(lcores.on_cpu(12).layout->lcore, 2U);
    EXPECT_THROW(lcores.on_cpu(13), Error);
}

TEST_F(Lcores, AreLostAfterThePatienceAndNotAskedAgain) {
    lcores.set_patience(100ms);
    const auto held = lcores.try_ask(
        worker(0),
        [](Gate* at) {
            while (!at->open)
                std::this_thread::yield();
            at->passed = true;
        },
        &gate);
    EXPECT_FALSE(held);
    EXPECT_TRUE(lcores.any_lost());
    EXPECT_THAT(problems, ElementsAre(HasSubstr("lcore 1 on CPU 11")));
    EXPECT_THROW(lcores.need_answers(), Error);
    EXPECT_THROW(lcores.ask(
                     worker(0), [](int n) { return n; }, 1),
                 LcoreLost);
    EXPECT_EQ(lcores.ask(
                  worker(1), [](int n) { return n; }, 1),
              1)
        << "the other one answers";
    gate.open = true;
    lcores.stop(60s);
    EXPECT_TRUE(gate.passed) << "the job was the mailbox's until then";
    EXPECT_FALSE(lcores.any_lost());
}

TEST_F(Lcores, ThatFallSilentAreReportedAndSoIsTheirReturn) {
    lcores.set_patience(LcoreSet::Clock::duration::max());
    holds_until_told = true;
    lcores.ask(
        worker(1),
        [](Gate* at) {
            while (!at->open)
                std::this_thread::yield();
        },
        &gate);
    EXPECT_THAT(silences, ElementsAre(true, false));
    EXPECT_THAT(problems, IsEmpty());
    EXPECT_FALSE(lcores.any_silent());
}

}  // namespace
}  // namespace spead::runtime
