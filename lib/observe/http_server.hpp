// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/listen_address.hpp"
#include "base/log.hpp"

namespace spead::observe {

/// Answers GET and HEAD over HTTP/1.1 (RFC 9112), one request for each connection.
///
/// One thread serves all clients and waits for none of them. So a slow, silent or oversized client loses only
/// its own connection. If there are too many at once, the oldest is closed.
class HttpServer {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kMostClients = 64;
    static constexpr std::size_t kLongestRequest = 16384;
    /// Limits the bytes that a client may still send after its answer.
    static constexpr std::size_t kMostAfterwards = std::size_t{1} << 20;
    /// Limits the time from the connection to the end of the request, and from there to the end of the
    /// answer.
    static constexpr std::chrono::seconds kRequestPatience{5};
    static constexpr std::chrono::seconds kAnswerPatience{20};

    struct Page {
        int status = 200;
        std::string type = "text/plain; charset=utf-8";
        std::shared_ptr<const std::string> body;
    };
    /// Returns the page at a path, without its query; status 404 if there is none. Runs on the server's
    /// thread. If it throws, the answer has status 500.
    using Pages = std::function<Page(std::string_view path)>;

    /// Starts a thread on `cpus`. Throws std::system_error when the address cannot be used, Error without a
    /// thread.
    HttpServer(const ListenAddress& listen, std::vector<unsigned> cpus, Pages pages);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Returns the listen address, with the actual port even if any was asked for.
    const ListenAddress& address() const noexcept { return address_; }

  private:
    struct Client {
        FileDescriptor connection;
        Clock::time_point end;  ///< of its patience
        std::string request;
        std::string head;  ///< of the answer; empty: the request is being read
        std::shared_ptr<const std::string> body;
        std::size_t sent = 0;  ///< of head and body
        bool leaving = false;  ///< all is sent, and further input is discarded
        std::size_t thrown_away = 0;
    };

    void serve();
    bool serve_once(Clock::time_point& accepts);
    void send_away(std::string_view why, Clock::time_point& accepts);
    bool accept_some();
    bool step(Client& client, Clock::time_point now);
    bool read(Client& client);
    bool write(Client& client);
    Page page_at(std::string_view path) const;
    void answer(Client& client, Clock::time_point now);
    void leave(Client& client, Clock::time_point now);

    ListenAddress address_;
    Pages pages_;
    FileDescriptor listener_;
    FileDescriptor stop_;
    std::list<Client> clients_;  ///< oldest first
    LogLimiter trouble_;
    std::thread thread_;
};

/// Returns the path of a request's first line, without its query. Empty: it is no GET or HEAD of this
/// protocol, and `status` is the answer's.
std::string_view requested_path(std::string_view request, int& status);

}  // namespace spead::observe
