// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/frame_ring.hpp"
#include "memory/copy.hpp"
#include "port/capabilities.hpp"
#include "port/port_io.hpp"
#include "port/timestamps.hpp"
#include "recv/classifier.hpp"
#include "recv/flow_template.hpp"
#include "recv/lane.hpp"
#include "recv/spead_decoder.hpp"
#include "stats/counters.hpp"
#include "stats/talkers.hpp"

struct rte_mbuf;

namespace spead::recv {

/// One receive queue as an RX lcore sees it.
struct Source {
    port::RxQueue queue;
    Classifier classifier;
    FlowCache flows;  ///< forget() it when the classifier changes
    stats::RxCounters counters;
    std::vector<std::uint16_t> lanes;          ///< every lane the classifier names, once
    std::uint32_t longest_frame = UINT32_MAX;  ///< longer ones are counted as oversized_frames
    std::uint32_t cut_frame = UINT32_MAX;  ///< so are malformed ones of this length: what the port cuts to
    bool check_udp = false;                ///< UDP checksums that the port has not checked are, in software
    const port::ArrivalTimes* arrivals = nullptr;  ///< heaps are told when packets came; null: they are not
    FrameRing* hosts = nullptr;  ///< where IGMP and ARP frames go besides being counted; null: nowhere
    std::uint16_t batch = 64;    ///< the lcore's note: packets per batch, by their recent size
    stats::Talkers talkers;      ///< senders, of whose packets every so many-th is looked at
    std::uint64_t untold = 0;    ///< packets that stand in talkers with the next one that is looked at

    /// Takes the lengths from those of the port.
    void limit(const port::Capabilities& port) {
        if (port.link_frame != 0) {
            longest_frame = port.link_frame;
            cut_frame = port.max_rx_frame;
        }
    }

    /// What is no count begins anew. The lcore's.
    void forget_peaks() noexcept {
        talkers = {};
        untold = 0;
        counters.fewest_free_mbufs = stats::RxCounters::kNeverLooked;
        counters.active = {};
    }
};

/// Who gets the packets of a source: what is exchanged as a whole when streams change.
struct SourceTables {
    Classifier classifier;
    FlowCache flows;
    std::vector<std::uint16_t> lanes;

    /// By the source's lcore, between polls. Allocates nothing; the source's former tables are here then.
    void exchange(Source& source) noexcept {
        std::swap(classifier, source.classifier);
        std::swap(flows, source.flows);
        std::swap(lanes, source.lanes);
    }
};

/// The receiving duty of one lcore: any number of (port, queue) sources, any number of streams.
///
///     rx_burst -> prefetch -> parse_udp -> classify -> decode -> accept -> copy -> commit -> hand over
///
/// Packets are staged, all headers of a batch and then all copies; large ones in short batches, because their
/// copies evict staged headers. add_* and remove_* are for the control world before the lcore
/// runs, or for the lcore itself between polls (its mailbox). Everything else belongs to the lcore.
template <class Decoder>
class BasicRxAgent {
  public:
    static constexpr std::uint16_t kBurst = 64;
    /// How far ahead of the packet being parsed mbufs are fetched.
    static constexpr std::uint16_t kAhead = 10;
    static_assert(kBurst <= heap::Window::kMaxBatch && kBurst == stats::kFullBurst);
    /// How many an agent may have at once. Their tables are made with it: the lcore never allocates.
    static constexpr std::size_t kMaxLanes = 4096;
    static constexpr std::size_t kMaxSources = 256;

    BasicRxAgent();

    /// The agent refers to it until it is removed; returns its index, by which classifiers name it: one that
    /// is free. There are fewer than kMaxLanes.
    std::uint16_t add_lane(Lane<Decoder>& lane) noexcept;
    /// No classifier names it any more, and its window has nothing live or ended.
    void remove_lane(std::uint16_t index) noexcept;
    /// There are fewer than kMaxSources.
    void add_source(Source& source) noexcept;

    /// One burst from every source. Returns whether any packet came. `now` are ticks and never go back.
    bool poll(std::uint64_t now) noexcept;

    /// Timeouts, history, memory that consumers gave back. Every few milliseconds.
    void housekeep(std::uint64_t now) noexcept;

