// SPDX-License-Identifier: BSD-3-Clause
/// Notes which of two paths brought a packet. Packets of streams with one path never come here.
#include "recv/rx_agent.hpp"

namespace spead::recv {

/// Notes a packet that its path brought first.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::note_brought(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                           const heap::PacketView& view) noexcept {
    lane.path_record->brought(lane.paths[endpoint], {view.key, view.offset, view.payload_length},
                              lane.path_time(view.arrival));
}

/// Notes a packet that was counted, and not placed. One that the same path had brought already was counted as
/// `redundant`, and becomes a `duplicate`.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::note_unplaced(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                            const heap::PacketView& view,
                                                            PacketOutcome outcome) noexcept {
    if (lane.path_record) {
        PathRecord& record = *lane.path_record;
        const std::uint8_t path = lane.paths[endpoint];
        const PathRecord::Packet packet{view.key, view.offset, view.payload_length};
        if (outcome == PacketOutcome::redundant) {
            const bool repeated = record.is_alone(path, lane.packets_by_path())
                                      ? lane.chunks || lane.window.is_recent(view.key)
                                      : record.again(path, packet, lane.path_time(view.arrival));
            lane.diverts = record.is_awake();
            if (repeated) {
                lane.counters[PacketOutcome::redundant]--;
                lane.counters[PacketOutcome::duplicate]++;
                outcome = PacketOutcome::duplicate;
            }
        } else if (outcome == PacketOutcome::control && record.is_awake()) {
            record.brought(path, packet, lane.path_time(view.arrival));
        }
    }
    lane.unplaced[endpoint].note(outcome);
}

template void BasicRxAgent<SpeadDecoder>::note_brought(SpeadLane&, std::uint16_t,
                                                       const heap::PacketView&) noexcept;
template void BasicRxAgent<SpeadDecoder>::note_unplaced(SpeadLane&, std::uint16_t, const heap::PacketView&,
                                                        PacketOutcome) noexcept;

}  // namespace spead::recv
