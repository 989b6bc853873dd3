// SPDX-License-Identifier: BSD-3-Clause
#include "send/transmitter.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "send/heap.hpp"
#include "send/sender.hpp"

namespace spead::send {

namespace {

/// Long enough for an lcore that is late, short enough that a change of rate shows at once and that a queue
/// of packets that wait for their time is not full.
constexpr double kHorizonSeconds = 0.001;

}  // namespace

Transmitter::Transmitter(Setup setup, const Pools& pools, InFlight& heaps, SpscRing<Entry>& submissions,
                         SpscRing<Completion>& completions, Shared& shared)
    : queue_(setup.queue),
      frames_(pools, setup.frames),
      pacer_(setup.hz, setup.pacing),
      heaps_(heaps),
      submissions_(submissions),
      completions_(completions),
      shared_(shared),
      timeout_ticks_(setup.timeout_ticks),
      late_free_(setup.late_free_segments),
      destinations_(std::move(setup.destinations)),
      times_(setup.times),
      horizon_(static_cast<std::uint64_t>(setup.hz * kHorizonSeconds)),
      dummy_layout_(*setup.dummy) {
    dummy_.refs.initialise();
}

/// Moves what the producer submitted into slots. There is always room: the producer keeps to max_heaps.
void Transmitter::accept_entries() noexcept {
    for (;;) {
        const std::size_t room = std::min<std::uint64_t>(arrived_.size(), heaps_.room());
        const std::size_t n = submissions_.pop(std::span(arrived_).first(room));
        for (std::size_t i = 0; i < n; ++i) {
            Slot& slot = heaps_.push();
            slot.entry = arrived_[i];
            slot.built = slot.aborted = slot.timed_out = false;
            slot.made = 0;
            if (cut_ != Cut::nothing) [[unlikely]]
                cut(slot);
        }
        if (n < arrived_.size())
            break;
    }
    // The producer counts before it submits: what came out of the ring is counted.
    learn_known();
}

void Transmitter::learn_known() noexcept {
    // After a cut, what is in the ring will mostly not be built: a driver that frees late gets copies.
    known_ = cut_ != Cut::nothing && late_free_ != 0
                 ? 0
                 : shared_.packets_submitted.load(std::memory_order_relaxed) - built_ - cut_packets_;
}

Backlog Transmitter::backlog() const noexcept {
    Backlog b;
    b.all = shared_.packets_submitted.load(std::memory_order_relaxed) - sent_ - cut_packets_;
    for (std::uint64_t i = heaps_.begin(); i != group_end_; ++i) {
        const Slot& slot = heaps_[i];
        if (!slot.built && slot.made != 0)
            b.begun += slot.entry.layout->packets - slot.made;
    }
    return b;
}

/// Packets that are built go where they were going.
void Transmitter::set_mac(std::uint32_t substream, const MacAddress& mac) noexcept {
    destinations_[substream].set_dst_mac(mac);
    for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i)
        if (heaps_[i].entry.substream == substream)
            heaps_[i].stamped = false;
}

/// Of all packets that are not built yet, as the next one.
void Transmitter::set_source(const MacAddress& mac, Ipv4 ip) noexcept {
    for (DestinationHeader& destination : destinations_)
        destination.set_source(mac, ip);
    for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i)
        heaps_[i].stamped = false;
}

void Transmitter::set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept {
    for (DestinationHeader& destination : destinations_)
        destination.set_ttl_dscp(ttl, dscp);
    for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i)
        heaps_[i].stamped = false;
}

/// Gives the heap up if it is one of those that are cut.
void Transmitter::cut(Slot& slot) noexcept {
    if (slot.built || slot.entry.control || (slot.made != 0 && cut_ != Cut::begun))
        return;
    slot.refs.close();
    slot.built = slot.aborted = true;
    cut_packets_ += slot.entry.layout->packets - slot.made;
}

void Transmitter::cut(Cut cut_now) noexcept {
    cut_ = std::max(cut_, cut_now);
    for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i)
        cut(heaps_[i]);
    count_active();
}

