// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lossless.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/units.hpp"
#include "heap/room.hpp"
#include "memory/arena.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Formats a size exactly, because it is compared with other sums.
std::string size_text(std::size_t bytes) {
    constexpr std::size_t kKibibyte = 1024;
    return bytes >= 100 * kKibibyte * kKibibyte || bytes % kKibibyte != 0
               ? human_size(bytes)
               : fmt::format("{} KiB", bytes / kKibibyte);
}

std::size_t live_of(const ReceivePlan& r) {
    return std::size_t{r.max_live} * r.substreams;
}

bool has_default_limit(const ReceivePlan& r) {
    return r.max_bytes == ReceivePlan{}.max_bytes;
}

/// Returns the sum of the reservations of the lossless streams.
std::size_t reservations_of_waiting(const HeapMemory& m) {
    return m.bytes / std::max(m.streams, m.waiting.size()) * m.waiting.size();
}

/// Sums the heaps that may be live at once, in blocks of an arena.
struct Sum {
    std::vector<std::string> names;
    std::size_t live = 0;
    std::size_t live_bytes = 0;
    std::size_t largest = 0;        ///< longest heap
    std::size_t largest_block = 0;  ///< the block for it

    void add(const ReceivePlan& r, const HeapMemory& m) {
        const std::size_t block = memory::Arena::block_for(r.max_bytes, m.bytes, m.largest);
        names.push_back(r.name);
        live += live_of(r);
        live_bytes += live_of(r) * block;
        largest = std::max<std::size_t>(largest, r.max_bytes);
        largest_block = std::max(largest_block, block);
    }
    std::size_t need() const { return live_bytes + largest_block; }
};

/// Explains the arithmetic and the fix.
std::string explain(const Sum& sum, const HeapMemory& m) {
    const std::string terms =
        sum.live_bytes == sum.live * sum.largest_block
            ? fmt::format("{} x {}", sum.live + 1, size_text(sum.largest_block))
            : fmt::format("{} + {}", size_text(sum.live_bytes), size_text(sum.largest_block));
    const std::size_t all = sum.need() / m.waiting.size() * std::max(m.streams, m.waiting.size());
    const std::string enough = size_text(memory::Arena::capacity_for(all, m.largest));
    const bool in_cpp = m.from == HeapMemory::From::stream;
    const std::string remedy =
        in_cpp ? fmt::format(
                     "raise its `memory` to {}, or lower `max_heap_bytes`, `max_heaps` or "
                     "`substreams`, or let heaps be dropped (`on_full`)",
                     enough)
               : fmt::format(
                     "raise {} to {} for each lcore, or lower `max_bytes` "
                     "(--max-heap-bytes), `max_live` (--max-heaps) or `substreams`, or let heaps be "
                     "dropped (`on_full`, --on-full drop_newest)",
                     m.from == HeapMemory::From::engine ? "`gather_memory`" : "`[memory] heaps` (--memory)",
                     enough);
    return fmt::format(
        "{} may be live ({} x substreams) and one more begins before the oldest ends, of up to "
        "{} each, in blocks of powers of two: {} = {}, and there are {}; {}",
        counted(sum.live, "heaps"), in_cpp ? "max_heaps" : "max_live", human_size(sum.largest), terms,
        size_text(sum.need()), size_text(reservations_of_waiting(m)), remedy);
}

/// Collects what `tell` returns for the memory of each lcore, without empty texts.
template <typename Tell>
std::vector<std::string> of_lcores(const Plan& plan, const Layout& layout, Tell tell) {
    std::vector<std::string> said;
    for (const WorkerLayout& w : layout.workers) {
        std::vector<const ReceivePlan*> waiting;
        std::size_t sharing = 0;
        for (const std::size_t i : w.receives) {
            const ReceivePlan& r = plan.receives[i];
            if (r.chunk)
                continue;
            const bool lossless = all_paths(
                r, [&](const std::string& port) { return layout.port(port).device.capabilities.lossless; });
            const bool places = !(r.capture && r.capture->only);
            if (r.own_memory() != 0) {
                const ReceivePlan* const one = &r;
                const bool waits = r.enabled && places && lossless && waits_for_consumer(r, lossless);
                if (std::string text = tell(own_memory(r, waits, one)); !text.empty())
                    said.push_back(std::move(text));
                continue;
            }
            sharing++;
            if (r.enabled && places && lossless && waits_for_consumer(r, lossless))
                waiting.push_back(&r);
        }
        if (std::string text = tell({w.heap_bytes, w.largest_heap, sharing, waiting}); !text.empty())
            said.push_back(std::move(text));
    }
    return said;
}

}  // namespace

std::string why_not_lossless(const HeapMemory& m) {
    Sum sum;
    for (const ReceivePlan* const r : m.waiting)
        if (!has_default_limit(*r))
            sum.add(*r, m);
    if (sum.names.empty() || sum.need() <= reservations_of_waiting(m))
        return {};
    const std::size_t streams = sum.names.size();
    if (streams > 4) {
        sum.names[3] = fmt::format("{} more", streams - 3);
        sum.names.resize(4);
    }
    return fmt::format(
        "receive {}: the source can wait, so nothing may be lost, but the memory holds too few heaps: {}",
        fmt::join(sum.names, ", "), explain(sum, m));
}

std::string what_may_be_lost(const HeapMemory& m) {
    for (const ReceivePlan* const r : m.waiting) {
        Sum sum;
        sum.add(*r, m);
        if (has_default_limit(*r) && sum.need() > reservations_of_waiting(m))
            return fmt::format(
                "receive {}: heaps of the largest length would lose packets, although the source can wait: "
                "{}",
                r->name, explain(sum, m));
    }
    return {};
}

std::string why_not_lossless(const Plan& plan, const Layout& layout) {
    const std::vector<std::string> why =
        of_lcores(plan, layout, [](const HeapMemory& m) { return why_not_lossless(m); });
    return why.empty() ? std::string() : why.front();
}

std::vector<std::string> what_may_be_lost(const Plan& plan, const Layout& layout) {
    return of_lcores(plan, layout, [](const HeapMemory& m) { return what_may_be_lost(m); });
}

}  // namespace spead::runtime