    /// End of the run: ends all live heaps and hands over what the queues take. Returns true when nothing is
    /// left; with a blocking consumer call it again until then, or give up with drop_rest().
    bool flush() noexcept;
    void drop_rest() noexcept;

    /// Null where one was removed.
    const std::vector<Lane<Decoder>*>& lanes() const noexcept { return lanes_; }
    const std::vector<Source*>& sources() const noexcept { return sources_; }
    /// A lossless source is paused because a stream's consumer is behind.
    bool blocked() const noexcept { return blocked_ || held_; }
    /// Whether captures may make lossless sources wait. For the lcore (mailbox), or before it runs.
    void let_taps_block(bool may) noexcept { taps_block_ = may; }
    /// Fullest burst of the last poll, as a measure of load: 0..kBurst.
    std::uint16_t last_burst() const noexcept { return last_burst_; }

  private:
    struct Copy {
        heap::Record* record;
        const std::uint8_t* from;
        std::uint32_t offset;
        std::uint32_t length;
    };
    /// A payload that lies in several segments, or in none that is contiguous with its header.
    struct ChainCopy {
        heap::Record* record;
        rte_mbuf* mbuf;
        std::uint32_t skip;  ///< bytes of the frame before the payload
        std::uint32_t offset;
        std::uint32_t length;
    };

    /// `mbufs` has room for kAhead pointers behind the `count` it holds.
    void process(Source& source, rte_mbuf** mbufs, std::uint16_t count, std::uint64_t now) noexcept;
    void batch(Source& source, rte_mbuf** mbufs, std::uint16_t begin, std::uint16_t end,
               std::uint64_t now) noexcept;
    [[gnu::always_inline]] inline bool usual(Source& source, rte_mbuf* mbuf, std::uint64_t now) noexcept;
    PortOutcome one(Source& source, rte_mbuf* mbuf, std::uint64_t now) noexcept;
    PortOutcome one_chained(Source& source, rte_mbuf* mbuf, bool verify, std::uint64_t now) noexcept;
    void pass_on(Source& source, const rte_mbuf* mbuf) noexcept;
    bool filter(Lane<Decoder>& lane, const heap::PacketView& view, const PacketWay& way, rte_mbuf* mbuf,
                std::uint32_t payload_at, std::uint64_t now) noexcept;
    bool accept(Lane<Decoder>& lane, std::uint16_t endpoint, heap::PacketView& view, std::uint32_t from,
                std::uint64_t now, heap::Record*& record) noexcept;
    void touch(Lane<Decoder>& lane) noexcept;
    bool tapped(Lane<Decoder>& lane, const rte_mbuf* mbuf, std::uint64_t now) noexcept;
    void copy_chain(const ChainCopy& c) noexcept;
    void commit_batch() noexcept;
    void hand_over(bool all) noexcept;
    bool paused(const Source& source) noexcept;
    bool held_by_tap(const Source& source) noexcept;

    memory::CopyFunction copy_;
    std::uint32_t batch_number_ = 0;
    std::uint64_t batch_time_ = 0;  ///< ticks
    std::uint16_t copy_count_ = 0;
    std::uint16_t chain_count_ = 0;
    std::uint16_t touched_count_ = 0;
    std::uint16_t last_burst_ = 0;
    std::uint16_t polls_since_hand_over_ = 0;
    bool blocked_ = false;
    bool taps_block_ = false;
    bool held_ = false;  ///< a source waits for a capture
    std::array<Copy, kBurst> copies_;
    std::array<ChainCopy, kBurst> chains_;
    std::array<Lane<Decoder>*, kBurst> touched_;
    std::vector<Lane<Decoder>*> lanes_;
    std::vector<Lane<Decoder>*> with_ended_;  ///< reserved for all lanes; never grows on the data path
    std::vector<Source*> sources_;
    std::unique_ptr<std::uint8_t[]> scratch_;  ///< header of a packet that is split over segments
};

using RxAgent = BasicRxAgent<SpeadDecoder>;
using SpeadLane = Lane<SpeadDecoder>;

extern template class BasicRxAgent<SpeadDecoder>;

}  // namespace spead::recv
