// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "capture/block_ring.hpp"

struct rte_mbuf;

namespace spead::capture {

/// Counts the packets of a capture on one lcore. Written by the lcore; read like its other counters.
struct TapCounters {
    std::uint64_t taken = 0;         ///< packets put into the buffer
    std::uint64_t taken_bytes = 0;   ///< of them, as kept
    std::uint64_t cut = 0;           ///< of them: longer than the snap length
    std::uint64_t dropped_full = 0;  ///< packets for which the buffer had no room: the disks are too slow
    std::uint64_t ended = 0;         ///< packets that came when the capture was over
};

/// Shares the state of a capture with its taps: whether it is over, and how many packets it may still take.
struct Limit {
    std::atomic<bool> over{false};
    std::atomic<std::int64_t> left{0};  ///< only if `counted`
    bool counted = false;
};

/// Copies packets on one lcore into blocks of the capture's buffer, as records of the file, and passes full
/// blocks on to the writer threads. It never waits, allocates or makes a system call; a packet without room
/// is counted.
///
/// A Capture makes it and owns its memory. offer() and housekeep() belong to the lcore that has it as its
/// lane's tap; counters too, as those of a lane.
class Tap {
  public:
    /// Connects to one writer thread: blocks to it, and blocks back.
    struct Way {
        explicit Way(std::size_t blocks) : there(blocks), back(blocks) {}
        BlockRing there;
        BlockRing back;
    };

    enum class Offer : std::uint8_t {
        taken,
        full,  ///< no room
        over   ///< the capture has its limit, or has failed
    };

    /// Uses blocks of `block_bytes` in `memory`, for `ways` writers. `flush_ticks`: a block is passed on that
    /// long after its first packet, full or not. `reserve`: a lossless source waits while fewer blocks are
    /// free; 0: it does not.
    Tap(std::byte* memory, std::uint32_t block_bytes, std::size_t blocks, std::size_t ways,
        std::uint32_t snap_length, bool only, Limit& limit, std::uint64_t flush_ticks,
        std::size_t reserve = 0);
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

    /// Returns whether packets end here rather than become heaps of the stream.
    bool only() const noexcept { return only_; }

    /// Offers a packet of the stream; `now` are ticks, the same for all packets of a burst. The mbuf stays
    /// the caller's.
    Offer offer(const rte_mbuf& mbuf, std::uint64_t now) noexcept;
    /// Returns whether it may ever be blocked().
    bool may_block() const noexcept { return reserve_ != 0; }
    /// Returns whether a lossless source should not be polled now.
    bool blocked() noexcept;
    /// Passes on partly filled blocks, too. Call it every few milliseconds.
    void housekeep(std::uint64_t now) noexcept;

    /// Passes the rest to a writer, once the lcore no longer has it.
    void flush() noexcept;

    const TapCounters& counters() const noexcept { return counters_; }
    std::deque<Way>& ways() noexcept { return ways_; }

  private:
    std::uint64_t arrival_ns(const rte_mbuf& mbuf, std::uint64_t now) noexcept;
    bool claim() noexcept;
    bool next_block(std::uint64_t now) noexcept;
    void collect() noexcept;
    void pass_on() noexcept;

    Limit& limit_;
    Block* block_ = nullptr;  ///< being filled
    std::uint64_t block_since_ = 0;
    std::uint64_t clock_at_ = UINT64_MAX;  ///< ticks when the clock was last read
    std::uint64_t clock_ns_ = 0;
    std::uint64_t last_ns_ = 0;
    TapCounters counters_;
    const std::uint32_t block_bytes_;
    const std::uint32_t snap_length_;
    const std::uint64_t flush_ticks_;
    const std::size_t reserve_;
    const bool only_;
    std::size_t next_way_ = 0;
    std::vector<Block> blocks_;
    std::vector<Block*> free_;  ///< reserved for all
    std::deque<Way> ways_;
};

}  // namespace spead::capture
