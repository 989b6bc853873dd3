// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/heap_generator.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "wire/flavour.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kAlignment = 64;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

}  // namespace

HeapGenerator::HeapGenerator(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions)
    : HeapGenerator(plan, sender, regions, make_heap_contents(plan)) {}

HeapGenerator::HeapGenerator(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                             std::unique_ptr<HeapContents> contents)
    : SubmittingSource(plan, sender, regions,
                       (std::size_t{plan.max_heaps} + 1) * round_up(contents->payload_bytes(), kAlignment)),
      contents_(std::move(contents)),
      slots_(std::size_t{plan.max_heaps} + 1) {
    std::byte* at = memory_.base();
    for (Slot& slot : slots_) {
        slot.payload = at;
        slot.plain = contents_->make(at, false);
        at += round_up(contents_->payload_bytes(), kAlignment);
    }
}

Lockstep::Used HeapGenerator::used() const {
    return {submitted_.earlier + submitted_.data, submitted_.earlier_data + submitted_.data};
}

void HeapGenerator::start_again(const Lockstep::Used& used) {
    contents_->start_again(used.data - submitted_.earlier_data);
    submitted_ = {used.counts, used.data, 0};
}

/// Returns the heap count after so many heaps of any kind. The receiver reckons from the count that it sees,
/// which wraps.
std::uint64_t HeapGenerator::cnt_after(std::uint64_t heaps) const {
    return (plan_.first_count + heaps * plan_.count_step) & wire::Flavour(plan_.address_bits).value_mask();
}

void HeapGenerator::submit_all() {
    run_descriptors();
    run_data();
    submit_stops(submitted_.data, cnt_after(submitted_.earlier + submitted_.data), plan_.count_step);
}

/// Sends the descriptors in heaps of their own, where descriptors and data together exceed the items of one
/// heap.
void HeapGenerator::run_descriptors() {
    if (!describes_apart(plan_))
        return;
    if (!descriptors_) {
        descriptors_ = std::make_unique<send::OutgoingHeap>(wire::Flavour(plan_.address_bits));
        contents_->add_descriptors(*descriptors_);
    }
    for (std::size_t j = 0; j < plan_.endpoints.size(); j++) {
        send::Submission s;
        s.heap = descriptors_.get();
        s.control = true;
        s.cnt = cnt_after(submitted_.earlier);
        s.substream = static_cast<std::uint32_t>(j);
        if (!submit(std::span(&s, 1)))
            return;
        submitted_.earlier++;
    }
}

void HeapGenerator::run_data() {
    const auto limit = static_cast<std::uint64_t>(plan_.heaps);
    std::vector<send::Submission> group;
    while (plan_.heaps < 0 || submitted_.data < limit) {
        const std::optional<std::uint64_t> next = next_index(submitted_.data);
        if (!next)
            return;
        if (*next != submitted_.data) {
            submitted_.data = *next;
            continue;
        }
        const std::uint64_t i = *next;
        std::uint64_t together = contents_->together(i);
        if (plan_.heaps >= 0)
            together = std::min(together, limit - i);
        group.clear();
        while (group.size() < together) {
            Slot* const slot = free_slot(slots_);
            if (slot == nullptr)
                return give_back(group);
            slot->busy = true;
            group.push_back(next_data(*slot, i + group.size()));
        }
        if (!submit(group))
            return give_back(group);
        submitted_.data = i + group.size();
    }
}

/// Frees the slots of heaps that will not be submitted, for the next start.
void HeapGenerator::give_back(std::span<const send::Submission> group) {
    for (const send::Submission& s : group)
        static_cast<HeapSlot*>(s.user)->busy = false;
}

/// Makes data heap `index` of this start in the slot.
send::Submission HeapGenerator::next_data(Slot& slot, std::uint64_t index) {
    const bool describe = contents_->described() && index < plan_.endpoints.size() && descriptors_ == nullptr;
    if (describe && !slot.described)
        slot.described = contents_->make(slot.payload, true);
    send::Submission s;
    s.cnt = cnt_after(submitted_.earlier + index);
    s.heap = describe ? slot.described.get() : slot.plain.get();
    s.user = static_cast<HeapSlot*>(&slot);
    s.substream = contents_->fill(*s.heap, {slot.payload, contents_->payload_bytes()}, index, *s.cnt);
    return s;
}

}  // namespace spead::runtime
