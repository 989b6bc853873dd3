// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "base/listen_address.hpp"

namespace spead::app {

/// Serves the page of a fleet over HTTP, and what it asks for at /api/v1/fleet. Browsers get it from here
/// alone, so processes answer no page of another host. One thread makes, feeds and destroys it.
class FleetPage {
  public:
    /// Starts to listen. Throws Error when that is impossible, or when the build has no server.
    explicit FleetPage(const ListenAddress& listen);
    ~FleetPage();
    FleetPage(const FleetPage&) = delete;
    FleetPage& operator=(const FleetPage&) = delete;

    /// Shows this JSON from now on. Before the first call, the answer has status 503.
    void publish(std::string json);

    /// Returns the listen address, with the actual port even if any was asked for.
    const ListenAddress& address() const noexcept;

  private:
    struct Server;
    std::unique_ptr<Server> server_;
};

}  // namespace spead::app
