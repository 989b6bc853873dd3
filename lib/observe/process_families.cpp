// SPDX-License-Identifier: BSD-3-Clause
#include "observe/process_families.hpp"

namespace spead::observe {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::vector<MetricFamily> process_families(const ProcessIdentity& identity, const ProcessUsage& usage) {
    std::vector<MetricFamily> out;
    ClientMetric build;
    build.label = {{"version", identity.version}, {"dpdk", identity.dpdk}};
    build.gauge.value = 1;
    out.push_back({"spead_build_info",
                   "1; the labels are the versions of the program and of DPDK.",
                   MetricType::Gauge,
                   {build}});
    const auto add = [&out](const char* name, const char* help, MetricType type, const auto& value) {
        if (!value)
            return;
        ClientMetric metric;
        (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
            static_cast<double>(*value);
        out.push_back({name, help, type, {metric}});
    };
    add("process_cpu_seconds_total", "User and system CPU time of all threads.", MetricType::Counter,
        usage.cpu_s);
    add("process_start_time_seconds", "Start of the process, since the epoch.", MetricType::Gauge,
        usage.start_s);
    add("process_resident_memory_bytes", "Resident memory, without huge pages.", MetricType::Gauge,
        usage.resident_bytes);
    add("process_virtual_memory_bytes", "Address space.", MetricType::Gauge, usage.virtual_bytes);
    add("process_threads", "Threads, those of lcores and of DPDK included.", MetricType::Gauge,
        usage.threads);
    add("process_open_fds", "Open file descriptors.", MetricType::Gauge, usage.descriptors);
    add("process_max_fds", "Most file descriptors that may be open (RLIMIT_NOFILE).", MetricType::Gauge,
        usage.most_descriptors);
    return out;
}

void label_process(std::vector<MetricFamily>& families, const std::string& name) {
    for (MetricFamily& family : families)
        for (ClientMetric& metric : family.metric)
            metric.label.insert(metric.label.begin(), {"process", name});
}

}  // namespace spead::observe
