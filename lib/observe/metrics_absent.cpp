// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "observe/metrics.hpp"

namespace spead::observe {

struct WebServer::Server {};

WebServer::WebServer(const std::string& where, const ListenAddress& listen, const std::vector<unsigned>&,
                     std::function<HttpRoute(const HttpRequest&)>) {
    throw_error(
        where,
        "this program was built without prometheus-cpp and Boost (Debian: prometheus-cpp-dev, libboost-dev) "
        "and cannot serve {}; leave `{}` out, or build it with meson's -Dmetrics=enabled",
        to_string(listen), where);
}

WebServer::~WebServer() = default;

void check_metrics(const ListenAddress& listen) {
    const WebServer server("metrics", listen, {}, {});
}

Metrics::Metrics(const ListenAddress& listen, const std::vector<unsigned>& cpus, MetricsSite)
    : server_("metrics", listen, cpus, {}) {}

}  // namespace spead::observe
