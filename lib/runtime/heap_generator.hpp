// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/heap_contents.hpp"
#include "runtime/submitting_source.hpp"

namespace spead::runtime {

/// Makes the heaps of a [[send]].
///
/// HeapContents decides what they carry and where they go. If they are described, the first heap to each
/// endpoint carries all descriptors; where they exceed a heap's item pointers, it carries nothing else. A
/// second start, after done(), continues the heap counts and sends descriptors again.
class HeapGenerator final : public SubmittingSource {
  public:
    HeapGenerator(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions);
    ~HeapGenerator() override { end_thread(); }
    HeapGenerator(const HeapGenerator&) = delete;
    HeapGenerator& operator=(const HeapGenerator&) = delete;

  private:
    struct Slot : HeapSlot {
        std::byte* payload = nullptr;
        std::unique_ptr<send::OutgoingHeap> plain;
        std::unique_ptr<send::OutgoingHeap> described;  ///< with descriptors; made on first use
    };

    /// Counts heaps, from which the heap counts of the next ones follow.
    struct Submitted {
        std::uint64_t earlier = 0;       ///< all kinds, before the data heaps of this start
        std::uint64_t earlier_data = 0;  ///< data heaps, before this start
        std::uint64_t data = 0;          ///< since the start, with those that were left out
    };

    HeapGenerator(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                  std::unique_ptr<HeapContents> contents);
    Lockstep::Used used() const override;
    void start_again(const Lockstep::Used& used) override;
    void submit_all() override;
    void run_descriptors();
    void run_data();
    std::uint64_t cnt_after(std::uint64_t heaps) const;
    send::Submission next_data(Slot& slot, std::uint64_t index);
    static void give_back(std::span<const send::Submission> group);

    std::unique_ptr<HeapContents> contents_;
    std::vector<Slot> slots_;
    std::unique_ptr<send::OutgoingHeap> descriptors_;  ///< in a heap of their own, if needed
    Submitted submitted_;
};

}  // namespace spead::runtime
