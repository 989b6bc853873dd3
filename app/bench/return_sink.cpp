// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/return_sink.hpp"

#include "app/bench/bench_heaps.hpp"
#include "base/byte_order.hpp"
#include "runtime/heap_items.hpp"

namespace spead::app {

void ReturnSink::consume(const heap::HeapHandle& heap) {
    const std::uint64_t now = clock_();
    if (!heap.complete())
        return;
    for (const wire::ItemView& item : runtime::items_of(heap))
        if (item.id == BenchHeaps::kStampItem && !item.immediate && item.length >= BenchHeaps::kStampBytes) {
            const auto stamp = load_be<std::uint64_t>(heap.payload().data() + item.offset);
            const std::scoped_lock lock(row_.mutex);
            if (row_.origin != nullptr)
                row_.origin->reply(heap.cnt(), stamp, now);
            return;
        }
}

}  // namespace spead::app
