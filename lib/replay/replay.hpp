// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "memory/mapping.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"
#include "replay/loader.hpp"
#include "replay/options.hpp"
#include "replay/player.hpp"
#include "stats/snapshot.hpp"

namespace spead::replay {

/// Capture files sent again through a port's transmit queue.
///
/// Captures that fit the memory are read once and then sent from there, pass after pass. Larger ones go
/// through eight windows of it: a thread reads ahead, each pass anew.
///
/// Control world; one thread calls everything here but what Player says otherwise. Order: constructor (files
/// are opened; throws Error), prepare() once the port is open, start() once it is started, the lcore polls
/// player() until finished(), stop(), the port is stopped, and only then this is destroyed.
class Replay {
  public:
    /// Opens the files; the port may be planned only. `longest_frame`: bytes that it sends.
    Replay(const Options& options, std::uint32_t longest_frame);
    /// stop().
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    /// EAL memory that prepare() will take, for a queue of so many descriptors.
    static std::size_t memory_need(const port::Capabilities& capabilities, std::uint16_t descriptors,
                                   std::uint32_t longest_frame);

    /// Makes the memory for frames and makes it known to the port. `queue`: of the port, or what stands in
    /// front of one. `hz`: ticks per second of the lcore's clock.
    void prepare(const port::Port& port, const port::TxQueue& queue, double hz);
    /// The reading thread starts; `on_thread` is run first by it. Nothing is sent before as much as there is
    /// room for has been read.
    void start(std::function<void()> on_thread = {});
    Player& player() noexcept { return *player_; }
    /// Everything was given to the driver, or the reading failed.
    bool finished() const noexcept;
    /// The lcore gives up what it has not sent, and the reading thread ends. The lcore must be polling, or
    /// have been joined before.
    void stop() noexcept;

    /// The thread has read what it has memory for, and waits for the lcore or has ended. Any thread.
    bool reading_done() const noexcept { return waiting_.load(std::memory_order_relaxed); }
    /// Between the port's stop and its close: its device forgets the memory.
    void leave_port() { registration_.reset(); }

    /// Why files could not be read on; empty when all is well. Any thread.
    std::string failure() const;
    /// Files that are not whole, records that cannot be sent, and destinations of `map` that no datagram had;
    /// complete after stop().
    std::vector<std::string> warnings() const;
    /// The files end before their last record.
    bool damaged() const;

    /// Without what the lcore counted: see add().
    stats::ReplaySnapshot snapshot() const;

  private:
    static constexpr std::size_t kWindows = 8;

    void read();
    void read_all();
    bool hand_over(CaptureWindow& window, std::uint64_t later, std::uint64_t period, std::int64_t passes,
                   bool ends);
    CaptureWindow* wait_for_window();
    void publish();

    Options options_;
    std::uint32_t longest_frame_;
    Loader loader_;
    bool resident_ = false;
    std::size_t window_bytes_ = 0;
    memory::Mapping memory_;
    std::unique_ptr<port::RegionRegistration> registration_;
    std::deque<CaptureWindow> windows_;
    std::unique_ptr<Player> player_;
    std::thread thread_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> waiting_{false};
    mutable std::mutex mutex_;  ///< of what follows
    std::string failure_;
    std::vector<std::string> warnings_;
    std::optional<std::string> unmatched_;
    LoadCounts counts_;
};

/// What the lcore counted, into the snapshot.
void add(stats::ReplaySnapshot& snapshot, const PlayerCounters& counters);

}  // namespace spead::replay
