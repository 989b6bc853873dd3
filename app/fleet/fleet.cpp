// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "app/exit_status.hpp"
#include "app/fleet/fleet_frame.hpp"
#include "app/fleet/scraper.hpp"
#include "app/top/top_terminal.hpp"
#include "base/tell.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Limits the wait for answers. Keys wait as long.
constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::size_t kPlainColumns = 160;

int print_once(Scraper& scraper, const TopOptions& options) {
    const std::vector<HostLook> before = scraper.look(kPatience);
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    const std::vector<HostLook> now = scraper.look(kPatience);
    TopView view = options.view;
    view.keys = false;
    winsize terminal{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col > 0;
    for (const std::string& line :
         fleet_frame(before, now, view, {known ? terminal.ws_col : kPlainColumns, 0}).lines)
        tell(stdout, "{}\n", line);
    const bool whole = fleet_faults(now).empty() &&
                       std::ranges::all_of(now, [](const HostLook& host) { return host.faults.empty(); });
    return whole ? kSuccess : kFailure;
}

void show(TopTerminal& terminal, Scraper& scraper, const TopOptions& options) {
    const auto interval =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.interval));
    TopView view = options.view;
    std::vector<HostLook> before;
    std::vector<HostLook> now;
    Clock::time_point next = Clock::now();
    for (;;) {
        if (Clock::now() >= next) {
            before = std::exchange(now, scraper.look(kPatience));
            next = std::max(next + interval, Clock::now());
        }
        const TopFrame frame = fleet_frame(before, now, view, terminal.size());
        view.scroll = std::min(view.scroll, frame.most_scroll);
        terminal.draw(frame);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        switch (terminal.wait(std::max(left, std::chrono::milliseconds(0)))) {
            case TopTerminal::News::end:
                return;
            case TopTerminal::News::keys: {
                const std::string keys = terminal.keys();
                if (keys.find(' ') != std::string::npos)
                    next = Clock::now();
                if (press(keys, view, frame.most_scroll))
                    return;
                break;
            }
            case TopTerminal::News::redraw:
            case TopTerminal::News::time:
                break;
        }
    }
}

}  // namespace

int fleet_top(const std::string& targets, const TopOptions& options) {
    Scraper scraper(fleet_targets(targets));
    if (options.once)
        return print_once(scraper, options);
    TopTerminal terminal;
    show(terminal, scraper, options);
    return kSuccess;
}

}  // namespace spead::app
