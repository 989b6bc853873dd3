// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/telemetry_client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/units.hpp"
#include "observe/json.hpp"

namespace spead::app {

using observe::Json;

namespace {

constexpr std::size_t kLongestGreeting = 1024;
constexpr std::size_t kLongest = std::size_t{1} << 20;
/// Limits a report: thousands of streams with all their details.
constexpr std::uint64_t kLongestReport = std::uint64_t{256} << 20;
/// Limits the time for all pieces of a report.
constexpr std::chrono::seconds kReportPatience{30};

/// Returns text without terminal control characters.
std::string plain(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); i++) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        out += c < 0x20 || c == 0x7F || c1 ? '?' : text[i];
        i += c1 ? 1 : 0;
    }
    return out;
}

Json plain(const Json& value) {
    if (value.is_string())
        return plain(value.get_ref<const std::string&>());
    if (!value.is_structured())
        return value;
    Json out = value.is_array() ? Json::array() : Json::object();
    for (const auto& [key, member] : value.items()) {
        if (value.is_array())
            out.push_back(plain(member));
        else
            out[plain(key)] = plain(member);
    }
    return out;
}

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
            throw_error(path, "nothing answers at this socket: {}", std::strerror(errno));
        ucred peer{};
        socklen_t size = sizeof peer;
        if (getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
            pid_ = peer.pid;
            user_ = peer.uid;
        }
        longest_ = kLongestGreeting;
        const Json greeting = parse_foreign<Json>(receive());
        greeted_ = true;
        longest_ = number_in(greeting, "max_output_len");
        if (longest_ == 0 || longest_ > kLongest)
            throw_error(path, "this socket is not one of DPDK's telemetry");
        // The kernel does not know processes of other containers by number.
        if (pid_ == 0)
            pid_ = static_cast<std::int64_t>(std::min<std::uint64_t>(number_in(greeting, "pid"), INT32_MAX));
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
                    !greeted_ ? "it has ten clients, the most that it serves; end one of them"
                              : "the process has ended");
    if (length < 0)
        throw_error(path_, "{}", errno == EAGAIN ? "the process does not answer" : std::strerror(errno));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

Json TelemetryClient::ask(const std::string& command) {
    if (::send(fd_, command.data(), command.size(), MSG_NOSIGNAL) < 0)
        throw_error(path_, "the process has ended");
    const Json answer = parse_foreign<Json>(receive());
    const std::string name = command.substr(0, command.find(','));
    if (!answer.is_object() || answer.size() != 1 || !answer.contains(name))
        throw_error(path_, "its answer to {} cannot be read", command);
    return plain(answer[name]);
}

TelemetryClient::Report TelemetryClient::report() {
    const auto latest = std::chrono::steady_clock::now() + kReportPatience;
    // A report is forgotten when others ask for many newer ones meanwhile.
    for (int attempt = 0; attempt < 5; attempt++) {
        const Json head = ask("/spead/report");
        if (!head.is_object() || !head.contains("sequence"))
            return {};
        const std::uint64_t size = number_in(head, "size");
        if (size > kLongestReport)
            throw_error(path_, "it has a report of {}, which cannot be", human_size(size));
        std::string text;
        while (text.size() < size) {
            if (std::chrono::steady_clock::now() > latest)
                throw_error(path_, "it does not send its report");
            const Json piece =
                ask(fmt::format("/spead/report,{},{}", number_in(head, "sequence"), text.size()));
            if (!piece.is_string() || piece.get_ref<const std::string&>().empty())
                break;
            text += piece.get_ref<const std::string&>();
        }
        if (text.size() != size)
            continue;
        const Json report = parse_foreign<Json>(text);
        if (!report.is_object())
            throw_error(path_, "its report cannot be read");
        return {plain(report), static_cast<double>(number_in(head, "age_ms")) / 1000};
    }
    throw_error(path_, "its reports are replaced faster than they can be fetched");
}

}  // namespace spead::app
