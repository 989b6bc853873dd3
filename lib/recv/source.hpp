// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/frame_ring.hpp"
#include "heap/packet_view.hpp"
#include "heap/room.hpp"
#include "port/capabilities.hpp"
#include "port/port_io.hpp"
#include "port/timestamps.hpp"
#include "recv/classifier.hpp"
#include "recv/flow_template.hpp"
#include "stats/counters.hpp"
#include "stats/talkers.hpp"

struct rte_mbuf;

namespace spead::recv {

/// Packets of a burst that wait, with the first of them, for room in its stream's window: in order, counted
/// nowhere yet, as if they were still in the port's queue.
struct WaitingPackets {
    WaitingPackets() = default;
    WaitingPackets(const WaitingPackets&) = delete;
    WaitingPackets& operator=(const WaitingPackets&) = delete;
    ~WaitingPackets() { drop(); }

    /// At most kMaxBatch, of which the first has to wait.
    void keep(rte_mbuf* const* from, std::uint32_t n) noexcept {
        std::copy_n(from, n, mbufs.begin());
        count = static_cast<std::uint16_t>(n);
    }
    /// Frees them: their port goes.
    void drop() noexcept;

    std::array<rte_mbuf*, heap::kMaxBatch> mbufs;
    std::uint16_t count = 0;
    /// The first has been looked at, offered to captures and passed by the filter: it need only be accepted.
    bool decoded = false;
    heap::PacketView view;         ///< of the first, like the others
    std::uint16_t lane = 0;        ///< of its stream
    std::uint16_t endpoint = 0;    ///< of the lane
    std::uint32_t payload_at = 0;  ///< in the frame
    std::uint32_t gathered = 0;    ///< bytes of the frame to gather before `view` tells its items; 0: none
};

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
    FrameRing* hosts = nullptr;      ///< where IGMP and ARP frames go besides being counted; null: nowhere
    std::uint16_t batch = 64;        ///< the lcore's note: packets per batch, by their recent size
    stats::Talkers talkers;          ///< senders, of whose packets every so many-th is looked at
    std::uint64_t unattributed = 0;  ///< packets that stand in talkers with the next one that is looked at
    WaitingPackets waiting;          ///< only where a stream waits for its consumer (on_full = block)

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
        unattributed = 0;
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
        source.waiting.decoded = false;
    }
};

}  // namespace spead::recv
