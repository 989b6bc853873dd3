// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "app/exit_status.hpp"
#include "app/fleet/fleet_frame.hpp"
#include "app/fleet/scraper.hpp"
#include "app/top/top_screen.hpp"

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

int fleet_top(const std::string& targets, const TopOptions& options) {
    Scraper scraper(fleet_targets(targets));
    if (options.once)
        return print_once(scraper, options);
    show(scraper, options);
    return kSuccess;
}

}  // namespace spead::app
