// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <thread>
#include <utility>
#include <vector>

#include "app/exit_status.hpp"
#include "app/fleet/fleet_frame.hpp"
#include "app/fleet/fleet_json.hpp"
#include "app/fleet/fleet_page.hpp"
#include "app/fleet/fleet_plans.hpp"
#include "app/fleet/host_state.hpp"
#include "app/fleet/scraper.hpp"
#include "app/top/top_screen.hpp"
#include "base/log.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

namespace {

/// Limits the wait for answers. Keys wait as long.
constexpr std::chrono::milliseconds kPatience{1000};

int print_once(Scraper& scraper, const TopOptions& options) {
    const std::vector<HostLook> before = scraper.look(kPatience);
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    const std::vector<HostLook> now = scraper.look(kPatience);
    print_picture(options.view, [&](const TopView& view, const TopSize& size) {
        return fleet_frame(before, now, view, size);
    });
    const bool whole = fleet_faults(now).empty() &&
                       std::ranges::all_of(now, [](const HostLook& host) { return host.faults.empty(); });
    return whole ? kSuccess : kFailure;
}

/// Waits for the time or a signal. Returns whether one has come.
bool wait_for(const process::StopSignals& signals, HostStates::Clock::time_point time) {
    while (!signals.came()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - HostStates::Clock::now());
        if (left.count() <= 0)
            return false;
        pollfd fd{signals.fd(), POLLIN, 0};
        poll(&fd, 1, static_cast<int>(left.count()));
    }
    return true;
}

/// Serves the page until a signal ends it.
void serve(Scraper& scraper, const ListenAddress& listen, double interval) {
    const process::StopSignals signals;
    FleetPage page(listen);
    log_notice(LogType::app, "the page of the fleet is at http://{}/; Ctrl-C ends it",
               to_string(page.address()));
    const auto step =
        std::chrono::duration_cast<HostStates::Clock::duration>(std::chrono::duration<double>(interval));
    HostStates states;
    std::vector<HostLook> before;
    std::vector<HostLook> now;
    HostStates::Clock::time_point next = HostStates::Clock::now();
    do {
        before = std::exchange(now, scraper.look(kPatience));
        const auto at = HostStates::Clock::now();
        const std::vector<HostStates::Entry> entries = states.take(before, now, at);
        observe::Json json = fleet_json(before, now, entries, at);
        json["version"] = DPDK_SPEAD_VERSION;
        json["interval_s"] = interval;
        page.publish(observe::text_of(json) + "\n");
        next = std::max(next + step, HostStates::Clock::now());
    } while (!wait_for(signals, next));
}

void show(Scraper& scraper, const TopOptions& options) {
    std::vector<HostLook> before;
    std::vector<HostLook> now;
    TopTerminal terminal;
    show_pictures(
        terminal, options.view, options.interval,
        [&] {
            before = std::exchange(now, scraper.look(kPatience));
            return true;
        },
        [&](const TopView& view, const TopSize& size) { return fleet_frame(before, now, view, size); });
}

}  // namespace

int fleet_top(const std::string& targets, const TopOptions& options,
              const std::optional<ListenAddress>& listen) {
    Scraper scraper(fleet_targets(targets));
    if (listen) {
        serve(scraper, *listen, options.interval);
        return kSuccess;
    }
    if (options.once)
        return print_once(scraper, options);
    show(scraper, options);
    return kSuccess;
}

}  // namespace spead::app
