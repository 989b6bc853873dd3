// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/change_steps.hpp"

#include <exception>
#include <utility>

namespace spead::runtime {

void ChangeSteps::add(Action act, Action undo) {
    steps_.push_back({std::move(act), std::move(undo)});
}

void ChangeSteps::carry_out() {
    std::size_t begun = 0;
    try {
        while (begun < steps_.size())
            steps_[begun++].act();
    } catch (...) {
        undo(begun);
        throw;
    }
}

/// Undoes the first `steps` steps, the last one first.
void ChangeSteps::undo(std::size_t steps) noexcept {
    try {
        while (steps-- > 0)
            if (steps_[steps].undo)
                steps_[steps].undo();
    } catch (const std::exception& e) {
        undo_failure_ = e.what();
        if (undo_failure_.empty())
            undo_failure_ = "unknown error";
    } catch (...) {
        undo_failure_ = "unknown error";
    }
}

}  // namespace spead::runtime
