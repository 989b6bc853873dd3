// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <rte_mbuf.h>

#include "base/frame_ring.hpp"
#include "heap/packet_view.hpp"
#include "heap/room.hpp"
#include "port/capabilities.hpp"
#include "port/port_io.hpp"
#include "port/timestamps.hpp"
#include "recv/classifier.hpp"
#include "recv/flow_template.hpp"
#include "recv/reassembler.hpp"
#include "stats/counters.hpp"
#include "stats/strays.hpp"
#include "stats/talkers.hpp"

namespace spead::recv {

/// Says what to decode again before a waiting packet's view shows its items.
struct WaitingHeader {
    std::uint32_t at = 0;        ///< of the datagram, in the frame
    std::uint32_t have = 0;      ///< contiguous bytes of the datagram; 0: the view shows items in the frame
    std::uint32_t length = 0;    ///< bytes of the datagram
    std::uint32_t gathered = 0;  ///< bytes of the frame to gather first; 0: none
};

/// Holds packets of a burst that wait, because the first of them waits for room in its stream's window. They
/// are in order and counted nowhere yet, as if they were still in the port's queue.
struct WaitingPackets {
    WaitingPackets() = default;
    WaitingPackets(const WaitingPackets&) = delete;
    WaitingPackets& operator=(const WaitingPackets&) = delete;
    ~WaitingPackets() { drop(); }

    /// Keeps the packets, at most kMaxBatch; the first has to wait.
    void keep(rte_mbuf* const* from, std::uint32_t n) noexcept {
        std::copy_n(from, n, mbufs.begin());
        count = static_cast<std::uint16_t>(n);
    }
    /// Frees them because their port closes.
    void drop() noexcept;

    std::array<rte_mbuf*, heap::kMaxBatch> mbufs;
    std::uint16_t count = 0;
    /// Says that the first was decoded, offered to captures and passed by the filter: it need only be
    /// accepted.
    bool decoded = false;
    heap::PacketView view;         ///< of the first, like the others; its items may be gone
    std::uint16_t lane = 0;        ///< of its stream
    std::uint16_t endpoint = 0;    ///< of the lane
    std::uint32_t payload_at = 0;  ///< in the frame
    WaitingHeader header;
};

/// Holds one receive queue for an RX lcore.
struct Source {
    port::RxQueue queue;
    /// Says that the packets stay the queue's: they are in no pool, and nobody frees them.
    bool keeps_packets = false;
    /// Leaves the packets in the queue: nothing else brings them again, and no stream receives them yet.
    bool held = false;
    Classifier classifier;
    /// Knows the endpoints of all lcores, if its queue is distributed; null: `classifier` does.
    const Classifier* all_endpoints = nullptr;
    FlowCache flows;    ///< exchanged with the classifier
    FlowCache6 flows6;  ///< the same of IPv6
    stats::RxCounters counters;
    std::vector<std::uint16_t> lanes;          ///< every lane in the classifier, once
    std::uint32_t longest_frame = UINT32_MAX;  ///< longer ones are counted as oversized_frames
    std::uint32_t cut_frame = UINT32_MAX;  ///< malformed frames of this length count so, too: the port cuts
                                           ///< to it
    bool check_udp = false;                ///< check UDP checksums in software if the port has not
    const port::ArrivalTimes* arrivals = nullptr;  ///< for the arrival times of heaps; null: none
    FrameRing* hosts = nullptr;  ///< also gets IGMP, ARP, MLD and NDP frames, which are counted; null: none
    std::uint16_t batch = 64;    ///< packets per batch, by their recent size; noted by the lcore
    std::uint16_t staged = 64;   ///< packets that are parsed and not copied yet; the same
    stats::Talkers talkers;      ///< senders, from samples of their packets
    stats::Strays strays;        ///< destinations of packets for no stream
    std::uint64_t unattributed = 0;            ///< packets that the next sample represents
    std::unique_ptr<Reassembler> reassembler;  ///< of IP fragments; null: they are refused
    WaitingPackets waiting;  ///< used only if a stream waits for its consumer (on_full = block)

    /// Sets the lengths to those of the port.
    void limit(const port::Capabilities& port) {
        if (port.link_frame != 0) {
            longest_frame = port.link_frame;
            cut_frame = port.max_rx_frame;
        }
    }

    /// Returns whether so many first bytes of the packet may be read.
    bool may_read(const rte_mbuf& mbuf, std::size_t bytes) const noexcept {
        return !queue.splits || mbuf.nb_segs == 1 || bytes <= mbuf.data_len;
    }

    Reassembler::Counts reassembly_counts() noexcept { return {counters, unattributed}; }
    /// Gives up the datagrams that are not whole yet. On the lcore.
    void give_up_fragments() noexcept {
        if (reassembler != nullptr)
            reassembler->give_up_all(reassembly_counts());
    }

    /// Returns whether packets wait that may be the lane's.
    bool waits_for(std::uint16_t lane) const noexcept {
        return waiting.count != 0 && std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
    }

    /// Restarts everything that is no count. On the lcore.
    void forget_peaks() noexcept {
        talkers = {};
        strays = {};
        unattributed = 0;
        counters.fewest_free_mbufs = stats::RxCounters::kNeverLooked;
        counters.longest_payload = 0;
        counters.active = {};
    }
};

/// Holds the receivers of a source's packets, exchanged as a whole when streams change.
struct SourceTables {
    Classifier classifier;
    FlowCache flows;
    FlowCache6 flows6;
    std::vector<std::uint16_t> lanes;

    /// Exchanges the tables; this object then holds the former ones. On the source's lcore, between polls.
    /// Allocates nothing.
    void exchange(Source& source) noexcept {
        std::swap(classifier, source.classifier);
        std::swap(flows, source.flows);
        std::swap(flows6, source.flows6);
        std::swap(lanes, source.lanes);
        source.waiting.decoded = false;
    }
};

}  // namespace spead::recv
