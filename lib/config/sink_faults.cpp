// SPDX-License-Identifier: BSD-3-Clause
#include "config/sink_faults.hpp"

#include <cstdint>
#include <map>

#include <fmt/core.h>

#include "config/names.hpp"
#include "sink/dada_ring.hpp"

namespace spead::config {

std::optional<SinkFault> sink_fault(const runtime::Plan& plan) {
    std::map<std::uint32_t, std::string> rings;
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        const runtime::SinkPlan& sink = plan.receives[i].sink;
        const std::string path = fmt::format("receive[{}].sink", i);
        if (!sink.notify.empty() && !plan.receives[i].chunk)
            return SinkFault{path + ".notify",
                             "notices are of chunks, and this stream has none; give it a [receive.chunk] "
                             "(--placement), or leave `notify` (--notify) out"};
        if (sink.kind != runtime::SinkKind::dada) {
            if (sink.ring.empty() && sink.header.empty())
                continue;
            return SinkFault{path + (sink.ring.empty() ? ".header" : ".ring"),
                             fmt::format("`ring` and `header` are for a dada sink, and this one is `{}`; set "
                                         "`kind` to `dada`, or leave them out",
                                         name_in(kSinkKinds, sink.kind))};
        }
        const std::uint32_t key = sink::parse_dada_key(sink.ring, path);
        // A ring has the keys of its data and of its headers.
        for (const std::uint32_t other : {key - 1, key, key + 1})
            if (const auto found = rings.find(other); found != rings.end())
                return SinkFault{path + ".ring",
                                 fmt::format("ring {:x} and its headers ({:x}) share a key with the ring of "
                                             "stream `{}`; give each stream a ring of its own",
                                             key, key + 1, found->second)};
        rings.emplace(key, plan.receives[i].name);
    }
    return std::nullopt;
}

}  // namespace spead::config
