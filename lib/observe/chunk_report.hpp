// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/json.hpp"
#include "observe/table.hpp"
#include "stats/chunk_counts.hpp"
#include "stats/snapshot.hpp"

/// Shows the chunks of streams.
namespace spead::observe {

/// Returns the counts and states of chunks, by their names in docs/counters.md.
Json chunks_json(const stats::ChunkCounts& chunks);
/// Returns the way of a stream with chunks: "direct", "tracked", "mixed" over its lcores, or "undecided".
std::string_view chunk_way(const stats::StreamSnapshot& s) noexcept;

/// Returns the presence by axis: each place, or each of so many ranges of them, and the lowest places.
Json axes_json(const std::vector<stats::AxisPresence>& axes);
/// Adds a row for each axis, with the present part of its places. Neighbours with the same part are joined,
/// and of many parts only the lowest are named.
void add_axes_rows(Table& table, const stats::StreamSnapshot& s);
/// Adds the row of a stream with chunks. `rate`: chunks taken per second; none: unknown.
void add_chunks_row(Table& table, const stats::StreamSnapshot& s, std::optional<double> rate);

}  // namespace spead::observe
