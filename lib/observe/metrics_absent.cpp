// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "observe/metrics.hpp"

namespace spead::observe {

struct Metrics::Server {};

void check_metrics(const ListenAddress& listen) {
    throw_error(
        "metrics",
        "this program was built without prometheus-cpp and Boost (Debian: prometheus-cpp-dev, libboost-dev) "
        "and cannot serve {}; leave `metrics` out, or build it with meson's -Dmetrics=enabled",
        to_string(listen));
}

Metrics::Metrics(const ListenAddress& listen, const std::vector<unsigned>&, MetricsSite) {
    check_metrics(listen);
}

Metrics::~Metrics() = default;

}  // namespace spead::observe
