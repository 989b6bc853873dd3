// SPDX-License-Identifier: BSD-3-Clause
#include "config/shards.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/edit.hpp"
#include "config/sink_rules.hpp"

namespace spead::config {

namespace {

using runtime::Plan;
using runtime::ReceivePlan;
using runtime::ShardDeal;
using runtime::ShardScope;

/// Adds without wrapping: rates that no network has may reach the limit, and then balance no more.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

std::uint64_t rounded(double rate) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(rate)));
}

/// Returns the load of one endpoint of each stream, in bytes per second; of a plan without rates, 1.
std::vector<std::uint64_t> endpoint_loads(const Plan& plan) {
    double known = 0;
    double endpoints = 0;
    for (const ReceivePlan& r : plan.receives)
        if (r.expected_rate > 0) {
            known += r.expected_rate;
            endpoints += static_cast<double>(r.endpoints.size());
        }
    std::vector<std::uint64_t> loads;
    for (const ReceivePlan& r : plan.receives)
        loads.push_back(r.expected_rate > 0
                            ? rounded(r.expected_rate / static_cast<double>(r.endpoints.size()))
                        : endpoints > 0 ? rounded(known / endpoints)
                                        : 1);
    return loads;
}

/// Deals streams, one after the other.
class Dealer {
  public:
    Dealer(const Plan& plan, std::uint32_t count, const Locator& locate)
        : plan_(plan), count_(count), loads_(count, 0), of_endpoint_(endpoint_loads(plan)) {
        for (std::size_t i = 0; i < plan.receives.size(); i++) {
            dealt_.emplace_back(plan.receives[i].endpoints.size(), kEveryShard);
            assign(i, locate);
        }
    }

    Dealt deal() {
        for (std::size_t i = 0; i < plan_.receives.size(); i++)
            if (plan_.receives[i].shard == ShardScope::endpoints)
                deal_endpoints(i);
            else if (plan_.receives[i].shard == ShardScope::stream)
                deal_stream(i);
        return std::move(dealt_);
    }

  private:
    /// Puts the endpoints that `assign` lists where they belong.
    void assign(std::size_t stream, const Locator& locate) {
        const ReceivePlan& r = plan_.receives[stream];
        const auto place = [&](std::size_t entry) {
            const std::string path = fmt::format("receive[{}].assign[{}]", stream, entry);
            return locate ? locate(path) : std::string();
        };
        const std::vector<Assignment> entries = assignments(r, place);
        if (entries.empty())
            return;
        std::map<Endpoint, std::uint32_t> shard_of;
        for (const Assignment& a : entries) {
            if (a.shard >= count_)
                throw_usage(locate ? locate(fmt::format("receive[{}].assign", stream)) : std::string(),
                            "stream `{}` assigns {} to shard {}, and there {}; give a shard below {}, or "
                            "more shards",
                            r.name, to_string(a.endpoint), a.shard,
                            count_ == 1 ? "is one shard, 0"
                                        : fmt::format("are {} shards, 0 to {}", count_, count_ - 1),
                            count_);
            shard_of.emplace(a.endpoint, a.shard);
        }
        for (std::size_t k = 0; k < r.endpoints.size(); k++)
            if (const auto found = shard_of.find(r.endpoints[k]); found != shard_of.end()) {
                dealt_[stream][k] = found->second;
                loads_[found->second] = sum(loads_[found->second], of_endpoint_[stream]);
            }
    }

    /// Returns the `n` shards of the smallest load, in ascending order.
    std::vector<std::uint32_t> least(std::size_t n) const {
        std::vector<std::uint32_t> shards(count_);
        std::iota(shards.begin(), shards.end(), 0U);
        const auto less = [this](std::uint32_t a, std::uint32_t b) {
            return std::pair(loads_[a], a) < std::pair(loads_[b], b);
        };
        const auto end = shards.begin() + static_cast<std::ptrdiff_t>(n);
        std::nth_element(shards.begin(), end, shards.end(), less);
        shards.erase(end, shards.end());
        std::sort(shards.begin(), shards.end());
        return shards;
    }

