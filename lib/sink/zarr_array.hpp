// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sink/array_layout.hpp"

namespace spead::sink {

/// Describes an array of Zarr's storage format 2, which grows along one axis, chunk by chunk. Chunks are
/// not compressed: their files are the elements in C order. No I/O.
///
/// Source: Zarr storage specification version 2.
struct ZarrArray {
    struct Axis {
        std::string name;          ///< for `_ARRAY_DIMENSIONS`, which xarray reads
        std::uint64_t chunk = 1;   ///< places in a chunk
        std::uint64_t chunks = 1;  ///< chunks of the whole array
        std::uint64_t at = 0;      ///< the one that this process writes
        bool operator==(const Axis&) const = default;
    };

    std::string name;               ///< within the group
    std::vector<Axis> axes{};       ///< outermost first
    std::size_t time = 0;           ///< number of the axis that grows
    nlohmann::ordered_json type{};  ///< `dtype`
    nlohmann::ordered_json fill{};  ///< `fill_value`

    /// Returns the content of `.zarray` with so many chunks along the time.
    std::string metadata(std::uint64_t chunks) const;
    /// Returns the name of the file with the chunk at this index of the time: "0.7.0".
    std::string key(std::uint64_t index) const;

    /// Holds what a `.zarray` says: its chunks along the time, or why it is another array.
    struct Found {
        std::uint64_t chunks = 0;
        std::string other{};  ///< for people, "its `dtype` is |u1, and not >f4"; empty: it is this array
    };
    /// Reads a `.zarray`, of anyone.
    Found read(std::string_view text) const;
};

/// Returns the array of the payload.
ZarrArray data_array(const ArrayLayout& layout, const Column& column);
/// Returns the array `presence`, with 1 for each heap that arrived, or each packet.
ZarrArray presence_array(const chunk::Placement& placement, const Column& column);
/// Returns the array `extra` of the extra values: fields `extra0`, `extra1`..., or one plain type. None:
/// there are no extra values.
std::optional<ZarrArray> extra_array(const chunk::Placement& placement, const Column& column);
/// Returns the array `arrival`: for each chunk, and column if there are several, the times of its first and
/// last packet, in nanoseconds since 1970. 0: unknown.
ZarrArray arrival_array(const Column& column);

}  // namespace spead::sink
