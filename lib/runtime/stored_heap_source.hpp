// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/stored_stream.hpp"
#include "runtime/submitting_source.hpp"

namespace spead::runtime {

/// Sends the heaps that a sink has written (`from` of [[send]]), in the order of its index: heap counts,
/// items and payload as they were received. Heaps without a payload are left out. A second start
/// begins with the first heap again.
class StoredHeapSource final : public SubmittingSource {
  public:
    /// Checks the index and all places in it. Throws Error as StoredStream::check(), and when there is no
    /// memory.
    StoredHeapSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions);
    ~StoredHeapSource() override { end_thread(); }
    StoredHeapSource(const StoredHeapSource&) = delete;
    StoredHeapSource& operator=(const StoredHeapSource&) = delete;

  private:
    struct Slot : HeapSlot {
        std::span<std::byte> payload;
        std::unique_ptr<send::OutgoingHeap> heap;
    };

    /// Holds heaps whose index was read once.
    struct Checked {
        explicit Checked(const SendPlan& plan);

        std::unique_ptr<StoredStream> heaps;
        StoredStream::Sum sum;
    };

    StoredHeapSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                     Checked checked);
    Lockstep::Used used() const override { return {}; }
    void start_again(const Lockstep::Used&) override;
    void submit_all() override;
    void run_data();
    std::uint32_t substream_of(const StoredHeap& stored) const;
    void make(Slot& slot, const StoredHeap& stored);

    std::unique_ptr<StoredStream> stored_;
    std::vector<Slot> slots_;
    std::uint64_t sent_ = 0;      ///< data heaps of this start, with those that were left out
    std::uint64_t last_cnt_ = 0;  ///< of the last data heap
};

}  // namespace spead::runtime