    void deal_stream(std::size_t stream) {
        const std::uint32_t shard = least(1).front();
        std::ranges::fill(dealt_[stream], shard);
        loads_[shard] = sum(loads_[shard], product(of_endpoint_[stream], dealt_[stream].size()));
    }

    void deal_endpoints(std::size_t stream) {
        std::vector<std::uint32_t>& shards = dealt_[stream];
        const auto left = static_cast<std::size_t>(std::ranges::count(shards, kEveryShard));
        // Only the rest counts: equal parts change no order of loads.
        std::vector<std::size_t> quota(count_, left / count_);
        if (const std::size_t rest = left % count_; rest != 0)
            for (const std::uint32_t shard : least(rest)) {
                quota[shard]++;
                loads_[shard] = sum(loads_[shard], of_endpoint_[stream]);
            }
        const bool in_turn = plan_.receives[stream].deal == ShardDeal::round_robin;
        std::size_t unplaced = left;
        std::uint32_t at = 0;
        for (std::uint32_t& shard : shards) {
            if (shard != kEveryShard)
                continue;
            while (quota[at] == 0)
                at = (at + 1) % count_;
            quota[at]--;
            shard = at;
            if (--unplaced == 0)
                break;
            if (in_turn)
                at = (at + 1) % count_;
        }
    }

    const Plan& plan_;
    const std::uint32_t count_;
    std::vector<std::uint64_t> loads_;  ///< of shards, beyond what all have alike
    const std::vector<std::uint64_t> of_endpoint_;
    Dealt dealt_;
};

std::uint64_t dealt_endpoints(const Plan& plan) {
    std::uint64_t n = 0;
    for (const ReceivePlan& r : plan.receives)
        n += r.shard == ShardScope::all || !r.enabled ? 0 : r.endpoints.size();
    return n;
}

}  // namespace

std::uint32_t parse_shard_count(std::string_view text, std::string_view where) {
    return static_cast<std::uint32_t>(parse_integer(text, 1, kMaxShards, where));
}

Shard parse_shard(std::string_view text, std::string_view where) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos)
        throw_usage(std::string(where),
                    "`{}` is not a shard; give I/N, as in 0/3 for the first of three, or auto", text);
    Shard shard;
    shard.count = parse_shard_count(text.substr(slash + 1), where);
    shard.index = static_cast<std::uint32_t>(parse_integer(text.substr(0, slash), 0, UINT32_MAX, where));
    if (shard.index >= shard.count)
        throw_usage(std::string(where),
                    "there is no shard {} of {}: shards count from 0, so give 0/{} to {}/{}", shard.index,
                    shard.count, shard.count, shard.count - 1, shard.count);
    return shard;
}

std::string to_string(Shard shard) {
    return fmt::format("{}/{}", shard.index, shard.count);
}

std::vector<Assignment> assignments(const ReceivePlan& stream,
                                    const std::function<std::string(std::size_t entry)>& place) {
    std::vector<Assignment> all;
    if (stream.assign.empty())
        return all;
    if (stream.shard != ShardScope::endpoints)
        throw_usage(place(0),
                    "`assign` deals endpoints, and those of stream `{}` stay together; leave `assign` or "
                    "`shard` out",
                    stream.name);
    const std::set<Endpoint> known(stream.endpoints.begin(), stream.endpoints.end());
    std::set<Endpoint> seen;
    for (std::size_t i = 0; i < stream.assign.size(); i++) {
        const std::string& text = stream.assign[i];
        const std::size_t equals = text.rfind('=');
        if (equals == text.npos)
            throw_usage(place(i), "`{}` assigns nothing; give ENDPOINT=SHARD, as in 239.1.2.3:7148=0", text);
        const auto trimmed = [](std::string_view part) {
            const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
            return part.substr(first, part.find_last_not_of(' ') + 1 - first);
        };
        const std::string_view view(text);
        const auto shard = static_cast<std::uint32_t>(
            parse_integer(trimmed(view.substr(equals + 1)), 0, kMaxShards - 1, place(i)));
        std::vector<Endpoint> endpoints;
        try {
            endpoints = parse_endpoints(trimmed(view.substr(0, equals)));
        } catch (const UsageError& error) {
            throw UsageError(place(i), error.what());
        }
        for (const Endpoint& endpoint : endpoints) {
            if (!known.contains(endpoint))
                throw_usage(place(i), "stream `{}` has no endpoint {}; assign only those in `endpoints`",
                            stream.name, to_string(endpoint));
            if (!seen.insert(endpoint).second)
                throw_usage(place(i), "{} is assigned twice; give it one shard", to_string(endpoint));
            all.push_back({endpoint, shard});
        }
    }
    return all;
}

