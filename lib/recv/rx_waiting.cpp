// SPDX-License-Identifier: BSD-3-Clause
/// Handles packets that wait for room in the window of a lossless stream, and the end of a run.
#include <algorithm>
#include <utility>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"

namespace spead::recv {

void WaitingPackets::drop() noexcept {
    for (std::uint16_t i = 0; i < count; i++)
        rte_pktmbuf_free(mbufs[i]);
    count = 0;
    decoded = false;
}

/// Notes the state of the packet that has to wait. It has been counted for its endpoint, and is not counted
/// now.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::make_wait(Source& source, Lane<Decoder>& lane,
                                                        std::uint16_t endpoint, const heap::PacketView& view,
                                                        std::uint32_t payload_at,
                                                        const WaitingHeader& header) noexcept {
    lane.endpoints[endpoint].packets--;
    WaitingPackets& w = source.waiting;
    w.decoded = true;
    w.view = view;
    w.lane = static_cast<std::uint16_t>(std::find(lanes_.begin(), lanes_.end(), &lane) - lanes_.begin());
    w.endpoint = endpoint;
    w.payload_at = payload_at;
    w.header = header;
    stopped_short_ = true;
}

/// Returns whether the packets of a source wait for what may come: chunks of its stream, or heaps of any
/// stream, which give room.
template <class Decoder>
bool BasicRxAgent<Decoder>::comes_back(const Source& source) const noexcept {
    if (source.waiting.decoded) {
        Lane<Decoder>& lane = *lanes_[source.waiting.lane];
        if (lane.chunks)
            return lane.chunks->comes_back();
        // Its memory is its own.
        if (lane.window.lends())
            return lane.window.is_worth_waiting();
    }
    bool any = false;
    for (Lane<Decoder>* const lane : lanes_) {
        if (lane == nullptr || lane->chunks)
            continue;
        lane->window.reclaim();
        any |= lane->window.heaps_elsewhere() != 0;
    }
    return any;
}

/// Returns the packets of a burst for which every lossless stream of the source has room.
template <class Decoder>
std::uint16_t BasicRxAgent<Decoder>::room(const Source& source) noexcept {
    std::uint16_t least = kBurst;
    for (const std::uint16_t lane : source.lanes)
        least = std::min(least, lanes_[lane]->window.packets_with_room());
    short_ |= least < kBurst;
    waiting_ |= least == 0;
    return least;
}

/// Continues with the waiting packets. Returns how many were taken.
template <class Decoder>
std::uint16_t BasicRxAgent<Decoder>::resume(Source& source, bool at_last, std::uint64_t now) noexcept {
    WaitingPackets& w = source.waiting;
    std::uint16_t taken = 0;
    if (w.decoded) {
        if (!resume_first(source, at_last, now)) {
            waiting_ = true;
            return 0;
        }
        if (without_kept(w.mbufs.data(), 1) != 0)
            rte_pktmbuf_free(w.mbufs[0]);
        taken = 1;
    }
    std::array<rte_mbuf*, kBurst + kAhead> mbufs;
    const auto rest = static_cast<std::uint16_t>(std::exchange(w.count, std::uint16_t{0}) - taken);
    std::copy_n(w.mbufs.begin() + taken, rest, mbufs.begin());
    if (rest != 0)
        taken = static_cast<std::uint16_t>(taken + work(source, mbufs.data(), rest, now));
    waiting_ |= w.count != 0;
    return taken;
}

