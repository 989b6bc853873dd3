// SPDX-License-Identifier: BSD-3-Clause
#include "app/telemetry_client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.hpp"

namespace spead::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kGreeting = 1024;
constexpr std::size_t kLongest = std::size_t{1} << 20;

}  // namespace

TelemetryClient::TelemetryClient(const std::string& path, std::chrono::milliseconds patience) : path_(path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw_error(path, "the path is too long for a socket");
    std::copy(path.begin(), path.end(), address.sun_path);
    fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    try {
        const timeval wait{patience.count() / 1000, static_cast<suseconds_t>(patience.count() % 1000 * 1000)};
        if (fd_ < 0 || setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
            setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
            connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw_error(path, "nobody answers there: {}", std::strerror(errno));
        longest_ = kGreeting;
        const Json greeting = Json::parse(receive(), nullptr, false);
        pid_ = greeting.is_object() ? greeting.value("pid", std::int64_t{0}) : 0;
        longest_ = greeting.is_object() ? greeting.value("max_output_len", std::size_t{0}) : 0;
        if (longest_ == 0 || longest_ > kLongest)
            throw_error(path, "this is no telemetry of DPDK");
    } catch (...) {
        close(fd_);
        throw;
    }
}

TelemetryClient::~TelemetryClient() {
    close(fd_);
}

std::string TelemetryClient::receive() {
    std::string text(longest_, '\0');
    ssize_t length = 0;
    do
        length = ::recv(fd_, text.data(), text.size(), 0);
    while (length < 0 && errno == EINTR);
    if (length == 0)
        throw_error(path_, "{}",
                    pid_ == 0 ? "it serves ten clients at once, and has as many; end one of them"
                              : "the process has ended");
    if (length < 0)
        throw_error(path_, "{}", errno == EAGAIN ? "the process does not answer" : std::strerror(errno));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

Json TelemetryClient::ask(const std::string& command) {
    if (::send(fd_, command.data(), command.size(), MSG_NOSIGNAL) < 0)
        throw_error(path_, "the process has ended");
    const Json answer = Json::parse(receive(), nullptr, false);
    const std::string name = command.substr(0, command.find(','));
    if (!answer.is_object() || answer.size() != 1 || !answer.contains(name))
        throw_error(path_, "its answer to {} cannot be read", command);
    return answer[name];
}

TelemetryClient::Report TelemetryClient::report() {
    // A report is forgotten when others ask for many newer ones meanwhile.
    for (int attempt = 0; attempt < 5; attempt++) {
        const Json head = ask("/spead/report");
        if (!head.is_object() || !head.contains("sequence"))
            return {};
        const auto size = head.value("size", std::size_t{0});
        std::string text;
        while (text.size() < size) {
            const Json piece = ask(fmt::format("/spead/report,{},{}", head["sequence"].dump(), text.size()));
            if (!piece.is_string() || piece.get_ref<const std::string&>().empty())
                break;
            text += piece.get_ref<const std::string&>();
        }
        if (text.size() != size)
            continue;
        Json report = Json::parse(text, nullptr, false);
        if (!report.is_object())
            throw_error(path_, "its report cannot be read");
        return {std::move(report), static_cast<double>(head.value("age_ms", std::uint64_t{0})) / 1000};
    }
    throw_error(path_, "its reports are replaced faster than they can be fetched");
}

}  // namespace spead::app
