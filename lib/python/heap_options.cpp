// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <type_traits>

#include "python/heap_stream.hpp"
#include "python/settings.hpp"

/// Reads the settings of streams of heaps.
namespace spead::python {

namespace py = pybind11;

HeapStream::Options options_of(const py::kwargs& settings) {
    HeapStream::Options o;
    spead::RecvConfig& c = o.config;
    const auto take = [&settings](const char* name, auto& to) {
        if (settings.contains(name))
            to = py::cast<std::decay_t<decltype(to)>>(settings[name]);
    };
    take("max_heaps", c.max_heaps);
    take("substreams", c.substreams);
    take("in_order", c.in_order);
    take("stop_on_stop_item", c.stop_on_stop_item);
    take("queue_depth", c.queue_depth);
    take("memory", c.memory);
    take("resident", c.prefault_bytes);
    take("max_heap_bytes", c.max_heap_bytes);
    take("max_packet_size", c.max_packet_size);
    take("port_memory", o.port_memory);
    take("lend", c.lend);
    take("format", c.format);
    take("bug_compat", o.bug_compat);
    take("explicit_start", o.explicit_start);
    take("allow_unsized_heaps", o.allow_unsized_heaps);
    take("contiguous_only", o.contiguous_only);
    take("keep_ranges", o.keep_ranges);
    if (settings.contains("copy")) {
        const auto copy = py::cast<std::string>(settings["copy"]);
        c.copy = copy == "cached"      ? spead::Copy::cached
                 : copy == "streaming" ? spead::Copy::streaming
                                       : spead::Copy::automatic;
    }
    if (settings.contains("lcores"))
        for (const py::handle cpu : settings["lcores"])
            c.lcores.push_back(py::cast<unsigned>(cpu));
    if (settings.contains("second_path"))
        c.second_path = second_path_of(settings["second_path"]);
    c.control_heaps = true;
    c.history = 0;
    c.once = true;
    return o;
}

}  // namespace spead::python
