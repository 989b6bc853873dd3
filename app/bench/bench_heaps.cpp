// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_heaps.hpp"

#include <algorithm>
#include <array>

#include "wire/flavour.hpp"
#include "wire/spead.hpp"

namespace spead::app {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kSpecials =
    40;  ///< header and heap count, heap length, payload offset, payload length
constexpr std::uint32_t kPointer = 8;

std::size_t slot_bytes(const runtime::SendPlan& plan) {
    return (plan.heap_size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::uint32_t bench_packet_size(std::uint32_t payload, std::uint64_t heap, std::uint32_t items) {
    const std::uint32_t pointers = heap == payload ? items * kPointer : 0;
    return (kSpecials + pointers + payload + 7) / 8 * 8;
}

BenchHeaps::BenchHeaps(const runtime::SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                       bool stamped)
    : sender_(sender),
      regions_(regions),
      memory_((std::size_t{plan.max_heaps} + 1) * slot_bytes(plan)),
      slots_(std::size_t{plan.max_heaps} + 1) {
    regions_.add({memory_.base(), memory_.length(), memory::MemoryKind::host, -1});
    std::byte* at = memory_.base();
    for (Slot& slot : slots_) {
        slot.payload = {at, plan.heap_size};
        slot.heap = std::make_unique<send::OutgoingHeap>(wire::Flavour(plan.address_bits));
        std::span<const std::byte> rest = slot.payload;
        if (stamped) {
            slot.heap->add_item(kStampItem, rest.first(kStampBytes));
            rest = rest.subspan(kStampBytes);
        }
        if (!rest.empty())
            slot.heap->add_item(wire::item::kFirstUser, rest);
        sender_.prepare(*slot.heap);
        at += slot_bytes(plan);
    }
    const send::HeapLayout& layout = slots_.front().heap->layout(sender_.config().max_packet_size, &regions_);
    packets_per_heap_ = layout.packets;
    bytes_per_heap_ = layout.packets * kSpecials + layout.pointers.size() * kPointer + layout.payload_length;
}

BenchHeaps::~BenchHeaps() {
    regions_.remove(memory_.base());
}

void BenchHeaps::start(const std::vector<unsigned>& cpus, std::int64_t) {
    const std::scoped_lock lock(mutex_);
    cpus_ = cpus;
}

std::vector<unsigned> BenchHeaps::cpus() const {
    const std::scoped_lock lock(mutex_);
    return cpus_;
}

/// Collects completed heaps. The lock is held.
void BenchHeaps::collect() const {
    std::array<send::Completion, 32> completions;
    for (;;) {
        const std::size_t n = sender_.poll_completions(completions);
        for (std::size_t i = 0; i < n; i++) {
            static_cast<Slot*>(completions[i].user)->busy = false;
            (completions[i].status == send::SendStatus::sent ? progress_.completed : progress_.aborted)++;
            progress_.last = std::max(progress_.last, completions[i].time);
        }
        if (n < completions.size())
            return;
    }
}

bool BenchHeaps::send(std::uint64_t cnt, double rate, const std::function<void(std::span<std::byte>)>& fill) {
    const std::scoped_lock lock(mutex_);
    if (stop_.load(std::memory_order_acquire))
        return false;
    collect();
    const auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.busy; });
    if (slot == slots_.end())
        return false;
    if (fill)
        fill(slot->payload);
    send::Submission s;
    s.heap = slot->heap.get();
    s.cnt = cnt;
    s.rate = rate;
    s.user = &*slot;
    slot->busy = sender_.submit(s);
    return slot->busy;
}

BenchHeaps::Progress BenchHeaps::progress() {
    const std::scoped_lock lock(mutex_);
    collect();
    Progress p = progress_;
    p.in_flight = sender_.in_flight();
    return p;
}

void BenchHeaps::abandon() noexcept {
    request_stop();
    sender_.request_stop();
}

/// Returns false while the benchmark may still send, so that the run does not end.
bool BenchHeaps::done() const noexcept {
    if (!stop_.load(std::memory_order_acquire))
        return false;
    const std::scoped_lock lock(mutex_);
    collect();
    return sender_.in_flight() == 0;
}

}  // namespace spead::app
