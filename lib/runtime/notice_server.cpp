// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notice_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/start_thread.hpp"
#include "runtime/descriptors.hpp"

namespace spead::runtime {

namespace {

constexpr int kNoticeBacklog = 64;
/// Limits the bytes that are read from a client at once; they are thrown away.
constexpr std::size_t kMostDiscarded = 4096;
/// Lets a machine without descriptors come to rest.
constexpr std::chrono::seconds kDescriptorPause{1};
constexpr int kNoticeWaitMs = 500;
/// Limits how long a client's host may not answer.
constexpr unsigned kSilentClientMs = 60'000;

std::string text_of_notices(const NoticeAddress& address) {
    return address.path.empty() ? "tcp:" + to_string(address.tcp) : "unix:" + address.path;
}

}  // namespace

/// Holds the servers of the process.
struct NoticeServer::All {
    std::mutex mutex;
    std::vector<std::pair<NoticeAddress, std::weak_ptr<NoticeServer>>> used;
    std::vector<std::unique_ptr<NoticeServer>> ending;

    /// Returns those that are never destroyed: a server may be left at the very end of the process.
    static All& get() {
        static All* const all = [] {
            std::atexit([] { join_ending(); });
            return new All;
        }();
        return *all;
    }
};

std::shared_ptr<NoticeServer> NoticeServer::at(const NoticeAddress& address) {
    All& all = All::get();
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.used, [](const auto& known) { return known.second.expired(); });
    for (const auto& [known, server] : all.used)
        if (known == address)
            if (auto there = server.lock())
                return there;
    std::erase_if(all.ending, [](const auto& server) { return server->is_done(); });
    all.ending.reserve(all.ending.size() + all.used.size() + 1);
    all.used.emplace_back(address, std::weak_ptr<NoticeServer>());
    std::shared_ptr<NoticeServer> made(new NoticeServer(address), leave);
    all.used.back().second = made;
    return made;
}

/// Lets a server without users end by itself. Its thread closes the address at once. There is room for it in
/// the list since at().
void NoticeServer::leave(NoticeServer* server) noexcept {
    server->begin_end();
    if (!server->wait_for(server->closed_, Clock::now() + kThreadPatience))
        log_warning(
            LogType::runtime,
            "{}: its thread has not closed the address for {} ms; it is closed when the thread goes on",
            text_of_notices(server->address_), kThreadPatience.count());
    All& all = All::get();
    const std::lock_guard lock(all.mutex);
    all.ending.emplace_back(server);
}

std::size_t NoticeServer::join_ending() {
    All& all = All::get();
    std::vector<std::unique_ptr<NoticeServer>> ending;
    {
        const std::lock_guard lock(all.mutex);
        ending.swap(all.ending);
        all.ending.reserve(all.used.size() + ending.size());
    }
    const std::size_t count = ending.size();
    const Clock::time_point until = Clock::now() + kThreadPatience;
    for (auto& server : ending) {
        if (server->wait_for(server->done_, until))
            continue;
        log_warning(LogType::runtime, "{}: its thread has not ended for {} ms, and is not waited for",
                    text_of_notices(server->address_), kThreadPatience.count());
        const std::lock_guard lock(all.mutex);
        all.ending.push_back(std::move(server));
    }
    return count;
}

NoticeServer::NoticeServer(NoticeAddress address)
    : address_(std::move(address)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_)
        throw_error(text_of_notices(address_), "cannot make an event descriptor: {}", std::strerror(errno));
    if (address_.path.empty())
        listen_tcp();
    else
        listen_unix();
    thread_ = start_thread("notices", [this] { serve(); });
}

void NoticeServer::listen_unix() {
    file_.emplace(address_.path, text_of_notices(address_));
    listener_ = file_->listen(SOCK_NONBLOCK, "end it, or give another path");
}

void NoticeServer::listen_tcp() {
    const std::string where = text_of_notices(address_);
    listener_ = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(address_.tcp.address.value);
    address.sin_port = htons(address_.tcp.port);
    const int yes = 1;
    socklen_t size = sizeof address;
    if (!listener_ || setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(listener_.get(), static_cast<const sockaddr*>(static_cast<const void*>(&address)),
             sizeof address) != 0 ||
        listen(listener_.get(), kNoticeBacklog) != 0 ||
        getsockname(listener_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)), &size) != 0)
        throw_error(where, "cannot listen there: {}; give an address of this machine and a free port",
                    std::strerror(errno));
    if (std::exchange(address_.tcp.port, ntohs(address.sin_port)) == 0)
        log_notice(LogType::runtime, "notices are given out at {}", text_of_notices(address_));
}

void NoticeServer::begin_end() noexcept {
    stop_.store(true, std::memory_order_release);
    eventfd_write(wake_.get(), 1);
}

/// Sets what is guarded, and tells those who wait for it.
void NoticeServer::tell(bool& what) noexcept {
    const std::lock_guard lock(mutex_);
    what = true;
    told_.notify_all();
}

/// Waits for what is guarded.
bool NoticeServer::wait_for(const bool& what, Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return told_.wait_until(lock, until, [&what] { return what; });
}

bool NoticeServer::is_done() {
    const std::lock_guard lock(mutex_);
    return done_;
}

NoticeServer::~NoticeServer() {
    begin_end();
    thread_.join();
}

