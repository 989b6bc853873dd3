// SPDX-License-Identifier: BSD-3-Clause
#include "gather/channel.hpp"

#include <algorithm>

namespace spead::gather {

Channel::Channel(std::size_t batches)
    : count_(std::clamp<std::size_t>(batches, 2, kMaxBatches)), batches_(std::make_unique<Batch[]>(count_)) {}

void Channel::fail(const std::string& what) {
    if (has_failed())
        return;
    failure_ = what;
    State running = State::running;
    state_.compare_exchange_strong(running, State::failed, std::memory_order_release);
    failed_.store(true, std::memory_order_release);
}

}  // namespace spead::gather