/// Heaps of the group that is being sent may have been given up.
void Transmitter::count_active() noexcept {
    if (active_left_ == 0)
        return;
    active_left_ = 0;
    for (std::uint64_t i = std::max(group_begin_, heaps_.begin()); i != group_end_; ++i)
        active_left_ += heaps_[i].built ? 0 : 1;
    if (active_left_ != 0 && heaps_[turn_].built)
        next_turn();
}

/// Gives up heaps whose deadline is over and that the driver has not got whole. Deadlines are in the order of
/// submission.
void Transmitter::time_out(std::uint64_t now) noexcept {
    accept_entries();
    next_deadline_ = now + timeout_ticks_;
    for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i) {
        Slot& slot = heaps_[i];
        if (slot.entry.deadline == 0 || slot.aborted || (slot.built && slot.end <= sent_))
            continue;
        if (now < slot.entry.deadline) {
            next_deadline_ = slot.entry.deadline;
            break;
        }
        if (!slot.built) {
            slot.refs.close();
            cut_packets_ += slot.entry.layout->packets - slot.made;
        }
        slot.built = slot.aborted = slot.timed_out = true;
        take_back(i);
    }
    count_active();
}

/// Frees the heap's frames that the driver has not taken; what was built after them moves up.
void Transmitter::take_back(std::uint64_t heap) noexcept {
    for (std::uint32_t f = burst_.end; f-- != burst_.begin;) {
        if (burst_.owners[f] != heap)
            continue;
        burst_.bytes -= burst_.frames[f]->pkt_len;
        burst_.external -= burst_.frames[f]->nb_segs > 1 ? 1 : 0;
        rte_pktmbuf_free(burst_.frames[f]);
        const std::uint64_t serial = sent_ + (f - burst_.begin);
        std::copy(burst_.frames.begin() + f + 1, burst_.frames.begin() + burst_.end,
                  burst_.frames.begin() + f);
        std::copy(burst_.owners.begin() + f + 1, burst_.owners.begin() + burst_.end,
                  burst_.owners.begin() + f);
        for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i)
            heaps_[i].end -= heaps_[i].built && heaps_[i].end > serial ? 1 : 0;
        --burst_.end;
        --built_;
        ++cut_packets_;
        ++counters_.dropped;
    }
}

/// Makes the next group of heaps the current one.
bool Transmitter::next_group(std::uint64_t now) noexcept {
    do {
        if (group_end_ == heaps_.end()) {
            accept_entries();
            if (group_end_ == heaps_.end()) {
                resting_ = true;
                return false;
            }
        }
        group_begin_ = group_end_;
        while (group_end_ != heaps_.end()) {
            Slot& slot = heaps_[group_end_++];
            if (!slot.built) [[likely]] {
                start(slot);
                if (active_left_++ == 0)
                    turn_ = group_end_ - 1;
            }
            if (slot.entry.group_end)
                break;
        }
    } while (active_left_ == 0);  // a group of which nothing is left
    if (resting_) {
        pacer_.resume(now);
        resting_ = false;
    }
    return true;
}

void Transmitter::start(Slot& slot) noexcept {
    slot.packets.start(*slot.entry.layout, slot.entry.cnt);
    slot.destination = &destinations_[slot.entry.substream];
    slot.stamped = false;
    slot.own_rate = slot.entry.rate >= 0;
    if (slot.own_rate)
        slot.cost = pacer_.cost_of(slot.entry.rate);
}

