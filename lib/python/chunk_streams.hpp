// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <pybind11/pybind11.h>
#include <spead/chunk.hpp>

namespace spead::python {

/// Defines streams that fill chunks of their user's.
void define_chunk_streams(pybind11::module_& m);

/// Ends a stream, without the GIL. Returns false if it may write to its chunks, and call its callback, a
/// little longer, because its session is ending just now: then its memory has to be leaked.
bool end_stream(std::optional<ChunkStream>& stream);

/// Returns the counts by name.
pybind11::dict dict_of(const ChunkStats& stats);

}  // namespace spead::python
