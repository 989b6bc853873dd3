// SPDX-License-Identifier: BSD-3-Clause
#include "send/transmitter.hpp"

#include <algorithm>
#include <utility>

#include <rte_prefetch.h>

#include "port/impaired_queue.hpp"
#include "send/sender.hpp"

namespace spead::send {

namespace {

/// Holds how far ahead packets are given to a pacing port. It is long enough for a late lcore. It is short
/// enough that a change of rate takes effect at once and that the queue of waiting packets does not fill.
constexpr double kHorizonSeconds = 0.001;

}  // namespace

Transmitter::Transmitter(Setup setup, const Pools& pools, InFlight& heaps, Shared& shared)
    : queue_(setup.queue),
      frames_(pools, setup.frames),
      heaps_(heaps),
      shared_(shared),
      timeout_ticks_(setup.timeout_ticks),
      late_free_(setup.late_free_segments),
      pacer_(setup.hz, setup.pacing),
      outage_(setup.hz),
      destinations_(setup.destinations.begin(), setup.destinations.end()),
      times_(setup.times),
      horizon_(static_cast<std::uint64_t>(setup.hz * kHorizonSeconds)),
      dummy_layout_(*setup.dummy) {
    dummy_.refs.initialise();
}

/// Accepts all heaps that were submitted.
void Transmitter::accept_entries() noexcept {
    for (std::uint64_t n = heaps_.submitted(); n != 0; --n) {
        Slot& slot = heaps_.accept();
        rte_prefetch0(slot.entry.layout);
        if (cut_ != Cut::nothing) [[unlikely]]
            cut(slot);
    }
    // The heap source counts before it submits, so all packets of these heaps are counted.
    learn_known();
}

void Transmitter::learn_known() noexcept {
    // After a cut, what was submitted will mostly not be built: a driver that frees late gets copies.
    known_ = cut_ != Cut::nothing && late_free_ != 0
                 ? 0
                 : shared_.packets_submitted.load(std::memory_order_relaxed) - built_ - cut_packets_;
}

Backlog Transmitter::backlog() const noexcept {
    Backlog b;
    b.all = shared_.packets_submitted.load(std::memory_order_relaxed) - sent_ - cut_packets_;
    turns_.for_each([&b](const Slot& slot) {
        if (slot.made != 0)
            b.begun += slot.entry.layout->packets - slot.made;
    });
    return b;
}

/// Sets the MAC address; built packets keep theirs.
void Transmitter::set_mac(std::uint32_t substream, const MacAddress& mac) noexcept {
    destinations_[substream].set_dst_mac(mac);
}

/// Sets the source of all packets that are not built yet, as the next function does for other fields.
void Transmitter::set_source(const MacAddress& mac, const IpAddress& ip) noexcept {
    for (StampedDestination& destination : destinations_)
        destination.set_source(mac, ip);
}

void Transmitter::set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept {
    for (StampedDestination& destination : destinations_)
        destination.set_ttl_dscp(ttl, dscp);
}

/// Returns whether there is a heap without a group. The first one is open.
bool Transmitter::find_fresh(std::uint64_t now) noexcept {
    if (!heaps_.any_fresh()) {
        accept_entries();
        if (!heaps_.any_fresh()) {
            resting_ = true;
            return false;
        }
    }
    if (resting_) {
        pacer_.resume(now);
        resting_ = false;
    }
    return true;
}

/// Returns the heap whose packet is next. There is one in turn, or a fresh one.
///
/// A heap of one packet that is the next of its group takes no turn: its packet comes before those of all
/// later heaps either way. That saves the packetiser, the ring of turns and the batches of references.
/// With the slots as queues and the stamps, such a heap takes 50 ns instead of 82 (bench transmit). It stays
/// fresh until its packet is built.
Slot& Transmitter::next_slot() noexcept {
    if (turns_.empty()) {
        Slot& slot = heaps_.fresh();
        slot.destination = &destinations_[slot.entry.substream];
        if (frames_.is_whole(slot)) {
            slot.alone = true;
            begin(slot);
            return slot;
        }
        begin_group();
    }
    return turns_.current();
}

/// Takes the oldest heaps without a group, up to the end of their group. Those that were given up have no
/// turn.
void Transmitter::begin_group() noexcept {
    while (Slot* const slot = heaps_.take_fresh()) {
        if (slot->progress == Progress::open) [[likely]] {
            begin(*slot);
            slot->packets.start(*slot->entry.layout, slot->entry.cnt);
            turns_.add(*slot);
        }
        if (slot->entry.group_end)
            break;
    }
    heaps_.skip_given_up();
}

void Transmitter::begin(Slot& slot) noexcept {
    slot.destination = &destinations_[slot.entry.substream];
    slot.own_rate = slot.entry.rate >= 0;
    if (slot.own_rate)
        slot.cost = pacer_.cost_of(slot.entry.rate);
}

/// Closes the heap if it is complete, and gives the turn to the next one.
void Transmitter::pass_turn(Slot& slot) noexcept {
    if (slot.alone) {
        slot.end = built_;
        slot.progress = Progress::built;
        heaps_.take_fresh();
        heaps_.skip_given_up();
    } else if (slot.packets.done()) {
        slot.end = built_;
        close(slot, Progress::built);
    } else {
        turns_.pass();
    }
}

std::uint32_t Transmitter::build_some(Slot& slot) noexcept {
    const std::uint32_t room = burst_.room();
    if (slot.alone)
        return build_whole(slot, room);
    return frames_.has_run(slot) ? build_run(slot, room) : build_single(slot, room);
}

/// Builds several packets of a run at once, within the limits of the burst, the pacer, the other heaps' turns
/// and the segments that the driver keeps.
std::uint32_t Transmitter::build_run(Slot& slot, std::uint32_t room) noexcept {
    const Packetiser::Run& run = slot.packets.run();
    const std::uint32_t header = slot.packets.run_header();
    const std::uint32_t payload = slot.packets.run_payload();
    std::uint64_t n = turns_.several() ? 1 : std::min<std::uint64_t>(room, run.packets);
    if (paced_)
        n = std::min(n, 1 + (pacer_.budget() - 1) / (header + payload));
    const bool external =
        frames_.wants_external(run.kind, payload) && (known_ > late_free_ || run.kind == PieceKind::device);
    if (external && run.kind != PieceKind::device)
        n = std::min(n, known_ - late_free_);
    auto packets = static_cast<std::uint32_t>(n);
    rte_mbuf** const frames = burst_.next();
    const auto make = [&] {
        return external ? frames_.external_run(slot, packets, room, frames)
                        : frames_.copied_run(slot, packets, room, frames);
    };
    if (!make()) {
        packets = 1;
        if (n == 1 || !make())
            return 0;
    }
    const bool unregistered = run.kind == PieceKind::unregistered;
    slot.packets.advance_run(packets);
    // The CPU does not follow many heaps by itself. Packets of 64 bytes of 64 heaps in turn take 62 ns in
    // place of 131 (bench transmit --payload 64 --heap-size 64KiB --group 64).
    if (!external && turns_.several())
        rte_prefetch0(turns_.later().packets.run().data);
    if (unregistered)
        counters_.unregistered_packets += packets;
    charge(slot, std::uint64_t{packets} * (header + payload));
    count_built(slot, packets, packets * (header_bytes() + header + payload), external ? packets : 0);
    return packets;
}

std::uint32_t Transmitter::build_single(Slot& slot, std::uint32_t room) noexcept {
    const Packetiser::Packet packet = slot.packets.next();
    const FrameBuilder::Result result = frames_.single(slot, packet, known_ > late_free_, room);
    if (result.frame == nullptr)
        return 0;
    slot.packets.advance(packet);
    count_single(slot, result);
    return 1;
}

/// Builds a heap's only packet.
[[gnu::always_inline]] inline std::uint32_t Transmitter::build_whole(Slot& slot,
                                                                     std::uint32_t room) noexcept {
    const FrameBuilder::Result result = frames_.whole(slot, known_ > late_free_, room);
    if (result.frame == nullptr)
        return 0;
    count_single(slot, result);
    return 1;
}

[[gnu::always_inline]] inline void Transmitter::count_single(Slot& slot,
                                                             const FrameBuilder::Result& result) noexcept {
    *burst_.next() = result.frame;
    counters_.unregistered_packets += result.unregistered ? 1 : 0;
    charge(slot, result.bytes - header_bytes());
    count_built(slot, 1, result.bytes, result.external ? 1 : 0);
}

void Transmitter::charge(const Slot& slot, std::uint64_t bytes) noexcept {
    if (!paced_)
        return;
    if (slot.own_rate)
        pacer_.charge(bytes, slot.cost);
    else
        pacer_.charge(bytes);
}

void Transmitter::count_built(Slot& slot, std::uint32_t packets, std::uint64_t bytes,
                              std::uint32_t external) noexcept {
    if (timeout_ticks_ != 0)
        burst_.own(packets, slot.serial);
    burst_.add(packets, bytes, external);
    slot.made += packets;
    built_ += packets;
    known_ -= std::min<std::uint64_t>(known_, packets);
}

/// Fills the burst; returns how many packets were added.
std::uint32_t Transmitter::build(std::uint64_t now) noexcept {
    burst_.begin();
    learn_known();
    stalled_ = false;
    while (burst_.room() != 0) {
        if (turns_.empty() && !find_fresh(now))
            break;
        Slot& slot = next_slot();
        paced_ = slot.own_rate ? slot.cost != 0 : pacer_.cost() != 0;
        if (paced_ && !pacer_.ready(now))
            break;
        const bool first = paced_ && pacer_.burst_begins();
        const std::uint64_t due = pacer_.burst_time();
        rte_mbuf** const at = burst_.next();
        const std::uint32_t n = build_some(slot);
        if (n == 0) {
            stalled_ = true;
            ++counters_.stalls;
            break;
        }
        // The port keeps the order: later packets of the burst wait for this one.
        if (ahead_ != 0 && first) [[unlikely]] {
            port::send_at(**at, due, times_);
            ++counters_.scheduled;
        }
        pass_turn(slot);
    }
    frames_.end_burst();
    return burst_.size();
}

/// Closes the heap; no more of it is built.
void Transmitter::close(Slot& slot, Progress progress) noexcept {
    slot.refs.close();
    slot.progress = progress;
    turns_.remove(slot);
}

/// Gives the burst to the driver. Returns true when it took all.
bool Transmitter::flush() noexcept {
    const std::uint32_t n = burst_.size();
    const std::uint32_t taken = queue_.tx_burst(burst_.frames(), static_cast<std::uint16_t>(n));
    const TxBurst::Sum sum = burst_.taken(taken);
    if (taken != n) [[unlikely]]
        ++counters_.tx_full;
    sent_ += taken;
    counters_.packets += taken;
    counters_.frame_bytes += sum.bytes;
    counters_.bytes += sum.bytes - taken * header_bytes();
    counters_.zero_copy_packets += sum.external;
    counters_.copied_packets += taken - sum.external;
    return taken == n;
}

/// Updates the outage after a poll in which the port took something or gave a heap back, or did neither.
void Transmitter::note_outage(std::uint64_t now, bool moved) noexcept {
    if (!moved) {
        const bool lasted = outage_.lasts();
        counters_.outage_ticks += outage_.refused(now);
        counters_.outages += outage_.lasts() && !lasted ? 1 : 0;
        return;
    }
    // Data that could not be sent in that time is not caught up.
    if (outage_.lasts())
        pacer_.restart();
    outage_.end();
}

void Transmitter::set_queue(const port::TxQueue& queue) noexcept {
    queue_ = queue;
    outage_.end();
    pacer_.restart();
}

bool Transmitter::poll(std::uint64_t now) noexcept {
    shared_.polls.store(shared_.polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (shared_.stop.load(std::memory_order_relaxed)) [[unlikely]] {
        abandon();
        const bool completed = collect(now);
        if (!heaps_.empty())
            reap();
        return completed;
    }
    if (const Cut wanted = shared_.cut.load(std::memory_order_relaxed); wanted > cut_) [[unlikely]]
        cut(wanted);
    if (shared_.recall.load(std::memory_order_relaxed)) [[unlikely]]
        recall();
    if (timeout_ticks_ != 0 && now >= next_deadline_) [[unlikely]]
        time_out(now);
    if (queue_.burst == nullptr) [[unlikely]]  // its port has stopped, or is detached
        return collect(now);
    const std::uint64_t sent_before = sent_;
    ahead_ = ahead();
    for (unsigned i = 0; i < kBurstsPerPoll; ++i) {
        if (burst_.empty() && build(now + ahead_) == 0)
            break;
        if (!flush())
            break;
    }
    if (sent_ != sent_before)
        counters_.active.seen(now);
    // With nothing to send now, or nothing to send it with, the driver must be asked for what it keeps.
    if (burst_.empty() && !heaps_.empty() && (stalled_ || resting_ || pacer_.waiting()))
        reap();
    const bool moved = collect(now) || sent_ != sent_before;
    if (moved ? outage_.begun() : waits_for_port() && !port::ImpairedQueue::only_delays(queue_)) [[unlikely]]
        note_outage(now, moved);
    else if (!moved)
        outage_.pause();
    return moved;
}

bool Transmitter::collect(std::uint64_t now) noexcept {
    bool any = false;
    while (!heaps_.empty()) {
        Slot& slot = heaps_.oldest();
        if (slot.progress == Progress::open || (slot.progress == Progress::built && slot.end > sent_) ||
            !(slot.alone ? slot.refs.only_drained() : slot.refs.drained()))
            break;
        if (slot.progress == Progress::built) [[likely]]
            ++(slot.entry.control ? counters_.control_heaps : counters_.heaps);
        else
            ++(slot.progress == Progress::aborted ? counters_.aborted : counters_.timed_out);
        slot.entry.result = slot.progress;
        slot.entry.time = now;
        heaps_.pop();
        any = true;
    }
    if (!any)
        return false;
    heaps_.complete();
    if (event_ != nullptr) [[unlikely]]
        event_->announce();
    return true;
}

}  // namespace spead::send
