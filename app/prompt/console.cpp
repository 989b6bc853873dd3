// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/console.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>

#include "app/prompt/prompt_log.hpp"
#include "app/prompt/raw_terminal.hpp"
#include "app/prompt/session.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/tell.hpp"
#include "runtime/consumers.hpp"

namespace spead::app {

namespace {

/// Holds the pause of a listener that cannot accept connections.
constexpr int kAcceptAgainMs = 200;

/// Runs a thread's work; its exceptions must not end the process.
template <typename Work>
void guarded(const char* who, Work&& work) {
    try {
        work();
    } catch (const std::exception& error) {
        log_error(LogType::app, "{}: {}", who, reason_of(error));
    }
}

/// Reports refused commands of a script.
void complain(std::string_view what) {
    tell(stderr, "dpdk-spead: {}", what);
}

}  // namespace

Console::Console(Process& process, const ConsoleOptions& options)
    : process_(process),
      options_(options),
      grammar_(prompt_commands()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_)
        throw_error("prompt", "cannot make an event descriptor: {}", std::strerror(errno));
    if (!options_.script.empty()) {
        script_ = FileDescriptor(open(options_.script.c_str(), O_RDONLY | O_CLOEXEC));
        if (!script_)
            throw_error(options_.script, "cannot read the commands: {}", std::strerror(errno));
    }
    try {
        if (options_.interactive || script_)
            session_thread_ = start_thread("prompt", [this] {
                runtime::run_on(options_.cpus);
                guarded("prompt", [this] { own_session(); });
            });
        if (options_.socket != nullptr)
            listen_thread_ = start_thread("control", [this] {
                runtime::run_on(options_.cpus);
                guarded("control", [this] { listen(); });
            });
    } catch (...) {
        end();
        throw;
    }
}

void Console::end() {
    if (stop_)
        eventfd_write(stop_.get(), 1);
    if (session_thread_.joinable())
        session_thread_.join();
    if (listen_thread_.joinable())
        listen_thread_.join();
    reap(true);
}

void Console::own_session() {
    if (script_)
        own_script();
    if (!options_.interactive)
        return;
    PromptSession session;
    Context context{process_, grammar_, session};
    Line line(STDIN_FILENO, options_.out, stop_.get());
    if (line.stopped())
        return;
    NotificationQueue notifications;
    session.notifications = &notifications;
    if (isatty(STDIN_FILENO) == 1) {
        // The log, which reports events too, would be written into the typed line.
        std::optional<PromptLog> log;
        std::optional<Notifications::Listening> listening;
        if (isatty(STDERR_FILENO) == 1)
            log.emplace(notifications);
        else
            listen_to_notifications(listening, notifications);
        const RawTerminal raw(STDIN_FILENO);
        session.has_screen = isatty(options_.out) == 1;
        session.print = [&line](std::string_view text) { line.put(text); };
        run_terminal(context, line);
        return;
    }
    std::optional<Notifications::Listening> listening;
    listen_to_notifications(listening, notifications);
    session.print = [&line](std::string_view text) { line.put(text); };
    session.wait = [&line](double seconds) { return line.wait_quiet(seconds); };
    const ScriptResult result = run_script(context, line, "standard input", true, complain);
    if (result.refused > 0)
        problems_.push_back(fmt::format("{} of {} {} refused, the first: {}", result.refused,
                                        counted(result.commands, "commands"),
                                        word_for(result.refused, "was", "were"), result.first_refusal));
    if (!session.over && !line.stopped())
        process_.end();
}

void Console::listen_to_notifications(std::optional<Notifications::Listening>& listening,
                                      NotificationQueue& notifications) const {
    if (options_.notifications != nullptr)
        listening.emplace(*options_.notifications, notifications);
}

void Console::own_script() {
    PromptSession session;
    Context context{process_, grammar_, session};
    Line line(script_.get(), options_.out, stop_.get());
    session.print = [&line](std::string_view text) { line.put(text); };
    const ScriptResult result = run_script(context, line, options_.script, true, complain);
    if (result.refused > 0)
        problems_.push_back(fmt::format("{} of the {} in {} {} refused", result.refused,
                                        counted(result.commands, "commands"), options_.script,
                                        word_for(result.refused, "was", "were")));
    // A `quit` in it was meant for the process.
    if (session.over)
        options_.interactive = false;
}

void Console::listen() {
    Handshakes handshakes;
    LogLimiter trouble;
    int accepts = 0;  ///< why no connection can be accepted now; 0: one can
    for (bool goes_on = true; goes_on;) {
        try {
            goes_on = listen_once(handshakes, accepts);
        } catch (const std::bad_alloc&) {
            accepts = ENOMEM;
            goes_on = rest();
        }
        if (accepts != 0)
            log_limited(trouble, LogType::app, LogLevel::error,
                        "control: no client can attach for the moment: {}", std::strerror(accepts));
    }
}

