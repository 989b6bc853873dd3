// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/listen_address.hpp"
#include "observe/http_message.hpp"

namespace spead::observe {

/// Is an HttpServer whose errors tell a user what to give instead, in every build. One thread makes and
/// destroys it. A build without prometheus-cpp or Boost refuses to make one.
class WebServer {
  public:
    /// Starts to listen. Calls `route` as HttpServer does. Throws Error when that is impossible: another
    /// program uses the address, or it is not this machine's. `where` begins its text.
    WebServer(const std::string& where, const ListenAddress& listen, const std::vector<unsigned>& cpus,
              std::function<HttpRoute(const HttpRequest&)> route);
    ~WebServer();
    WebServer(const WebServer&) = delete;
    WebServer& operator=(const WebServer&) = delete;

    /// Returns the listen address, with the actual port even if any was asked for.
    const ListenAddress& address() const noexcept { return address_; }

  private:
    struct Server;
    ListenAddress address_;
    std::unique_ptr<Server> server_;
};

}  // namespace spead::observe
