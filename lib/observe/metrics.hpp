// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "base/listen_address.hpp"
#include "observe/process_usage.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// Serves the latest snapshot over HTTP, by a thread of its own that runs on `cpus`. docs/telemetry.md has
/// the names.
///
///  - GET /metrics: all numbers, for Prometheus;
///  - GET /healthz: status 200, or 503 and why_not_alive();
///  - GET /readyz: status 200, or 503 and why_not_ready().
///
/// One thread makes and destroys it. A build without prometheus-cpp refuses to make one.
class Metrics {
  public:
    /// Starts to listen. Throws Error when that is impossible: another program uses the address, or it is not
    /// this machine's.
    Metrics(std::shared_ptr<const stats::LatestSnapshot> latest, const ListenAddress& listen,
            const std::vector<unsigned>& cpus, ProcessIdentity identity);
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    /// Returns the listen address, with the actual port even if any was asked for.
    const ListenAddress& address() const noexcept { return address_; }

  private:
    struct Server;
    ListenAddress address_;
    std::unique_ptr<Server> server_;
};

/// Throws the Error that Metrics would, before anything is started that takes time.
void check_metrics(const ListenAddress& listen);

}  // namespace spead::observe
