// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spead::runtime {

/// A change made of steps, each of which can be undone. One thread.
class ChangeSteps {
  public:
    using Action = std::function<void()>;

    /// Adds a step. `undo` puts back what `act` has done, in whole or in part; empty: a step that throws has
    /// done nothing, and no step follows it.
    void add(Action act, Action undo);

    /// Takes the steps in order. When one throws, undoes it and those before it, the last one first, and
    /// throws the same. An undo that throws is the last one: those before it rely on it; see undo_failure().
    void carry_out();

    /// Returns what an undo has thrown, as a sentence; empty: all of them were carried out.
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
