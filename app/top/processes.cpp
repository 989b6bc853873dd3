// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/processes.hpp"

#include <algorithm>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/top/telemetry_client.hpp"
#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/user_name.hpp"
#include "runtime/runtime_dir.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Limits the delay of the search by a process that does not answer.
constexpr milliseconds kSearchPatience{1000};
/// Limits the processes of one directory, and the sockets of one process.
constexpr std::size_t kMostProcesses = 512;
constexpr std::size_t kMostTelemetrySockets = 16;
/// Limits the search for all processes of trusted users together, and for all others.
constexpr milliseconds kTrustedPatience{4'000};
constexpr milliseconds kOthersPatience{2'000};

/// Returns the processes behind this socket, if they are ours. `place`: the directory where it was found.
std::vector<RunningProcess> ask(const std::string& socket, milliseconds patience,
                                const process::Place* place = nullptr) {
    try {
        TelemetryClient client(socket, patience);
        const uid_t user = client.user().value_or(0);
        // A user who can make a file there may have linked it to another user's.
        if (place != nullptr && user != place->owner && user != 0)
            return {};
        const nlohmann::ordered_json info = client.ask("/spead/info");
        // Other users choose the names of their processes, which are shown on terminals.
        if (const std::string name = text_in(info, "name"); !name.empty() && name == printable(name))
            return {{name, client.pid(), socket, user}};
    } catch (const std::exception&) {
        // It has ended, or is another user's.
    }
    return {};
}

struct Found {
    std::string socket;
    const process::Place* place = nullptr;
    bool is_wanted = false;  ///< by the name of its directory
};

/// Returns whether EAL's directory of a process, NAME.PID unless its user chose another prefix, is that of a
/// wanted one.
bool is_wanted(std::string_view directory, std::string_view wanted) {
    const std::size_t dot = directory.rfind('.');
    return !wanted.empty() && (directory == wanted || directory.substr(0, dot) == wanted ||
                               (dot != directory.npos && directory.substr(dot + 1) == wanted));
}

void add_sockets(std::vector<Found>& found, const process::Place& place, std::string_view wanted) {
    for (const std::string& process : process::entries_of(place.directory, kMostProcesses)) {
        const std::string directory = fmt::format("{}/{}", place.directory, process);
        if (!process::is_directory_itself(directory))
            continue;
        for (const std::string& file : process::entries_of(directory, kMostTelemetrySockets)) {
            std::string socket = fmt::format("{}/{}", directory, file);
            if (file.starts_with(runtime::kTelemetrySocket) && process::is_socket_file(socket))
                found.push_back({std::move(socket), &place, is_wanted(process, wanted)});
        }
    }
}

std::string listed(const std::vector<RunningProcess>& processes, uid_t user) {
    std::vector<std::string> texts;
    texts.reserve(processes.size());
    for (const RunningProcess& p : processes)
        texts.push_back(p.user == user
                            ? fmt::format("{} (pid {})", p.name, p.pid)
                            : fmt::format("{} (pid {}, of user {})", p.name, p.pid, user_name(p.user)));
    return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<RunningProcess> find_processes(std::span<const process::Place> places, milliseconds patience,
                                           const std::string& wanted) {
    std::vector<RunningProcess> found;
    const auto end = Clock::now() + patience;
    std::vector<Found> sockets;
    for (const process::Place& place : places)
        add_sockets(sockets, place, wanted);
    // Others that are stopped or busy must not use up the time of the one that is meant.
    std::stable_partition(sockets.begin(), sockets.end(), [](const Found& f) { return f.is_wanted; });
    auto wanted_left =
        std::count_if(sockets.begin(), sockets.end(), [](const Found& f) { return f.is_wanted; });
    for (const Found& f : sockets) {
        const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
        if (left.count() <= 0)
            break;
        // One of several with the name may be stopped, too.
        const milliseconds share = f.is_wanted ? left / wanted_left-- : kSearchPatience;
        for (RunningProcess& p : ask(f.socket, std::min(left, std::max(share, kSearchPatience)), f.place))
            found.push_back(std::move(p));
    }
    std::sort(found.begin(), found.end(), [](const RunningProcess& a, const RunningProcess& b) {
        return std::tie(a.name, a.pid) < std::tie(b.name, b.pid);
    });
    return found;
}

std::vector<RunningProcess> fitting(const std::string& wanted, const std::vector<RunningProcess>& running) {
    std::vector<RunningProcess> found;
    for (const RunningProcess& p : running)
        if (wanted.empty() || p.name == wanted || std::to_string(p.pid) == wanted ||
            fmt::format("{}.{}", p.name, p.pid) == wanted)
            found.push_back(p);
    return found;
}

RunningProcess choose_process(const std::string& wanted, const std::vector<RunningProcess>& running,
                              uid_t user) {
    if (running.empty())
        throw_error("",
                    "no reachable dpdk-spead runs{}; only root sees those of other users, and --no-telemetry "
                    "hides one",
                    wanted.empty() ? "" : fmt::format(", none called `{}` either", wanted));
    const std::vector<RunningProcess> meant = fitting(wanted, running);
    if (meant.size() == 1)
        return meant.front();
    if (meant.size() > 1)
        throw_error("", "{} processes {}: {}; give one's pid", meant.size(),
                    wanted.empty() ? "run" : fmt::format("are called `{}`", wanted), listed(meant, user));
    std::vector<std::string_view> names;
    names.reserve(running.size());
    for (const RunningProcess& p : running)
        names.push_back(p.name);
    throw_error("", "no process is called `{}`{}; there is {}", wanted, hint(wanted, names),
                listed(running, user));
}

RunningProcess find_process(const std::string& wanted, const process::PlaceSearch& search) {
    if (wanted.find('/') != std::string::npos) {
        const std::vector<RunningProcess> one = ask(wanted, TelemetryClient::kPatience);
        if (one.empty())
            throw_error("", "no dpdk-spead answers at {}; give its name or pid, or nothing", wanted);
        return one.front();
    }
    std::vector<process::Place> places = process::process_places("dpdk", search);
    const auto others = std::stable_partition(places.begin(), places.end(),
                                              [](const process::Place& p) { return p.trusted; });
    std::vector<RunningProcess> running = find_processes({places.begin(), others}, kTrustedPatience, wanted);
    if (!fitting(wanted, running).empty())
        return choose_process(wanted, running, search.user);
    for (RunningProcess& p : find_processes({others, places.end()}, kOthersPatience, wanted))
        running.push_back(std::move(p));
    return choose_process(wanted, running, search.user);
}

}  // namespace spead::app
