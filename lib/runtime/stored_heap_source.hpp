// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/short_wait.hpp"
#include "memory/mapping.hpp"
#include "memory/region.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/plan.hpp"
#include "runtime/stored_heaps.hpp"
#include "send/sender.hpp"

namespace spead::runtime {

/// Sends the heaps that a sink has written (`from` of [[send]]), in the order of its index: heap counts,
/// items and payload as they were received. Heaps without a payload are left out. One stop heap per endpoint
/// ends the run. A second start begins with the first heap again.
class StoredHeapSource final : public HeapSource {
  public:
    /// Checks the index and all places in it. Throws Error as StoredHeaps::check(), and when there is no
    /// memory.
    StoredHeapSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions);
    ~StoredHeapSource() override;
    StoredHeapSource(const StoredHeapSource&) = delete;
    StoredHeapSource& operator=(const StoredHeapSource&) = delete;

    void start(const std::vector<unsigned>& cpus, std::int64_t heaps) override;
    void request_stop() noexcept override { stop_.store(true, std::memory_order_release); }
    void abandon() noexcept override;
    void join() override;
    bool done() const noexcept override { return done_.load(std::memory_order_acquire); }
    std::string failure() const override { return done() ? failure_ : std::string(); }
    std::vector<memory::Region> regions() const override { return {{memory_.base(), memory_.length()}}; }

  private:
    struct Slot {
        std::span<std::byte> payload;
        std::unique_ptr<send::OutgoingHeap> heap;
        bool busy = false;
    };

    void run();
    void run_data();
    void run_stops();
    void make(Slot& slot, const StoredHeap& stored);
    Slot* free_slot();
    bool submit(const send::Submission& submission);
    void collect();

    SendPlan plan_;
    send::Sender& sender_;
    memory::RegionTable& regions_;
    StoredHeaps stored_;
    StoredHeaps::Sum sum_;
    memory::Mapping memory_;
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<send::OutgoingHeap>> stops_;
    std::uint64_t sent_ = 0;      ///< data heaps of this start
    std::uint64_t last_cnt_ = 0;  ///< of the last data heap
    unsigned idle_rounds_ = 0;
    ShortWait wait_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> abandon_{false};
    std::atomic<bool> done_{true};
    std::string failure_;
    std::thread thread_;
};

}  // namespace spead::runtime
