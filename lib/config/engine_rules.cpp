// SPDX-License-Identifier: BSD-3-Clause
#include "config/engine_rules.hpp"

#include <fmt/core.h>

#include "base/units.hpp"
#include "config/names.hpp"

namespace spead::config {

std::optional<KeyFault> engine_fault(const runtime::ReceivePlan& r, bool kernel) {
    using runtime::SinkKind;
    if (r.engine == runtime::HeapEngine::none)
        return std::nullopt;
    const std::string_view name = name_in(kHeapEngines, r.engine);
    if (r.chunk)
        return KeyFault{"heaps.gather",
                        fmt::format("the engine `{}` moves heaps, and stream `{}` has chunks; leave "
                                    "out `gather` (--heap-memory) or [receive.chunk]",
                                    name, r.name)};
    if (r.lend != 0)
        return KeyFault{"lend",
                        fmt::format("the packets of stream `{}` go to the engine `{}`, and none can be lent; "
                                    "leave out `lend` or `gather`",
                                    r.name, name)};
    if (kernel)
        return KeyFault{"heaps.gather",
                        fmt::format("kernel sockets use the memory of packets again at once, and the "
                                    "engine `{}` needs it longer; leave out `gather` (--heap-memory)",
                                    name)};
    if (r.max_bytes > r.engine_memory)
        return KeyFault{
            "heaps.gather_memory",
            fmt::format("one heap of stream `{}` may have {}, more than the {} of its engine; raise "
                        "`gather_memory` or lower `max_bytes` (--max-heap-bytes)",
                        r.name, human_size(r.max_bytes), human_size(r.engine_memory))};
    if (!memory::cpu_accessible(runtime::kind_of(r.engine)) && r.sink.kind != SinkKind::null &&
        r.sink.kind != SinkKind::verify)
        return KeyFault{"sink.kind",
                        fmt::format("the sink `{}` reads payload, and the CPU cannot read the memory of "
                                    "the engine `{}`; set the sink to null or verify, or `gather` "
                                    "(--heap-memory) to cpu",
                                    name_in(kSinkKinds, r.sink.kind), name)};
    return std::nullopt;
}

}  // namespace spead::config
