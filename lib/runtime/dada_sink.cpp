// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/dada_sink.hpp"

#include <span>

#include "runtime/heap_line.hpp"

namespace spead::runtime {

DadaSink::DadaSink(const SinkPlan& plan, const std::string& stream)
    : output_(plan, stream, 0, "heaps", [this](const char* why) { lose(why); }) {}

void DadaSink::hand(heap::HeapHandle heap, const Settled& settled) noexcept {
    bool kept = false;
    kept = attempt([&] { kept = add(heap); }) && kept;
    heap.reset();
    settled(kept);
}

/// Returns whether the heap is not lost.
bool DadaSink::add(const heap::HeapHandle& heap) {
    if (!keeps_payload(heap))
        return true;
    if (start_.time_since_epoch().count() == 0)
        start_ = time_of_arrival(heap.first_arrival());
    const std::span<const std::byte> payload = heap.payload();
    const DadaOutput::Place place{offset_, {}, start_};
    offset_ += payload.size();
    return output_.write(place, {&payload, 1});
}

}  // namespace spead::runtime
