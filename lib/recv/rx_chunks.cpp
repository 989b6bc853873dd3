// SPDX-License-Identifier: BSD-3-Clause
/// Offers packets to the chunks of their streams.
#include <rte_mbuf.h>

#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"

namespace spead::recv {

/// Offers a packet to the chunks of its stream, and stages its copy. Returns `counted` when it was dealt
/// with, or waits for the end of the batch, and `waits` when its source has to wait: nothing was counted
/// then.
template <class Decoder>
[[gnu::noinline]] auto BasicRxAgent<Decoder>::into_chunks(const Source& source, Lane<Decoder>& lane,
                                                          std::uint16_t endpoint, heap::PacketView& view,
                                                          rte_mbuf* mbuf, std::uint32_t payload_at,
                                                          Into turn) noexcept -> Accepted {
    using Verdict = chunk::ChunkLane::Verdict;
    const std::uint8_t* const frame = frame_of(mbuf);
    // The parsers may have copied the items: they stay only for the time of this call.
    const bool stays = view.item_count == 0 || (view.items >= frame && view.items < frame + mbuf->data_len) ||
                       lane.decoder.keeps_items();
    // A stop ends what comes after it: packets that are to be offered again came before.
    if (turn == Into::first && stays && again_count_ != 0 && (view.flags & heap::PacketView::kStop) != 0)
        [[unlikely]] {
        lane.decoder.keep_items();
        again_[again_count_++] = {&lane, mbuf, payload_at, endpoint, view};
        return Accepted::counted;
    }
    const chunk::ChunkLane::Accepted a =
        turn == Into::at_last
            ? lane.chunks->accept_now(view, lane.numbers[endpoint])
            : lane.chunks->accept(view, lane.numbers[endpoint], turn == Into::again || !stays);
    if (a.verdict == Verdict::waits) [[unlikely]]
        return Accepted::waits;
    if (a.verdict == Verdict::again) [[unlikely]] {
        lane.decoder.keep_items();
        again_[again_count_++] = {&lane, mbuf, payload_at, endpoint, view};
        return Accepted::counted;
    }
    if ((view.flags & heap::PacketView::kStop) != 0) [[unlikely]] {
        lane.stops_seen[endpoint]++;
        if (lane.config.window.stop_on_stop_item)
            lane.chunks->stop();
    }
    if (a.verdict == Verdict::counted) {
        if (a.outcome != PacketOutcome::placed)
            note_unplaced(lane, endpoint, view, packet_of(lane, a, view), a.outcome);
        return Accepted::counted;
    }
    if (lane.notes_paths())
        note_brought(lane, endpoint, packet_of(lane, a, view), view.arrival);
    lane.endpoints[endpoint].bytes += view.payload_length;
    if (lane.gathering) [[unlikely]] {
        lane.gathering->tickets().take();
        gather_chain(lane, source, mbuf, *a.base + a.offset, payload_at, view.payload_length);
        return Accepted::counted;
    }
    const chunk::Rows& rows = lane.chunks->rows();
    const std::uint8_t* const payload =
        rows.bytes == 0 ? in_one_piece(mbuf, payload_at, view.payload_length) : nullptr;
    if (payload != nullptr) [[likely]] {
        prefetch_copied(*mbuf, payload, view.payload_length);
        copies_[copy_count_++] = {a.base, payload, a.offset, view.payload_length, lane.stores};
    } else {
        chains_[chain_count_++] = {a.base,
                                   mbuf,
                                   payload_at,
                                   a.offset,
                                   view.payload_length,
                                   lane.stores,
                                   rows.bytes == 0 ? nullptr : &rows,
                                   view.offset};
    }
    return Accepted::counted;
}

/// Offers the packets again that found another lcore opening their chunks.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::offer_again(const Source& source) noexcept {
    const std::uint16_t count = std::exchange(again_count_, std::uint16_t{0});
    const std::uint16_t kept_before = kept_count_;
    batch_number_++;
    for (std::uint16_t i = 0; i < count; i++) {
        Again& a = again_[i];
        touch(*a.lane);
        // Others have used the room that its segments found in the open batch.
        if (a.mbuf->nb_segs != 1 && a.lane->gathering && !a.lane->gathering->fits(a.mbuf->nb_segs))
            [[unlikely]] {
            a.lane->counters[PacketOutcome::no_chunk]++;
            a.lane->unplaced[a.endpoint].all++;
            continue;
        }
        // A source that waits keeps its packets in order; this one is behind them.
        if (into_chunks(source, *a.lane, a.endpoint, a.view, a.mbuf, a.payload_at, Into::again) ==
            Accepted::waits)
            into_chunks(source, *a.lane, a.endpoint, a.view, a.mbuf, a.payload_at, Into::at_last);
    }
    kept_in_order_ &= kept_count_ == kept_before;
    copy_staged(nullptr);
    commit_batch();
}

template auto BasicRxAgent<SpeadDecoder>::into_chunks(const Source&, SpeadLane&, std::uint16_t,
                                                      heap::PacketView&, rte_mbuf*, std::uint32_t,
                                                      Into) noexcept -> Accepted;
template void BasicRxAgent<SpeadDecoder>::offer_again(const Source&) noexcept;

}  // namespace spead::recv
