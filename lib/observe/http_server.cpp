// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <rte_errno.h>

#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "runtime/consumers.hpp"
#include "runtime/descriptors.hpp"

namespace spead::observe {

namespace {

constexpr int kBacklog = 64;
/// Limits the connections that are accepted at once, before the present ones have their turn.
constexpr int kAtOnce = 16;
/// Holds the pause of the listener when no connection can be accepted (no descriptors).
constexpr std::chrono::milliseconds kRest{200};
/// Limits the time in which an answered client may finish its request: otherwise it would lose the answer (a
/// reset).
constexpr std::chrono::seconds kLeaving{1};

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        default:
            return "Internal Server Error";
    }
}

FileDescriptor listen_at(ListenAddress& listen) {
    const auto fail = [](const char* what) { throw std::system_error(errno, std::generic_category(), what); };
    FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made)
        fail("socket");
    const int yes = 1;
    setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listen.port);
    address.sin_addr.s_addr = htonl(listen.address.value);
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        fail("bind");
    if (::listen(made.get(), kBacklog) != 0)
        fail("listen");
    socklen_t size = sizeof address;
    if (getsockname(made.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        fail("getsockname");
    listen.port = ntohs(address.sin_port);
    return made;
}

/// Returns the end of a request's head, with the empty line; npos: it is incomplete.
std::size_t end_of_head(std::string_view request) {
    const std::size_t crlf = request.find("\r\n\r\n");
    const std::size_t lf = request.find("\n\n");
    return crlf == std::string_view::npos ? lf : std::min(crlf, lf);
}

}  // namespace

std::string_view requested_path(std::string_view request, int& status) {
    std::string_view line = request.substr(0, request.find('\n'));
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    status = 400;
    if (first == std::string_view::npos || first == last || !line.substr(last + 1).starts_with("HTTP/1."))
        return {};
    const std::string_view method = line.substr(0, first);
    std::string_view path = line.substr(first + 1, last - first - 1);
    if (!path.starts_with('/') ||
        std::any_of(path.begin(), path.end(), [](char c) { return c <= ' ' || c == 0x7F; }))
        return {};
    status = 405;
    if (method != "GET" && method != "HEAD")
        return {};
    status = 200;
    return path.substr(0, path.find_first_of("?#"));
}

HttpServer::HttpServer(const ListenAddress& listen, std::vector<unsigned> cpus, Pages pages)
    : address_(listen),
      pages_(std::move(pages)),
      listener_(listen_at(address_)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_)
        throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = start_thread("http", [this, cpus = std::move(cpus)] {
        pthread_setname_np(pthread_self(), "http");
        runtime::run_on(cpus);
        try {
            serve();
        } catch (const std::exception& error) {
            log_error(LogType::app, "http: {}", error.what());
        }
    });
}

HttpServer::~HttpServer() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
}

void HttpServer::serve() {
    Clock::time_point accepts{};
    for (bool goes_on = true; goes_on;) {
        try {
            goes_on = serve_once(accepts);
        } catch (const std::exception& error) {
            send_away(error.what(), accepts);
        }
    }
}

/// Rejects clients for lack of memory or descriptors. Later ones wait in the listener's queue.
void HttpServer::send_away(std::string_view why, Clock::time_point& accepts) {
    clients_.clear();
    accepts = Clock::now() + kRest;
    log_limited(trouble_, LogType::app, LogLevel::error, "http: all clients were disconnected: {}", why);
    std::this_thread::sleep_for(kRest);
}

/// Waits for clients once. `accepts`: accepts no client before. Returns false when the server ends.
bool HttpServer::serve_once(Clock::time_point& accepts) {
    Clock::time_point now = Clock::now();
    Clock::time_point next = now < accepts ? accepts : Clock::time_point::max();
    std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}, {now < accepts ? -1 : listener_.get(), POLLIN, 0}};
    for (const Client& c : clients_) {
        const bool writes = !c.head.empty() && !c.leaving;
        fds.push_back({c.connection.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
        next = std::min(next, c.end);
    }
    const int wait = next == Clock::time_point::max()
                         ? -1
                         : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(
                                                std::max(next - now, Clock::duration::zero()))
                                                .count());
    if (poll(fds.data(), fds.size(), wait) < 0 && errno != EINTR) {
        send_away(fmt::format("poll: {}", rte_strerror(errno)), accepts);
        return true;
    }
    if (fds[0].revents != 0)
        return false;
    if (fds[1].revents != 0 && !accept_some())
        accepts = Clock::now() + kRest;
    now = Clock::now();
    // Also those that have just come: most have said all they want by now.
    std::erase_if(clients_, [&](Client& c) { return !step(c, now); });
    return true;
}

