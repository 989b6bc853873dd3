// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/json_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/units.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr auto kConnectPatience = std::chrono::seconds(10);
constexpr int kRetryMs = 100;
/// Limits the wait for an answer: ports of the other end may have to come up first.
constexpr int kPeerAnswerMs = 60'000;

struct Socket {
    int fd = -1;
    explicit Socket(int f) : fd(f) {}
    ~Socket() {
        if (fd >= 0)
            close(fd);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    int release() { return std::exchange(fd, -1); }
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& text, bool listen) {
    const std::size_t colon = text.rfind(':');
    std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::string service = colon == std::string::npos ? text : text.substr(colon + 1);
    const char* const option = listen ? "--server" : "--client";
    if (!listen && host.empty())
        throw_usage(option, "`{}` has no host; give ADDRESS:PORT of bench --server", text);
    parse_integer(service, 0, UINT16_MAX, option);
    addrinfo hints{};
    hints.ai_family = AF_INET;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        hints.ai_family = AF_INET6;
    } else if (host.find(':') != std::string::npos) {
        throw_usage(option, "`{}`: an IPv6 address needs brackets; give [ADDRESS]:PORT", text);
    }
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (listen ? AI_PASSIVE : 0);
    addrinfo* found = nullptr;
    if (const int rc = getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
        rc != 0) {
        const std::string what = fmt::format("`{}` is not an address: {}; give {}ADDRESS:PORT", text,
                                             gai_strerror(rc), listen ? "PORT or " : "");
        // A name may be known later.
        if (host.find_first_not_of("0123456789.") == std::string::npos)
            throw UsageError(option, what);
        throw Error(option, what);
    }
    return {found, freeaddrinfo};
}

/// Waits until `fd` is readable; without `latest` there is no limit.
void wait_readable(int fd, int stop_fd, std::optional<Clock::time_point> latest = {}) {
    for (;;) {
        std::array<pollfd, 2> fds{pollfd{fd, POLLIN, 0}, pollfd{stop_fd, POLLIN, 0}};
        int patience_ms = -1;
        if (latest) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(*latest - Clock::now());
            patience_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        }
        const int n = poll(fds.data(), fds.size(), patience_ms);
        if (n == 0)
            throw_error("bench", "the other end does not answer");
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            throw_error("bench", "cannot wait for the other end: {}", std::strerror(errno));
        if (fds[1].revents != 0)
            throw Interrupted{};
        if (fds[0].revents != 0)
            return;
    }
}

/// Disables delays: questions and answers are short, and each is waited for.
void no_delay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval bound{kPeerAnswerMs / 1000, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
}

}  // namespace

JsonChannel::JsonChannel(int fd) : fd_(fd) {
    // Questions and answers fit the socket's buffer of who listens at all.
    const timeval patience{kPeerAnswerMs / 1000, 0};
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

JsonChannel::~JsonChannel() {
    close(fd_);
}

int JsonChannel::accept_one(const std::string& address, int stop_fd) {
    const Addresses where = resolve(address, true);
    const Socket listener(socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener.fd < 0 || bind(listener.fd, where->ai_addr, where->ai_addrlen) != 0 ||
        listen(listener.fd, 1) != 0)
        throw_error("--server", "cannot listen on {}: {}", address, std::strerror(errno));
    wait_readable(listener.fd, stop_fd);
    const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
        throw_error("--server", "cannot accept on {}: {}", address, std::strerror(errno));
    no_delay(fd);
    return fd;
}

int JsonChannel::connect_to(const std::string& address, int stop_fd) {
    const Addresses where = resolve(address, false);
    const auto end = Clock::now() + kConnectPatience;
    for (;;) {
        Socket s(socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        // A host that drops what is sent to it would be waited for by the kernel's patience, minutes.
        const timeval bound{std::chrono::seconds(kConnectPatience).count(), 0};
        setsockopt(s.fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
        if (s.fd >= 0 && connect(s.fd, where->ai_addr, where->ai_addrlen) == 0) {
            no_delay(s.fd);
            return s.release();
        }
        const int error = errno;
        if (Clock::now() >= end)
            throw_error("--client", "nothing listens on {}: {}; start bench with --server at that address",
                        address, std::strerror(error));
        pollfd stop{stop_fd, POLLIN, 0};
        if (poll(&stop, 1, kRetryMs) > 0)
            throw Interrupted{};
    }
}

int JsonChannel::start_process(const std::vector<std::string>& arguments, const std::vector<unsigned>& cpus,
                               pid_t& pid) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw_error("bench", "cannot make a socket pair: {}", std::strerror(errno));
    // All that allocates, before the fork.
    std::vector<char*> argv;
    std::string name = "dpdk-spead";
    std::vector<std::string> words = arguments;
    argv.push_back(name.data());
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus)
        CPU_SET(cpu, &set);

    const pid_t parent = getpid();
    pid = fork();
    if (pid < 0)
        throw_error("bench", "cannot start a second process: {}", std::strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        sched_setaffinity(0, sizeof set, &set);
        if (ends[1] == kChildDescriptor)
            fcntl(kChildDescriptor, F_SETFD, 0);
        else
            dup2(ends[1], kChildDescriptor);
        execv("/proc/self/exe", argv.data());
        _exit(127);
    }
    close(ends[1]);
    return ends[0];
}

void JsonChannel::send(const nlohmann::json& message) {
    std::string line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t n = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            throw ChannelClosed("bench", "the other end accepts no data");
        if (n < 0)
            throw ChannelClosed(
                "bench", errno == EAGAIN ? "the other end does not read" : "the other end has disconnected");
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
}

nlohmann::json JsonChannel::receive(int stop_fd, int patience_ms) {
    std::size_t end = 0;
    std::optional<Clock::time_point> latest;
    if (patience_ms >= 0)
        latest = Clock::now() + std::chrono::milliseconds(patience_ms);
    while ((end = buffer_.find('\n')) == std::string::npos) {
        if (buffer_.size() > kLongestLine)
            throw_error("bench", "the other end does not speak the protocol of bench");
        // A line that has begun must end soon.
        if (!latest && !buffer_.empty())
            latest = Clock::now() + std::chrono::milliseconds(kPeerAnswerMs);
        wait_readable(fd_, stop_fd, latest);
        std::array<char, 4096> part{};
        const ssize_t n = ::recv(fd_, part.data(), part.size(), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            throw ChannelClosed("bench", "the other end has disconnected");
        buffer_.append(part.data(), static_cast<std::size_t>(n));
    }
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    nlohmann::json message = parse_foreign(line);
    if (!message.is_object())
        throw_error("bench", "the other end does not speak the protocol of bench");
    return message;
}

nlohmann::json JsonChannel::ask(const nlohmann::json& message, int stop_fd) {
    send(message);
    nlohmann::json answer = receive(stop_fd, kPeerAnswerMs);
    if (const auto error = answer.find("error"); error != answer.end())
        throw_error("the other end", "{}", error->is_string() ? error->get<std::string>() : error->dump());
    return answer;
}

}  // namespace spead::app
