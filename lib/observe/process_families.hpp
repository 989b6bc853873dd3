// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <string>
#include <vector>

#include "observe/process_usage.hpp"

namespace spead::observe {

/// Returns `spead_build_info`, and the process metrics under the names that Prometheus's client libraries
/// share ("Writing client libraries", "Process metrics"). A value that is not known has no series. Pure.
std::vector<prometheus::MetricFamily> process_families(const ProcessIdentity& identity,
                                                       const ProcessUsage& usage);

/// Puts the label `process` with the process's name before the labels of each series. Prometheus itself sets
/// `instance` to the address that it scrapes, so that label is not ours to give.
void label_process(std::vector<prometheus::MetricFamily>& families, const std::string& name);

}  // namespace spead::observe
