// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/units.hpp"
#include "runtime/layout.hpp"
#include "runtime/layout_busy.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Explains where the heaps of a stream go, and what memory that takes.
std::string describe_chunks(const ReceivePlan& r) {
    if (r.chunk->by_callback)
        return fmt::format("chunks of {}: by a callback\n", r.name);
    const chunk::Placement placement = r.chunk->parsed();
    const chunk::Layout layout = placement.check();
    std::string text = fmt::format("chunks of {}: {}\n", r.name, placement.text());
    const std::string lines = placement.explain();
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        text += fmt::format("  {}\n", std::string_view(lines).substr(at, end - at));
        at = end + 1;
    }
    const ChunkBytes bytes = chunk_bytes(r);
    text += fmt::format(
        "  {} x {} of payload = {}, and {} for presence and extra values; {} open at "
        "a time, {} with the consumer\n",
        counted(r.chunk->chunks, "chunks"), human_size(layout.bytes), human_size(bytes.payload),
        human_size(bytes.books), r.chunk->window, r.chunk->chunks - r.chunk->window);
    return text;
}

}  // namespace

std::string describe(const Layout& layout, const Plan& plan) {
    std::string text = fmt::format("main lcore {} on CPU {}\n", layout.main_lcore, layout.main_cpu);
    for (const WorkerLayout& w : layout.workers) {
        text += fmt::format("lcore {} on CPU {}:", w.lcore, w.cpu);
        for (const std::size_t i : w.receives)
            text += fmt::format(" receive {} ({})", plan.receives[i].name, ports_text(plan.receives[i]));
        for (const std::size_t i : w.sends)
            text += fmt::format(" send {} ({})", plan.sends[i].name, plan.sends[i].port);
        text += '\n';
    }
    for (const port::PlannedPort& p : layout.ports) {
        text += fmt::format("port {}: {}\n", p.request.name, p.device.devargs);
        if (p.request.rx_queues != 0)
            text += fmt::format("  receive queue: {}\n", port::to_string(p.device.rx));
        if (p.request.tx_queues != 0)
            text += fmt::format("  transmit queue: {}\n", port::to_string(p.device.tx));
    }
    for (const ReceivePlan& r : plan.receives)
        if (r.chunk)
            text += describe_chunks(r);
    text += fmt::format(
        "memory: {} for heaps, {}{} for windows and queues, {} of payload to send, {} for EAL\n",
        human_size(layout.heap_bytes),
        layout.chunk_bytes == 0 ? "" : human_size(layout.chunk_bytes) + " for chunks, ",
        human_size(layout.bookkeeping_bytes), human_size(layout.send_bytes), human_size(layout.eal_bytes));
    for (const std::string& warning : busy_warnings(plan, layout))
        text += warning + '\n';
    for (const std::string& remark : layout.remarks)
        text += remark + '\n';
    text += fmt::format("EAL arguments: {}\n", fmt::join(layout.eal_args, " "));
    return text;
}

}  // namespace spead::runtime
