// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_state.hpp"

namespace spead::runtime {

void Engine::State::join_groups() {}
void Engine::State::leave_groups() {}

}  // namespace spead::runtime
