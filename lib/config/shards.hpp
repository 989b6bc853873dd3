// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.hpp"
#include "config/config.hpp"

/// Deals the endpoints of a plan to shards: a pure function of the plan and of "shard I of N". Every host
/// has the same file and comes to the same result, so hosts need no agreement. docs/many-hosts.md describes
/// it for users.
///
/// Streams are dealt in the order of the file. Of a stream with `shard = "endpoints"`, each shard gets n/N
/// endpoints, rounded down. The n mod N that are left go, one each, to the shards that have the smallest load
/// so far; of equal ones, to the lowest. A stream with `shard = "stream"` goes whole to such a shard.
///
/// Load is the sum of the expected rates of endpoints. An endpoint has its share of its stream's
/// `expected_rate`. Without one, it counts as the mean of those with one, or as 1 if there are none. What
/// `assign` fixes counts before the first stream is dealt. So a stream at the end of the file, without
/// `assign`, moves no endpoint of the others, unless it changes that mean. All sums are of integers, so no
/// two machines round differently.
namespace spead::config {

/// Limits the number of shards.
inline constexpr std::uint32_t kMaxShards = 4096;

struct Shard {
    std::uint32_t index = 0;
    std::uint32_t count = 1;
    bool operator==(const Shard&) const = default;
};

/// Parses "0/3", the first of three. Throws UsageError that quotes the text; `where` is its where().
Shard parse_shard(std::string_view text, std::string_view where = {});
/// Parses a number of shards, from 1 to kMaxShards.
std::uint32_t parse_shard_count(std::string_view text, std::string_view where = {});
std::string to_string(Shard shard);  ///< "0/3"

/// Holds an entry of `assign`.
struct Assignment {
    Endpoint endpoint;
    std::uint32_t shard = 0;
};

/// Returns the entries of a stream's `assign`, address by address. `place` gives the where() of an entry.
/// Throws UsageError for an entry that cannot be read, for endpoints that the stream does not have, for one
/// that is listed twice, and when the stream is not dealt by endpoints.
std::vector<Assignment> assignments(const runtime::ReceivePlan& stream,
                                    const std::function<std::string(std::size_t entry)>& place);

/// Stands for all shards in a Dealt.
inline constexpr std::uint32_t kEveryShard = UINT32_MAX;
/// Holds the shard of each endpoint of each stream, in the plan's order.
using Dealt = std::vector<std::vector<std::uint32_t>>;

/// Deals a valid plan to `count` shards. Throws UsageError when `assign` names a shard that there is not.
Dealt deal(const runtime::Plan& plan, std::uint32_t count, const Locator& locate = {});

/// Returns the plan of one shard of a valid plan. Its streams have the shard's endpoints, and their part of
/// `expected_rate`. A stream without endpoints is left out. Senders are not dealt: every shard has them.
///
/// A shard without any stream is a live plan, so that the process waits for streams. Throws as deal() does.
runtime::Plan plan_of_shard(const runtime::Plan& plan, Shard shard, const Locator& locate = {});

/// Returns the plan of a shard as one that needs no dealing: every shard of it is the same. Returns a whole
/// plan as it is.
runtime::Plan as_whole(runtime::Plan plan);
/// Returns that plan as the text of a configuration file, which says of which shard it is.
std::string own_file(const runtime::Plan& plan);

/// Returns what a shard is, as a line for users: "shard 0/3: 4 of 12 endpoints in 2 of 3 streams". `whole` is
/// the plan of all.
std::string describe_shard(const runtime::Plan& mine, const runtime::Plan& whole);

}  // namespace spead::config
