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

/// What became of the packets that were given to an impaired queue:
/// given + duplicated = lost + sent + dropped + those that it still holds.
struct ImpairCounters {
    std::uint64_t given = 0;  ///< by the sender
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;  ///< copies besides
    std::uint64_t corrupted = 0;   ///< of `given`; those without UDP payload cannot be
    std::uint64_t delayed = 0;     ///< of `given`
    std::uint64_t reordered =
        0;                      ///< packets that left their group behind one that came later, copies included
    std::uint64_t sent = 0;     ///< the driver has them
    std::uint64_t dropped = 0;  ///< held when the port stopped, or when the run was given up
};

/// Into the counters of who sends.
void tell(const ImpairCounters& counters, stats::SendCounters& to) noexcept;

/// A transmit queue in front of another one that loses, duplicates, corrupts, reorders and delays packets,
/// and keeps books of it. What it holds are copies of its own, so senders have their memory back as from a
/// driver that copies. It takes no more than it can hold: nothing is ever lost but what the impairments say.
///
/// A group that is to be reordered waits until it is full, or for kLongestHold, or for flush().
///
/// Made and destroyed in the control world; the queue, set_inner(), poll() and give_up() belong to the lcore;
/// flush(), empty() and out() may be called by any thread.
class ImpairedQueue {
  public:
    static constexpr double kLongestHold = 1;  ///< seconds
    /// Ticks of the lcore's clock now.
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

    /// Makes the pool for the copies; throws Error when there is no memory.
    ImpairedQueue(const Setup& setup, const std::string& where);
    /// Frees what it holds.
    ~ImpairedQueue();
    ImpairedQueue(const ImpairedQueue&) = delete;
    ImpairedQueue& operator=(const ImpairedQueue&) = delete;

    /// EAL memory that it takes.
    static std::size_t memory_need(const Setup& setup) noexcept;

    /// For the sender; lives as long as this.
    TxQueue queue() noexcept { return {tx, reap, this, 0}; }
    /// Where packets go. Without a burst function: nowhere, and what is held waits or is given up.
    void set_inner(const TxQueue& inner) noexcept { inner_ = inner; }
    /// Sends what is due. Returns whether it did anything. For the lcore, also while nothing is sent.
    bool poll() noexcept;
    /// Frees what is held, and counts it as dropped.
    void give_up() noexcept;
    /// Valid for the lcore, or when it is joined.
    const ImpairCounters& counters() const noexcept { return counters_; }
    /// Before this there is nothing to do; 0: not known, or nothing is held.
    std::uint64_t next_time() const noexcept;

    /// Nothing more comes for now: a group does not wait to be full.
    void flush() noexcept { flush_.store(true, std::memory_order_release); }
    bool empty() const noexcept { return holds_.load(std::memory_order_acquire) == 0; }
    /// mbufs of its own that are held, or that the driver still has.
    std::size_t out() const noexcept;

  private:
    /// mbufs in the order of their sending; its size is a power of two.
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
    Line ready_;    ///< to be sent now
    Line delayed_;  ///< by the time they are due
    std::vector<rte_mbuf*> group_;
    std::vector<std::uint32_t> places_;  ///< of a group that is shuffled: where its packets were
    std::uint64_t group_since_ = 0;
    std::uint64_t groups_ = 0;
    ImpairCounters counters_;
    std::atomic<bool> flush_{false};
    std::atomic<std::size_t> holds_{0};
};

}  // namespace spead::port