void NoticeServer::send(const std::string& object) {
    const std::lock_guard lock(mutex_);
    last_++;
    // The thread has no CPU: what it does not get is lost for all.
    if (waiting_bytes_ + object.size() > kMostWaiting)
        return;
    waiting_bytes_ += object.size();
    waiting_.push_back({last_, object});
    eventfd_write(wake_.get(), 1);
}

std::uint64_t NoticeServer::notices() {
    const std::lock_guard lock(mutex_);
    return last_;
}

void NoticeServer::serve() noexcept {
    while (!stop_.load(std::memory_order_acquire))
        try_to_serve(false);
    listener_ = FileDescriptor();
    file_.reset();
    tell(closed_);
    const Clock::time_point end = Clock::now() + kEndPatience;
    do {
        try_to_serve(true);
    } while (Clock::now() < end && std::any_of(clients_.begin(), clients_.end(),
                                               [](const Client& c) { return !c.unsent.empty(); }));
    for (const Client& client : clients_)
        lost_ += client.lost;
    clients_.clear();
    try {
        if (lost_ != 0)
            log_notice(LogType::runtime, "{}: clients that were slow lost {}", text_of_notices(address_),
                       counted(lost_, "notices"));
    } catch (const std::exception&) {
        // There is no memory for the sentence.
    }
    tell(done_);
}

/// Serves once. Without memory, it rests a while.
void NoticeServer::try_to_serve(bool ending) noexcept {
    try {
        serve_once(ending);
    } catch (const std::exception&) {
        poll(nullptr, 0, kNoticeWaitMs / 10);
    }
}

void NoticeServer::serve_once(bool ending) {
    add_lines();
    std::erase_if(clients_, [](Client& client) { return !write(client); });
    std::vector<pollfd> looks{{wake_.get(), POLLIN, 0}};
    const bool accepts = !ending && Clock::now() >= accepts_;
    looks.push_back({accepts ? listener_.get() : -1, POLLIN, 0});
    bool unsent = false;
    for (const Client& client : clients_) {
        unsent |= !client.unsent.empty();
        looks.push_back(
            {client.connection.get(), static_cast<short>(POLLIN | (client.unsent.empty() ? 0 : POLLOUT)), 0});
    }
    if (ending && !unsent)
        return;
    if (poll(looks.data(), looks.size(), ending ? kNoticeWaitMs / 10 : kNoticeWaitMs) < 0)
        return;
    eventfd_t count = 0;
    eventfd_read(wake_.get(), &count);
    std::size_t i = 2;
    std::erase_if(clients_, [&](Client& client) {
        const short found = looks[i++].revents;
        const bool gone =
            (found & (POLLERR | POLLNVAL)) != 0 || ((found & (POLLIN | POLLHUP)) != 0 && !read(client));
        if (gone)
            lost_ += client.lost;
        return gone;
    });
    if ((looks[1].revents & POLLIN) != 0)
        accept_all();
}

void NoticeServer::accept_all() {
    for (int i = 0; i < kNoticeBacklog; i++) {
        FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                accepts_ = Clock::now() + kDescriptorPause;
            return;
        }
        if (clients_.size() >= kMostClients) {
            refuse(connection, "too many clients are connected");
        } else if (is_one_of_the_last(connection.get())) {
            refuse(connection, "the process has too few file descriptors left");
        } else {
            const int yes = 1;
            setsockopt(connection.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
            setsockopt(connection.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentClientMs,
                       sizeof kSilentClientMs);
            Client& client = clients_.emplace_back();
            client.connection = std::move(connection);
            client.seen = given_;
        }
    }
}

/// Says in one line why a client is not served, if it takes that at once.
void NoticeServer::refuse(const FileDescriptor& connection, const char* why) {
    const std::string line = fmt::format("{{\"refused\":\"{}\"}}\n", why);
    ::send(connection.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (trouble_.ask().pass)
        log_warning(LogType::runtime, "{}: a client was refused: {}", text_of_notices(address_), why);
}

/// Gives the waiting notices to the clients with room for them.
void NoticeServer::add_lines() {
    std::deque<Waiting> lines;
    {
        const std::lock_guard lock(mutex_);
        lines.swap(waiting_);
        waiting_bytes_ = 0;
    }
    for (const Waiting& waiting : lines) {
        for (Client& client : clients_) {
            client.lost += waiting.number - client.seen - 1;
            client.seen = waiting.number;
            if (client.unsent.size() + waiting.object.size() > kMostUnsent && !client.unsent.empty()) {
                client.lost++;
                continue;
            }
            lost_ += client.lost;
            client.unsent += fmt::format("{{\"notice\":{},\"lost\":{},", waiting.number, client.lost);
            client.unsent.append(waiting.object, 1);
            client.unsent += '\n';
            client.lost = 0;
        }
        given_ = waiting.number;
    }
}

/// Reads and throws away. Returns false when the client has gone.
bool NoticeServer::read(Client& client) {
    std::array<char, kMostDiscarded> ignored{};
    const ssize_t n = ::recv(client.connection.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/// Sends what the client takes now. Returns false when it has gone.
bool NoticeServer::write(Client& client) {
    while (!client.unsent.empty()) {
        const ssize_t n = ::send(client.connection.get(), client.unsent.data(), client.unsent.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        client.unsent.erase(0, static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace spead::runtime
