// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "port/impairments.hpp"
#include "port/port_io.hpp"
#include "stats/counters.hpp"

struct rte_mempool;

namespace spead::port {

/// Counts the packets that were given to an impaired queue: given + duplicated = lost + sent + dropped +
/// those that it still holds.
struct ImpairCounters {
    std::uint64_t given = 0;  ///< by the sender
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;  ///< additional copies
    std::uint64_t corrupted = 0;   ///< of `given`; those without UDP payload cannot be
    std::uint64_t delayed = 0;     ///< of `given`
    std::uint64_t reordered =
        0;                      ///< packets that left their group behind one that came later, copies included
    std::uint64_t sent = 0;     ///< taken by the driver
    std::uint64_t dropped = 0;  ///< held when the port stopped, or when the run was given up
};

/// Adds the counters to the sender's.
void tell(const ImpairCounters& counters, stats::SendCounters& to) noexcept;

/// Impairs packets in front of another transmit queue: loses, duplicates, corrupts, reorders and delays them,
/// and counts that. It holds copies of its own, so senders have their memory back as from a driver that
/// copies. It takes no more than it can hold, so no packets are lost beyond the configured impairments.
///
/// A group that is to be reordered waits until it is full, or for kLongestHold, or for flush().
///
/// Made and destroyed in control code. The queue, set_inner(), poll() and give_up() belong to the lcore; any
/// thread may call flush(), empty() and out().
class ImpairedQueue {
  public:
    static constexpr double kLongestHold = 1;  ///< seconds
    /// Returns the present ticks of the lcore's clock.
    using Ticks = std::uint64_t (*)(const void* context);

    struct Setup {
        Impairments impairments;
        double hz = 0;                    ///< ticks per second
        std::uint32_t longest_frame = 0;  ///< bytes
        std::uint16_t descriptors = 0;    ///< of the queue behind it
        int numa = -1;
        Ticks ticks = nullptr;  ///< null: the CPU's time stamp counter
        const void* context = nullptr;
    };

    /// Makes the pool for the copies. Throws Error when there is no memory.
    ImpairedQueue(const Setup& setup, const std::string& where);
    /// Frees the held packets.
    ~ImpairedQueue();
    ImpairedQueue(const ImpairedQueue&) = delete;
    ImpairedQueue& operator=(const ImpairedQueue&) = delete;

    /// Returns its EAL memory.
    static std::size_t memory_need(const Setup& setup) noexcept;

    /// Returns the queue for the sender; lives as long as this.
    TxQueue queue() noexcept { return {tx, reap, this, 0}; }
    /// Returns whether a sender's queue is an impaired one that takes nothing only because it is full of
    /// packets that it delays: its port has taken all that are due. For the lcore.
    static bool only_delays(const TxQueue& queue) noexcept;
    /// Sets the next queue. Without a burst function there is none, and packets wait or are given up.
    void set_inner(const TxQueue& inner) noexcept { inner_ = inner; }
    /// Sends due packets. Returns whether it did anything. For the lcore, also while nothing is sent.
    bool poll() noexcept;
    /// Frees the held packets, and counts them as dropped.
    void give_up() noexcept;
    /// Returns the counters. Valid for the lcore, or when it is joined.
    const ImpairCounters& counters() const noexcept { return counters_; }
    /// Returns a time before which there is nothing to do; 0: unknown, or nothing is held.
    std::uint64_t next_time() const noexcept;

    /// Says that no more packets come for now: a group does not wait to be full.
    void flush() noexcept { flush_.store(true, std::memory_order_release); }
    bool empty() const noexcept { return holds_.load(std::memory_order_acquire) == 0; }
    /// Returns how many mbufs of its own are held, or with the driver.
    std::size_t out() const noexcept;

  private:
    /// Holds mbufs in the order of their sending; its size is a power of two.
    struct Line {
        struct Entry {
            rte_mbuf* mbuf;
            std::uint64_t due;
        };
        std::vector<Entry> entries;
        std::size_t head = 0;
        std::size_t tail = 0;
        std::size_t size() const noexcept { return tail - head; }
        std::size_t room() const noexcept { return entries.size() - size(); }
        Entry& operator[](std::size_t i) noexcept { return entries[(head + i) & (entries.size() - 1)]; }
        void push(rte_mbuf* m, std::uint64_t due = 0) noexcept {
            entries[tail++ & (entries.size() - 1)] = {m, due};
        }
    };

    static std::uint16_t tx(void* self, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t count);
    static void reap(void* self, std::uint16_t queue);
    std::uint64_t now() const noexcept;
    bool take(rte_mbuf* packet, std::uint64_t now) noexcept;
    void release(std::uint64_t now) noexcept;
    void shuffle() noexcept;
    bool push() noexcept;
    void tell_holds() noexcept;

    const Impairments impairments_;
    const Ticks ticks_;
    const void* const context_;
    const std::uint64_t delay_;
    const std::uint64_t hold_;
    rte_mempool* pool_ = nullptr;
    TxQueue inner_{};
    Line ready_;    ///< due now
    Line delayed_;  ///< by the time they are due
    std::vector<rte_mbuf*> group_;
    std::vector<std::uint32_t> places_;  ///< of a shuffled group: the original places
    std::uint64_t group_since_ = 0;
    std::uint64_t groups_ = 0;
    ImpairCounters counters_;
    std::atomic<bool> flush_{false};
    std::atomic<std::size_t> holds_{0};
};

}  // namespace spead::port
