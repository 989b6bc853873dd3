// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "heap/heap_handle.hpp"

namespace spead::runtime {

/// Returns whether a sink keeps the payload: it is complete, or has no hole as far as anybody knows.
inline bool keeps_payload(const heap::HeapHandle& heap) {
    return heap.complete() || (!heap.has_length() && heap.contiguous());
}

/// Returns what an index line says of a heap, up to the place of its payload, which the sink adds.
nlohmann::ordered_json heap_line(const std::string& stream, const heap::HeapHandle& heap);

}  // namespace spead::runtime