/// Fills the burst; returns how many packets were added.
std::uint32_t Transmitter::build(std::uint64_t now) noexcept {
    burst_.begin = burst_.end = 0;
    learn_known();
    stalled_ = false;
    while (burst_.end < kBurst) {
        if (active_left_ == 0 && !next_group(now))
            break;
        Slot& slot = heaps_[turn_];
        paced_ = slot.own_rate ? slot.cost != 0 : pacer_.cost() != 0;
        if (paced_ && !pacer_.ready(now))
            break;
        const bool first = paced_ && pacer_.burst_begins();
        const std::uint64_t due = pacer_.burst_time();
        const std::uint32_t at = burst_.end;
        const std::uint32_t n = build_some(slot);
        if (n == 0) {
            stalled_ = true;
            ++counters_.stalls;
            break;
        }
        // The port keeps the order: what follows in the burst goes when this one has gone.
        if (ahead_ != 0 && first) [[unlikely]] {
            port::send_at(*burst_.frames[at], due, times_);
            ++counters_.scheduled;
        }
        if (slot.packets.done()) {
            finish(slot);
        } else if (active_left_ > 1) {
            next_turn();
        }
    }
    frames_.end_burst();
    return burst_.end;
}

std::uint32_t Transmitter::build_some(Slot& slot) noexcept {
    const std::uint32_t room = kBurst - burst_.end;
    return frames_.has_run(slot) ? build_run(slot, room) : build_single(slot, room);
}

/// Several packets of a run at once: as many as the burst, the pacer, the other heaps' turns and the driver's
/// habit of keeping memory allow.
std::uint32_t Transmitter::build_run(Slot& slot, std::uint32_t room) noexcept {
    const Packetiser::Run& run = slot.packets.run();
    const std::uint32_t header = slot.packets.run_header();
    const std::uint32_t payload = slot.packets.run_payload();
    std::uint64_t n = active_left_ > 1 ? 1 : std::min<std::uint64_t>(room, run.packets);
    if (paced_)
        n = std::min(n, 1 + (pacer_.budget() - 1) / (header + payload));
    const bool external =
        frames_.wants_external(run.kind, payload) && (known_ > late_free_ || run.kind == PieceKind::device);
    if (external && run.kind != PieceKind::device)
        n = std::min(n, known_ - late_free_);
    auto packets = static_cast<std::uint32_t>(n);
    rte_mbuf** const frames = &burst_.frames[burst_.end];
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
    burst_.bytes += packets * (header_bytes() + header + payload);
    if (external)
        burst_.external += packets;
    if (unregistered)
        counters_.unregistered_packets += packets;
    charge(slot, std::uint64_t{packets} * (header + payload));
    count_built(slot, packets);
    return packets;
}

std::uint32_t Transmitter::build_single(Slot& slot, std::uint32_t room) noexcept {
    const Packetiser::Packet packet = slot.packets.next();
    const FrameBuilder::Result result = frames_.single(slot, packet, known_ > late_free_, room);
    if (result.frame == nullptr)
        return 0;
    burst_.frames[burst_.end] = result.frame;
    slot.packets.advance(packet);
    burst_.bytes += result.bytes;
    burst_.external += result.external ? 1 : 0;
    counters_.unregistered_packets += result.unregistered ? 1 : 0;
    charge(slot, result.bytes - header_bytes());
    count_built(slot, 1);
    return 1;
}

void Transmitter::charge(const Slot& slot, std::uint64_t bytes) noexcept {
    if (paced_)
        pacer_.charge(bytes, slot.own_rate ? slot.cost : pacer_.cost());
}

void Transmitter::count_built(Slot& slot, std::uint32_t packets) noexcept {
    if (timeout_ticks_ != 0)
        std::fill_n(&burst_.owners[burst_.end], packets, turn_);
    slot.made += packets;
    burst_.end += packets;
    built_ += packets;
    known_ -= std::min<std::uint64_t>(known_, packets);
}

/// All packets of the heap are built.
void Transmitter::finish(Slot& slot) noexcept {
    slot.refs.close();
    slot.built = true;
    slot.end = built_;
    if (--active_left_ != 0)
        next_turn();
}

/// The next heap of the group that has packets left.
void Transmitter::next_turn() noexcept {
    do {
        if (++turn_ == group_end_)
            turn_ = group_begin_;
    } while (heaps_[turn_].built);
}

