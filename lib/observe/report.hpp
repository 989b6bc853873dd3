// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "stats/snapshot.hpp"

/// The final report of a run, from one snapshot. Names: docs/counters.md.
namespace spead::observe {

/// The version of the report's shape, its first member.
inline constexpr int kReportVersion = 1;

/// `packets`, `rx` and `heaps` hold outcomes and nothing else; what is informative stands in `info`.
nlohmann::ordered_json report_document(const stats::Snapshot& snapshot);

/// The document as indented text, without a newline at its end.
std::string report_json(const stats::Snapshot& snapshot);

/// Tables for a terminal: streams, their heaps, senders and ports; the main counts, and the others where some
/// row has one that is not 0. Below them what can be done about losses.
std::string report_table(const stats::Snapshot& snapshot);

/// The same tables one by one, with rates since `before`; null: over the whole run. Empty where there is
/// nothing of the kind.
struct ReportTables {
    std::string packets;
    std::string heaps;
    std::string sends;
    std::string ports;
};
ReportTables report_tables(const stats::Snapshot& now, const stats::Snapshot* before);

/// One sentence for each kind of loss that an option could fix, naming it.
std::vector<std::string> report_advice(const stats::Snapshot& snapshot);

}  // namespace spead::observe
