// SPDX-License-Identifier: BSD-3-Clause
#include <thread>

#include <fmt/format.h>

#include "base/waiting_time.hpp"
#include "runtime/engine_state.hpp"

/// The filters of a run, at its end.
namespace spead::runtime {

namespace {

/// A round that took longer was none of waiting: see WaitingTime.
constexpr std::chrono::milliseconds kLongestRound{100};

}  // namespace

/// Buffers that filters hold come back while their ports still run; what does not is told, and the pool it
/// came from stays allocated. Lcores have been joined.
void Engine::State::end_filters() {
    const auto each = [this](const auto& function) {
        for (const auto& w : lcores)
            if (!w->lost)
                for (Part* const part : w->parts)
                    if (part->lane->filter)
                        function(*part->lane);
    };
    each([](recv::SpeadLane& lane) { lane.filter->ending(); });
    for (WaitingTime waited(kLongestRound);;) {
        std::uint64_t out = 0;
        each([&out](recv::SpeadLane& lane) {
            lane.filter->reclaim(lane.counters);
            out += lane.filter->packets_out();
        });
        if (out == 0 || waited.add() > surroundings.holder_patience)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    each([this](recv::SpeadLane& lane) {
        if (const std::uint32_t out = lane.filter->packets_out(); out != 0)
            problems.push_back(fmt::format(
                "stream {}: {} packets were not given back by who holds them; their memory stays allocated",
                lane.config.name, out));
    });
}

}  // namespace spead::runtime
