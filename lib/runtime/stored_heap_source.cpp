// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_heap_source.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/units.hpp"
#include "runtime/consumers.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

namespace {

constexpr std::uint64_t kSlotAlignment = 64;

/// Returns the bytes of memory for each heap in flight.
std::uint64_t slot_bytes(const StoredHeaps::Sum& sum) {
    return (std::max<std::uint64_t>(sum.largest, 1) + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

}  // namespace

StoredHeapSource::StoredHeapSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions)
    : plan_(plan),
      sender_(sender),
      regions_(regions),
      stored_(plan.from, wire::Flavour(plan.address_bits)),
      sum_(stored_.check()),
      memory_((std::size_t{plan.max_heaps} + 1) * slot_bytes(sum_)),
      slots_(std::size_t{plan.max_heaps} + 1) {
    regions_.add({memory_.base(), memory_.length(), memory::MemoryKind::host, -1});
    for (std::size_t i = 0; i < slots_.size(); i++)
        slots_[i].payload = {memory_.base() + i * slot_bytes(sum_), slot_bytes(sum_)};
    log_notice(LogType::runtime, "send {}: {} heaps of stream {} are stored in {}, the largest with {}",
               plan_.name, sum_.heaps, sum_.stream, plan_.from, human_size(sum_.largest));
    if (sum_.incomplete > 0)
        log_warning(LogType::runtime,
                    "send {}: {} lines of {} have no payload, or another file; they are left out", plan_.name,
                    sum_.incomplete, StoredHeaps::index_path(plan_.from));
}

StoredHeapSource::~StoredHeapSource() {
    abandon();
    join();
    regions_.remove(memory_.base());
}

void StoredHeapSource::start(const std::vector<unsigned>& cpus, std::int64_t heaps) {
    join();
    plan_.heaps = heaps;
    stored_.rewind();
    sent_ = 0;
    stops_.clear();
    stop_.store(false, std::memory_order_relaxed);
    done_.store(false, std::memory_order_relaxed);
    failure_.clear();
    try {
        thread_ = start_thread("send " + plan_.name, [this, cpus] {
            run_on(cpus);
            run();
        });
    } catch (...) {
        done_.store(true, std::memory_order_relaxed);
        throw;
    }
}

void StoredHeapSource::abandon() noexcept {
    stop_.store(true, std::memory_order_release);
    abandon_.store(true, std::memory_order_release);
    sender_.request_stop();
}

void StoredHeapSource::join() {
    if (thread_.joinable())
        thread_.join();
}

void StoredHeapSource::run() {
    try {
        run_data();
    } catch (const std::exception& e) {
        failure_ = e.what();
    }
    try {
        run_stops();
        while (sender_.in_flight() != 0 && !abandon_.load(std::memory_order_acquire)) {
            collect();
            wait_.wait(idle_rounds_);
        }
    } catch (const std::exception& e) {
        failure_ = e.what();
    }
    done_.store(true, std::memory_order_release);
}

void StoredHeapSource::run_data() {
    StoredHeap stored;
    while ((plan_.heaps < 0 || sent_ < static_cast<std::uint64_t>(plan_.heaps)) && stored_.next(stored)) {
        Slot* const slot = free_slot();
        if (slot == nullptr)
            return;
        if (stored.bytes > slot->payload.size())
            throw_error(StoredHeaps::index_path(plan_.from),
                        "line {} has changed since the start; start anew", stored.line);
        make(*slot, stored);
        send::Submission s;
        s.heap = slot->heap.get();
        s.user = slot;
        s.cnt = stored.cnt;
        s.substream = static_cast<std::uint32_t>(sent_ % plan_.endpoints.size());
        slot->busy = true;
        if (!submit(s)) {
            slot->busy = false;
            return;
        }
        last_cnt_ = stored.cnt;
        sent_++;
        if (stop_.load(std::memory_order_acquire))
            return;
    }
}

/// Makes the heap in the slot. Bytes that belong to no item go between the items that they were between.
void StoredHeapSource::make(Slot& slot, const StoredHeap& stored) {
    try {
        const wire::Flavour flavour(plan_.address_bits);
        stored_.read(stored, slot.payload);
        slot.heap = std::make_unique<send::OutgoingHeap>(flavour);
        std::uint64_t at = 0;
        const auto fill = [&](std::uint64_t end) {
            if (end > at)
                slot.heap->add_padding(std::span<const std::byte>(slot.payload).subspan(at, end - at));
            at = end;
        };
        for (const StoredHeap::Item& item : stored.items) {
            if (item.immediate) {
                fill(stored.bytes);
                slot.heap->add_immediate(item.id, item.value);
                continue;
            }
            fill(item.offset);
            slot.heap->add_item(item.id,
                                std::span<const std::byte>(slot.payload).subspan(item.offset, item.length));
            at = item.offset + item.length;
        }
        fill(stored.bytes);
        slot.heap->set_repeat_pointers(plan_.repeat_items);
    } catch (const Error& error) {
        throw_error(fmt::format("send {}", plan_.name), "the heap of line {} cannot be sent: {}", stored.line,
                    error.what());
    }
}

void StoredHeapSource::run_stops() {
    const wire::Flavour flavour(plan_.address_bits);
    for (std::size_t j = 0; j < plan_.endpoints.size(); j++) {
        auto heap = std::make_unique<send::OutgoingHeap>(flavour);
        heap->add_stop();
        stops_.push_back(std::move(heap));
        send::Submission s;
        s.heap = stops_.back().get();
        s.cnt = (last_cnt_ + 1 + j) & flavour.value_mask();
        s.control = true;
        s.rate = 0;  // it need not wait for the time of data that was given up
        s.substream = static_cast<std::uint32_t>((sent_ + j) % plan_.endpoints.size());
        if (!submit(s))
            return;
    }
}

/// Waits for a slot whose heap is not in flight. Returns null when the run is to end.
StoredHeapSource::Slot* StoredHeapSource::free_slot() {
    for (;;) {
        collect();
        const auto free =
            std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.busy; });
        if (free != slots_.end())
            return &*free;
        if (stop_.load(std::memory_order_acquire))
            return nullptr;
        wait_.wait(idle_rounds_);
    }
}

/// Returns false when the run was given up before the sender took the heap, or ended before it took data.
bool StoredHeapSource::submit(const send::Submission& submission) {
    while (!sender_.submit({&submission, 1}, send::Interleave::serial)) {
        if (abandon_.load(std::memory_order_acquire) ||
            (!submission.control && stop_.load(std::memory_order_acquire)))
            return false;
        collect();
        wait_.wait(idle_rounds_);
    }
    idle_rounds_ = 0;
    return true;
}

void StoredHeapSource::collect() {
    std::array<send::Completion, 32> completions;
    for (;;) {
        const std::size_t n = sender_.poll_completions(completions);
        for (std::size_t i = 0; i < n; i++)
            if (auto* const slot = static_cast<Slot*>(completions[i].user); slot != nullptr)
                slot->busy = false;
        if (n != 0)
            idle_rounds_ = 0;
        if (n < completions.size())
            return;
    }
}

}  // namespace spead::runtime
