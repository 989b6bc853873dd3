// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/service_status.hpp"

#include <algorithm>

namespace spead::app {

std::string ServiceStatus::line(const stats::Snapshot& now) {
    for (const stats::LcoreSnapshot& l : now.lcores)
        if (l.silent_s > 0)
            return l.silence();
    for (const stats::EngineSnapshot& e : now.engines)
        if (e.stalled_s > 0)
            return e.stall();
    const observe::ProgressSample sample = observe::progress_sample(now);
    if (sample.time_s - last_.time_s >= kEvery) {
        text_ = observe::progress_line(last_, sample);
        last_ = sample;
    }
    return text_;
}

void notify(process::ServiceNotifier& service, ServiceStatus& status, const stats::Snapshot& now) {
    const bool all_answer = std::none_of(now.lcores.begin(), now.lcores.end(),
                                         [](const stats::LcoreSnapshot& l) { return l.silent_s > 0; });
    if (all_answer)
        service.alive(process::ServiceNotifier::Clock::now());
    if (service.active())
        service.status(status.line(now), process::ServiceNotifier::Clock::now());
}

}  // namespace spead::app
