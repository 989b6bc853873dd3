// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_server.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <map>
#include <pthread.h>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "observe/http_connection.hpp"
#include "observe/once_per_address.hpp"
#include "runtime/consumers.hpp"
#include "runtime/descriptors.hpp"

namespace spead::observe {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

namespace {

/// Holds the pause of the listener when no connection can be accepted (no descriptors).
constexpr std::chrono::milliseconds kRest{200};
constexpr int kBacklog = 64;

/// Opens the acceptor. Throws std::system_error.
Tcp::acceptor listen_at(asio::io_context& io, ListenAddress& listen) {
    try {
        Tcp::acceptor made(io);
        const Tcp::endpoint at(asio::ip::address_v4(listen.address.value), listen.port);
        made.open(at.protocol());
        made.set_option(asio::socket_base::reuse_address(true));
        made.bind(at);
        made.listen(kBacklog);
        listen.port = made.local_endpoint().port();
        return made;
    } catch (const boost::system::system_error& error) {
        throw std::system_error(error.code().value(), std::generic_category(), error.what());
    }
}

}  // namespace

/// Holds the listening socket, the connections and their event loop; the server's thread runs it. Replies
/// refer to it weakly.
struct HttpServer::Listener : std::enable_shared_from_this<HttpServer::Listener> {
    Listener(ListenAddress& listen, Route route) : acceptor(listen_at(io, listen)), rest(io) {
        of_connections.route = std::move(route);
    }

    void begin();
    void run();
    void accept();
    void accepted(const ErrorCode& error, Tcp::socket socket);
    void rest_for_a_while();
    void make_room(const asio::ip::address& address);
    void close_oldest_of(const asio::ip::address& address);
    void send_away(std::string_view why);

    asio::io_context io{1};
    Tcp::acceptor acceptor;
    asio::steady_timer rest;
    HttpConnection::Server of_connections;
    std::list<std::shared_ptr<HttpConnection>> clients;  ///< oldest first
    bool waits = false;                                  ///< for a client, or for the end of a rest
    LogLimiter trouble;
    LogLimiter refusals;
    OncePerAddress streams_refused;
};

void HttpServer::Listener::begin() {
    of_connections.has_room_for_stream = [this] {
        const auto streams = std::count_if(clients.begin(), clients.end(),
                                           [](const auto& client) { return client->is_stream(); });
        return static_cast<std::size_t>(streams) < http_limits::kMostStreams;
    };
    of_connections.forget = [this](const HttpConnection& gone) {
        clients.remove_if([&gone](const auto& client) { return client.get() == &gone; });
    };
    of_connections.refused = [this](const HttpRequest& request, int status) {
        // Browsers ask for a stream again and again.
        if (status != 503 || streams_refused.ask(request.client, OncePerAddress::Clock::now()))
            log_refusal(refusals, "http", request, status);
    };
    of_connections.post = [weak = weak_from_this()](std::function<void()> function) {
        if (const auto self = weak.lock())
            asio::post(self->io, std::move(function));
    };
}

void HttpServer::Listener::run() {
    while (!io.stopped()) {
        try {
            if (!waits)
                accept();
            io.run();
        } catch (const std::exception& error) {
            send_away(error.what());
        }
    }
    clients.clear();
}

/// Rejects clients for lack of memory. Later ones wait in the listener's queue.
void HttpServer::Listener::send_away(std::string_view why) {
    for (const auto& client : std::exchange(clients, {}))
        client->close();
    log_limited(trouble, LogType::app, LogLevel::error, "http: all clients were disconnected: {}", why);
    std::this_thread::sleep_for(kRest);
}

void HttpServer::Listener::accept() {
    acceptor.async_accept([this](const ErrorCode& error, Tcp::socket socket) {
        waits = false;
        accepted(error, std::move(socket));
    });
    waits = true;
}

void HttpServer::Listener::accepted(const ErrorCode& error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted)
        return;
    // A client that has gone already is no reason to wait.
    if ((error && error != asio::error::connection_aborted) ||
        (!error && runtime::is_one_of_the_last(socket.native_handle()))) {
        rest_for_a_while();
        return;
    }
    accept();
    if (error)
        return;
    ErrorCode problem;
    const asio::ip::address address = socket.remote_endpoint(problem).address();
    if (problem)
        return;
    make_room(address);
    const auto client = std::make_shared<HttpConnection>(std::move(socket), of_connections);
    clients.push_back(client);
    client->start();
}

void HttpServer::Listener::rest_for_a_while() {
    rest.expires_after(kRest);
    rest.async_wait([this](const ErrorCode& error) {
        waits = false;
        if (!error)
            accept();
    });
    waits = true;
}

/// Makes room for a client from `address`.
void HttpServer::Listener::make_room(const asio::ip::address& address) {
    std::map<asio::ip::address, std::size_t> by_address;
    for (const auto& client : clients)
        by_address[client->address()]++;
    if (by_address[address] >= http_limits::kMostOfAddress) {
        close_oldest_of(address);
    } else if (clients.size() >= http_limits::kMostClients) {
        const auto most = std::max_element(by_address.begin(), by_address.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        close_oldest_of(most->first);
    }
}

/// Closes the oldest client that has no answer to come; else the oldest that is no stream.
void HttpServer::Listener::close_oldest_of(const asio::ip::address& address) {
    std::shared_ptr<HttpConnection> chosen;
    for (const auto& client : clients) {
        if (client->address() != address || client->is_stream())
            continue;
        if (chosen == nullptr || (chosen->is_answering() && !client->is_answering()))
            chosen = client;
    }
    if (chosen == nullptr)
        chosen = clients.front();
    chosen->close();
}

HttpServer::HttpServer(const ListenAddress& listen, std::vector<unsigned> cpus, Route route)
    : address_(listen), listener_(std::make_shared<Listener>(address_, std::move(route))) {
    listener_->begin();
    thread_ = start_thread("http", [listener = listener_.get(), cpus = std::move(cpus)] {
        pthread_setname_np(pthread_self(), "http");
        runtime::run_on(cpus);
        try {
            listener->run();
        } catch (const std::exception& error) {
            log_error(LogType::app, "http: {}", error.what());
        }
    });
}

HttpServer::~HttpServer() {
    listener_->io.stop();
    thread_.join();
}

}  // namespace spead::observe