/// Waits once for connections and sessions. `accepts`: why none can be accepted at the moment. Returns false
/// when the console ends.
bool Console::listen_once(Handshakes& handshakes, int& accepts) {
    std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}, {accepts == 0 ? options_.socket->fd() : -1, POLLIN, 0}};
    handshakes.add_to(fds);
    const int left = handshakes.milliseconds_left();
    const int wait = accepts == 0 ? left : left < 0 ? kAcceptAgainMs : std::min(left, kAcceptAgainMs);
    const int ready = poll(fds.data(), fds.size(), wait);
    if (ready < 0 && errno != EINTR) {
        // No memory or no descriptor: connections that were not greeted in time are closed.
        accepts = errno;
        if (!rest())
            return false;
        fds[0].revents = fds[1].revents = 0;
    }
    if (fds[0].revents != 0)
        return false;
    if (ready >= 0)
        accepts = fds[1].revents != 0 ? accept_one(handshakes) : 0;
    for (Handshakes::Greeted& greeted : handshakes.take())
        begin(std::move(greeted));
    return true;
}

/// Pauses briefly. Returns false when the console ends.
bool Console::rest() const {
    pollfd stop{stop_.get(), POLLIN, 0};
    if (poll(&stop, 1, kAcceptAgainMs) < 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(kAcceptAgainMs));
    return stop.revents == 0;
}

/// Accepts a connection. Returns 0, or why none can be accepted at the moment.
int Console::accept_one(Handshakes& handshakes) {
    std::string refusal;
    FileDescriptor connection;
    if (const int error = options_.socket->accept(connection, refusal); error != 0)
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ? error : 0;
    if (!refusal.empty())
        turn_away(connection, refusal);
    else if (connection)
        handshakes.add(std::move(connection));
    return 0;
}

void Console::begin(Handshakes::Greeted greeted) {
    reap(false);
    if (!make_room())
        return turn_away(greeted.connection,
                         fmt::format("there are {} sessions already, and all are in use", kMostSessions));
    Client& client = clients_.emplace_back();
    client.connection = std::move(greeted.connection);
    client.greeting = std::move(greeted.greeting);
    client.begun = std::move(greeted.begun);
    try {
        client.thread = start_thread("attached session", [this, &client] {
            runtime::run_on(options_.cpus);
            guarded("attached session", [&] { attached(client); });
            // The other side waits for the end of the connection; the listener may look at it until then.
            shutdown(client.connection.get(), SHUT_RDWR);
            client.over = true;
        });
    } catch (const std::exception& error) {
        turn_away(client.connection, reason_of(error));
        clients_.pop_back();
    }
}

/// Makes room for one more session. Returns false when all are in use.
bool Console::make_room() {
    std::size_t living = 0;
    Client* idle = nullptr;
    for (Client& client : clients_) {
        if (client.over || client.sent_away)
            continue;
        living++;
        if (idle == nullptr || client.use.time() < idle->use.time())
            idle = &client;
    }
    if (living < kMostSessions)
        return true;
    if (LastUse::Clock::now() - idle->use.time() < kIdle)
        return false;
    // Its thread notices as soon as it reads or writes.
    shutdown(idle->connection.get(), SHUT_RDWR);
    idle->sent_away = true;
    return true;
}

void Console::reap(bool all) {
    for (auto client = clients_.begin(); client != clients_.end();) {
        if (!all && !client->over) {
            ++client;
            continue;
        }
        if (client->thread.joinable())
            client->thread.join();
        client = clients_.erase(client);
    }
}

void Console::attached(Client& client) {
    const Greeting& greeting = client.greeting;
    Line line(client.connection.get(), client.connection.get(), stop_.get(), std::move(client.begun));
    line.watch(client.use);
    const auto send = [&line](char kind, std::string_view text) {
        if (!text.empty())
            line.put(Frame{kind, std::string(text)}.bytes());
    };
    const auto bye = [&](int status) { send('s', fmt::format("{}", status)); };
    // It knows now that it is attached.
    line.put(Frame{'o', {}}.bytes());
    PromptSession session;
    session.attached = true;
    session.directory = greeting.directory;
    Context context{process_, grammar_, session};
    if (greeting.interactive) {
        session.has_screen = true;
        session.print = [&](std::string_view text) { send('o', text); };
        NotificationQueue notifications;
        std::optional<Notifications::Listening> listening;
        listen_to_notifications(listening, notifications);
        session.notifications = &notifications;
        run_terminal(context, line);
        if (!session.over && line.stopped())
            send('e', "the program ends\n");
        return bye(0);
    }
    session.print = [&](std::string_view text) { send('o', text); };
    session.wait = [&](double seconds) {
        return greeting.lone ? line.wait_connected(seconds) : line.wait_quiet(seconds);
    };
    const ScriptResult result =
        run_script(context, line, "", false, [&](std::string_view what) { send('e', what); });
    bye(result.status);
}

}  // namespace spead::app
