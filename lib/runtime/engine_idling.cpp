// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// How lcores rest when nothing comes, as their streams ask for it.
namespace spead::runtime {

/// What the worker's streams ask for: the mode, and the empty polls before it rests.
std::pair<PollMode, std::uint32_t> Engine::State::idling_of(const Worker& worker) const {
    std::optional<PollMode> mode;
    std::uint32_t max_poll = 0;
    for (std::size_t i = 0; i < streams.current().size(); i++) {
        if (part_on(*streams.current()[i], worker) == nullptr)
            continue;
        const ReceivePlan& r = plan.receives[i];
        if (!mode || r.poll == PollMode::busy)
            mode = r.poll;
        max_poll = std::max(max_poll, r.max_poll);
    }
    return mode ? std::pair(*mode, max_poll) : std::pair(PollMode::adaptive, ReceivePlan{}.max_poll);
}

/// Streams have come or gone.
void Engine::State::set_idling(Worker& worker) {
    const auto [wanted, max_poll] = idling_of(worker);
    PollMode mode = wanted;
    if (mode == PollMode::interrupt &&
        (!worker.loop->can_wait() ||
         !queues.why_no_interrupts(worker, !senders.on(worker).empty()).empty())) {
        mode = PollMode::adaptive;
        if (worker.loop->mode() != mode)
            log_notice(LogType::runtime, "lcore {} polls adaptively from now on", worker.layout->lcore);
    }
    lcores.ask(
        worker,
        [](LcoreLoop* loop, PollMode to, std::uint32_t polls) {
            loop->set_mode(to);
            loop->set_max_poll(polls);
        },
        worker.loop.get(), mode, max_poll);
}

}  // namespace spead::runtime
