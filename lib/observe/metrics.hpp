// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/listen_address.hpp"
#include "observe/http_message.hpp"
#include "observe/process_usage.hpp"
#include "observe/readiness.hpp"
#include "observe/web_server.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// Holds everything that the server shows.
struct MetricsSite {
    std::shared_ptr<const stats::LatestSnapshot> latest;
    ProcessIdentity identity;
    /// Limits how long an lcore of a live process may not answer, in seconds.
    double longest_silence = kLongestSilence;
    /// Answers requests for other paths, on the server's thread; nothing: there is no such path. May be
    /// empty.
    std::function<std::optional<HttpRoute>(const HttpRequest&)> more{};
};

/// Serves the latest snapshot over HTTP, by a thread of its own that runs on `cpus`. docs/telemetry.md has
/// the names.
///
///  - GET /metrics: all numbers, for Prometheus;
///  - GET /healthz: status 200, or 503 and why_not_alive();
///  - GET /readyz: status 200, or 503 and why_not_ready();
///  - everything else: MetricsSite::more.
///
/// One thread makes and destroys it. A build without prometheus-cpp or Boost refuses to make one.
class Metrics {
  public:
    /// Starts to listen. Throws Error when that is impossible: another program uses the address, or it is not
    /// this machine's.
    Metrics(const ListenAddress& listen, const std::vector<unsigned>& cpus, MetricsSite site);

    /// Returns the listen address, with the actual port even if any was asked for.
    const ListenAddress& address() const noexcept { return server_.address(); }

  private:
    WebServer server_;
};

/// Throws the Error that Metrics would, before anything is started that takes time.
void check_metrics(const ListenAddress& listen);

}  // namespace spead::observe
