// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/heap_generator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "base/start_thread.hpp"
#include "runtime/consumers.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kAlignment = 64;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

}  // namespace

HeapGenerator::HeapGenerator(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions)
    : plan_(plan),
      sender_(sender),
      regions_(regions),
      contents_(make_heap_contents(plan)),
      memory_((std::size_t{plan.max_heaps} + 1) * round_up(contents_->payload_bytes(), kAlignment)),
      slots_(std::size_t{plan.max_heaps} + 1) {
    regions_.add({memory_.base(), memory_.length(), memory::MemoryKind::host, -1});
    std::byte* at = memory_.base();
    for (Slot& slot : slots_) {
        slot.payload = at;
        slot.plain = contents_->make(at, false);
        at += round_up(contents_->payload_bytes(), kAlignment);
    }
}

HeapGenerator::~HeapGenerator() {
    abandon();
    join();
    regions_.remove(memory_.base());
}

void HeapGenerator::start(const std::vector<unsigned>& cpus, std::int64_t heaps) {
    join();
    plan_.heaps = heaps;
    contents_->start_again(submitted_.data);
    submitted_.start_again(stops_.size());
    stops_.clear();
    stop_.store(false, std::memory_order_relaxed);
    done_.store(false, std::memory_order_relaxed);
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

void HeapGenerator::abandon() noexcept {
    stop_.store(true, std::memory_order_release);
    abandon_.store(true, std::memory_order_release);
    sender_.request_stop();
}

void HeapGenerator::join() {
    if (thread_.joinable())
        thread_.join();
}

void HeapGenerator::run() {
    try {
        run_descriptors();
        run_data();
        run_stops();
        while (sender_.in_flight() != 0 && !abandon_.load(std::memory_order_acquire)) {
            collect();
            wait_a_little();
        }
    } catch (const std::exception& e) {
        failure_ = e.what();
    }
    done_.store(true, std::memory_order_release);
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
        s.substream = static_cast<std::uint32_t>(j);
        if (!submit(std::span(&s, 1)))
            return;
        submitted_.earlier++;
    }
}

void HeapGenerator::run_data() {
    const auto limit = static_cast<std::uint64_t>(plan_.heaps);
    std::vector<send::Submission> group;
    for (std::uint64_t i = 0; plan_.heaps < 0 || i < limit; i += group.size()) {
        std::uint64_t together = contents_->together(i);
        if (plan_.heaps >= 0)
            together = std::min(together, limit - i);
        group.clear();
        while (group.size() < together) {
            Slot* slot = free_slot();
            if (slot == nullptr)
                return give_back(group);
            slot->busy = true;
            group.push_back(next_data(*slot, i + group.size()));
        }
        if (!submit(group))
            return give_back(group);
        submitted_.data = i + group.size();
        if (stop_.load(std::memory_order_acquire))
            return;
    }
}

/// Frees the slots of heaps that will not be submitted, for the next start.
void HeapGenerator::give_back(std::span<const send::Submission> group) {
    for (const send::Submission& s : group)
        static_cast<Slot*>(s.user)->busy = false;
}

/// Makes data heap `index` of this start in the slot.
send::Submission HeapGenerator::next_data(Slot& slot, std::uint64_t index) {
    const bool describe = contents_->described() && index < plan_.endpoints.size() && descriptors_ == nullptr;
    if (describe && !slot.described)
        slot.described = contents_->make(slot.payload, true);
    // The receiver reckons from the heap count it sees, which wraps.
    const std::uint64_t cnt = (plan_.first_count + (submitted_.earlier + index) * plan_.count_step) &
                              wire::Flavour(plan_.address_bits).value_mask();
    send::Submission s;
    s.heap = describe ? slot.described.get() : slot.plain.get();
    s.user = &slot;
    s.substream = contents_->fill(*s.heap, {slot.payload, contents_->payload_bytes()}, index, cnt);
    return s;
}

void HeapGenerator::run_stops() {
    for (std::size_t j = 0; j < plan_.endpoints.size(); j++) {
        auto heap = std::make_unique<send::OutgoingHeap>(wire::Flavour(plan_.address_bits));
        heap->add_stop();
        stops_.push_back(std::move(heap));
        send::Submission s;
        s.heap = stops_.back().get();
        s.control = true;
        s.rate = 0;  // it need not wait for the time of data that was given up
        s.substream = static_cast<std::uint32_t>((submitted_.data + j) % plan_.endpoints.size());
        if (!submit(std::span(&s, 1)))
            return;
    }
}

/// Waits for a slot whose heap is not in flight. Returns null when the run is to end.
HeapGenerator::Slot* HeapGenerator::free_slot() {
    for (;;) {
        collect();
        for (Slot& slot : slots_)
            if (!slot.busy)
                return &slot;
        if (stop_.load(std::memory_order_acquire))
            return nullptr;
        wait_a_little();
    }
}

/// Submits heaps, a packet of each in turn. Returns false when the run was given up before the sender took
/// them, or ended before it took data.
bool HeapGenerator::submit(std::span<const send::Submission> group) {
    const send::Interleave mode =
        group.size() == 1 ? send::Interleave::serial : send::Interleave::round_robin;
    while (!sender_.submit(group, mode)) {
        if (abandon_.load(std::memory_order_acquire) ||
            (!group.front().control && stop_.load(std::memory_order_acquire)))
            return false;
        collect();
        wait_a_little();
    }
    idle_rounds_ = 0;
    return true;
}

void HeapGenerator::collect() {
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

void HeapGenerator::wait_a_little() {
    wait_.wait(idle_rounds_);
}

}  // namespace spead::runtime
