// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/armed_event.hpp"
#include "base/process_mark.hpp"
#include "send/datagram_sender.hpp"
#include "send/packet_writer.hpp"
#include "spead/burst_mutex.hpp"
#include "spead/heap_taker.hpp"

namespace spead::door {

/// Sends the heaps of one stream of a user without EAL and without a session: a DatagramSender on a thread of
/// its own, and its writer.
///
/// The UserHeapSource calls what HeapTaker declares, one thread at a time; any thread may call the rest.
class LocalSender final : public HeapTaker {
  public:
    /// Throws Error when there is no memory or no descriptor left. begin() follows.
    LocalSender(send::DatagramSender::Config config, std::unique_ptr<send::PacketWriter> writer);
    /// Calls end().
    ~LocalSender() override;

    /// Starts the thread; on this CPU alone, if one is named. Throws Error.
    void begin(std::optional<unsigned> cpu);
    /// Gives up the heaps in flight, and waits for the thread. That waits for nothing but system calls that
    /// do not wait.
    void end() noexcept;
    /// Returns whether this process has made it, and not its parent.
    bool is_own() const noexcept;

    bool submit(std::span<const send::Submission> group, send::Interleave mode) override;
    std::size_t poll_completions(std::span<Done> out) override { return sender_.poll_completions(out); }
    bool any_completed() const noexcept override { return sender_.any_completed(); }
    std::uint32_t in_flight() const noexcept override { return sender_.in_flight(); }
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept override {
        sender_.set_cnt_sequence(next, step);
    }
    void request_stop() noexcept override;
    stats::SendCounters counters() const noexcept override { return counts().send; }
    void announce_by(const std::shared_ptr<ArmedEvent>& event) noexcept override {
        sender_.announce_by(event);
    }

    send::DatagramSender::Counters counts() const noexcept;
    /// Sets the rate from now on. Throws Error for one that is none.
    void set_rate(double bytes_per_second);
    void set_ttl(std::uint8_t ttl) { writer_->set_ttl(ttl); }

  private:
    void run() noexcept;
    send::DatagramSender::Step step(std::uint64_t& now) noexcept;

    const std::string where_;
    const ProcessMark mark_;
    send::DatagramSender sender_;
    const std::unique_ptr<send::PacketWriter> writer_;
    mutable ArmedEvent work_;  ///< wakes the thread
    mutable BurstMutex turn_;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace spead::door
