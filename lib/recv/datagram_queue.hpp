// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/file_descriptor.hpp"
#include "recv/packet_reader.hpp"

namespace spead::recv {

/// Carries datagrams from threads of this process to a lane without EAL: a bounded queue, which loses
/// nothing. Any thread may call everything. No thread holds the mutex while it waits.
class DatagramQueue {
  public:
    /// Makes a queue for `most` datagrams, at least 1, and `most_bytes` in them; one always gets in.
    explicit DatagramQueue(std::size_t most, std::size_t most_bytes = SIZE_MAX)
        : most_(most), most_bytes_(most_bytes) {}

    enum class Pushed : std::uint8_t { yes, full, stopped };
    /// Copies a datagram into the queue. Waits for room, `patience` at most.
    Pushed push(std::span<const std::uint8_t> payload, std::chrono::nanoseconds patience);
    /// Ends the queue: nothing more gets in. What is in it may still be taken.
    void stop() noexcept;
    std::size_t size() const;
    bool stopped() const;

    using Batch = std::vector<std::vector<std::uint8_t>>;
    /// Moves up to `most` datagrams to the end of `out`. Returns whether there may be more, now or later.
    bool take(Batch& out, std::size_t most);
    /// Puts datagrams back, before the others: those from `first` on, which were taken last.
    void put_back(Batch& taken, std::size_t first);
    /// Waits for a datagram or the end, `patience` at most, or until wake_taker().
    void wait(std::chrono::milliseconds patience);
    /// Ends the present wait(), or the next one.
    void wake_taker() noexcept;
    /// Writes to the event descriptor once, when there is something to take or wake_taker() is called.
    /// Returns false if there is something now, or the end.
    bool tell(int event_fd);
    /// Forgets the descriptor.
    void tell_no_more(int event_fd) noexcept;

  private:
    bool has_room(std::size_t bytes) const noexcept;
    void tell_all() noexcept;

    const std::size_t most_;
    const std::size_t most_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable has_room_;
    std::condition_variable has_some_;
    // Guarded.
    std::deque<std::vector<std::uint8_t>> queue_;
    std::size_t bytes_ = 0;  ///< in the queue
    std::vector<int> told_;  ///< event descriptors that wait
    bool stopped_ = false;
    bool woken_ = false;
};

/// Feeds the datagrams of a queue, which others may share: each datagram goes to one of them.
class QueueReader final : public PacketReader {
  public:
    QueueReader(std::shared_ptr<DatagramQueue> queue, const PacketWay& way)
        : queue_(std::move(queue)), way_(way) {}
    ~QueueReader() override;

    Fed feed(DatagramLane& lane, std::uint64_t now) override;
    void wait(std::chrono::milliseconds patience) override { queue_->wait(patience); }
    void wake() noexcept override { queue_->wake_taker(); }
    int fd() override;
    bool arm() noexcept override;
    bool lossless() const noexcept override { return true; }
    void give_up() noexcept override;

  private:
    std::shared_ptr<DatagramQueue> queue_;
    PacketWay way_;
    DatagramQueue::Batch batch_;  ///< taken, and from first_ on not fed
    std::size_t first_ = 0;
    FileDescriptor event_;  ///< made when it is first asked for
};

}  // namespace spead::recv
