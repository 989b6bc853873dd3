// SPDX-License-Identifier: BSD-3-Clause
#include "process/kept_privileges.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <linux/capability.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"
#include "runtime/notice_address.hpp"
#include "runtime/paths.hpp"
#include "runtime/stored_stream.hpp"

namespace spead::process {

namespace {

/// Limits the wait for all threads; those with a CPU respond within milliseconds.
constexpr std::chrono::seconds kThreadsPatience{5};
constexpr std::uint16_t kFirstFreePort = 1024;

/// Returns whether the stream has a port of the kernel's sockets, which bind groups as they bind addresses.
bool binds_groups(std::span<const port::PlannedPort> ports, const runtime::ReceivePlan& r) {
    return std::any_of(ports.begin(), ports.end(), [&r](const port::PlannedPort& p) {
        return p.driver != nullptr && p.driver->name() == "net_kernel" &&
               runtime::receives_on(r, p.request.name);
    });
}

bool may_use(const PathInUse& p) {
    return faccessat(AT_FDCWD, p.path.c_str(), p.access, AT_EACCESS) == 0;
}

void add(std::vector<PathInUse>& paths, const std::filesystem::path& path, int access) {
    std::error_code error;
    PathInUse one{std::filesystem::absolute(path, error).string(), access};
    if (std::find(paths.begin(), paths.end(), one) == paths.end())
        paths.push_back(std::move(one));
}

}  // namespace

Privileges privileges_after_start(std::span<const port::PlannedPort> ports, const runtime::Plan& plan) {
    Privileges kept;
    for (const port::PlannedPort& p : ports)
        kept |= p.device.kept;
    for (const runtime::ReceivePlan& r : plan.receives) {
        for (const Endpoint& e : r.endpoints)
            if (e.port < kFirstFreePort && (!e.address.is_multicast() || binds_groups(ports, r)))
                kept |= {CAP_NET_BIND_SERVICE};
        // Each start of the stream locks its chunks anew.
        if (r.chunk && runtime::kind_of(r.chunk->memory) == memory::MemoryKind::pinned)
            kept |= {CAP_IPC_LOCK};
    }
    return kept;
}

void add_written(std::vector<PathInUse>& paths, const std::string& file) {
    if (file.empty() || file == "-")
        return;
    add(paths, file, W_OK);
    add(paths, std::filesystem::absolute(file).parent_path(), W_OK);
}

void add_read(std::vector<PathInUse>& paths, const std::string& file) {
    if (!file.empty() && file != "-")
        add(paths, file, R_OK);
}

std::vector<PathInUse> paths_in_use(std::span<const port::PlannedPort> ports, const runtime::Plan& plan) {
    std::vector<PathInUse> paths;
    for (const port::PlannedPort& p : ports) {
        for (const std::string& file : p.device.outputs)
            add_written(paths, file);
        for (const port::SourceFile& file : p.device.sources)
            add_read(paths, file.path);
    }
    for (const runtime::SendPlan& s : plan.sends)
        if (!s.from.empty())
            add_read(paths, runtime::StoredStream::path_of(s.from));
    for (const runtime::ReceivePlan& r : plan.receives) {
        if (runtime::has_directory(r.sink.kind))
            for (const std::string& directory : runtime::directories_of(r.sink))
                add(paths, directory, W_OK);
        add_read(paths, r.sink.header);
        if (!r.sink.notify.empty())
            add_written(paths, runtime::parse_notice_address(r.sink.notify).path);
        if (r.capture)
            for (const std::string& file : r.capture->files)
                add_written(paths, file);
    }
    return paths;
}

std::string needs_override(const std::vector<PathInUse>& paths) {
    std::vector<PathInUse> usable;
    std::copy_if(paths.begin(), paths.end(), std::back_inserter(usable), may_use);
    std::string found;
    std::thread without([&] {
        give_up_privileges_here();
        const auto first =
            std::find_if(usable.begin(), usable.end(), [](const PathInUse& p) { return !may_use(p); });
        if (first != usable.end())
            found = first->path;
    });
    without.join();
    return found;
}

void give_up_privileges(Privileges kept, const std::vector<PathInUse>& paths) {
    const Privileges had = permitted_privileges();
    if (had.has(CAP_DAC_OVERRIDE))
        if (const std::string path = needs_override(paths); !path.empty()) {
            kept |= {CAP_DAC_OVERRIDE};
            log_info(LogType::app, "CAP_DAC_OVERRIDE is kept, because {} belongs to another user", path);
        }
    const std::vector<std::string> left = keep_privileges(kept, kThreadsPatience);
    const std::vector<std::string> names = (had & kept).names();
    if (!had.empty())
        log_info(LogType::app, "capabilities kept: {}",
                 names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")));
    if (!left.empty())
        log_warning(LogType::app, "threads that have not given up their capabilities within {} s: {}",
                    kThreadsPatience.count(), fmt::join(left, ", "));
}

}  // namespace spead::process
