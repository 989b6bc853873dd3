// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gather/channel.hpp"
#include "heap/tickets.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace spead::recv {

/// Leaves the payload of one RX lcore's packets to an engine: fills its batches, frees their packets in bulk
/// when they are done, and numbers them for the windows whose heaps they go to.
///
/// Made and destroyed by control code, while the lcore does not have it; otherwise the lcore's. Nothing here
/// waits. A burst may be taken only when has_room() says so: then there is room for its packets of one
/// segment, and fits() tells about each other one.
///
/// When the engine fails, later payload goes nowhere: packets are freed with their burst, and their heaps
/// count as device_error. The engine may still write heaps and read packets then. So these come back only
/// when it has ended, or not at all (give_up).
class Gathering {
  public:
    /// Holds the packets of a burst, for which has_room() answers.
    static constexpr std::uint32_t kBurst = 64;
    /// Limits the segments of a packet.
    static constexpr std::uint32_t kMaxSegments = gather::Batch::kMaxPieces - kBurst;
    /// Holds the age at which a batch goes to the engine, full or not.
    static constexpr std::uint32_t kCloseMicroseconds = 50;

    explicit Gathering(std::shared_ptr<gather::Channel> channel);
    /// Frees no packet: their pool may be gone.
    ~Gathering() = default;
    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

    /// Returns the numbers of its batches, for Window::copied_by().
    heap::Tickets& tickets() noexcept { return tickets_; }
    const gather::Channel& channel() const noexcept { return *channel_; }

    /// Limits the mbufs that it keeps at a time to `most`, 2 x kBurst or more: its share of the pools that
    /// they come from. Control code, at any time; without it, the batches alone limit them.
    void set_most(std::uint32_t most) noexcept { most_.store(most, std::memory_order_relaxed); }
    std::uint32_t most() const noexcept { return most_.load(std::memory_order_relaxed); }

    /// Returns whether a burst may be taken. Opens a batch if none is.
    bool has_room() noexcept;
    /// Returns whether a packet of so many segments (2 to kMaxSegments) can be added beside a burst of
    /// others. May submit the open batch, so it comes before the window decides about the packet.
    bool fits(std::uint32_t segments) noexcept;
    /// Adds payload of a packet that the window has placed. Does nothing once the engine has failed.
    void add(const void* from, std::byte* to, std::uint32_t length) noexcept {
        if (!discards_) [[likely]]
            open_->add(from, to, length);
    }
    /// Keeps the packet of so many segments, whose payload has been added, until the engine has moved it.
    /// `pool`: that of its queue, or null (port::RxQueue::pool). Returns false if the caller frees it: the
    /// engine has failed.
    bool keep(rte_mbuf* mbuf, rte_mempool* pool, std::uint32_t segments) noexcept {
        if (discards_) [[unlikely]]
            return false;
        gather::Batch& b = *open_;
        if (b.empty()) {
            b.opened = now_;
            b.pool = pool;
        } else if (b.pool != pool) [[unlikely]] {
            b.pool = nullptr;
        }
        b.keep(mbuf);
        b.mbufs += segments;
        out_ += segments;
        if (b.packets_left() == 0 || b.pieces_left() == 0) [[unlikely]]
            submit();
        return true;
    }

    /// Submits the open batch if its time has come, frees the packets of batches that are done, and notes
    /// them. Between bursts; `now` are ticks and never decrease.
    void advance(std::uint64_t now) noexcept;
    /// Does advance(), and submits the open batch whatever its age. Returns whether nothing is left with the
    /// engine: all payload is in its heaps, or never will be.
    bool finish(std::uint64_t now) noexcept;
    /// Marks the packets that it keeps now, and gives the open batch to the engine.
    void mark() noexcept;
    /// Returns whether the marked packets have come back, or never will while their memory is in use: it is
    /// lost to an engine that was given up. Later packets may be with the engine.
    bool is_past_mark() const noexcept { return collected_ >= marked_ || over_; }
    /// Waits no longer for an engine that stands still: heaps without all of their payload are lost. What the
    /// engine may still read or write does not come back. Does nothing when the engine has nothing. For the
    /// end of a run; the engine is told to stop.
    void give_up() noexcept;
    /// Returns whether packets are with the engine, or in an open batch.
    bool any_out() const noexcept { return channel_->free_batches() != free_when_idle(); }
    /// Returns the packets that an engine which was given up still has.
    std::uint64_t packets_lost() const noexcept { return packets_lost_; }

  private:
    void submit() noexcept;
    void free_packets(gather::Batch& b) noexcept;
    void collect() noexcept;
    void look_at_engine() noexcept;
    /// Returns the free batches when nothing is out: one may be open, and empty.
    std::size_t free_when_idle() const noexcept {
        return channel_->batches().size() - (open_ != nullptr && open_->empty() ? 1 : 0);
    }

    const std::shared_ptr<gather::Channel> channel_;
    heap::Tickets tickets_;
    gather::Batch* open_ = nullptr;
    std::uint64_t now_ = 0;  ///< ticks
    const std::uint64_t close_after_;
    std::uint64_t packets_lost_ = 0;
    std::uint32_t out_ = 0;        ///< mbufs that it keeps
    std::uint64_t submitted_ = 0;  ///< number of the last batch that the engine got
    std::uint64_t collected_ = 0;  ///< number of the last batch whose packets are back
    std::uint64_t marked_ = 0;     ///< number of the last batch of mark()
    std::atomic<std::uint32_t> most_{~std::uint32_t{0}};
    bool discards_ = false;  ///< the engine has failed
    bool over_ = false;      ///< nothing more comes from the engine
};

}  // namespace spead::recv
