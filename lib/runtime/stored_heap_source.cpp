// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_heap_source.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

namespace {

constexpr std::uint64_t kSlotAlignment = 64;

/// Returns the bytes of memory for each heap in flight.
std::uint64_t slot_bytes(const StoredStream::Sum& sum) {
    return (std::max<std::uint64_t>(sum.largest, 1) + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

}  // namespace

StoredHeapSource::Checked::Checked(const SendPlan& plan)
    : heaps(StoredStream::open(plan.from, wire::Flavour(plan.address_bits))), sum(heaps->check()) {}

StoredHeapSource::StoredHeapSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions)
    : StoredHeapSource(plan, sender, regions, Checked(plan)) {}

StoredHeapSource::StoredHeapSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                                   Checked checked)
    : SubmittingSource(plan, sender, regions, (std::size_t{plan.max_heaps} + 1) * slot_bytes(checked.sum)),
      stored_(std::move(checked.heaps)),
      slots_(std::size_t{plan.max_heaps} + 1) {
    const StoredStream::Sum& sum = checked.sum;
    for (std::size_t i = 0; i < slots_.size(); i++)
        slots_[i].payload = {memory_.base() + i * slot_bytes(sum), slot_bytes(sum)};
    log_notice(LogType::runtime, "send {}: {} of stream {} {} stored in {}, the largest with {}", plan_.name,
               counted(sum.heaps, "heaps"), sum.stream, word_for(sum.heaps, "is", "are"), plan_.from,
               human_size(sum.largest));
    if (sum.incomplete > 0)
        log_warning(LogType::runtime, "send {}: {}", plan_.name, stored_->left_out(sum));
}

void StoredHeapSource::start_again(const Lockstep::Used&) {
    stored_->rewind();
    sent_ = 0;
}

void StoredHeapSource::submit_all() {
    try {
        run_data();
    } catch (const std::exception& e) {
        note(e);
    }
    submit_stops(sent_, last_cnt_ + 1, 1);
}

void StoredHeapSource::run_data() {
    StoredHeap stored;
    const auto read = [&] {
        const bool found = stored_->next(stored);
        if (found)
            last_cnt_ = stored.cnt;
        return found;
    };
    while (plan_.heaps < 0 || sent_ < static_cast<std::uint64_t>(plan_.heaps)) {
        const std::optional<std::uint64_t> next = next_index(sent_);
        if (!next)
            return;
        for (; sent_ < *next; sent_++)
            if (!read())
                return;
        if (!read())
            return;
        Slot* const slot = free_slot(slots_);
        if (slot == nullptr)
            return;
        if (stored.bytes > slot->payload.size())
            throw_error(StoredStream::index_path(plan_.from), "{} has changed since the start; start anew",
                        stored.where);
        make(*slot, stored);
        send::Submission s;
        s.heap = slot->heap.get();
        s.user = static_cast<HeapSlot*>(slot);
        s.cnt = stored.cnt;
        s.substream = substream_of(stored);
        slot->busy = true;
        if (!submit(std::span(&s, 1))) {
            slot->busy = false;
            return;
        }
        sent_++;
    }
}

/// Returns the number of the endpoint that the heap goes to. Those that came to one go there again.
std::uint32_t StoredHeapSource::substream_of(const StoredHeap& stored) const {
    const std::uint64_t count = plan_.endpoints.size();
    if (stored.endpoint && *stored.endpoint >= count)
        throw_error(fmt::format("send {}", plan_.name),
                    "{} came to endpoint {}, counted from 0, and there are {}; give as many endpoints as the "
                    "stream had",
                    stored.where, *stored.endpoint, count);
    return static_cast<std::uint32_t>(stored.endpoint.value_or(sent_ % count));
}

/// Makes the heap in the slot. Bytes that belong to no item go between the items that they were between.
void StoredHeapSource::make(Slot& slot, const StoredHeap& stored) {
    try {
        const wire::Flavour flavour(plan_.address_bits);
        stored_->read(stored, slot.payload);
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
        throw_error(fmt::format("send {}", plan_.name), "{} cannot be sent: {}", stored.where, error.what());
    }
}

}  // namespace spead::runtime
