// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/copy.hpp"
#include "memory/stores_rule.hpp"
#include "recv/lane.hpp"
#include "recv/packet_filter.hpp"
#include "recv/prefetched.hpp"
#include "recv/source.hpp"
#include "recv/spead_decoder.hpp"
#include "stats/counters.hpp"
#include "wire/net.hpp"

struct rte_mbuf;

namespace spead::recv {

inline PacketWay way_of(const wire::UdpView& udp) noexcept {
    return {udp.source(), udp.destination(), udp.src_port, udp.dst_port};
}

/// Receives on one lcore, from any number of (port, queue) sources, for any number of streams.
///
///     rx_burst -> prefetch -> parse_udp -> classify -> decode -> accept -> copy -> commit -> hand over
///
/// Copies are staged: a payload is copied when some more headers have been parsed, and its heap is committed
/// at the end of the batch. So memory brings the payload of the next packets while this one is written.
/// Payload that an engine moves is listed for it at once, in place of a staged copy (recv/gathering.hpp).
/// add_* and remove_* are for control code before the lcore runs, or for the lcore itself between polls (its
/// mailbox). Everything else belongs to the lcore.
template <class Decoder>
class BasicRxAgent {
  public:
    static constexpr std::uint16_t kBurst = 64;
    /// Holds how far ahead of the parsed packet mbufs are prefetched.
    static constexpr std::uint16_t kAhead = 10;
    static_assert(kBurst <= heap::Window::kMaxBatch && kBurst == stats::kFullBurst);
    /// Limits the lanes of an agent. Their tables are made with it: the lcore never allocates.
    static constexpr std::size_t kMaxLanes = 4096;
    static constexpr std::size_t kMaxSources = 256;

    BasicRxAgent();
    /// Sets the rule for the copies of streams that leave the choice open. Without it, they go into the
    /// cache.
    void set_stores(memory::StoresRule stores) noexcept { stores_ = stores; }

    /// Adds a lane, which the agent refers to until it is removed. Returns a free index, which classifiers
    /// use for it. There are fewer than kMaxLanes.
    std::uint16_t add_lane(Lane<Decoder>& lane) noexcept;
    /// Removes a lane. No classifier names it any more, and its window has no live or ended heap.
    void remove_lane(std::uint16_t index) noexcept;
    /// Adds a source; there are fewer than kMaxSources.
    void add_source(Source& source) noexcept;

    /// Polls one burst from every source. Returns whether any packet came. `now` are ticks and never
    /// decrease.
    bool poll(std::uint64_t now) noexcept;

    /// Says that the lcore is going to sleep: others need not wait for it. The next poll ends that.
    void rest() noexcept;

    /// Handles timeouts, history, and memory that consumers gave back. Call it every few milliseconds.
    void housekeep(std::uint64_t now) noexcept;

    /// Ends the run: takes waiting packets, ends all live heaps and hands over as many as the queues take.
    /// Returns true when nothing is left. With a blocking consumer call it again until then, or give up with
    /// drop_rest().
    bool flush() noexcept;
    /// Takes waiting packets as far as there is room, and drops what waits for consumers. Returns false while
    /// packets are with an engine: call it again until then, or after give_up_gathering().
    bool drop_rest() noexcept;

    /// Returns the lanes; null for removed ones.
    const std::vector<Lane<Decoder>*>& lanes() const noexcept { return lanes_; }
    const std::vector<Source*>& sources() const noexcept { return sources_; }
    /// Returns whether a lossless source is paused because a stream's consumer is behind.
    bool blocked() const noexcept { return blocked_ || held_ || waiting_; }
    /// Sets whether captures may make lossless sources wait. For the lcore (mailbox), or before it runs.
    void let_taps_block(bool may) noexcept { taps_block_ = may; }
    /// Returns whether payload is with an engine: it comes back without a packet.
    bool is_gathering() const noexcept {
        return std::any_of(gatherings_.begin(), gatherings_.end(),
                           [](const auto& g) { return g->any_out(); });
    }
    /// Gives the open batches to their engines. Returns whether nothing is left with these. For the end of a
    /// run, when nothing polls any more: call it again until then, or give_up_gathering().
    bool finish_gathering(std::uint64_t now) noexcept;
    /// Waits no longer for engines that stand still (Gathering::give_up).
    void give_up_gathering() noexcept;
    /// Marks the packets that are with engines now. is_past_gathering() returns whether they are back, or
    /// lost to an engine that was given up; later ones may be with it. Before a port's pools go.
    void mark_gathering() noexcept;
    bool is_past_gathering() const noexcept {
        return std::all_of(gatherings_.begin(), gatherings_.end(),
                           [](const auto& g) { return g->is_past_mark(); });
    }

