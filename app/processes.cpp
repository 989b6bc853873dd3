// SPDX-License-Identifier: BSD-3-Clause
#include "app/processes.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/foreign_json.hpp"
#include "app/telemetry_client.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "runtime/runtime_dir.hpp"

namespace spead::app {

namespace {

namespace fs = std::filesystem;

/// Somebody who does not answer holds up the search for so long.
constexpr std::chrono::milliseconds kPatience{1000};

std::vector<fs::path> entries(const fs::path& directory) {
    std::vector<fs::path> all;
    std::error_code error;
    for (fs::directory_iterator at(directory, fs::directory_options::skip_permission_denied, error), end;
         !error && at != end; at.increment(error))
        all.push_back(at->path());
    std::sort(all.begin(), all.end());
    return all;
}

/// What serves this socket, if it is one of ours.
std::vector<RunningProcess> ask(const std::string& socket, std::chrono::milliseconds patience) {
    try {
        TelemetryClient client(socket, patience);
        const nlohmann::ordered_json info = client.ask("/spead/info");
        if (const std::string name = text_in(info, "name"); !name.empty())
            return {{name, client.pid(), socket}};
    } catch (const std::exception&) {
        // It has ended, or is somebody else's.
    }
    return {};
}

std::string listed(const std::vector<RunningProcess>& processes) {
    std::vector<std::string> texts;
    for (const RunningProcess& p : processes)
        texts.push_back(fmt::format("{} (pid {})", p.name, p.pid));
    return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<std::string> process_directories() {
    std::vector<std::string> directories{runtime::eal_directory(), "/tmp/dpdk"};
    for (const char* const parent : {"/run", "/run/user"}) {
        directories.push_back(fmt::format("{}/dpdk", parent));
        for (const fs::path& entry : entries(parent))
            directories.push_back((entry / "dpdk").string());
    }
    return directories;
}

std::vector<RunningProcess> find_processes(std::span<const std::string> directories) {
    std::vector<RunningProcess> found;
    std::set<fs::path> seen;  // /var/run is /run
    for (const std::string& directory : directories) {
        std::error_code error;
        if (!seen.insert(fs::weakly_canonical(directory, error)).second)
            continue;
        for (const fs::path& process : entries(directory))
            for (const fs::path& file : entries(process))
                if (file.filename().string().starts_with(runtime::kTelemetrySocket))
                    for (RunningProcess& p : ask(file.string(), kPatience))
                        found.push_back(std::move(p));
    }
    std::sort(found.begin(), found.end(), [](const RunningProcess& a, const RunningProcess& b) {
        return std::tie(a.name, a.pid) < std::tie(b.name, b.pid);
    });
    return found;
}

RunningProcess choose_process(const std::string& wanted, const std::vector<RunningProcess>& running) {
    if (wanted.find('/') != std::string::npos) {
        const std::vector<RunningProcess> one = ask(wanted, TelemetryClient::kPatience);
        if (one.empty())
            throw_error("", "no dpdk-spead answers at {}; give its name or pid, or nothing", wanted);
        return one.front();
    }
    if (running.empty())
        throw_error(
            "",
            "no dpdk-spead that can be reached runs{}; other users' are root's to see, and --no-telemetry "
            "hides one",
            wanted.empty() ? "" : fmt::format(", none called `{}` either", wanted));
    std::vector<RunningProcess> fitting;
    for (const RunningProcess& p : running)
        if (wanted.empty() || p.name == wanted || std::to_string(p.pid) == wanted ||
            fmt::format("{}.{}", p.name, p.pid) == wanted)
            fitting.push_back(p);
    if (fitting.size() == 1)
        return fitting.front();
    if (fitting.size() > 1)
        throw_error("", "{} processes {}: {}; give one's pid", fitting.size(),
                    wanted.empty() ? "run" : fmt::format("are called `{}`", wanted), listed(fitting));
    std::vector<std::string_view> names;
    for (const RunningProcess& p : running)
        names.push_back(p.name);
    throw_error("", "no process is called `{}`{}; there is {}", wanted, hint(wanted, names), listed(running));
}

}  // namespace spead::app
