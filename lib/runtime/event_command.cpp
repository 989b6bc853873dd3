// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/event_command.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/privileges.hpp"

namespace spead::runtime {

namespace {

/// Begins the names of an event's variables.
constexpr std::string_view kVariables = "SPEAD_";

bool is_program(const std::string& path) {
    struct stat s {};
    return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0;
}

bool can_run(const std::string& program) {
    if (program.empty())
        return false;
    if (program.find('/') != std::string::npos)
        return is_program(program);
    const char* const path = std::getenv("PATH");
    std::string_view left = path == nullptr ? "/bin:/usr/bin" : path;
    for (;;) {
        const std::size_t end = left.find(':');
        const std::string directory(left.substr(0, end));
        if (is_program((directory.empty() ? "." : directory) + "/" + program))
            return true;
        if (end == std::string_view::npos)
            return false;
        left.remove_prefix(end + 1);
    }
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& text : texts)
        all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

}  // namespace

EventCommand::EventCommand(std::vector<std::string> argv) : argv_(std::move(argv)) {
    if (argv_.empty())
        throw_usage("on_event", "the program is missing; give its path and its arguments");
    if (!can_run(argv_.front()))
        throw_error("on_event",
                    "the program `{}` does not exist or may not be run; give its path and its arguments",
                    argv_.front());
}

EventCommand::~EventCommand() {
    if (pid_ <= 0)
        return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void EventCommand::run(Variables variables) {
    poll();
    if (!running()) {
        start(variables);
    } else if (waiting_.size() < kWaiting) {
        waiting_.push_back(std::move(variables));
    } else if (!reported_dropping_) {
        reported_dropping_ = true;
        log_warning(LogType::runtime, "{} still runs, and {} {} for it; it is not run for further events",
                    argv_.front(), counted(waiting_.size(), "events"),
                    word_for(waiting_.size(), "waits", "wait"));
    }
}

void EventCommand::poll() {
    if (running()) {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == 0)
            return;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            log_notice(LogType::runtime, "{} ended with {} {}", argv_.front(),
                       WIFEXITED(status) ? "status" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        pid_ = 0;
    }
    while (!running() && !waiting_.empty()) {
        const Variables next = std::move(waiting_.front());
        waiting_.pop_front();
        reported_dropping_ = false;
        start(next);
    }
}

std::size_t EventCommand::finish(std::chrono::milliseconds longest) {
    const auto until = std::chrono::steady_clock::now() + longest;
    for (poll(); running() && std::chrono::steady_clock::now() < until; poll())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return waiting() + (running() ? 1 : 0);
}

void EventCommand::start(const Variables& variables) {
    std::vector<std::string> environment;
    for (const auto& [name, value] : variables)
        environment.push_back(fmt::format("{}={}", name, value));
    // This program may have been started by one that got such variables: they are not this event's.
    for (char** e = environ; *e != nullptr; e++)
        if (!std::string_view(*e).starts_with(kVariables))
            environment.emplace_back(*e);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // Standard output may be the report's.
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    // Capabilities are a thread's: the program has those of the one that runs it, which are none.
    int rc = 0;
    try {
        std::thread([&] {
            rc = !give_up_privileges_here()
                     ? EPERM
                     : posix_spawnp(&pid_, argv_.front().c_str(), &files, &attributes, pointers(argv_).data(),
                                    pointers(environment).data());
        }).join();
    } catch (const std::system_error& error) {
        rc = error.code().value();
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (rc != 0) {
        pid_ = 0;
        log_error(LogType::runtime, "{} cannot be run: {}", argv_.front(), std::strerror(rc));
    }
}

}  // namespace spead::runtime
