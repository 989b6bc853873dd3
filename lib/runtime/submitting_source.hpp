// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/short_wait.hpp"
#include "memory/mapping.hpp"
#include "memory/region.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/lockstep.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"

namespace spead::runtime {

/// Submits heaps of a [[send]] to its sender, on a thread of its own. A derived class makes the heaps, in
/// slots of which each is busy until its heap was completed. One stop heap per endpoint ends the run.
/// A sender with a copy, and the copy, go in step (Lockstep).
///
/// All payload lies in one mapping, which is in the region table from construction to destruction.
class SubmittingSource : public HeapSource {
  public:
    ~SubmittingSource() override;
    SubmittingSource(const SubmittingSource&) = delete;
    SubmittingSource& operator=(const SubmittingSource&) = delete;

    /// Goes in step with the sender of the other side, and counts the heaps that it leaves out in `left_out`,
    /// which outlives the source. Call it before the first start.
    void keep_step(std::shared_ptr<Lockstep> lockstep, Lockstep::Side side,
                   std::atomic<std::uint64_t>& left_out) noexcept {
        lockstep_ = std::move(lockstep);
        side_ = side;
        left_out_ = &left_out;
    }

    void start(const std::vector<unsigned>& cpus, std::int64_t heaps) final;
    void start(const std::vector<unsigned>& cpus) { start(cpus, plan_.heaps); }
    /// Makes no more data heaps; the stop heaps follow.
    void request_stop() noexcept final;
    /// Stops the sender as well.
    void abandon() noexcept final;
    void join() final;

    bool done() const noexcept final { return done_.load(std::memory_order_acquire); }
    std::string failure() const final { return done() ? failure_ : std::string(); }

    std::vector<memory::Region> regions() const final { return {{memory_.base(), memory_.length()}}; }

  protected:
    /// Begins the slots of derived classes. Submission::user is its address.
    struct HeapSlot {
        bool busy = false;
    };

    /// Maps `bytes` for payload. Throws Error without memory.
    SubmittingSource(const SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
                     std::size_t bytes);
    /// Abandons and joins. Each derived class calls it in its destructor, before its members go.
    void end_thread();

    /// Returns what all starts have used, but for the stop heaps of the last one.
    virtual Lockstep::Used used() const = 0;
    /// Prepares for one more start, before which `used` was used: at least what used() and the stop heaps
    /// say.
    virtual void start_again(const Lockstep::Used& used) = 0;
    /// Submits all heaps, the stop heaps included. On the thread; what it throws ends the run.
    virtual void submit_all() = 0;

    // On the thread:

    /// Returns the index of the data heap that comes next, `index` or a later one. Waits for the other side.
    /// None: the run is to end.
    std::optional<std::uint64_t> next_index(std::uint64_t index);
    /// Submits the stop heaps, unless the other side goes on alone. `sent`: data heaps before them.
    /// `first_cnt`: the first one's heap count, and `cnt_step` from each to the next.
    void submit_stops(std::uint64_t sent, std::uint64_t first_cnt, std::uint64_t cnt_step);
    /// Submits heaps, a packet of each in turn. Returns false when the run was given up before the sender
    /// took them, or ended before it took data.
    bool submit(std::span<const send::Submission> group);
    /// Returns whether no further data heap is to be made.
    bool must_end() const noexcept {
        return stop_.load(std::memory_order_acquire) &&
               lockstep_->may_end(side_, index_, Lockstep::Clock::now(), this);
    }
    /// Notes an error that lets the run go on to its end.
    void note(const std::exception& error) { failure_ = error.what(); }
    /// Waits for a slot whose heap is not in flight. Returns null when the run is to end.
    template <typename Slot>
    Slot* free_slot(std::vector<Slot>& slots) {
        for (;;) {
            collect();
            const auto free = std::find_if(slots.begin(), slots.end(), [](const Slot& s) { return !s.busy; });
            if (free != slots.end())
                return &*free;
            if (must_end())
                return nullptr;
            wait_in_flight();
        }
    }

    SendPlan plan_;
    memory::Mapping memory_;

  private:
    void run();
    void collect();
    void wait_in_flight();
    bool tells_of_skip() noexcept;
    Lockstep::Used used_with_stops() const;
    bool leaves_stops();

    send::Sender& sender_;
    memory::RegionTable& regions_;
    std::vector<std::unique_ptr<send::OutgoingHeap>> stops_;
    std::shared_ptr<Lockstep> lockstep_;
    Lockstep::Side side_ = Lockstep::original;
    std::atomic<std::uint64_t>* left_out_ = nullptr;
    std::uint64_t index_ = 0;                ///< of the next data heap
    std::uint64_t reached_ = 0;              ///< the largest index in all starts; a round may begin below it
    Lockstep::Clock::time_point skipped_{};  ///< when heaps were left out last
    std::uint64_t polls_ = 0;                ///< of the sender, when it was waited for last
    unsigned idle_rounds_ = 0;
    ShortWait wait_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> abandon_{false};
    std::atomic<bool> done_{true};
    std::string failure_;
    std::thread thread_;
};

}  // namespace spead::runtime