    /// Returns the fullest burst of the last poll, as a measure of load: 0..kBurst.
    std::uint16_t last_burst() const noexcept { return last_burst_; }

  private:
    /// Describes the copy of a contiguous payload to `*base` + `offset`, which is read at copy time.
    struct Copy {
        std::byte* const* base;
        const std::uint8_t* from;
        std::uint64_t offset;
        std::uint32_t length;
        memory::Stores stores;
    };
    /// Describes the copy of a payload that is in several segments, in none that is contiguous with its
    /// header, or that goes into rows.
    struct ChainCopy {
        std::byte* const* base;
        rte_mbuf* mbuf;
        std::uint32_t skip;    ///< bytes of the frame before the payload
        std::uint64_t offset;  ///< of the payload; with rows, of its heap's first byte
        std::uint32_t length;
        memory::Stores stores;
        const chunk::Rows* rows = nullptr;
        std::uint64_t at = 0;  ///< with rows: of the payload in its heap
    };
    /// Holds a packet that is offered to its chunks again at the end of the batch.
    struct Again {
        Lane<Decoder>* lane;
        rte_mbuf* mbuf;
        std::uint32_t payload_at;  ///< in the frame
        std::uint16_t endpoint;
        heap::PacketView view;  ///< its items are in the frame
    };

