// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/armed_event.hpp"
#include "base/process_mark.hpp"
#include "runtime/heap_source.hpp"
#include "send/sender.hpp"
#include "spead/heap_taker.hpp"
#include "spead/send_heap.hpp"
#include "spead/user_memory.hpp"
#include "stats/counters.hpp"

namespace spead::door {

/// Submits the heaps of a SendStream to a sender, on the user's thread: as the heap source of one
/// send::Sender, or to a LocalSender (attach).
///
/// The engine makes and destroys its own side of it (engine_side), and with that takes the sender away at any
/// moment; the user's side stays. Heaps that are then in flight complete as aborted, and further ones are
/// refused with an Error. Any thread may call anything; the waits are for one thread at a time.
///
/// A lock orders the two sides. No function of the engine, of a user or of a memory's destructor is called
/// under it.
class UserHeapSource : public std::enable_shared_from_this<UserHeapSource> {
  public:
    using Done = std::function<void(const SendResult&)>;
    using Clock = std::chrono::steady_clock;

    /// Takes the `where` of errors and the sender's `max_heaps`. Throws Error when there is no descriptor
    /// left.
    UserHeapSource(std::string where, std::uint32_t max_heaps);
    UserHeapSource(const UserHeapSource&) = delete;
    UserHeapSource& operator=(const UserHeapSource&) = delete;

    /// Sets the session whose ports send the heaps; null, the default: a stream without ports. Call it before
    /// the user's first call, as the next.
    void set_session(const Session* session) { session_ = session; }
    /// Changes the `where` of errors.
    void set_where(std::string where) { where_ = std::move(where); }
    /// Returns the engine's side, which outlives neither the sender nor the lcore's use of it. Call it once.
    std::unique_ptr<runtime::HeapSource> engine_side(send::Sender& sender);
    /// Submits to this sender from now on, which is no engine's. take_away() ends that.
    void attach(std::shared_ptr<HeapTaker> sender);
    /// Takes the sender away, which has no thread any more, and completes the heaps in flight.
    void take_away() noexcept;

    // The user's side.

    enum class Kind : std::uint8_t { data, control };

    /// Submits the heap. Returns false when max_heaps are in flight. `done` is called by dispatch(). Throws
    /// Error: the stream has ended, the heap is in flight or empty, or what send::Sender::submit throws.
    bool try_submit(const std::shared_ptr<SendHeap::State>& heap, const SendOptions& options, Kind kind,
                    const Done& done);
    /// Does the same, after a wait for room.
    void submit(const std::shared_ptr<SendHeap::State>& heap, const SendOptions& options, Kind kind,
                const Done& done);
    /// Holds a heap of a group.
    struct Member {
        std::shared_ptr<SendHeap::State> heap;
        SendOptions options;
        Done done;
    };
    /// Submits all heaps of the group, or none; false when there is no room for all. Throws Error as
    /// try_submit() does, and for no heap, one that stands twice, or more than max_heaps.
    bool try_submit_group(std::span<const Member> group, send::Interleave mode);
    /// Takes the present completions, calls their functions, and returns how many. Rethrows the functions'
    /// exceptions.
    std::size_t dispatch();
    /// Waits, and dispatches, until `over` returns true. Returns false when `patience` is over, or when the
    /// heaps in flight will never complete, since their lcore does not answer.
    bool wait(const std::function<bool()>& over, std::optional<Clock::duration> patience = {});
    /// Waits for the heap on any thread, without dispatching. After kHeapPatience the stream is stopped, so
    /// that the heap's memory becomes the user's again.
    void wait_for_end_of(const SendHeap::State& heap) noexcept;

    std::size_t in_flight() const;
    /// Changes the heap counts from the next heap on. Throws Error when the stream has ended.
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step);
    /// Aborts the heaps in flight, and refuses others.
    void stop() noexcept;
    /// Keeps the memory of the heaps in flight allocated without end: it may still be read.
    void keep_for_ever() noexcept;
    /// Returns the descriptor of completions. From the first call on, dispatch() and wait()
    /// leave it armed.
    int fd() noexcept;
    /// Returns the sender's counts at its end; nothing before.
    std::optional<stats::SendCounters> last_counters() const;

    static constexpr std::chrono::seconds kHeapPatience{10};

  private:
    class EngineSide;

    /// Holds a heap in flight, or completed and not dispatched yet.
    struct Flight {
        std::shared_ptr<SendHeap::State> heap;  ///< null: the place is free
        UserMemory::Handles memory;
        Done done;
        std::optional<SendResult> result;  ///< completed
    };

    // Under the lock.
    void need_open() const;
    bool begin(std::span<const Member> group, send::Interleave mode, std::span<UserMemory::Handles> memory);
    void collect();
    void complete(Flight& flight, const SendResult& result);

    bool anything_new();
    bool arm_for_user();
    void leave_armed() noexcept;
    bool is_given_up() const;
    bool is_own() const noexcept;
    // The engine's call.
    bool engine_done();

    std::string where_;
    const Session* session_ = nullptr;
    const ProcessMark mark_;
    const std::shared_ptr<ArmedEvent> event_;
    mutable std::mutex mutex_;
    std::shared_ptr<HeapTaker> sender_;  ///< null: not made yet, or ended
    bool ended_ = false;                 ///< the sender is no more
    bool started_ = false;
    bool stopping_ = false;                         ///< the engine wants no more heaps
    bool stopped_ = false;                          ///< the user does not
    std::optional<Clock::time_point> abandoned_{};  ///< when the engine gave the heaps in flight up
    std::vector<Flight> flights_;                   ///< max_heaps places; their addresses are the sender's
    std::vector<Flight*> free_;
    std::deque<Flight*> completed_;
    std::optional<stats::SendCounters> last_;
    bool fd_used_ = false;
    std::atomic<bool> armed_{false};
};

}  // namespace spead::door
