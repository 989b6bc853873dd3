// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "send/transmitter.hpp"

/// Sends without a packet leaving: does everything up to the driver's transmit function, and then frees the
/// mbufs. DPDK 22.11 has no call that makes a driver write a descriptor without sending it. An empty burst
/// returns at once (mlx5, af_packet and most others) or costs a system call (net_af_xdp). If the driver can
/// be asked for completed packets, that exercises its queue and completions.
namespace spead::send {

/// Copies the slot for dummies: its next packets, with references of the copy's own.
void Transmitter::copy_for_dummies(const Slot& from) noexcept {
    dummy_.packets = from.packets;
    dummy_.destination = from.destination;
    dummy_.entry = from.entry;
}

void Transmitter::begin_dummies() noexcept {
    if (!turns_.empty()) {
        copy_for_dummies(turns_.current());
        return;
    }
    if (heaps_.any_fresh()) {  // a heap of one packet takes no turn while it waits
        dummy_.entry = heaps_.fresh().entry;
        dummy_.destination = &destinations_[dummy_.entry.substream];
        dummy_.packets.start(*dummy_.entry.layout, dummy_.entry.cnt);
        return;
    }
    dummy_.entry = {};
    dummy_.entry.layout = &dummy_layout_;
    dummy_.destination = destinations_.data();
    dummy_.packets.start(dummy_layout_, 0);
    // The first one alone has the item pointer.
    dummy_.packets.advance(dummy_.packets.next());
}

DummyResult Transmitter::dummy(std::uint32_t packets) noexcept {
    DummyResult result;
    if (shared_.stop.load(std::memory_order_relaxed)) {
        result.why_not = "the sender has been stopped";
        return result;
    }
    result.of_heap = work_known();
    begin_dummies();
    std::array<rte_mbuf*, kBurst> frames{};
    while (result.packets < packets) {
        const std::uint32_t room = std::min(packets - result.packets, kBurst);
        const std::uint32_t n = build_dummies(room, frames.data());
        if (n == 0)
            break;
        rte_pktmbuf_free_bulk(frames.data(), n);
        result.packets += n;
        if (dummy_.packets.done())
            begin_dummies();
    }
    dummy_.refs.close();
    frames_.end_burst();
    counters_.dummy_packets += result.packets;
    if (result.packets == 0)
        result.why_not = "the driver holds all mbufs of the sender";
    if (queue_.reap != nullptr) {
        queue_.reap(queue_.context, queue_.queue);
        result.driver = true;
    }
    return result;
}

/// Builds the next frames of the copy, as build_run and build_single would; 0: no mbufs.
std::uint32_t Transmitter::build_dummies(std::uint32_t room, rte_mbuf** frames) noexcept {
    if (!frames_.has_run(dummy_)) {
        const Packetiser::Packet packet = dummy_.packets.next();
        frames[0] = frames_.single(dummy_, packet, true, room).frame;
        if (frames[0] == nullptr)
            return 0;
        dummy_.packets.advance(packet);
        return 1;
    }
    const Packetiser::Run& run = dummy_.packets.run();
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, run.packets));
    const bool made = frames_.wants_external(run.kind, dummy_.packets.run_payload())
                          ? frames_.external_run(dummy_, n, room, frames)
                          : frames_.copied_run(dummy_, n, room, frames);
    if (!made)
        return 0;
    dummy_.packets.advance_run(n);
    return n;
}

}  // namespace spead::send
