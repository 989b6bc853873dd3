// SPDX-License-Identifier: BSD-3-Clause
/// Keeps payload where it is, in place of a copy: for its heap, or for the engine that moves it.
#include <algorithm>

#include <rte_mbuf.h>

#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"

namespace spead::recv {

/// Lends the packet to its heap. Returns false when it is to be copied.
template <class Decoder>
bool BasicRxAgent<Decoder>::lend(Lane<Decoder>& lane, const Source& source, const heap::Record& record,
                                 rte_mbuf* mbuf, const Copy& copy) noexcept {
    LentBuffers& lent = *lane.lent;
    // Other buffers are not the port's to lend: those of senders, and those that the device attaches.
    if (source.queue.pool == nullptr || !RTE_MBUF_DIRECT(mbuf) || lent.packets().copies_rest(record))
        return false;
    if (lent.packets().full())
        lane.window.reclaim();
    if (lent.keep(record, mbuf, copy.from, static_cast<std::uint32_t>(copy.offset), copy.length)) [[likely]]
        return true;
    lane.counters.lend_full += lent.packets().copy_rest(record) ? 1 : 0;
    return false;
}

/// Keeps the payload of a placed packet where it is, for its heap or for an engine; or notes its path.
/// Returns false when it is to be copied.
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::divert(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                     const heap::PacketView& view, const Source& source,
                                                     const heap::Record& record, rte_mbuf* mbuf,
                                                     const Copy& copy) noexcept {
    if (lane.path_record) {
        note_brought(lane, endpoint, packet_of(view), view.arrival);
        return false;
    }
    if (!lane.gathering)
        return lend(lane, source, record, mbuf, copy);
    // The heap stays where it is: it never moves to a larger block (Window::copied_by).
    lane.gathering->add(copy.from, record.base + copy.offset, copy.length);
    keep(*lane.gathering, source, mbuf);
    return true;
}

template <class Decoder>
void BasicRxAgent<Decoder>::keep(Gathering& gathering, const Source& source, rte_mbuf* mbuf) noexcept {
    if (gathering.keep(mbuf, source.queue.pool, mbuf->nb_segs)) [[likely]]
        kept_[kept_count_++] = mbuf;
}

/// Lists the pieces of a payload for the lane's engine, and keeps the packet.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::gather_chain(Lane<Decoder>& lane, const Source& source,
                                                           rte_mbuf* mbuf, std::byte* to, std::uint32_t skip,
                                                           std::uint32_t length) noexcept {
    for (const rte_mbuf* m = mbuf; length != 0; m = m->next) {
        if (skip >= m->data_len) {
            skip -= m->data_len;
            continue;
        }
        const std::uint32_t n = std::min<std::uint32_t>(length, m->data_len - skip);
        lane.gathering->add(rte_pktmbuf_mtod_offset(m, const std::uint8_t*, skip), to, n);
        to += n;
        length -= n;
        skip = 0;
    }
    keep(*lane.gathering, source, mbuf);
}

/// Returns whether the source's packets have to stay in its queue: an engine is so far behind that no batch
/// is free for them.
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::gather_full(const Source& source) noexcept {
    return std::any_of(source.lanes.begin(), source.lanes.end(), [this](std::uint16_t lane) {
        return lanes_[lane]->gathering && !lanes_[lane]->gathering->has_room();
    });
}

/// Returns whether the batches of the source's streams have room for a packet in several segments, whichever
/// of them it belongs to.
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::fits(const Source& source, const rte_mbuf& mbuf) noexcept {
    return std::all_of(source.lanes.begin(), source.lanes.end(), [&](std::uint16_t lane) {
        return !lanes_[lane]->gathering || lanes_[lane]->gathering->fits(mbuf.nb_segs);
    });
}

/// Takes the packets that engines have out of the burst. Returns how many are left.
template <class Decoder>
[[gnu::noinline]] std::uint16_t BasicRxAgent<Decoder>::without_kept(rte_mbuf** mbufs,
                                                                    std::uint16_t count) noexcept {
    std::uint16_t left = 0;
    std::uint16_t next = 0;
    const auto begin = kept_.begin();
    for (std::uint16_t i = 0; i < count; i++)
        if (next < kept_count_ && mbufs[i] == kept_[next])
            next++;
        else if (kept_in_order_ || std::find(begin, begin + kept_count_, mbufs[i]) == begin + kept_count_)
            mbufs[left++] = mbufs[i];
    kept_count_ = 0;
    kept_in_order_ = true;
    return left;
}

template <class Decoder>
bool BasicRxAgent<Decoder>::finish_gathering(std::uint64_t now) noexcept {
    bool all = true;
    for (const auto& gathering : gatherings_)
        all &= gathering->finish(now);
    return all;
}

template <class Decoder>
void BasicRxAgent<Decoder>::give_up_gathering() noexcept {
    for (const auto& gathering : gatherings_)
        gathering->give_up();
}

template <class Decoder>
void BasicRxAgent<Decoder>::mark_gathering() noexcept {
    for (const auto& gathering : gatherings_)
        gathering->mark();
}

template bool BasicRxAgent<SpeadDecoder>::lend(SpeadLane&, const Source&, const heap::Record&, rte_mbuf*,
                                               const Copy&) noexcept;
template void BasicRxAgent<SpeadDecoder>::keep(Gathering&, const Source&, rte_mbuf*) noexcept;
template bool BasicRxAgent<SpeadDecoder>::divert(SpeadLane&, std::uint16_t, const heap::PacketView&,
                                                 const Source&, const heap::Record&, rte_mbuf*,
                                                 const Copy&) noexcept;
template void BasicRxAgent<SpeadDecoder>::gather_chain(SpeadLane&, const Source&, rte_mbuf*, std::byte*,
                                                       std::uint32_t, std::uint32_t) noexcept;
template bool BasicRxAgent<SpeadDecoder>::gather_full(const Source&) noexcept;
template bool BasicRxAgent<SpeadDecoder>::fits(const Source&, const rte_mbuf&) noexcept;
template std::uint16_t BasicRxAgent<SpeadDecoder>::without_kept(rte_mbuf**, std::uint16_t) noexcept;
template bool BasicRxAgent<SpeadDecoder>::finish_gathering(std::uint64_t) noexcept;
template void BasicRxAgent<SpeadDecoder>::give_up_gathering() noexcept;
template void BasicRxAgent<SpeadDecoder>::mark_gathering() noexcept;

}  // namespace spead::recv
