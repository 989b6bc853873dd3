// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/change_steps.hpp"

#include <gmock/gmock.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kSteps = 4;

/// Carries out kSteps steps. Each records its number, and its undo records the negative of that. The step
/// `fails` throws half-way, and so does the undo of `undo_fails`.
struct Tried {
    explicit Tried(int fails, int undo_fails = 0) {
        for (int n = 1; n <= kSteps; n++)
            steps.add(
                [this, n, fails] {
                    done.push_back(n);
                    if (n == fails)
                        throw std::runtime_error("step " + std::to_string(n));
                },
                [this, n, undo_fails] {
                    done.push_back(-n);
                    if (n == undo_fails)
                        throw std::runtime_error("undo of step " + std::to_string(n));
                });
        try {
            steps.carry_out();
        } catch (const std::exception& e) {
            thrown = e.what();
        }
    }

    ChangeSteps steps;
    std::vector<int> done;
    std::string thrown;
};

TEST(ChangeSteps, TakesAllStepsInOrderAndUndoesNone) {
    const Tried t(0);
    EXPECT_THAT(t.done, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(t.thrown, IsEmpty());
    EXPECT_THAT(t.steps.undo_failure(), IsEmpty());
}

TEST(ChangeSteps, UndoesTheStepThatThrewAndThoseBeforeItBackwards) {
    for (int fails = 1; fails <= kSteps; fails++) {
        SCOPED_TRACE(fails);
        const Tried t(fails);
        std::vector<int> expected;
        for (int n = 1; n <= fails; n++)
            expected.push_back(n);
        for (int n = fails; n >= 1; n--)
            expected.push_back(-n);
        EXPECT_EQ(t.done, expected);
        EXPECT_EQ(t.thrown, "step " + std::to_string(fails));
        EXPECT_THAT(t.steps.undo_failure(), IsEmpty());
    }
}

TEST(ChangeSteps, AnUndoThatThrowsIsReportedAndIsTheLastOne) {
    for (int fails = 1; fails <= kSteps; fails++)
        for (int undo_fails = 1; undo_fails <= fails; undo_fails++) {
            SCOPED_TRACE(testing::Message() << fails << ", undo of " << undo_fails);
            const Tried t(fails, undo_fails);
            EXPECT_EQ(t.done.back(), -undo_fails);
            EXPECT_EQ(t.done.size(), static_cast<std::size_t>(2 * fails - undo_fails + 1));
            EXPECT_EQ(t.thrown, "step " + std::to_string(fails)) << "the reason comes first";
            EXPECT_EQ(t.steps.undo_failure(), "undo of step " + std::to_string(undo_fails));
        }
}

TEST(ChangeSteps, AStepWithoutUndoIsPassedOver) {
    ChangeSteps steps;
    std::vector<int> done;
    steps.add([&] { done.push_back(1); }, [&] { done.push_back(-1); });
    steps.add([] { throw std::runtime_error("nothing done"); }, {});
    EXPECT_THROW(steps.carry_out(), std::runtime_error);
    EXPECT_THAT(done, ElementsAre(1, -1));
}

TEST(ChangeSteps, UndoesWhateverIsThrown) {
    ChangeSteps steps;
    std::vector<int> done;
    steps.add([&] { done.push_back(1); }, [&] { done.push_back(-1); });
    steps.add([] { throw 3; }, [&] { done.push_back(-2); });
    EXPECT_THROW(steps.carry_out(), int);
    EXPECT_THAT(done, ElementsAre(1, -2, -1));
    EXPECT_THAT(steps.undo_failure(), IsEmpty());

    ChangeSteps not_undone;
    not_undone.add([] { throw 3; }, [] { throw 4; });
    EXPECT_THROW(not_undone.carry_out(), int);
    EXPECT_EQ(not_undone.undo_failure(), "unknown error");
}

TEST(ChangeSteps, AFailureThatSaysNothingIsAFailure) {
    ChangeSteps steps;
    steps.add([] { throw std::runtime_error("no"); }, [] { throw std::runtime_error(""); });
    EXPECT_THROW(steps.carry_out(), std::runtime_error);
    EXPECT_EQ(steps.undo_failure(), "unknown error");
}

}  // namespace
}  // namespace spead::runtime
