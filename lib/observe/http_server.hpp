// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/listen_address.hpp"
#include "observe/http_limits.hpp"
#include "observe/http_message.hpp"

namespace spead::observe {

/// Answers over HTTP/1.1 (RFC 9112), one request for each connection. Boost.Beast parses, Boost.Asio waits.
///
/// One thread serves all clients and waits for none of them. So a slow, silent or oversized client loses only
/// its own connection. If an address or all of them have too many, the oldest is closed (HttpLimits).
class HttpServer {
  public:
    /// Decides from a request's head how it is answered. Runs on the server's thread, and waits for nothing.
    /// If it throws, the answer has status 500.
    using Route = std::function<HttpRoute(const HttpRequest& head)>;

    /// Starts a thread on `cpus`. Throws std::system_error when the address cannot be used, Error without a
    /// thread.
    HttpServer(const ListenAddress& listen, std::vector<unsigned> cpus, Route route);
    /// Closes all connections. Replies that come later are discarded.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Returns the listen address, with the actual port even if any was asked for.
    const ListenAddress& address() const noexcept { return address_; }

  private:
    struct Listener;

    ListenAddress address_;
    std::shared_ptr<Listener> listener_;
    std::thread thread_;
};

}  // namespace spead::observe
