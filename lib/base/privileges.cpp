// SPDX-License-Identifier: BSD-3-Clause
#include "base/privileges.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <dirent.h>
#include <fstream>
#include <linux/capability.h>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

namespace spead {

namespace {

/// Holds the interval at which a thread without an answer is asked again, in case its signal came too early.
constexpr std::chrono::milliseconds kAskAgain{100};

constexpr std::array<std::string_view, 41> kNames{"CHOWN",
                                                  "DAC_OVERRIDE",
                                                  "DAC_READ_SEARCH",
                                                  "FOWNER",
                                                  "FSETID",
                                                  "KILL",
                                                  "SETGID",
                                                  "SETUID",
                                                  "SETPCAP",
                                                  "LINUX_IMMUTABLE",
                                                  "NET_BIND_SERVICE",
                                                  "NET_BROADCAST",
                                                  "NET_ADMIN",
                                                  "NET_RAW",
                                                  "IPC_LOCK",
                                                  "IPC_OWNER",
                                                  "SYS_MODULE",
                                                  "SYS_RAWIO",
                                                  "SYS_CHROOT",
                                                  "SYS_PTRACE",
                                                  "SYS_PACCT",
                                                  "SYS_ADMIN",
                                                  "SYS_BOOT",
                                                  "SYS_NICE",
                                                  "SYS_RESOURCE",
                                                  "SYS_TIME",
                                                  "SYS_TTY_CONFIG",
                                                  "MKNOD",
                                                  "LEASE",
                                                  "AUDIT_WRITE",
                                                  "AUDIT_CONTROL",
                                                  "SETFCAP",
                                                  "MAC_OVERRIDE",
                                                  "MAC_ADMIN",
                                                  "SYSLOG",
                                                  "WAKE_ALARM",
                                                  "BLOCK_SUSPEND",
                                                  "AUDIT_READ",
                                                  "PERFMON",
                                                  "BPF",
                                                  "CHECKPOINT_RESTORE"};
static_assert(kNames[CAP_NET_RAW] == "NET_RAW" && kNames[CAP_SYS_ADMIN] == "SYS_ADMIN" &&
              kNames[39] == "BPF");

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

std::uint64_t whole(std::uint32_t low, std::uint32_t high) {
    return low | std::uint64_t{high} << 32;
}

/// Does capset(2) for this thread; nothing but system calls, for a signal handler.
bool apply(std::uint64_t kept) noexcept {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    Sets sets{};
    if (syscall(SYS_capget, &header, sets.data()) != 0)
        return false;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if ((whole(sets[0].effective, sets[1].effective) >> CAP_SETPCAP & 1) != 0)
        for (int n = 0; n < 64; n++)
            // Ends at the kernel's last one, which may be newer than ours.
            if ((kept >> n & 1) == 0 && prctl(PR_CAPBSET_DROP, n, 0, 0, 0) != 0 && errno == EINVAL)
                break;
    for (std::size_t i = 0; i < sets.size(); i++) {
        const auto some = static_cast<std::uint32_t>(kept >> (32 * i));
        sets[i].permitted &= some;
        sets[i].effective &= some;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, sets.data()) == 0;
}

std::atomic<std::uint64_t> wanted_privileges{0};

void on_signal(int) {
    const int before = errno;
    apply(wanted_privileges.load(std::memory_order_relaxed));
    errno = before;
}

int signal_number() {
    return SIGRTMAX - 1;
}

/// Installs the handler, which stays: otherwise a late signal would end the process.
void install_handler() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(signal_number(), &action, nullptr);
}

std::vector<pid_t> threads() {
    std::vector<pid_t> ids;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir("/proc/self/task"), closedir);
    for (const dirent* entry = nullptr; open && (entry = readdir(open.get())) != nullptr;) {
        const std::string_view name = entry->d_name;
        pid_t id = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc{})
            ids.push_back(id);
    }
    return ids;
}

/// Returns whether a thread is a worker of io_uring (PF_IO_WORKER in the flags of proc_pid_stat(5), Linux
/// 5.12). It runs the kernel's code alone, takes no signal, and has the credentials of the thread that
/// submitted a request while it works on it.
bool is_io_worker(pid_t id) {
    constexpr unsigned long kIoWorker = 0x10;
    std::ifstream file(fmt::format("/proc/self/task/{}/stat", id));
    std::string text;
    std::getline(file, text);
    // A name may have blanks and parentheses. Behind it: state, five numbers, flags.
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
    char state = 0;
    std::array<long, 5> skipped{};
    unsigned long flags = 0;
    fields >> state;
    for (long& number : skipped)
        fields >> number;
    return (fields >> flags) && (flags & kIoWorker) != 0;
}

/// Holds a thread's facts from /proc; none when it has ended.
struct TaskFacts {
    std::string name;
    std::uint64_t permitted = 0;
    std::uint64_t ambient = 0;
};

std::optional<TaskFacts> facts_of(pid_t id) {
    std::ifstream status(fmt::format("/proc/self/task/{}/status", id));
    TaskFacts facts;
    bool found = false;
    for (std::string line; std::getline(status, line);) {
        const auto value = [&line](std::string_view key) -> std::optional<std::string> {
            return line.starts_with(key) ? std::optional(line.substr(key.size())) : std::nullopt;
        };
        if (const auto name = value("Name:\t"))
            facts.name = *name;
        if (const auto bits = value("CapPrm:\t")) {
            facts.permitted = std::stoull(*bits, nullptr, 16);
            found = true;
        }
        if (const auto bits = value("CapAmb:\t"))
            facts.ambient = std::stoull(*bits, nullptr, 16);
    }
    return found ? std::optional(facts) : std::nullopt;
}

}  // namespace

std::vector<std::string> Privileges::names() const {
    std::vector<std::string> all;
    for (int n = 0; n < 64; n++)
        if (has(n))
            all.push_back(static_cast<std::size_t>(n) < kNames.size()
                              ? fmt::format("CAP_{}", kNames[static_cast<std::size_t>(n)])
                              : fmt::format("capability {}", n));
    return all;
}

Privileges permitted_privileges() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    Sets sets{};
    if (syscall(SYS_capget, &header, sets.data()) != 0)
        return {};
    return Privileges::of_bits(whole(sets[0].permitted, sets[1].permitted));
}

void refuse_new_privileges() noexcept {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool give_up_privileges_here() noexcept {
    // Without it, root's programs have root's capabilities again.
    refuse_new_privileges();
    return apply(0);
}

std::vector<std::string> keep_privileges(Privileges kept, std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    const auto more_than = [kept](const TaskFacts& facts) {
        return (facts.permitted & ~kept.bits()) != 0 || facts.ambient != 0;
    };
    wanted_privileges.store(kept.bits(), std::memory_order_relaxed);
    apply(kept.bits());
    install_handler();
    const auto end = Clock::now() + patience;
    std::map<pid_t, Clock::time_point> asked;
    for (;;) {
        std::vector<std::string> left;
        for (const pid_t id : threads()) {
            const auto facts = facts_of(id);
            if (!facts || !more_than(*facts) || is_io_worker(id))
                continue;
            left.push_back(facts->name);
            const auto now = Clock::now();
            if (const auto [at, fresh] = asked.try_emplace(id, now); fresh || now - at->second >= kAskAgain) {
                at->second = now;
                syscall(SYS_tgkill, getpid(), id, signal_number());
            }
        }
        if (left.empty() || Clock::now() >= end)
            return left;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace spead
