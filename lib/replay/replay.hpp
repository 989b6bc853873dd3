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

/// Sends capture files again through a port's transmit queue.
///
/// Captures that fit the memory are read once and then sent from there, pass after pass. Larger ones go
/// through eight windows of it: a thread reads ahead, again for each pass.
///
/// Control code; unless Player says otherwise, one thread calls everything here. Order: constructor (files
/// are opened; throws Error), prepare() once the port is open, start() once it is started, the lcore polls
/// player() until finished(), stop(), the port is stopped, and only then this is destroyed.
class Replay {
  public:
    /// Opens the files; the port may be planned only. `longest_frame`: the port's limit in bytes.
    Replay(const Options& options, std::uint32_t longest_frame);
    /// Calls stop().
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    /// Returns the EAL memory of prepare(), for a queue of so many descriptors.
    static std::size_t memory_need(const port::Capabilities& capabilities, std::uint16_t descriptors,
                                   std::uint32_t longest_frame);

    /// Allocates memory for frames and registers it with the port. `queue`: of the port, or one in front of
    /// it. `hz`: ticks per second of the lcore's clock.
    void prepare(const port::Port& port, const port::TxQueue& queue, double hz);
    /// Starts the reading thread, which first runs `on_thread`. Nothing is sent before the memory is filled.
    void start(std::function<void()> on_thread = {});
    Player& player() noexcept { return *player_; }
    /// Returns whether everything was given to the driver, or the reading failed.
    bool finished() const noexcept;
    /// Makes the lcore give up its unsent frames, and ends the reading thread. The lcore must be polling, or
    /// have been joined before.
    void stop() noexcept;

    /// Returns whether the thread has filled the memory, and waits for the lcore or has ended. Any thread.
    bool reading_done() const noexcept { return waiting_.load(std::memory_order_relaxed); }
    /// Unregisters the memory from the device, between the port's stop and its close.
    void leave_port() { registration_.reset(); }

    /// Returns why files could not be read further; empty when there is no failure. Any thread.
    std::string failure() const;
    /// Returns warnings: incomplete files, records that cannot be sent, and destinations of `map` that no
    /// datagram had. Complete after stop().
    std::vector<std::string> warnings() const;
    /// Returns whether a file ends before its last record.
    bool damaged() const;

    /// Returns the counts without the lcore's: see add().
    stats::ReplaySnapshot snapshot() const;

  private:
    static constexpr std::size_t kWindows = 8;

    /// Holds what the reading thread has found.
    struct SoFar {
        std::string failure;
        std::vector<std::string> warnings;
        std::optional<std::string> unmatched;
        LoadCounts counts;
    };

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
    mutable std::mutex mutex_;  ///< of so_far_
    SoFar so_far_;
};

/// Adds the lcore's counts to the snapshot.
void add(stats::ReplaySnapshot& snapshot, const PlayerCounters& counters);

}  // namespace spead::replay