/// Accepts clients. Returns false when that is impossible for the moment.
bool HttpServer::accept_some() {
    for (int i = 0; i < kAtOnce; i++) {
        FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection)
            return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
        if (runtime::is_one_of_the_last(connection.get()))
            return false;
        if (clients_.size() == kMostClients)
            clients_.pop_front();
        Client& client = clients_.emplace_back();
        client.connection = std::move(connection);
        client.end = Clock::now() + kRequestPatience;
    }
    return true;
}

/// Does everything that needs no wait. Returns false when the client has gone, or its time is over.
bool HttpServer::step(Client& client, Clock::time_point now) {
    if (now >= client.end)
        return false;
    if (client.leaving || client.head.empty())
        if (!read(client))
            return false;
    if (client.head.empty()) {
        if (end_of_head(client.request) == std::string::npos && client.request.size() <= kLongestRequest)
            return true;
        answer(client, now);
    }
    if (!client.leaving && !write(client))
        return false;
    if (!client.leaving && client.sent == client.head.size() + client.body->size())
        leave(client, now);
    return true;
}

/// Reads from the client. Returns false when nothing more comes.
bool HttpServer::read(Client& client) {
    std::array<char, 4096> bytes;
    for (std::size_t taken = 0; taken <= kLongestRequest;) {
        const ssize_t size = ::recv(client.connection.get(), bytes.data(), bytes.size(), 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno == EAGAIN;
        // A client that sends no more may still read the answer.
        if (size == 0)
            return !client.leaving && end_of_head(client.request) != std::string::npos;
        taken += static_cast<std::size_t>(size);
        if (!client.leaving)
            client.request.append(bytes.data(), static_cast<std::size_t>(size));
    }
    client.thrown_away += client.leaving ? kLongestRequest : 0;
    return client.thrown_away < kMostAfterwards;
}

/// Makes the page. If that fails, only this client gets an error.
HttpServer::Page HttpServer::page_at(std::string_view path) const {
    try {
        return pages_(path);
    } catch (const std::exception& error) {
        log_error(LogType::app, "http: {} cannot be made: {}", path, error.what());
        return {.status = 500, .body = nullptr};
    }
}

void HttpServer::answer(Client& client, Clock::time_point now) {
    Page page;
    page.status = 431;
    if (client.request.size() <= kLongestRequest) {
        const std::string_view path = requested_path(client.request, page.status);
        if (!path.empty())
            page = page_at(path);
    }
    if (page.body == nullptr)
        page.body = std::make_shared<const std::string>(fmt::format("{}\n", reason_of(page.status)));
    client.head =
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
                    page.status, reason_of(page.status), page.type, page.body->size(),
                    page.status == 405 ? "Allow: GET, HEAD\r\n" : "");
    static const auto kNothing = std::make_shared<const std::string>();
    client.body = client.request.starts_with("HEAD ") ? kNothing : page.body;
    client.request.clear();
    client.request.shrink_to_fit();
    client.end = now + kAnswerPatience;
}

/// Writes to the client. Returns false when it no longer reads.
bool HttpServer::write(Client& client) {
    const std::size_t all = client.head.size() + client.body->size();
    while (client.sent < all) {
        const bool in_head = client.sent < client.head.size();
        std::string_view rest = in_head ? std::string_view(client.head) : std::string_view(*client.body);
        rest.remove_prefix(in_head ? client.sent : client.sent - client.head.size());
        const ssize_t size = ::send(client.connection.get(), rest.data(), rest.size(),
                                    MSG_NOSIGNAL | (in_head ? MSG_MORE : 0));
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno == EAGAIN;
        client.sent += static_cast<std::size_t>(size);
    }
    return true;
}

void HttpServer::leave(Client& client, Clock::time_point now) {
    shutdown(client.connection.get(), SHUT_WR);
    client.body.reset();
    client.leaving = true;
    client.end = now + kLeaving;
}

}  // namespace spead::observe
