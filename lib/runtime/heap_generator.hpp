// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/short_wait.hpp"
#include "memory/mapping.hpp"
#include "memory/region.hpp"
#include "runtime/heap_contents.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"

namespace spead::runtime {

/// Makes the heaps of a [[send]] and submits them: the heap source thread of one Sender.
///
/// HeapContents decides what they carry and where they go. If they are described, the first heap to each
/// endpoint carries all descriptors; where they exceed a heap's item pointers, it carries nothing else. One
/// stop heap per endpoint ends the run. All payload lies in one mapping, which is in the region table from
/// construction to destruction.
class HeapGenerator final : public HeapSource {
  public:
    HeapGenerator(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions);
    ~HeapGenerator() override;
    HeapGenerator(const HeapGenerator&) = delete;
    HeapGenerator& operator=(const HeapGenerator&) = delete;

    /// Starts the heaps. A second start, after done(), continues the heap counts and sends descriptors again.
    void start(const std::vector<unsigned>& cpus, std::int64_t heaps) override;
    void start(const std::vector<unsigned>& cpus) { start(cpus, plan_.heaps); }
    /// Makes no more data heaps; the stop heaps follow.
    void request_stop() noexcept override { stop_.store(true, std::memory_order_release); }
    /// Stops the sender as well.
    void abandon() noexcept override;
    void join() override;

    bool done() const noexcept override { return done_.load(std::memory_order_acquire); }
    std::string failure() const override { return done() ? failure_ : std::string(); }

    std::vector<memory::Region> regions() const override { return {{memory_.base(), memory_.length()}}; }

  private:
    struct Slot {
        std::byte* payload = nullptr;
        std::unique_ptr<send::OutgoingHeap> plain;
        std::unique_ptr<send::OutgoingHeap> described;  ///< with descriptors; made on first use
        bool busy = false;
    };

    /// Counts submitted heaps, from which the heap counts of the next ones follow.
    struct Submitted {
        /// Begins a new start, before which `stops` stop heaps were sent.
        void start_again(std::uint64_t stops) noexcept {
            earlier += data + stops;
            data = 0;
        }

        std::uint64_t earlier = 0;  ///< all kinds, before this start: the sender goes on counting
        std::uint64_t data = 0;     ///< since the start
    };

    void run();
    void run_descriptors();
    void run_data();
    void run_stops();
    send::Submission next_data(Slot& slot, std::uint64_t index);
    static void give_back(std::span<const send::Submission> group);
    Slot* free_slot();
    bool submit(std::span<const send::Submission> group);
    void collect();
    void wait_a_little();

    SendPlan plan_;
    send::Sender& sender_;
    memory::RegionTable& regions_;
    std::unique_ptr<HeapContents> contents_;
    memory::Mapping memory_;
    std::vector<Slot> slots_;
    std::unique_ptr<send::OutgoingHeap> descriptors_;  ///< in a heap of their own, if needed
    std::vector<std::unique_ptr<send::OutgoingHeap>> stops_;
    unsigned idle_rounds_ = 0;
    ShortWait wait_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> abandon_{false};
    std::atomic<bool> done_{true};
    Submitted submitted_;
    std::string failure_;
    std::thread thread_;
};

}  // namespace spead::runtime