    /// Processes a burst. `mbufs` has room for kAhead pointers after its `count`.
    std::uint16_t process(Source& source, rte_mbuf** mbufs, std::uint16_t count, std::uint64_t now) noexcept;
    std::uint16_t batch(Source& source, rte_mbuf** mbufs, std::uint16_t begin, std::uint16_t end,
                        std::uint64_t now) noexcept;
    std::uint16_t work(Source& source, rte_mbuf** mbufs, std::uint16_t count, std::uint64_t now) noexcept;
    std::uint16_t resume(Source& source, bool at_last, std::uint64_t now) noexcept;
    bool resume_first(Source& source, bool at_last, std::uint64_t now) noexcept;
    void make_wait(Source& source, Lane<Decoder>& lane, std::uint16_t endpoint, const heap::PacketView& view,
                   std::uint32_t payload_at, const WaitingHeader& header) noexcept;
    std::uint16_t room(const Source& source) noexcept;
    bool comes_back(const Source& source) const noexcept;
    template <class Ip>
    [[gnu::always_inline]] inline bool fast_path(Source& source, BasicFlowCache<Ip>& flows, rte_mbuf* mbuf,
                                                 std::uint64_t now) noexcept;
    template <class Ip>
    bool cut_path(Source& source, BasicFlowCache<Ip>& flows, rte_mbuf* mbuf, std::uint64_t now) noexcept;
    bool other_fast_path(Source& source, rte_mbuf* mbuf, std::uint64_t now) noexcept;
    template <class Ip, class Extent>
    [[gnu::always_inline]] inline bool take(Source& source, std::uint16_t lane_number,
                                            std::uint16_t endpoint_number, heap::PacketView& view,
                                            rte_mbuf* mbuf, const std::uint8_t* payload,
                                            std::uint32_t payload_at, std::uint64_t now,
                                            const WaitingHeader& header, Extent item_extent) noexcept;
    template <class Ip>
    bool format_path(Source& source, BasicFlowCache<Ip>& flows, rte_mbuf* mbuf, bool verify,
                     std::uint64_t now) noexcept;
    PortOutcome slow_path(Source& source, rte_mbuf* mbuf, std::uint64_t now) noexcept;
    void pass_on(Source& source, const rte_mbuf* mbuf) noexcept;
    bool handle_apart(Source& source, rte_mbuf*& mbuf, PortOutcome outcome, std::uint64_t now,
                      std::uint64_t& bytes) noexcept;
    void give_up_fragments() noexcept;
    bool filter(Lane<Decoder>& lane, std::uint16_t endpoint, const heap::PacketView& view,
                const PacketWay& way, rte_mbuf* mbuf, std::uint32_t payload_at, std::uint64_t now) noexcept;
    enum class Accepted : std::uint8_t { counted, copy, waits };
    [[gnu::always_inline]] inline Accepted accept(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                  heap::PacketView& view, std::uint32_t from,
                                                  std::uint64_t now, heap::Record*& record,
                                                  bool at_last = false) noexcept;
    static PathRecord::Packet packet_of(const heap::PacketView& view) noexcept {
        return {view.key, view.offset, view.payload_length};
    }
    static PathRecord::Packet packet_of(const Lane<Decoder>& lane, const chunk::ChunkLane::Accepted& a,
                                        const heap::PacketView& view) noexcept;
    void note_brought(Lane<Decoder>& lane, std::uint16_t endpoint, const PathRecord::Packet& packet,
                      std::uint64_t now) noexcept;
    void note_unplaced(Lane<Decoder>& lane, std::uint16_t endpoint, const heap::PacketView& view,
                       const PathRecord::Packet& packet, PacketOutcome outcome) noexcept;
    bool divert(Lane<Decoder>& lane, std::uint16_t endpoint, const heap::PacketView& view,
                const Source& source, const heap::Record& record, rte_mbuf* mbuf, const Copy& copy) noexcept;
    bool lend(Lane<Decoder>& lane, const Source& source, const heap::Record& record, rte_mbuf* mbuf,
              const Copy& copy) noexcept;
    bool gather_full(const Source& source) noexcept;
    bool fits(const Source& source, const rte_mbuf& mbuf) noexcept;
    void gather_chain(Lane<Decoder>& lane, const Source& source, rte_mbuf* mbuf, std::byte* to,
                      std::uint32_t skip, std::uint32_t length) noexcept;
    void keep(Gathering& gathering, const Source& source, rte_mbuf* mbuf) noexcept;
    std::uint16_t without_kept(rte_mbuf** mbufs, std::uint16_t count) noexcept;
    enum class Into : std::uint8_t { first, again, at_last };
    Accepted into_chunks(const Source& source, Lane<Decoder>& lane, std::uint16_t endpoint,
                         heap::PacketView& view, rte_mbuf* mbuf, std::uint32_t payload_at,
                         Into turn) noexcept;
    void offer_again(const Source& source) noexcept;
    void touch(Lane<Decoder>& lane) noexcept;
    bool tapped(Lane<Decoder>& lane, std::uint16_t endpoint, const rte_mbuf* mbuf,
                std::uint64_t now) noexcept;
    void copy_chain(const ChainCopy& c, const void* next = nullptr) noexcept;
    static const void* start_of(const ChainCopy& c) noexcept;
    [[gnu::always_inline]] inline void copy_one(const void* next) noexcept;
    [[gnu::always_inline]] inline void copy_staged(const void* next) noexcept;
    void choose_stores() noexcept;
    void leave_cache() noexcept;
    void commit_batch() noexcept;
    void hand_over(bool all) noexcept;
    bool paused(const Source& source) noexcept;
    bool held_by_tap(const Source& source) noexcept;

    /// Holds the choices of stores in a second; besides, lanes that outgrow the cache leave it at once.
    static constexpr std::uint64_t kChoicesPerSecond = 8;

