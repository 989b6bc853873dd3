// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "app/exit_status.hpp"
#include "app/top/processes.hpp"
#include "app/top/telemetry_client.hpp"
#include "app/top/top_terminal.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Limits the wait for a report; a process publishes five a second.
constexpr std::chrono::milliseconds kPicturePatience{1000};
/// Holds the width of text that goes into a file or a pipe.
constexpr std::size_t kPlainColumns = 160;

TopSample look(TelemetryClient& client, const RunningProcess& process) {
    TelemetryClient::Report got = client.report();
    return {process.name, process.pid, got.age_s, std::move(got.report)};
}

/// Returns whether the sample is newer. A process that has not begun has no reports.
bool is_newer(const TopSample& sample, const TopSample& than) {
    if (!sample.report.is_object() || !than.report.is_object())
        return sample.report.is_object();
    const auto age = [](const TopSample& s) { return s.report.find("duration_s"); };
    return age(sample) != sample.report.end() &&
           (age(than) == than.report.end() || *age(sample) != *age(than));
}

int print_once(TelemetryClient& client, const RunningProcess& process, const TopOptions& options) {
    const TopSample before = look(client, process);
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    TopSample now = look(client, process);
    for (const auto end = Clock::now() + kPicturePatience; !is_newer(now, before) && Clock::now() < end;
         now = look(client, process))
        std::this_thread::sleep_for(kPicturePatience / 20);
    TopView view = options.view;
    view.keys = false;
    winsize terminal{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col > 0;
    for (const std::string& line :
         top_frame(before, now, view, {known ? terminal.ws_col : kPlainColumns, 0}).lines)
        tell(stdout, "{}\n", line);
    return kSuccess;
}

/// Shows pictures until the end. Returns the final message.
std::string show(TopTerminal& terminal, TelemetryClient& client, const RunningProcess& process,
                 const TopOptions& options) {
    const auto interval =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.interval));
    TopView view = options.view;
    TopSample before{process.name, process.pid, 0, {}};
    TopSample now = before;
    Clock::time_point next = Clock::now();
    for (;;) {
        if (Clock::now() >= next) {
            try {
                TopSample fresh = look(client, process);
                now.age_s = fresh.age_s;
                // Rates need an older report than the one that is shown; the process may not have a newer one
                // yet.
                if (is_newer(fresh, now))
                    before = std::exchange(now, std::move(fresh));
            } catch (const Error& error) {
                const std::string_view what = error.what();
                return fmt::format("{} (pid {}): {}", process.name, process.pid,
                                   what.substr(error.where().empty() ? 0 : error.where().size() + 2));
            }
            next = std::max(next + interval, Clock::now());
        }
        const TopFrame frame = top_frame(before, now, view, terminal.size());
        view.scroll = std::min(view.scroll, frame.most_scroll);
        terminal.draw(frame);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        switch (terminal.wait(std::max(left, std::chrono::milliseconds(0)))) {
            case TopTerminal::News::end:
                return {};
            case TopTerminal::News::keys: {
                const std::string keys = terminal.keys();
                if (keys.find(' ') != std::string::npos)
                    next = Clock::now();
                if (press(keys, view, frame.most_scroll))
                    return {};
                break;
            }
            case TopTerminal::News::redraw:
            case TopTerminal::News::time:
                break;
        }
    }
}

}  // namespace

bool press(std::string_view keys, TopView& view, std::size_t most_scroll) {
    const auto scroll_to = [&](std::size_t row) { view.scroll = std::min(row, most_scroll); };
    const auto turn_to = [&](std::size_t page) {
        view.page = static_cast<TopPage>(page % kTopPages.size());
        view.scroll = 0;
    };
    while (!keys.empty()) {
        std::size_t length = 1;
        char key = keys.front();
        // Cursor keys: ESC [ A, or ESC O A from some terminals.
        if (key == '\x1b' && keys.size() >= 3 && (keys[1] == '[' || keys[1] == 'O')) {
            length = 3;
            key = keys[2] == 'A' ? 'k' : keys[2] == 'B' ? 'j' : '\0';
        }
        keys.remove_prefix(length);
        switch (key) {
            case 'q':
            case 'Q':
            case '\x04':  // Ctrl-D
                return true;
            case '\t':
                turn_to(static_cast<std::size_t>(view.page) + 1);
                break;
            case 's':
                view.sort =
                    static_cast<TopSort>((static_cast<std::size_t>(view.sort) + 1) % kTopSorts.size());
                break;
            case 'r':
                view.reversed = !view.reversed;
                break;
            case 'j':
                scroll_to(view.scroll + 1);
                break;
            case 'k':
                scroll_to(view.scroll - std::min<std::size_t>(view.scroll, 1));
                break;
            case 'h':
            case '?':
                view.keys = !view.keys;
                break;
            default:
                if (key >= '1' && static_cast<std::size_t>(key - '1') < kTopPages.size())
                    turn_to(static_cast<std::size_t>(key - '1'));
        }
    }
    return false;
}

int top(const TopOptions& options) {
    const RunningProcess process =
        find_process(options.process, {[](const char* name) { return std::getenv(name); }, geteuid()});
    TelemetryClient client(process.socket);
    if (options.once)
        return print_once(client, process, options);
    std::string last;
    {
        TopTerminal terminal;
        last = show(terminal, client, process, options);
    }
    if (!last.empty())
        tell(stdout, "{}\n", last);
    return kSuccess;
}

}  // namespace spead::app
