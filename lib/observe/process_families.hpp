// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <string>
#include <vector>

#include "observe/process_usage.hpp"

namespace spead::observe {

/// Returns `spead_build_info`, and the process metrics under the names that Prometheus's client libraries
/// share ("Writing client libraries", "Process metrics"). An unknown value has no series. Pure.
std::vector<prometheus::MetricFamily> process_families(const ProcessIdentity& identity,
                                                       const ProcessUsage& usage);

/// Puts the label `process` with the process's name before the labels of each series. The label `instance` is
/// not used: Prometheus itself sets it to the address that it scrapes.
void label_process(std::vector<prometheus::MetricFamily>& families, const std::string& name);

}  // namespace spead::observe
