// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "stats/snapshot.hpp"

/// Makes the final report of a run, from one snapshot. Names: docs/counters.md.
namespace spead::observe {

/// Holds the version of the report's shape, its first member.
inline constexpr int kReportVersion = 1;

/// Returns the report. `packets`, `rx` and `heaps` hold outcomes and nothing else; other facts are in `info`.
nlohmann::ordered_json report_document(const stats::Snapshot& snapshot);

/// Returns the document as indented text, without a newline at its end.
std::string report_json(const stats::Snapshot& snapshot);

/// Returns tables for a terminal: streams, their heaps, senders and ports. They have the main counts, and
/// other counts if some row is not 0. Advice about losses follows.
std::string report_table(const stats::Snapshot& snapshot);

/// Holds the same tables one by one, with rates since `before`; null: over the whole run. A table without
/// rows is empty.
struct ReportTables {
    std::string packets;
    std::string heaps;
    std::string sends;
    std::string ports;
};
ReportTables report_tables(const stats::Snapshot& now, const stats::Snapshot* before);

/// Returns one sentence for each kind of loss that an option can fix, with the option.
std::vector<std::string> report_advice(const stats::Snapshot& snapshot);

}  // namespace spead::observe
