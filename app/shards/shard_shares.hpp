// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan.hpp"

/// Works out what each shard of a plan has to carry, for the command `plan`. Pure.
namespace spead::app {

/// Limits the part of a link that the payload of a shard may take. Headers, other traffic and bursts need the
/// rest.
inline constexpr double kMostOfLink = 0.8;

/// Holds what one shard receives on one port.
struct PortShare {
    std::string port;
    std::size_t endpoints = 0;
    double expected_rate = 0;  ///< bytes of payload per second, of the streams with `expected_rate`
    std::size_t unrated = 0;   ///< streams without it
    double link_rate = 0;      ///< bytes per second; 0: unknown

    /// Returns the fraction of the link that is known to be taken; 0: unknown.
    double of_link() const noexcept { return link_rate > 0 ? expected_rate / link_rate : 0; }
};

/// Holds what one shard receives of one stream.
struct StreamShare {
    std::string stream;
    std::string port;
    std::vector<std::string> endpoints;  ///< ranges
};

struct ShardShares {
    std::size_t endpoints = 0;
    std::vector<StreamShare> streams;
    std::vector<PortShare> ports;  ///< with streams, in the plan's order

    double expected_rate() const noexcept;  ///< of all ports
    std::size_t unrated() const noexcept;
};

struct PlanShares {
    std::string plan;  ///< name in [runtime]
    std::size_t streams = 0;
    std::size_t endpoints = 0;
    std::vector<ShardShares> shards;
};

/// Deals the plan to `count` shards. A `link_rate` above 0 is that of every port, whatever the plan says.
/// Throws UsageError as config::deal() does; `path` is the file of the plan.
PlanShares shares_of(const runtime::Plan& plan, std::uint32_t count, double link_rate,
                     const std::string& path);

/// Returns one sentence for the shard and port that have most above kMostOfLink of the link's rate; empty:
/// all links are fast enough, or unknown.
std::string why_too_much(const PlanShares& shares);

}  // namespace spead::app
