// SPDX-License-Identifier: BSD-3-Clause
#include "observe/path_families.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "stats/paths.hpp"

namespace spead::observe {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void add_path_families(std::vector<MetricFamily>& out, const stats::Snapshot& now) {
    MetricFamily packets{
        "spead_stream_path_packets_total",
        "Packets of one of a stream's two paths; used + redundant + repeated + late + control <= received.",
        MetricType::Counter,
        {}};
    MetricFamily missing{"spead_stream_path_missing_packets",
                         "Packets that the other path brought, and this one did not, or too late.",
                         MetricType::Gauge,
                         {}};
    MetricFamily forgotten{"spead_stream_path_forgotten_packets",
                           "Used packets that are copies which came too late to be known as copies.",
                           MetricType::Gauge,
                           {}};
    for (const stats::StreamSnapshot& s : now.streams)
        for (std::size_t path = 0; path < s.path_ports.size(); path++) {
            const stats::PathCounters& c = s.paths[path];
            ClientMetric metric;
            metric.label = {
                {"stream", s.name}, {"path", std::to_string(path + 1)}, {"port", s.path_ports[path]}};
            metric.gauge.value = static_cast<double>(stats::missing_packets(s, path));
            missing.metric.push_back(metric);
            metric.gauge.value = static_cast<double>(c.forgotten);
            forgotten.metric.push_back(metric);
            for (const auto& [kind, count] :
                 {std::pair("received", c.packets), std::pair("used", c.placed),
                  std::pair("redundant", c.redundant), std::pair("repeated", c.repeated),
                  std::pair("late", c.late), std::pair("control", c.control)}) {
                ClientMetric& one = packets.metric.emplace_back();
                one.label = metric.label;
                one.label.push_back({"kind", kind});
                one.counter.value = static_cast<double>(count);
            }
        }
    for (MetricFamily* const family : {&packets, &missing, &forgotten})
        if (!family->metric.empty())
            out.push_back(std::move(*family));
}

}  // namespace spead::observe
