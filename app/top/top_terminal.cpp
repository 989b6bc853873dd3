// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_terminal.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace spead::app {

namespace {

// ECMA-48 and xterm's private modes: screen of its own, cursor, attributes.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kRestOfLine = "\x1b[K";
constexpr std::string_view kRestOfScreen = "\x1b[J";
constexpr std::string_view kReverse = "\x1b[7m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";

sigset_t signal_set() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPWR, SIGXCPU, SIGTSTP, SIGWINCH})
        sigaddset(&set, signal);
    return set;
}

/// Limits the wait at the end for a terminal that takes nothing (Ctrl-S); then it is left as it is.
constexpr std::chrono::milliseconds kRestorePatience{1000};

}  // namespace

TopTerminal::TopTerminal() {
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        throw_error("top", "it needs a terminal; --once prints one picture as text");
    if (tcgetattr(STDIN_FILENO, &before_) != 0)
        throw_error("top", "cannot read the terminal's state: {}", std::strerror(errno));
    const sigset_t set = signal_set();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    enter();
}

TopTerminal::~TopTerminal() {
    leave();
    close(signals_);
    const sigset_t set = signal_set();
    // A pending one has done what it came for.
    for (int signal = 1; signal < SIGRTMIN; signal++)
        if (signal != SIGWINCH && sigismember(&set, signal) == 1)
            std::signal(signal, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void TopTerminal::enter() {
    termios mode = before_;
    // Ctrl-C, Ctrl-Z and Ctrl-\ stay signals.
    mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &mode);
    out_.put(kEnter);
}

void TopTerminal::leave() noexcept {
    try {
        out_.put(kLeave);
    } catch (const std::bad_alloc&) {
        // The terminal stays as it looks.
    }
    out_.finish(kRestorePatience);
    // Not TCSADRAIN: it would wait for a stopped terminal.
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

TopSize TopTerminal::size() const {
    winsize now{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0)
        return {};
    return {now.ws_col, now.ws_row};
}

void TopTerminal::draw(const TopFrame& frame) {
    // A terminal that has not taken the last picture yet gets a newer one later.
    if (!out_.flush())
        return;
    std::string out(kHome);
    for (std::size_t i = 0; i < frame.lines.size(); i++) {
        const bool heading = i == frame.heading && i > 0;
        const bool first = i == 0;
        out += heading ? kReverse : first ? kBold : kPlain;
        out += frame.lines[i];
        if (heading)
            out += kRestOfLine;  // reversed to the edge
        out += kPlain;
        out += kRestOfLine;
        if (i + 1 < frame.lines.size())
            out += "\r\n";
    }
    out += kRestOfScreen;
    out_.put(out);
}

TopTerminal::News TopTerminal::wait(std::chrono::milliseconds longest) {
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals_, POLLIN, 0}};
    if (poll(sources.data(), sources.size(), static_cast<int>(longest.count())) <= 0)
        return News::time;
    if (sources[1].revents != 0) {
        signalfd_siginfo signal{};
        if (read(signals_, &signal, sizeof signal) != sizeof signal)
            return News::time;
        if (signal.ssi_signo == SIGWINCH)
            return News::redraw;
        if (signal.ssi_signo != SIGTSTP)
            return News::end;
        leave();
        raise(SIGSTOP);
        enter();
        return News::redraw;
    }
    std::array<char, 64> keys{};
    const ssize_t length = read(STDIN_FILENO, keys.data(), keys.size());
    if (length <= 0)
        return News::end;
    typed_.append(keys.data(), static_cast<std::size_t>(length));
    return News::keys;
}

std::string TopTerminal::keys() {
    return std::exchange(typed_, {});
}

}  // namespace spead::app
