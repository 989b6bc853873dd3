// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include "python/heap_stream.hpp"

/// Lists the counts of streams of heaps.
namespace spead::python {

namespace py = pybind11;

py::dict counts_of(const spead::RecvStats& s, const HeapFacts& facts) {
    py::dict d;
    const auto set = [&d](const char* name, std::uint64_t value) { d[name] = value; };
    set("packets", s.packets);
    set("packets_placed", s.packets_placed);
    set("packets_duplicate", s.packets_duplicate);
    set("packets_late", s.packets_late);
    set("packets_no_memory", s.packets_no_memory);
    set("packets_filtered", s.packets_filtered);
    set("packets_held", s.packets_held);
    set("packets_control", s.packets_control);
    set("packets_stopped", s.packets_stopped);
    set("packets_captured", s.packets_captured);
    set("packets_rejected", s.packets_rejected);
    set("packets_lost", s.packets_lost);
    set("bytes", s.bytes);
    set("heaps", s.heaps);
    set("heaps_incomplete", s.heaps_incomplete);
    set("heaps_live", s.heaps_live);
    set("heaps_taken", s.heaps_taken);
    set("heaps_waiting", s.heaps_waiting);
    set("heaps_held", s.heaps_held);
    set("heaps_lend_full", s.heaps_lend_full);
    set("heaps_dropped", s.heaps_dropped);
    set("heaps_abandoned", s.heaps_abandoned);
    set("heaps_evicted", s.heaps_evicted);
    set("heaps_flushed", s.heaps_flushed);
    set("heaps_copied_out", facts.copied_out);
    set("heaps_of_one_packet", facts.of_one_packet);
    set("stop_items", s.stop_items);
    set("bursts", s.bursts);
    set("largest_burst", s.largest_burst);
    set("blocked", s.blocked);
    return d;
}

}  // namespace spead::python
