// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "app/exit_status.hpp"
#include "app/top/processes.hpp"
#include "app/top/telemetry_client.hpp"
#include "app/top/top_screen.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Limits the wait for a report; a process publishes five a second.
constexpr std::chrono::milliseconds kPicturePatience{1000};

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
    print_picture(options.view, [&](const TopView& view, const TopSize& size) {
        return top_frame(before, now, view, size);
    });
    return kSuccess;
}

/// Shows pictures until the end. Returns the final message.
std::string show(TopTerminal& terminal, TelemetryClient& client, const RunningProcess& process,
                 const TopOptions& options) {
    TopSample before{process.name, process.pid, 0, {}};
    TopSample now = before;
    std::string last;
    const auto look_again = [&] {
        try {
            TopSample fresh = look(client, process);
            now.age_s = fresh.age_s;
            // Rates need an older report than the one that is shown; the process may not have a newer one
            // yet.
            if (is_newer(fresh, now))
                before = std::exchange(now, std::move(fresh));
            return true;
        } catch (const Error& error) {
            const std::string_view what = error.what();
            last = fmt::format("{} (pid {}): {}", process.name, process.pid,
                               what.substr(error.where().empty() ? 0 : error.where().size() + 2));
            return false;
        }
    };
    show_pictures(
        terminal, options.view, options.interval, look_again,
        [&](const TopView& view, const TopSize& size) { return top_frame(before, now, view, size); });
    return last;
}

}  // namespace

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
