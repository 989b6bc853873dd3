// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "app/fleet/host_look.hpp"
#include "app/fleet/targets.hpp"

namespace spead::app {

/// Asks the metrics servers of all targets at the same time (libcurl), and those that answered last time for
/// their findings, too. One thread.
class Scraper {
  public:
    /// Limits the answer of a process: a thousand streams.
    static constexpr std::size_t kLongestAnswer = std::size_t{8} << 20;

    /// Makes it for these targets. Throws Error.
    explicit Scraper(std::vector<FleetTarget> targets);
    ~Scraper();
    Scraper(const Scraper&) = delete;
    Scraper& operator=(const Scraper&) = delete;

    /// Returns a look at each target, in their order. Takes at most `patience`: a target that has not
    /// answered by then, or is not there, has a failure. Those that answered last time are asked first.
    std::vector<HostLook> look(std::chrono::milliseconds patience);

  private:
    struct Requests;

    const std::vector<FleetTarget> targets_;
    std::unique_ptr<Requests> requests_;
};

}  // namespace spead::app
