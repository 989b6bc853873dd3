// SPDX-License-Identifier: BSD-3-Clause
#include "observe/shard_families.hpp"

#include <algorithm>

namespace spead::observe {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric gauge(std::vector<ClientMetric::Label> labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    return metric;
}

}  // namespace

std::vector<MetricFamily> shard_families(const std::string& plan, const stats::Snapshot& now) {
    const stats::ShardSnapshot& shard = now.shard;
    std::vector<MetricFamily> out;
    out.push_back({"spead_shard_info",
                   "1; the labels say which shard of which plan the process is.",
                   MetricType::Gauge,
                   {gauge({{"plan", plan},
                           {"shard", std::to_string(shard.index)},
                           {"shards", std::to_string(shard.count)}},
                          1)}});
    out.push_back({"spead_plan_endpoints",
                   "Endpoints that one shard each receives: of the plan (all), and of this process (mine).",
                   MetricType::Gauge,
                   {gauge({{"scope", "all"}}, static_cast<double>(shard.endpoints_all)),
                    gauge({{"scope", "mine"}}, static_cast<double>(shard.endpoints_mine))}});
    MetricFamily shared{
        "spead_stream_shared", "1: every shard of the plan receives the stream.", MetricType::Gauge, {}};
    for (const stats::StreamSnapshot& stream : now.streams) {
        const bool is_shared = std::ranges::find(shard.shared, stream.name) != shard.shared.end();
        shared.metric.push_back(gauge({{"stream", stream.name}}, is_shared ? 1 : 0));
    }
    if (!shared.metric.empty())
        out.push_back(std::move(shared));
    return out;
}

}  // namespace spead::observe
