// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "port/capabilities.hpp"
#include "port/port_io.hpp"
#include "replay/capture_window.hpp"
#include "replay/options.hpp"
#include "send/pacer.hpp"
#include "send/port_outage.hpp"
#include "send/spsc_ring.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace spead::replay {

/// Holds the lcore's counts. Read through its mailbox or after it was joined.
struct PlayerCounters {
    std::uint64_t packets = 0;    ///< given to the driver
    std::uint64_t bytes = 0;      ///< of frames
    std::uint64_t zero_copy = 0;  ///< of packets: sent from the window's memory
    std::uint64_t late = 0;       ///< of packets: more than kLate after their time (Timing::original)
    std::uint64_t most_late_ns = 0;
    std::uint64_t passes = 0;   ///< over the last window of the captures, complete
    std::uint64_t tx_full = 0;  ///< bursts the driver did not take whole
    std::uint64_t stalls = 0;   ///< polls without a free mbuf
    std::uint64_t starved = 0;  ///< times that the lcore waited for the reading thread
};

/// Passes a window to the lcore: sent `passes` times, each `period_ns` after the last one.
struct alignas(16) Play {
    CaptureWindow* window = nullptr;
    std::uint64_t later_ns = 0;  ///< added to its frames' times
    std::uint64_t period_ns = 0;
    std::int64_t passes = 1;  ///< -1: no end
    bool ends_pass = false;   ///< it is the last window of the captures
};

/// Sends the frames of a replay on one lcore: windows come from the reading thread, their frames go to a
/// queue at their times, and the windows go back. Frames are sent without a copy if the port can, else
/// copied.
///
/// Made and destroyed in control code; poll() belongs to the lcore; play(), done() and end() to the thread
/// that reads.
class Player {
  public:
    static constexpr std::uint64_t kLate = 1'000'000;  ///< ns

    struct Config {
        port::TxQueue queue;
        port::Capabilities capabilities;
        std::uint16_t descriptors = 0;    ///< of the queue
        std::uint32_t longest_frame = 0;  ///< of the captures, for a port that needs copies
        Timing timing = Timing::original;
        double speed = 1;
        double rate = 0;
        double hz = 0;  ///< ticks of poll()'s clock per second
        int numa = -1;
        std::size_t windows = 1;  ///< in flight at most
    };

    explicit Player(const Config& config);
    /// Destroys the player. Every packet must have come back: the port is stopped, or has sent them.
    ~Player();
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;

    /// Returns its EAL memory.
    static std::size_t memory_need(const Config& config);

    /// Passes a window on. Returns false when the announced number of windows is on the way.
    bool play(const Play& play) noexcept { return plays_.push({&play, 1}); }
    /// Returns a window that was sent as often as asked; some of its packets may still be with the driver
    /// (PayloadRefs::drained). Null: none.
    CaptureWindow* done() noexcept;
    /// Says that no more windows come.
    void end() noexcept { ended_.store(true, std::memory_order_release); }
    /// Makes the lcore give up its unsent frames. Any thread.
    void abandon() noexcept { abandoned_.store(true, std::memory_order_release); }
    /// Returns whether everything was given to the driver, or abandoned. Any thread.
    bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

    /// Sends due frames. Returns whether it did anything. `now`: ticks that never decrease.
    bool poll(std::uint64_t now) noexcept;
    /// Returns a time before which there is nothing to do; 0: unknown.
    std::uint64_t next_time() const noexcept { return next_time_; }

    /// Returns whether frames are sent without a copy.
    bool external() const noexcept { return external_; }
    const PlayerCounters& counters() const noexcept { return counters_; }
    /// Returns the mbufs that the driver still has.
    std::size_t mbufs_out() const noexcept;

  private:
    static constexpr std::uint32_t kBurst = 32;

    bool next_window() noexcept;
    void window_done() noexcept;
    bool due(const Frame& frame, std::uint64_t now) noexcept;
    rte_mbuf* make(const Frame& frame) noexcept;
    void build(std::uint64_t now) noexcept;
    bool transmit(std::uint64_t now) noexcept;
    void give_up() noexcept;

    Config config_;
    bool external_;
    double ticks_per_ns_;
    send::Pacer pacer_;
    send::PortOutage outage_;
    rte_mempool* pool_ = nullptr;
    send::SpscRing<Play> plays_;
    struct alignas(16) Done {
        CaptureWindow* window = nullptr;
    };
    send::SpscRing<Done> done_;
    std::atomic<bool> ended_{false};
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> finished_{false};

    Play current_;
    std::size_t at_ = 0;  ///< frame of current_ to be sent next
    bool begun_ = false;
    bool starving_ = false;
    std::uint64_t start_ = 0;  ///< ticks of the run's time 0
    std::uint64_t next_time_ = 0;
    std::array<rte_mbuf*, kBurst> waiting_{};       ///< built and not taken by the driver yet
    std::array<std::uint64_t, kBurst> lateness_{};  ///< of those, in ns
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
    PlayerCounters counters_;
};

}  // namespace spead::replay
