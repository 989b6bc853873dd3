// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/console.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/prompt/prompt_log.hpp"
#include "app/prompt/session.hpp"
#include "app/prompt/terminal.hpp"
#include "app/tell.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/consumers.hpp"

namespace spead::app {

namespace {

/// Runs a thread's work; what it throws must not end the process.
template <typename Work>
void guarded(const char* who, Work&& work) {
    try {
        work();
    } catch (const std::exception& error) {
        log_error(LogType::app, "{}: {}", who, error.what());
    }
}

/// Refusals of commands that nobody edits.
void complain(std::string_view what) {
    tell(stderr, "dpdk-spead: {}", what);
    std::fflush(stderr);
}

}  // namespace

Console::Console(Process& process, const ConsoleOptions& options)
    : process_(process),
      options_(options),
      grammar_(prompt_commands()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_)
        throw_error("prompt", "no event descriptor: {}", std::strerror(errno));
    if (!options_.script.empty()) {
        script_ = Descriptor(open(options_.script.c_str(), O_RDONLY | O_CLOEXEC));
        if (!script_)
            throw_error(options_.script, "cannot read the commands: {}", std::strerror(errno));
    }
    if (options_.interactive || script_)
        seat_thread_ = std::thread([this] {
            runtime::run_on(options_.cpus);
            guarded("prompt", [this] { own_seat(); });
        });
    if (options_.socket != nullptr)
        listen_thread_ = std::thread([this] {
            runtime::run_on(options_.cpus);
            guarded("control", [this] { listen(); });
        });
}

void Console::end() {
    if (stop_)
        eventfd_write(stop_.get(), 1);
    if (seat_thread_.joinable())
        seat_thread_.join();
    if (listen_thread_.joinable())
        listen_thread_.join();
    reap(true);
}

void Console::own_seat() {
    if (script_)
        own_script();
    if (!options_.interactive)
        return;
    Seat seat;
    Context context{process_, grammar_, seat};
    Line line(STDIN_FILENO, options_.out, stop_.get());
    if (line.stopped())
        return;
    Ear ear;
    seat.ear = &ear;
    if (isatty(STDIN_FILENO) == 1) {
        // The log, which tells of events too, would be written into what is typed.
        std::optional<PromptLog> log;
        std::optional<Notices::Listening> listening;
        if (isatty(STDERR_FILENO) == 1)
            log.emplace(ear);
        else
            listen_to_notices(listening, ear);
        const RawTerminal raw(STDIN_FILENO);
        seat.has_screen = isatty(options_.out) == 1;
        seat.print = [&line](std::string_view text) { line.put(text); };
        run_terminal(context, line);
        return;
    }
    std::optional<Notices::Listening> listening;
    listen_to_notices(listening, ear);
    seat.print = [&line](std::string_view text) { line.put(text); };
    seat.wait = [&line](double seconds) { return line.wait_quiet(seconds); };
    const ScriptResult result = run_script(context, line, "standard input", true, complain);
    if (result.refused > 0)
        problems_.push_back(fmt::format("{} of {} commands were refused, the first: {}", result.refused,
                                        result.commands, result.first_refusal));
    if (!seat.over && !line.stopped())
        process_.end();
}

void Console::listen_to_notices(std::optional<Notices::Listening>& listening, Ear& ear) const {
    if (options_.notices != nullptr)
        listening.emplace(*options_.notices, ear);
}

void Console::own_script() {
    Seat seat;
    Context context{process_, grammar_, seat};
    Line line(script_.get(), options_.out, stop_.get());
    seat.print = [&line](std::string_view text) { line.put(text); };
    const ScriptResult result = run_script(context, line, options_.script, true, complain);
    if (result.refused > 0)
        problems_.push_back(fmt::format("{} of the {} commands in {} were refused", result.refused,
                                        result.commands, options_.script));
    // A `quit` in it was meant for the process.
    if (seat.over)
        options_.interactive = false;
}

void Console::listen() {
    while (true) {
        std::array<pollfd, 2> fds{pollfd{stop_.get(), POLLIN, 0}, pollfd{options_.socket->fd(), POLLIN, 0}};
        if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR)
            throw_error("control", "{}", std::strerror(errno));
        if (fds[0].revents != 0)
            return;
        if (fds[1].revents == 0)
            continue;
        std::string refusal;
        Descriptor connection = options_.socket->accept(refusal);
        if (!connection)
            continue;
        reap(false);
        if (refusal.empty() && sessions_.size() >= kMostSessions)
            refusal = fmt::format("there are {} sessions already", kMostSessions);
        Session& session = sessions_.emplace_back();
        session.thread = std::thread([this, &session, refusal, held = std::move(connection)]() mutable {
            guarded("attached session", [&] { attached(held, refusal); });
            held = Descriptor();
            session.over = true;
        });
    }
}

void Console::reap(bool all) {
    for (auto session = sessions_.begin(); session != sessions_.end();) {
        if (!all && !session->over) {
            ++session;
            continue;
        }
        session->thread.join();
        session = sessions_.erase(session);
    }
}

void Console::attached(const Descriptor& connection, const std::string& refusal) {
    Line line(connection.get(), connection.get(), stop_.get());
    const auto send = [&line](char kind, std::string_view text) {
        if (!text.empty())
            line.put(Frame{kind, std::string(text)}.bytes());
    };
    const auto bye = [&](int status) { send('s', fmt::format("{}", status)); };
    if (!refusal.empty()) {
        send('e', refusal + "\n");
        return bye(1);
    }
    std::string first;
    if (!line.get_line(first))
        return;  // somebody who only looked whether anybody listens
    const auto greeting = Greeting::parse(first);
    if (!greeting) {
        send('e', "this process speaks with dpdk-spead attach of its own version\n");
        return bye(1);
    }
    Seat seat;
    seat.attached = true;
    seat.directory = greeting->directory;
    Context context{process_, grammar_, seat};
    if (greeting->interactive) {
        seat.has_screen = true;
        seat.print = [&](std::string_view text) { send('o', text); };
        Ear ear;
        std::optional<Notices::Listening> listening;
        listen_to_notices(listening, ear);
        seat.ear = &ear;
        run_terminal(context, line);
        if (!seat.over && line.stopped())
            send('e', "the program ends\n");
        return bye(0);
    }
    seat.print = [&](std::string_view text) { send('o', text); };
    seat.wait = [&](double seconds) {
        return greeting->lone ? line.wait_connected(seconds) : line.wait_quiet(seconds);
    };
    const ScriptResult result =
        run_script(context, line, "", false, [&](std::string_view what) { send('e', what); });
    bye(result.status);
}

}  // namespace spead::app
