// SPDX-License-Identifier: BSD-3-Clause
#include "config/engine_rules.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "config/names.hpp"

namespace spead::config {

namespace {

/// Returns whether the placement cuts heaps into rows. One that is wrong is refused elsewhere.
bool has_rows(const runtime::ChunkPlan& chunk) {
    try {
        return chunk.parsed().rows.bytes != 0;
    } catch (const UsageError&) {
        return false;
    }
}

/// Returns why the engine cannot move payload into the stream's chunks.
std::optional<KeyFault> chunk_fault(const runtime::ReceivePlan& r, std::string_view engine) {
    if (!r.chunk)
        return std::nullopt;
    if (r.chunk->memory != runtime::ChunkMemory::host)
        return KeyFault{"chunk.memory",
                        fmt::format("the chunks of stream `{}` lie in memory of the engine `{}`; leave out "
                                    "`memory`, or `gather` (--heap-memory)",
                                    r.name, engine)};
    if (r.chunk->by_callback || r.sink.kind == runtime::SinkKind::user)
        return KeyFault{
            "heaps.gather",
            fmt::format("the chunks of stream `{}` are a program's own, and the engine `{}` moves "
                        "payload into its memory; leave out `gather`",
                        r.name, engine)};
    if (has_rows(*r.chunk))
        return KeyFault{"chunk.placement",
                        fmt::format("the engine `{}` moves the payload of a packet in one piece, and stream "
                                    "`{}` puts it into rows; leave out `rows`, or `gather` (--heap-memory)",
                                    engine, r.name)};
    return std::nullopt;
}

}  // namespace

std::optional<KeyFault> engine_fault(const runtime::ReceivePlan& r, bool kernel) {
    using runtime::SinkKind;
    if (r.engine == runtime::HeapEngine::none)
        return std::nullopt;
    const std::string_view name = name_in(kHeapEngines, r.engine);
    if (std::optional<KeyFault> fault = chunk_fault(r, name))
        return fault;
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
    if (r.chunk)
        return std::nullopt;
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