/// Gives the burst to the driver; true when it took all.
bool Transmitter::flush() noexcept {
    const std::uint32_t n = burst_.end - burst_.begin;
    const std::uint32_t taken = queue_.tx_burst(&burst_.frames[burst_.begin], static_cast<std::uint16_t>(n));
    std::uint64_t bytes_left = 0;
    std::uint32_t external_left = 0;
    burst_.begin += taken;
    if (taken != n) [[unlikely]] {
        ++counters_.tx_full;
        for (std::uint32_t i = burst_.begin; i < burst_.end; ++i) {
            bytes_left += burst_.frames[i]->pkt_len;
            external_left += burst_.frames[i]->nb_segs > 1 ? 1 : 0;
        }
    }
    const std::uint64_t bytes = burst_.bytes - bytes_left;
    const std::uint32_t external = burst_.external - external_left;
    sent_ += taken;
    counters_.packets += taken;
    counters_.frame_bytes += bytes;
    counters_.bytes += bytes - taken * header_bytes();
    counters_.zero_copy_packets += external;
    counters_.copied_packets += taken - external;
    burst_.bytes = bytes_left;
    burst_.external = external_left;
    return taken == n;
}

bool Transmitter::poll(std::uint64_t now) noexcept {
    if (shared_.stop.load(std::memory_order_relaxed)) [[unlikely]] {
        abandon();
        const bool completed = collect(now);
        if (!heaps_.empty())
            reap();
        return completed;
    }
    if (const Cut wanted = shared_.cut.load(std::memory_order_relaxed); wanted > cut_) [[unlikely]]
        cut(wanted);
    if (timeout_ticks_ != 0 && now >= next_deadline_) [[unlikely]]
        time_out(now);
    if (queue_.burst == nullptr) [[unlikely]]  // its port has stopped, or is away
        return collect(now);
    const std::uint64_t sent_before = sent_;
    ahead_ = ahead();
    for (unsigned i = 0; i < kBurstsPerPoll; ++i) {
        if (!pending() && build(now + ahead_) == 0)
            break;
        if (!flush())
            break;
    }
    if (sent_ != sent_before)
        counters_.active.seen(now);
    // With nothing to send now, or nothing to send it with, the driver must be asked for what it keeps.
    if (!pending() && !heaps_.empty() && (stalled_ || resting_ || pacer_.waiting()))
        reap();
    const bool completed = collect(now);
    return completed || sent_ != sent_before;
}

bool Transmitter::collect(std::uint64_t now) noexcept {
    bool any = false;
    for (;;) {
        std::size_t n = 0;
        while (n < done_.size() && !heaps_.empty()) {
            const Slot& slot = heaps_[heaps_.begin()];
            if (!slot.built || (!slot.aborted && slot.end > sent_) || !slot.refs.drained())
                break;
            const SendStatus status = slot.timed_out ? SendStatus::timed_out
                                      : slot.aborted ? SendStatus::aborted
                                                     : SendStatus::sent;
            ++(slot.timed_out       ? counters_.timed_out
               : slot.aborted       ? counters_.aborted
               : slot.entry.control ? counters_.control_heaps
                                    : counters_.heaps);
            done_[n++] = {slot.entry.heap,      slot.entry.user, slot.entry.cnt, now,
                          slot.entry.substream, status};
            heaps_.pop();
        }
        if (n == 0)
            return any;
        // The ring holds as many as can be in flight.
        completions_.push(std::span(done_).first(n));
        any = true;
    }
}

void Transmitter::abandon() noexcept {
    if (pending()) {
        counters_.dropped += burst_.end - burst_.begin;
        rte_pktmbuf_free_bulk(&burst_.frames[burst_.begin], burst_.end - burst_.begin);
        burst_.begin = burst_.end = 0;
        burst_.bytes = burst_.external = 0;
    }
    accept_entries();
    for (std::uint64_t i = heaps_.begin(); i != heaps_.end(); ++i) {
        Slot& slot = heaps_[i];
        if (slot.built && (slot.aborted || slot.end <= sent_))
            continue;
        slot.refs.close();
        slot.built = slot.aborted = true;
    }
    group_begin_ = group_end_ = turn_ = heaps_.end();
    active_left_ = 0;
    resting_ = true;
}

}  // namespace spead::send
