// SPDX-License-Identifier: BSD-3-Clause
/// Notes which of two paths brought a packet. Packets of streams with one path never come here.
#include "recv/rx_agent.hpp"

namespace spead::recv {

/// Names a packet that goes into chunks. In the direct way heap counts say nothing: several endpoints may
/// have the same ones. Its place does.
template <class Decoder>
PathRecord::Packet BasicRxAgent<Decoder>::packet_of(const Lane<Decoder>& lane,
                                                    const chunk::ChunkLane::Accepted& a,
                                                    const heap::PacketView& view) noexcept {
    if (a.base == nullptr || lane.chunks->tracks())
        return packet_of(view);
    return {reinterpret_cast<std::uintptr_t>(*a.base) + a.offset,
            lane.chunks->rows().bytes == 0 ? 0 : view.offset, view.payload_length};
}

/// Notes a packet that its path brought first.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::note_brought(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                           const PathRecord::Packet& packet,
                                                           std::uint64_t now) noexcept {
    lane.path_record->brought(lane.paths[endpoint], packet, lane.path_time(now));
}

/// Notes a packet that was counted, and not placed. One that the same path had brought already was counted as
/// `redundant`, and becomes a `duplicate`. Chunks of the direct way know no heaps of stream control: there a
/// copy becomes `redundant`, too.
template <class Decoder>
[[gnu::noinline]] void BasicRxAgent<Decoder>::note_unplaced(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                            const heap::PacketView& view,
                                                            const PathRecord::Packet& packet,
                                                            PacketOutcome outcome) noexcept {
    if (lane.path_record) {
        PathRecord& record = *lane.path_record;
        const std::uint8_t path = lane.paths[endpoint];
        const PathRecord::Now now = lane.path_time(view.arrival);
        PacketOutcome is = outcome;
        if (outcome == PacketOutcome::redundant) {
            const bool alone = !record.is_awake() && record.is_alone(path, lane.packets_by_path());
            const bool repeated = !alone        ? record.again(path, packet, now)
                                  : lane.chunks ? lane.chunks->is_recent(view.key)
                                                : lane.window.is_recent(view.key);
            lane.follow_paths();
            is = repeated ? PacketOutcome::duplicate : outcome;
        } else if (outcome == PacketOutcome::control && record.is_awake()) {
            const PathRecord::By who = record.known(path, packet, now);
            if (who == PathRecord::By::nobody)
                record.brought(path, packet, now);
            else
                is = who == PathRecord::By::itself ? PacketOutcome::duplicate : PacketOutcome::redundant;
        }
        lane.counters[outcome]--;
        lane.counters[is]++;
        outcome = is;
    }
    lane.unplaced[endpoint].note(outcome);
}

template PathRecord::Packet BasicRxAgent<SpeadDecoder>::packet_of(const SpeadLane&,
                                                                  const chunk::ChunkLane::Accepted&,
                                                                  const heap::PacketView&) noexcept;
template void BasicRxAgent<SpeadDecoder>::note_brought(SpeadLane&, std::uint16_t, const PathRecord::Packet&,
                                                       std::uint64_t) noexcept;
template void BasicRxAgent<SpeadDecoder>::note_unplaced(SpeadLane&, std::uint16_t, const heap::PacketView&,
                                                        const PathRecord::Packet&, PacketOutcome) noexcept;

}  // namespace spead::recv