Dealt deal(const Plan& plan, std::uint32_t count, const Locator& locate) {
    return Dealer(plan, count, locate).deal();
}

Plan plan_of_shard(const Plan& plan, Shard shard, const Locator& locate) {
    const Dealt dealt = deal(plan, shard.count, locate);
    Plan mine = plan;
    mine.shard = {shard.index, shard.count, dealt_endpoints(plan)};
    mine.receives.clear();
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        ReceivePlan r = plan.receives[i];
        std::vector<Endpoint> endpoints, twins;
        for (std::size_t k = 0; k < r.endpoints.size(); k++)
            if (dealt[i][k] == shard.index || dealt[i][k] == kEveryShard) {
                endpoints.push_back(r.endpoints[k]);
                if (!r.path_endpoints.empty())
                    twins.push_back(r.path_endpoints[k]);
            }
        if (endpoints.empty())
            continue;
        r.assign.clear();
        deal_column(r, shard, locate ? locate(fmt::format("receive[{}].chunk.placement", i)) : std::string());
        if (endpoints.size() != r.endpoints.size()) {
            r.expected_rate *=
                static_cast<double>(endpoints.size()) / static_cast<double>(r.endpoints.size());
            r.endpoint_texts = endpoint_ranges(endpoints);
            r.endpoints = std::move(endpoints);
            r.path_endpoint_texts = endpoint_ranges(twins);
            r.path_endpoints = std::move(twins);
        }
        mine.receives.push_back(std::move(r));
    }
    if (mine.receives.empty() && !plan.receives.empty())
        mine.runtime.live = true;
    return mine;
}

Plan as_whole(Plan plan) {
    if (plan.shard.count == 0)
        return plan;
    plan.shard = {};
    for (ReceivePlan& r : plan.receives)
        r.shard = ShardScope::all;
    return plan;
}

std::string own_file(const Plan& plan) {
    const std::string text = to_toml(as_whole(plan));
    if (plan.shard.count == 0)
        return text;
    return fmt::format("# shard {} of the plan {}, to be run whole\n{}",
                       to_string(Shard{plan.shard.index, plan.shard.count}), plan.runtime.name, text);
}

std::string describe_shard(const Plan& mine, const Plan& whole) {
    const auto endpoints = [](const Plan& plan) {
        return std::accumulate(plan.receives.begin(), plan.receives.end(), std::size_t{0},
                               [](std::size_t n, const ReceivePlan& r) { return n + r.endpoints.size(); });
    };
    const Shard shard{mine.shard.index, mine.shard.count};
    if (mine.receives.empty())
        return fmt::format("shard {} receives nothing: the plan has {} for {}", to_string(shard),
                           counted(endpoints(whole), "endpoints"), counted(shard.count, "shards"));
    return fmt::format("shard {}: {} of {}, in {} of {}", to_string(shard), endpoints(mine),
                       counted(endpoints(whole), "endpoints"), mine.receives.size(),
                       counted(whole.receives.size(), "streams"));
}

}  // namespace spead::config
