// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spead::runtime {

/// Carries out a change as steps that can each be undone. One thread.
class ChangeSteps {
  public:
    using Action = std::function<void()>;

    /// Adds a step. `undo` reverts what `act` has done, in whole or in part. If `undo` is empty, a failed
    /// `act` has changed nothing, and no step follows it.
    void add(Action act, Action undo);

    /// Takes the steps in order. When one throws, undoes it and those before it, the last one first, and
    /// rethrows. If an undo throws, no earlier step is undone, because earlier undos rely on it; see
    /// undo_failure().
    void carry_out();

    /// Returns the error of an undo as a sentence; empty when all succeeded.
    const std::string& undo_failure() const noexcept { return undo_failure_; }

  private:
    struct Step {
        Action act;
        Action undo;
    };

    void undo(std::size_t steps) noexcept;

    std::vector<Step> steps_;
    std::string undo_failure_;
};

}  // namespace spead::runtime
