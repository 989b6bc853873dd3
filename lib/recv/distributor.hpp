// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "port/port_io.hpp"
#include "recv/classifier.hpp"
#include "recv/flow_template.hpp"
#include "recv/format_decoder.hpp"
#include "recv/spead_decoder.hpp"

struct rte_mbuf;
struct rte_ring;

namespace spead::recv {

/// Shares one receive queue among several lcores. The lcore that polls it keeps its own packets and passes
/// the others on, by endpoint and heap count, through a ring to each. Packets that a ring does not take wait
/// here, and the queue is not polled meanwhile. So nothing is lost or counted between the queue and the
/// packet's lcore, and a slow worker shows as loss in front of the port, like a slow polling lcore.
///
/// Control code makes, connects and destroys it while no lcore has it. The polling lcore makes the changes
/// that are possible while lcores run, between bursts. own() is for the lcore that polls the queue, share(i)
/// for the i-th other. Packets of no endpoint stay with the lcore of the queue, which counts them. Packets
/// with a broken header go to the first lcore of their endpoint.
class Distributor {
  public:
    /// Limits the mbufs that wait for an lcore; the port's pool has that many more for each of `others`.
    static constexpr std::uint32_t kRingEntries = 1024;
    static constexpr std::uint16_t kBurst = 64;
    static constexpr std::size_t kMaxOthers = 128;

    /// Assigns endpoints to lcores; exchanged as a whole when streams change.
    class Table {
      public:
        /// Sends the endpoint's packets to `destinations` by heap count: 0 is the lcore that polls, i+1 the
        /// i-th other. `format` decodes its packets, and may be shared by endpoints of the table; null: they
        /// are SPEAD. Throws Error when the endpoint is there already.
        void add(const Endpoint& endpoint, std::vector<std::uint16_t> destinations,
                 std::shared_ptr<FormatDecoder> format = nullptr);
        /// Sends all IP fragments to one lcore, which puts them together. Otherwise the lcore that polls has
        /// them.
        void pass_fragments_to(std::uint16_t destination) noexcept { fragments_to_ = destination; }

      private:
        friend class Distributor;
        Classifier classifier_;  ///< Target::lane is an index into destinations_
        FlowCache flows_;
        FlowCache6 flows6_;
        std::vector<std::vector<std::uint16_t>> destinations_;
        std::vector<std::shared_ptr<FormatDecoder>> formats_;  ///< likewise; null: SPEAD
        std::uint16_t fragments_to_ = 0;
    };

    /// Holds a ring to one more lcore, not in use yet.
    class Ring {
      public:
        /// Makes the ring. Throws Error when there is no memory.
        Ring();

      private:
        friend class Distributor;
        std::unique_ptr<rte_ring, void (*)(rte_ring*)> ring_;
    };

    /// Makes the rings to `others`: the lcores behind the queue besides the one that polls it, at most
    /// kMaxOthers. Throws Error when there is no memory.
    explicit Distributor(std::size_t others);
    ~Distributor();
    Distributor(const Distributor&) = delete;
    Distributor& operator=(const Distributor&) = delete;

    /// Adds one more lcore behind the queue; there are fewer than kMaxOthers. Returns its number, for
    /// share().
    std::size_t add_other(Ring&& ring) noexcept;
    std::size_t others() const noexcept { return ways_.size(); }
    /// Exchanges the table; `table` then holds the former one. Allocates nothing.
    void exchange(Table& table) noexcept { std::swap(table_, table); }
    Table& table() noexcept { return table_; }
    /// Returns all endpoints of the queue. On the polling lcore.
    const Classifier& endpoints() const noexcept { return table_.classifier_; }
    /// Sets the source of packets.
    void connect(const port::RxQueue& from) noexcept { from_ = from; }

    port::RxQueue own() noexcept;
    port::RxQueue share(std::size_t other) noexcept;

    /// Returns whether packets were passed on since the last call. On the polling lcore, between bursts.
    bool take_moved() noexcept {
        const bool moved = moved_;
        moved_ = false;
        return moved;
    }
    /// Takes no more packets from the queue; waiting ones still go to their rings. On the polling lcore.
    void close() noexcept { closed_ = true; }
    /// Returns whether packets wait for room in a ring. On the polling lcore.
    bool holds() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
    /// Returns the number of mbufs on their way. Any thread; 0 is final only after close().
    std::size_t on_their_way() const noexcept;
    /// Returns those on their way to the i-th other lcore, and all that have no ring yet. Any thread.
    std::size_t on_their_way_to(std::size_t other) const noexcept;

    /// Returns which of `n` lcores has a heap.
    static std::size_t share_of(std::uint64_t heap_count, std::size_t n) noexcept {
        // Any arithmetic progression of counts (senders that count 1, 3, 5...) is distributed evenly.
        return static_cast<std::size_t>(((heap_count * 0x9E3779B97F4A7C15) >> 32) * n >> 32);
    }

  private:
    struct Way {
        std::unique_ptr<rte_ring, void (*)(rte_ring*)> ring;
        std::array<rte_mbuf*, kBurst> waiting;  ///< not taken by the ring, in order
        std::uint16_t count = 0;
    };

    static std::uint16_t own_burst(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max);
    static std::uint16_t share_burst(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max);
    std::uint16_t poll(rte_mbuf** mbufs, std::uint16_t max) noexcept;
    [[gnu::always_inline]] inline std::uint16_t destination(const rte_mbuf* mbuf) noexcept;
    template <class Ip>
    bool known(BasicFlowCache<Ip>& flows, const std::uint8_t* frame, std::size_t length,
               std::uint16_t& to) noexcept;
    std::uint16_t look_up(const rte_mbuf* mbuf) noexcept;
    bool pass_on() noexcept;

    port::RxQueue from_;
    Table table_;
    std::vector<Way> ways_;  ///< reserved, so that it never moves
    SpeadDecoder decoder_;
    std::unique_ptr<std::uint8_t[]> scratch_;  ///< header of a packet that is split over segments
    std::atomic<std::uint32_t> waiting_{0};    ///< in ways_; lowered once they are in the rings
    bool moved_ = false;
    bool closed_ = false;
};

}  // namespace spead::recv
