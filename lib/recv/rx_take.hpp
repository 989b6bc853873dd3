// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"

/// Defines the rest of the fast paths, which is inline in each. Internal to lib/recv.
namespace spead::recv {

/// Returns the addresses of a frame without tag and options.
template <class Ip>
PacketWay way_of(const std::uint8_t* frame) {
    return {Ip::source_of(frame), Ip::target_of(frame), load_be16(frame + Ip::kUdp),
            load_be16(frame + Ip::kUdp + 2)};
}

/// Takes a packet of the usual shape, in one segment, that is decoded: counts it, offers it to the capture,
/// the filter, and the chunks or the window of its stream, and stages its copy. Returns false when it has to
/// wait (stopped_short_). `payload`: where its payload is, which begins `payload_at` in the frame. `header`:
/// what to decode again if it waits. `item_extent`: returns the view's, which is not set.
template <class Decoder>
template <class Ip, class Extent>
bool BasicRxAgent<Decoder>::take(Source& source, std::uint16_t lane_number, std::uint16_t endpoint_number,
                                 heap::PacketView& view, rte_mbuf* mbuf, const std::uint8_t* payload,
                                 std::uint32_t payload_at, std::uint64_t now, const WaitingHeader& header,
                                 Extent item_extent) noexcept {
    const std::uint8_t* const frame = frame_of(mbuf);
    Lane<Decoder>& lane = *lanes_[lane_number];
    stats::EndpointCounters& endpoint = lane.endpoints[endpoint_number];
    endpoint.packets++;
    touch(lane);
    const bool usual = lane.usual;
    view.arrival = now;
    if (!usual) {
        if (lane.tap != nullptr && tapped(lane, endpoint_number, mbuf, now)) [[unlikely]]
            return true;
        if (lane.filter) [[unlikely]]
            if (const heap::PacketView seen = view;
                !filter(lane, endpoint_number, seen, way_of<Ip>(frame), mbuf, payload_at, now))
                return true;
    }
    if (!usual && lane.chunks) {
        std::uint64_t offset = 0;
        std::byte* const* const base =
            lane.chunks->notes_sources() ? nullptr : lane.chunks->accept_next(view, offset);
        if (base != nullptr) [[likely]] {
            endpoint.bytes += view.payload_length;
            if (lane.diverts) [[unlikely]] {
                if (lane.gathering) {
                    lane.gathering->tickets().take();
                    gather_chain(lane, source, mbuf, *base + offset, payload_at, view.payload_length);
                    return true;
                }
                note_brought(lane, endpoint_number, packet_of(lane, {.base = base, .offset = offset}, view),
                             view.arrival);
            }
            prefetch_copied(*mbuf, payload, view.payload_length);
            copies_[copy_count_++] = {base, payload, offset, view.payload_length, lane.stores};
            return true;
        }
        // In its place: a copy of it would wait for the stores of its members.
        view.source = Ip::sender_of(frame);
        view.item_extent = item_extent();
        const Accepted a = into_chunks(source, lane, endpoint_number, view, mbuf, payload_at, Into::first);
        if (a == Accepted::waits) [[unlikely]]
            make_wait(source, lane, endpoint_number, view, payload_at, header);
        return a != Accepted::waits;
    }
    const bool whole = heap::Window::is_whole(view);
    heap::Record* record = whole ? nullptr : lane.window.accept_next(view);
    if (record == nullptr) {
        // In its place, too.
        view.item_extent = item_extent();
        view.source = Ip::sender_of(frame);
        if (whole)
            record = lane.window.accept_whole(view);
        if (record == nullptr) {
            const Accepted a = accept(lane, endpoint_number, view, view.source, now, record);
            if (a != Accepted::copy) [[unlikely]] {
                if (a == Accepted::waits)
                    make_wait(source, lane, endpoint_number, view, payload_at, header);
                return a == Accepted::counted;
            }
        } else {
            endpoint.bytes += view.payload_length;
        }
    } else {
        endpoint.bytes += view.payload_length;
    }
    if (source.arrivals != nullptr) [[unlikely]]
        note_arrival(*record, *mbuf, *source.arrivals);
    // In its place, member by member: the copy of a local would wait for the stores of its members (1.5 of
    // 30 ns at 64 bytes in heaps of 64 KiB).
    Copy& copy = copies_[copy_count_];
    copy.base = &record->base;
    copy.from = payload;
    copy.offset = view.offset;
    copy.length = view.payload_length;
    copy.stores = lane.stores;
    if (!usual && lane.diverts && divert(lane, endpoint_number, view, source, *record, mbuf, copy))
        [[unlikely]]
        return true;
    prefetch_copied(*mbuf, payload, view.payload_length);
    copy_count_++;
    return true;
}

}  // namespace spead::recv
