// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/idling.hpp"

#include <algorithm>
#include <optional>

#include "base/log.hpp"

namespace spead::runtime {

IdleWish idle_wish(const Worker& worker, const std::vector<std::unique_ptr<Stream>>& streams,
                   const std::vector<ReceivePlan>& plans) {
    std::optional<PollMode> mode;
    std::uint32_t max_poll = 0;
    for (std::size_t i = 0; i < streams.size(); i++) {
        if (lane_on(*streams[i], worker) == nullptr)
            continue;
        const ReceivePlan& r = plans[i];
        if (!mode || r.poll == PollMode::busy)
            mode = r.poll;
        max_poll = std::max(max_poll, r.max_poll);
    }
    return mode ? IdleWish{*mode, max_poll} : IdleWish{};
}

void Idling::set(Worker& worker, const IdleWish& wish) {
    PollMode mode = wish.mode;
    if (mode == PollMode::interrupt &&
        (!worker.loop->can_wait() ||
         !queues_.why_no_interrupts(worker, !senders_.on(worker).empty()).empty())) {
        mode = PollMode::adaptive;
        if (worker.loop->mode() != mode)
            log_notice(LogType::runtime, "lcore {} polls adaptively from now on", worker.layout->lcore);
    }
    lcores_.ask(
        worker,
        [](LcoreLoop* loop, PollMode to, std::uint32_t polls) {
            loop->set_mode(to);
            loop->set_max_poll(polls);
        },
        worker.loop.get(), mode, wish.max_poll);
}

}  // namespace spead::runtime
