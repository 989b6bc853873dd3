// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/tick_rate.hpp"
#include "recv/datagram_lane.hpp"
#include "recv/packet_reader.hpp"
#include "recv/several_readers.hpp"
#include "runtime/endpoint_places.hpp"
#include "runtime/plan.hpp"
#include "runtime/stream_chunks.hpp"
#include "runtime/user_queues.hpp"
#include "spead/burst_mutex.hpp"
#include "spead/local_receiver.hpp"

namespace spead::door {

/// Tells the user of a stream's heaps when none of its runs will bring any more. Any thread.
class LocalEnd {
  public:
    explicit LocalEnd(std::shared_ptr<runtime::UserQueues> queues) : queues_(std::move(queues)) {}

    /// Adds the queue of a run. Throws Error.
    std::shared_ptr<runtime::UserQueues::Queue> begin(std::shared_ptr<heap::HeapQueue> queue);
    /// Says that a run hands no more heaps over.
    void end() noexcept;
    /// Says so unless a run is there: the user has stopped a stream that has none.
    void end_if_idle() noexcept;
    /// Does so for a run that has not begun, whose queue is empty.
    void cancel(const runtime::UserQueues::Queue& queue) noexcept;

  private:
    const std::shared_ptr<runtime::UserQueues> queues_;
    std::mutex mutex_;
    int runs_ = 0;  ///< guarded; those that have not ended
};

/// Holds a stream without EAL from a start to its end: its lane, its source, and the thread that has both.
///
/// The lane belongs to the thread; others get in between two bursts. User code runs in a burst (a filter, a
/// place callback), and may not return. So each wait of others has a bound.
class LocalRun {
  public:
    /// Limits a wait for the thread.
    static constexpr std::chrono::seconds kPatience{2};

    /// Takes the open sources, and makes the lane. Nothing is received before begin(). `end`: null if the
    /// stream fills chunks. Throws Error, UsageError.
    LocalRun(const runtime::ReceivePlan& plan, const LocalReceiver::Parts& parts,
             std::unique_ptr<recv::SeveralReaders> readers, LocalEnd* end);
    /// Gives up what the user has not taken. Waits for the thread, and logs when that takes long.
    ~LocalRun();
    LocalRun(const LocalRun&) = delete;
    LocalRun& operator=(const LocalRun&) = delete;

    /// Starts the thread. Throws Error.
    void begin(const runtime::ReceivePlan& plan);
    /// Takes no more packets. Returns when the last has been taken, and open chunks have been handed over.
    /// Returns false when that did not happen within kPatience.
    bool end() noexcept;
    /// Returns whether it takes packets, and was not told to end.
    bool receives() const noexcept { return receives_; }
    /// Returns whether all heaps were handed over or given up.
    bool over() const noexcept { return over_; }

    /// Receives from one more source. Throws Error; then nothing has changed.
    void add(std::unique_ptr<recv::PacketReader> reader);
    /// Receives these endpoints from now on. Throws Error; then nothing has changed.
    void change(const std::vector<Endpoint>& endpoints);

    struct Counts {
        stats::StreamCounters counters{};
        runtime::HeapTally::Done heaps{};  ///< that left its queue; read before the counters
        std::uint64_t lost = 0;            ///< packets, before the lane
        stats::ChunkCounts chunks{};
        LocalReceiver::Work work{};
    };
    /// Returns the counts; those of a moment ago if a burst does not end within kPatience.
    Counts counts() const;
    /// Returns the queue of its heaps; null: the stream fills chunks.
    const std::shared_ptr<runtime::UserQueues::Queue>& queue() const noexcept { return queue_; }

    /// Returns what an error says when the thread does not answer.
    static std::string silence();

  private:
    /// Destroys what a group shares while no other thread uses it.
    struct EndChunks {
        std::shared_ptr<std::mutex> of_group;
        void operator()(runtime::StreamChunks* chunks) const noexcept;
    };

    void receive() noexcept;
    bool feed();
    void note_work(std::uint64_t before) noexcept;
    void note_wait(bool waits) noexcept;
    void tell_shortage();
    void wait_for_consumer() const;
    void end_reading() noexcept;
    bool hand_over() noexcept;
    void end_chunks() noexcept;
    void set_fed() noexcept;
    void note(bool with_lost) const;
    bool wait_for(const bool& what, std::chrono::nanoseconds patience) const;

    const std::string name_;
    const bool busy_;
    LocalEnd* const end_;
    std::unique_ptr<recv::SeveralReaders>
        reader_;  ///< of the lane and of told_; null: the last packet is taken
    const std::unique_ptr<runtime::StreamChunks, EndChunks> chunks_;  ///< null: the stream has heaps
    std::shared_ptr<recv::DatagramLane> lane_;                        ///< its heaps keep it, too
    std::shared_ptr<runtime::UserQueues::Queue> queue_;
    runtime::EndpointPlaces places_;  ///< in the lane's tables
    const std::uint64_t look_after_;  ///< ticks
    std::uint64_t last_look_ = 0;
    LocalReceiver::Work work_;  ///< of the lane
    bool is_blocked_ = false;   ///< likewise
    bool has_told_shortage_ = false;
    std::atomic<bool> receives_{true};
    std::atomic<bool> giving_up_{false};
    std::atomic<bool> over_{false};
    mutable BurstMutex turn_;  ///< of the lane and its source
    mutable std::mutex told_;  ///< of what follows; nobody waits while he has it
    mutable std::condition_variable change_;
    bool has_fed_ = false;   ///< end() may return
    bool left_ = false;      ///< the thread is at its end
    mutable Counts last_{};  ///< when they were last looked at
    std::thread thread_;
};

}  // namespace spead::door
