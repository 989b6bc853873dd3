// SPDX-License-Identifier: BSD-3-Clause
#include "process/service_notifier.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/log.hpp"

namespace spead::process {

namespace {

constexpr auto kStatusEvery = std::chrono::seconds(1);

std::optional<std::uint64_t> number(const char* text) {
    if (text == nullptr)
        return std::nullopt;
    std::uint64_t value = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, value);
    return error == std::errc{} && stop == end && stop != text ? std::optional(value) : std::nullopt;
}

}  // namespace

ServiceNotifier::ServiceNotifier(const Environment& environment, int pid) {
    const char* const socket_name = environment("NOTIFY_SOCKET");
    if (socket_name == nullptr || *socket_name == '\0')
        return;
    address_ = socket_name;
    if ((address_[0] != '/' && address_[0] != '@') || address_.size() >= sizeof(sockaddr_un::sun_path)) {
        log_warning(
            LogType::app,
            "NOTIFY_SOCKET={} is not an address of a Unix socket; the service manager gets no messages",
            address_);
        return;
    }
    if (address_[0] == '@')
        address_[0] = '\0';
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    // A manager that does not read must not stop the main loop for long.
    const timeval patience{0, 200'000};
    if (fd_ >= 0)
        setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const auto owner = number(environment("WATCHDOG_PID"));
    const auto microseconds = number(environment("WATCHDOG_USEC"));
    if (microseconds.value_or(0) != 0 && (!owner || *owner == static_cast<std::uint64_t>(pid)))
        watchdog_ = std::chrono::microseconds(std::min(
            *microseconds, static_cast<std::uint64_t>(std::chrono::microseconds::max().count() / 1000)));
}

ServiceNotifier::~ServiceNotifier() {
    if (fd_ >= 0)
        close(fd_);
}

/// Sends the message. `must_arrive`: waits a moment for a manager that is slow to read.
void ServiceNotifier::send(const std::string& message, bool must_arrive) {
    if (fd_ < 0)
        return;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    address_.copy(address.sun_path, sizeof address.sun_path - 1);
    // An abstract address has no terminator: its length counts.
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() +
                                               (address_[0] == '\0' ? 0 : 1));
    const int flags = MSG_NOSIGNAL | (must_arrive ? 0 : MSG_DONTWAIT);
    if (sendto(fd_, message.data(), message.size(), flags, reinterpret_cast<const sockaddr*>(&address),
               length) >= 0 ||
        reported_)
        return;
    reported_ = true;
    log_warning(LogType::app, "the service manager does not listen on NOTIFY_SOCKET: {}",
                std::strerror(errno));
}

void ServiceNotifier::ready() {
    send("READY=1", true);
}

void ServiceNotifier::notify_reloading() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                     std::uint64_t(now.tv_sec) * 1'000'000 + std::uint64_t(now.tv_nsec) / 1000),
         true);
}

void ServiceNotifier::stopping() {
    send("STOPPING=1\nSTATUS=finishing heaps in flight", true);
}

void ServiceNotifier::status(const std::string& line, Clock::time_point now) {
    if (fd_ < 0 || line == status_ || (last_status_ && now - *last_status_ < kStatusEvery))
        return;
    last_status_ = now;
    status_ = line;
    // A message is lines; a name with one inside must not become another.
    std::string safe = line;
    std::replace_if(
        safe.begin(), safe.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    send("STATUS=" + safe, false);
}

void ServiceNotifier::alive(Clock::time_point now) {
    if (!watchdog_ || (last_alive_ && now - *last_alive_ < *watchdog_ / 2))
        return;
    last_alive_ = now;
    send("WATCHDOG=1", true);
}

}  // namespace spead::process