    const memory::CopyChoice copies_of_;
    memory::StoresRule stores_;
    std::uint64_t choose_every_;     ///< ticks
    std::uint64_t next_choice_ = 0;  ///< ticks
    std::uint32_t batch_number_ = 0;
    std::uint64_t batch_time_ = 0;  ///< ticks
    std::uint16_t copy_count_ = 0;  ///< of the batch
    std::uint16_t copied_ = 0;      ///< of those; the others are staged
    bool streamed_ = false;         ///< some of the batch went past the cache
    std::uint16_t chain_count_ = 0;
    std::uint16_t again_count_ = 0;
    std::uint16_t touched_count_ = 0;
    std::uint16_t kept_count_ = 0;
    std::uint16_t last_burst_ = 0;
    std::uint16_t polls_since_hand_over_ = 0;
    bool kept_in_order_ = true;  ///< kept_ is in the order of the burst
    bool blocked_ = false;
    bool taps_block_ = false;
    bool held_ = false;           ///< a source waits for a capture
    bool waiting_ = false;        ///< a source waits for room in a window
    bool short_ = false;          ///< a window may have less room than a burst needs
    bool stopped_short_ = false;  ///< the last packet has to wait
    std::array<Copy, kBurst> copies_;
    std::array<ChainCopy, kBurst> chains_;
    std::array<Again, kBurst> again_;
    std::array<Lane<Decoder>*, kBurst> touched_;
    std::array<rte_mbuf*, kBurst> kept_;  ///< of the burst: they are freed after their batches
    std::vector<Lane<Decoder>*> lanes_;
    std::vector<Lane<Decoder>*> with_chunks_;  ///< reserved for all lanes, too
    std::vector<Lane<Decoder>*> with_ended_;   ///< reserved for all lanes; never grows on the data path
    std::vector<Source*> sources_;
    std::vector<std::shared_ptr<Gathering>> gatherings_;  ///< of the lanes, each once
    std::unique_ptr<std::uint8_t[]> scratch_;             ///< header of a packet that is split over segments
};

/// Accepts a packet. `copy`: the payload is to be copied into `record`. `waits`: nothing was counted.
template <class Decoder>
auto BasicRxAgent<Decoder>::accept(Lane<Decoder>& lane, std::uint16_t endpoint, heap::PacketView& view,
                                   std::uint32_t from, std::uint64_t now, heap::Record*& record,
                                   bool at_last) noexcept -> Accepted {
    view.arrival = now;
    view.source = from;
    const heap::Window::Accepted a = at_last ? lane.window.accept_now(view) : lane.window.accept(view);
    if (a.outcome == heap::Window::kWait) [[unlikely]]
        return Accepted::waits;
    // A stop ends its endpoint whatever became of its heap: two senders may count alike.
    if ((view.flags & heap::PacketView::kStop) != 0) [[unlikely]]
        lane.stops_seen[endpoint]++;
    if (a.outcome != PacketOutcome::placed) [[unlikely]] {
        note_unplaced(lane, endpoint, view, packet_of(view), a.outcome);
        return Accepted::counted;
    }
    if (view.payload_length == 0) [[unlikely]] {
        if (lane.notes_paths())
            note_brought(lane, endpoint, packet_of(view), view.arrival);
        return Accepted::counted;
    }
    record = a.record;
    lane.endpoints[endpoint].bytes += view.payload_length;
    return Accepted::copy;
}

/// Copies the oldest staged payload. The one after it begins at `next`; null: not soon. Most short ones are
/// in the cache already.
template <class Decoder>
void BasicRxAgent<Decoder>::copy_one(const void* next) noexcept {
    const Copy& c = copies_[copied_++];
    const memory::PayloadCopy& copy = copies_of_.with(c.stores);
    if (c.length <= kPrefetchedPayload && copied_ != copy_count_)
        copy(*c.base + c.offset, c.from, c.length);
    else
        copy.then(*c.base + c.offset, c.from, c.length, next);
    streamed_ |= c.stores == memory::Stores::streaming;
}

/// Copies what is left of the batch. The packets go on at `next`; null: not soon.
template <class Decoder>
void BasicRxAgent<Decoder>::copy_staged(const void* next) noexcept {
    while (copied_ < copy_count_)
        copy_one(copied_ + 1 == copy_count_ ? next : copies_[copied_ + 1].from);
    for (std::uint16_t i = 0; i < chain_count_; i++) {
        copy_chain(chains_[i], i + 1 < chain_count_ ? start_of(chains_[i + 1]) : nullptr);
        streamed_ |= chains_[i].stores == memory::Stores::streaming;
    }
    // Once for the batch, because it waits for the stores.
    if (streamed_)
        memory::end_streaming();
    streamed_ = false;
    copy_count_ = copied_ = 0;
    chain_count_ = 0;
}

using RxAgent = BasicRxAgent<SpeadDecoder>;
using SpeadLane = Lane<SpeadDecoder>;

extern template class BasicRxAgent<SpeadDecoder>;

}  // namespace spead::recv
