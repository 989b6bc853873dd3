// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/attach.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "app/exit_status.hpp"
#include "app/prompt/control_socket.hpp"
#include "app/prompt/raw_terminal.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"

namespace spead::app {

namespace {

/// Limits the wait for the process's first answer, which it sends at once.
constexpr int kAttachAnswerMs = 10'000;

/// Catches signals that would end the process without restoring the terminal.
class Signals {
  public:
    Signals() {
        sigemptyset(&set_);
        for (const int number :
             {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPWR, SIGXCPU})
            sigaddset(&set_, number);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
        std::signal(SIGPIPE, SIG_IGN);
        fd_ = FileDescriptor(signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC));
    }
    int fd() const { return fd_.get(); }
    int taken() const {
        signalfd_siginfo info{};
        return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
    }
    void die_of(int number) const {
        std::signal(number, SIG_DFL);
        raise(number);
        pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
    }

  private:
    sigset_t set_{};
    FileDescriptor fd_;
};

/// Holds the bytes that a writable pipe or terminal takes without waiting.
constexpr std::size_t kAttachChunk = 512;

/// Relays until the other side ends with a status. Waits for both sides at once: the other side may take no
/// more before its answers are read, and a signal ends any wait.
class Relay {
  public:
    /// Takes the `greeting`, which is sent first.
    Relay(int socket, const Signals& signals, bool reads_input, std::string greeting)
        : socket_(socket),
          signals_(signals),
          input_(reads_input ? STDIN_FILENO : -1),
          unsent_(std::move(greeting)) {}

    /// Returns the exit status, or none after a signal (signal()). Throws Error when the connection breaks.
    std::optional<int> run() {
        while (!status_) {
            send_on();
            const auto wanted = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
            // Input that has ended, or would have to wait here, is not polled (-1).
            std::array<pollfd, 4> fds{pollfd{socket_, wanted, 0}, pollfd{signals_.fd(), POLLIN, 0},
                                      pollfd{unsent_.empty() ? input_ : -1, POLLIN, 0},
                                      pollfd{STDOUT_FILENO, 0, 0}};
            const int ready = poll(fds.data(), fds.size(), answered_ ? -1 : kAttachAnswerMs);
            if (ready < 0 && errno != EINTR)
                throw_error("attach", "{}", std::strerror(errno));
            if (ready == 0)
                throw_error("attach", "the process has not answered for {} s: it is stopped, or very busy",
                            kAttachAnswerMs / 1000);
            if (fds[1].revents != 0 && (signal_ = signals_.taken()) != 0)
                return std::nullopt;
            if (fds[2].revents != 0)
                take_input();
            if ((fds[0].revents & ~POLLOUT) != 0 && !take_frames())
                return std::nullopt;
            if ((fds[3].revents & POLLERR) != 0 && !status_)
                throw_error("attach", "the reader of the answers has gone");
        }
        return status_;
    }
    int signal() const { return signal_; }

  private:
    void take_input() {
        const ssize_t size = read(input_, buffer_.data(), buffer_.size());
        if (size < 0 && errno == EINTR)
            return;
        if (size <= 0)
            input_ = -1;
        else
            unsent_.assign(buffer_.data(), static_cast<std::size_t>(size));
    }

    /// Sends as much as the other side takes now.
    void send_on() {
        while (!unsent_.empty()) {
            const ssize_t size = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (size < 0 && errno == EINTR)
                continue;
            if (size < 0 && errno == EAGAIN)
                return;
            if (size < 0) {
                // Its frames say why it takes no more.
                input_ = -1;
                unsent_.clear();
            } else {
                unsent_.erase(0, static_cast<std::size_t>(size));
            }
        }
        if (input_ < 0 && !std::exchange(said_all_, true))
            shutdown(socket_, SHUT_WR);
    }

    /// Writes the text. Returns false after a signal.
    bool put(int fd, std::string_view text) {
        while (!text.empty()) {
            std::array<pollfd, 2> fds{pollfd{fd, POLLOUT, 0}, pollfd{signals_.fd(), POLLIN, 0}};
            if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR)
                throw_error("attach", "{}", std::strerror(errno));
            if (fds[1].revents != 0 && (signal_ = signals_.taken()) != 0)
                return false;
            if (fds[0].revents == 0)
                continue;
            const ssize_t written = write(fd, text.data(), std::min(text.size(), kAttachChunk));
            if (written < 0 && errno != EINTR && errno != EAGAIN)
                throw_error("attach", "cannot write: {}", std::strerror(errno));
            if (written > 0)
                text.remove_prefix(static_cast<std::size_t>(written));
        }
        return true;
    }

    /// Takes the frames. Returns false after a signal.
    bool take_frames() {
        const ssize_t size = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
        if (size < 0 && errno == EINTR)
            return true;
        if (size <= 0)
            throw_error("attach",
                        "the connection is lost: the process has ended, or another session has replaced this "
                        "idle one; attach again");
        answered_ = true;
        received_.append(buffer_.data(), static_cast<std::size_t>(size));
        while (const auto frame = Frame::take(received_)) {
            if (frame->kind == 's') {
                int status = kFailure;
                std::from_chars(frame->text.data(), frame->text.data() + frame->text.size(), status);
                status_ = status;
                return true;
            }
            if (!put(frame->kind == 'o' ? STDOUT_FILENO : STDERR_FILENO, frame->text))
                return false;
        }
        return true;
    }

    int socket_;
    const Signals& signals_;
    int input_;
    int signal_ = 0;
    std::string unsent_;     ///< empty, or no more input is read
    bool said_all_ = false;  ///< the other side knows that no more input comes
    bool answered_ = false;  ///< a frame has come
    std::optional<int> status_;
    std::string received_;
    std::array<char, 65536> buffer_{};
};

std::string command_text(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + quoted_word(word);
    return text + "\n";
}

}  // namespace

int attach(const AttachOptions& options, const Environment& environment) {
    const FileDescriptor socket = connect_to(options.target, environment, geteuid());
    const bool keys = options.command.empty() && isatty(STDIN_FILENO) == 1;
    std::error_code ignored;
    std::string hello =
        Greeting{keys, std::filesystem::current_path(ignored).string(), !options.command.empty()}.text();
    if (!options.command.empty())
        hello += command_text(options.command);
    const Signals signals;
    std::optional<int> status;
    int signal = 0;
    {
        const std::optional<RawTerminal> raw =
            keys ? std::optional<RawTerminal>(std::in_place, STDIN_FILENO) : std::nullopt;
        Relay relay(socket.get(), signals, options.command.empty(), std::move(hello));
        status = relay.run();
        signal = relay.signal();
    }
    if (!status)
        signals.die_of(signal);
    return status.value_or(kFailure);
}

}  // namespace spead::app