/// Offers the packet to its window again. Returns false when it still has to wait.
template <class Decoder>
bool BasicRxAgent<Decoder>::resume_first(Source& source, bool at_last, std::uint64_t now) noexcept {
    WaitingPackets& w = source.waiting;
    rte_mbuf* const mbuf = w.mbufs[0];
    Lane<Decoder>& lane = *lanes_[w.lane];
    // Meanwhile, other sources have used the room that it found in the open batch.
    if (mbuf->nb_segs != 1 && lane.gathering && !lane.gathering->fits(mbuf->nb_segs)) [[unlikely]]
        return false;
    // Packets that came meanwhile may have overwritten the gathered header, and the decoder's item words.
    const WaitingHeader& header = w.header;
    if (header.gathered != 0)
        gather(mbuf, scratch_.get(), header.gathered);
    if (header.have != 0) {
        const std::uint8_t* const frame = header.gathered != 0 ? scratch_.get() : frame_of(mbuf);
        std::uint32_t payload_at = 0;
        lane.decoder.decode(frame + header.at, header.have, header.length, w.view, payload_at);
    }
    batch_number_++;
    touch(lane);
    heap::Record* record = nullptr;
    w.view.arrival = now;
    const Accepted a = lane.chunks ? into_chunks(source, lane, w.endpoint, w.view, mbuf, w.payload_at,
                                                 at_last ? Into::at_last : Into::again)
                                   : accept(lane, w.endpoint, w.view, w.view.source, now, record, at_last);
    if (a != Accepted::waits) {
        w.decoded = false;
        source.counters[PortOutcome::stream]++;
        source.counters.bytes += mbuf->pkt_len;
        source.unattributed++;
        lane.endpoints[w.endpoint].packets++;
    }
    if (a == Accepted::copy) {
        if (lane.notes_paths())
            note_brought(lane, w.endpoint, packet_of(w.view), w.view.arrival);
        if (source.arrivals != nullptr)
            note_arrival(*record, *mbuf, *source.arrivals);
        if (lane.gathering)
            gather_chain(lane, source, mbuf, record->base + w.view.offset, w.payload_at,
                         w.view.payload_length);
        else
            copy_chain({&record->base, mbuf, w.payload_at, w.view.offset, w.view.payload_length,
                        memory::Stores::cached});
    }
    copy_staged(nullptr);
    commit_batch();
    return a != Accepted::waits;
}

/// Ends each lane as soon as no packets of its own wait: those of another one may wait for it.
template <class Decoder>
bool BasicRxAgent<Decoder>::flush() noexcept {
    give_up_fragments();
    bool left = !finish_gathering(rte_rdtsc());
    for (Source* const source : sources_)
        if (source->waiting.count != 0) {
            if (!gatherings_.empty() && gather_full(*source)) {
                left = true;
                continue;
            }
            resume(*source, !comes_back(*source), rte_rdtsc());
            left |= source->waiting.count != 0;
        }
    if (left)
        hand_over(true);
    for (std::size_t i = 0; i < lanes_.size(); i++) {
        Lane<Decoder>* const lane = lanes_[i];
        const auto waits = [i](const Source* s) { return s->waits_for(static_cast<std::uint16_t>(i)); };
        if (lane == nullptr || std::any_of(sources_.begin(), sources_.end(), waits))
            continue;
        if (lane->chunks && !lane->chunks->settled()) {
            left = true;
            continue;
        }
        if (lane->chunks)
            lane->chunks->leave();
        lane->window.reclaim();
        lane->window.flush(rte_rdtsc());
        left |= lane->window.has_ended();
    }
    return !left;
}

template <class Decoder>
bool BasicRxAgent<Decoder>::drop_rest() noexcept {
    give_up_fragments();
    bool left = false;
    for (Source* const source : sources_)
        for (std::uint16_t before = 0; source->waiting.count != 0 && source->waiting.count != before;) {
            before = source->waiting.count;
            if (gatherings_.empty() || !gather_full(*source))
                resume(*source, true, rte_rdtsc());
            left |= source->waiting.count == before;
        }
    // Engines that work finish what they have, whatever became of others.
    left |= !finish_gathering(rte_rdtsc());
    for (Lane<Decoder>* const lane : with_chunks_)
        left |= lane->chunks && !lane->chunks->settled();
    if (left)
        return false;
    for (Lane<Decoder>* const lane : lanes_)
        if (lane != nullptr) {
            lane->window.flush(rte_rdtsc());
            lane->window.drop_waiting();
            if (lane->chunks)
                lane->chunks->leave();
        }
    return true;
}

template void BasicRxAgent<SpeadDecoder>::make_wait(Source&, SpeadLane&, std::uint16_t,
                                                    const heap::PacketView&, std::uint32_t,
                                                    const WaitingHeader&) noexcept;
template bool BasicRxAgent<SpeadDecoder>::comes_back(const Source&) const noexcept;
template std::uint16_t BasicRxAgent<SpeadDecoder>::room(const Source&) noexcept;
template std::uint16_t BasicRxAgent<SpeadDecoder>::resume(Source&, bool, std::uint64_t) noexcept;
template bool BasicRxAgent<SpeadDecoder>::resume_first(Source&, bool, std::uint64_t) noexcept;
template bool BasicRxAgent<SpeadDecoder>::flush() noexcept;
template bool BasicRxAgent<SpeadDecoder>::drop_rest() noexcept;

}  // namespace spead::recv
