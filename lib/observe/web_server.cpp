// SPDX-License-Identifier: BSD-3-Clause
#include "observe/web_server.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "observe/http_server.hpp"

namespace spead::observe {

namespace {

[[noreturn]] void refuse(const std::string& from, const ListenAddress& listen, int error) {
    const std::string where = to_string(listen);
    switch (error) {
        case EADDRINUSE:
            throw_error(from,
                        "another program listens on {} (`ss -ltnp sport = {}` names it); give another port, "
                        "or 0 for a free one",
                        where, listen.port);
        case EADDRNOTAVAIL:
            throw_error(
                from,
                "{} is not an address of this machine; give one of its own, 127.0.0.1, or 0.0.0.0 for all",
                to_string(listen.address));
        case EACCES:
            throw_error(from, "only root may use ports below 1024; give another port than {}", where);
        default:
            throw_error(from, "cannot listen on {}: {}", where, std::strerror(error));
    }
}

}  // namespace

struct WebServer::Server {
    HttpServer http;
};

WebServer::WebServer(const std::string& where, const ListenAddress& listen, const std::vector<unsigned>& cpus,
                     std::function<HttpRoute(const HttpRequest&)> route)
    : address_(listen) {
    try {
        server_ = std::unique_ptr<Server>(new Server{{listen, cpus, std::move(route)}});
    } catch (const std::system_error& error) {
        refuse(where, listen, error.code().value());
    }
    address_ = server_->http.address();
}

WebServer::~WebServer() = default;

}  // namespace spead::observe
