// SPDX-License-Identifier: BSD-3-Clause
#include "recv/rx_agent.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "base/tick_rate.hpp"
#include "recv/mbufs.hpp"
#include "recv/rx_take.hpp"
#include "recv/udp_checksum.hpp"
#include "wire/net.hpp"

namespace spead::recv {

namespace {

/// Limits the staged copies to as many packets as have this many bytes, by the burst before, so that their
/// headers and payloads, read and written, stay in the first-level cache. There is also a minimum.
constexpr std::uint64_t kStagedBytes = 11 * 1024;
constexpr std::uint64_t kLeastStaged = 6;
/// Limits a batch in the same way. In shorter ones, fewer headers are parsed while copies wait for memory.
/// Longer ones write to more memory, since what their heaps free is used again after them: with whole bursts,
/// packets of 8192 B in the cache took 1.2 times as long (bench assemble --packet-set 1MiB --heap-set 4MiB).
constexpr std::uint64_t kBatchBytes = 64 * 1024;
/// Holds how far ahead of the parsed packet headers are prefetched; their mbufs must have arrived by then.
constexpr std::uint16_t kHeaderAhead = 5;

constexpr std::uint64_t kIpChecksumGood = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
/// Holds the bits of "bad". "none" (bad and good) has them too, so those packets take the slow path.
constexpr std::uint64_t kChecksumBad = RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD;

/// Holds the number of packets between two samples of senders while bursts are full.
constexpr std::uint64_t kLookEvery = 256;

/// Returns whether a packet is not only counted.
constexpr bool is_apart(PortOutcome outcome) {
    return is_for_hosts(outcome) || outcome == PortOutcome::fragment;
}

/// Returns where the bytes of a packet begin that are copied next: a payload in a segment of its own, or all.
const void* soon_copied(const rte_mbuf* mbuf) {
    return rte_pktmbuf_mtod(mbuf->nb_segs == 2 ? mbuf->next : mbuf, const void*);
}

/// Returns one of `count`, a different one each time, so that senders that take turns are all sampled.
std::uint16_t some(std::uint64_t turn, std::uint16_t count) {
    return static_cast<std::uint16_t>(((turn * 0x9E3779B9) & 0xFFFFFFFF) * count >> 32);
}

/// Counts a sender. `mbuf` represents all packets since the last sample.
[[gnu::noinline]] void look_at_sender(Source& source, const rte_mbuf* mbuf) {
    const std::uint64_t packets = std::exchange(source.unattributed, 0);
    wire::UdpView udp;
    if (wire::parse_udp(rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len, mbuf->pkt_len, false,
                        udp) != PortOutcome::stream) {
        source.talkers.add_others(packets);
        return;
    }
    const Target* const target = source.classifier.find(udp);
    source.talkers.add(udp.src_ip, target == nullptr ? stats::Talkers::kNoLane : target->lane, packets,
                       udp.ipv6 ? udp.src_ip6 : Ipv6{});
}

}  // namespace

template <class Decoder>
BasicRxAgent<Decoder>::BasicRxAgent()
    : copies_of_(memory::payload_copies()),
      choose_every_(static_cast<std::uint64_t>(ticks_per_second()) / kChoicesPerSecond),
      scratch_(std::make_unique<std::uint8_t[]>(wire::kMaxNetHeader + Decoder::kMaxHeader)) {
    lanes_.reserve(kMaxLanes);
    with_chunks_.reserve(kMaxLanes);
    with_ended_.reserve(kMaxLanes);
    sources_.reserve(kMaxSources);
    gatherings_.reserve(kMaxLanes);
}

template <class Decoder>
std::uint16_t BasicRxAgent<Decoder>::add_lane(Lane<Decoder>& lane) noexcept {
    const auto free = std::find(lanes_.begin(), lanes_.end(), nullptr);
    const auto index = static_cast<std::uint16_t>(free - lanes_.begin());
    if (free == lanes_.end())
        lanes_.push_back(&lane);
    else
        *free = &lane;
    if (lane.chunks)
        with_chunks_.push_back(&lane);
    if (lane.gathering &&
        std::find(gatherings_.begin(), gatherings_.end(), lane.gathering) == gatherings_.end())
        gatherings_.push_back(lane.gathering);
    return index;
}

template <class Decoder>
void BasicRxAgent<Decoder>::remove_lane(std::uint16_t index) noexcept {
    std::erase(with_chunks_, lanes_[index]);
    std::erase(with_ended_, lanes_[index]);
    lanes_[index] = nullptr;
    std::erase_if(gatherings_, [this](const auto& g) {
        return !g->any_out() && std::none_of(lanes_.begin(), lanes_.end(), [&g](const Lane<Decoder>* lane) {
            return lane != nullptr && lane->gathering == g;
        });
    });
    while (!lanes_.empty() && lanes_.back() == nullptr)
        lanes_.pop_back();
}

template <class Decoder>
void BasicRxAgent<Decoder>::add_source(Source& source) noexcept {
    sources_.push_back(&source);
}

template <class Decoder>
void BasicRxAgent<Decoder>::touch(Lane<Decoder>& lane) noexcept {
    if (lane.batch == batch_number_)
        return;
    lane.begin_batch(batch_number_);
    lane.counters.active.seen(batch_time_);
    touched_[touched_count_++] = &lane;
}

/// Asks the stream's filter. Returns false when the packet was counted, and is not to be placed.
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::filter(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                     const heap::PacketView& view, const PacketWay& way,
                                                     rte_mbuf* mbuf, std::uint32_t payload_at,
                                                     std::uint64_t now) noexcept {
    heap::PacketView seen = view;
    seen.arrival = now;
    seen.source = sender_key(way.source);
    const bool passes = lane.filter->pass({seen, way, mbuf, payload_at}, lane.counters);
    lane.unplaced[endpoint].all += passes ? 0 : 1;
    return passes;
}

/// Offers the packet to the capture of its stream. Returns true when it ends there.
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::tapped(Lane<Decoder>& lane, std::uint16_t endpoint,
                                                     const rte_mbuf* mbuf, std::uint64_t now) noexcept {
    const capture::Tap::Offer offer = lane.tap->offer(*mbuf, now);
    lane.counters.active.seen(now);
    if (!lane.tap->only())
        return false;
    lane.unplaced[endpoint].all++;
    switch (offer) {
        case capture::Tap::Offer::taken:
            lane.counters[PacketOutcome::captured]++;
            break;
        case capture::Tap::Offer::full:
            lane.counters[PacketOutcome::capture_full]++;
            break;
        case capture::Tap::Offer::over:
            lane.counters[PacketOutcome::stopped]++;
            break;
    }
    return true;
}

/// Handles the most common packet: one segment, with a shape that its endpoint has just had. Returns false
/// when nothing was done and slow_path() decides, or when the packet has to wait (stopped_short_).
template <class Decoder>
template <class Ip>
bool BasicRxAgent<Decoder>::fast_path(Source& source, BasicFlowCache<Ip>& flows, rte_mbuf* mbuf,
                                      std::uint64_t now) noexcept {
    if ((mbuf->ol_flags & kChecksumBad) != 0 || mbuf->nb_segs != 1 || mbuf->data_len < Ip::kHeader)
        [[unlikely]]
        return false;
    const std::uint8_t* const frame = frame_of(mbuf);
    const bool verify = (mbuf->ol_flags & kIpChecksumGood) == 0;
    const BasicFlowTemplate<Ip>* flow = &flows.usual(frame);
    heap::PacketView view;
    if (!flow->match(frame, mbuf->data_len, verify, view)) [[unlikely]] {
        if (flows.knows_formats() && (format_path(source, flows, mbuf, verify, now) || stopped_short_))
            return !stopped_short_;
        flow = &flows.other(frame);
        if (!flow->match(frame, mbuf->data_len, verify, view))
            return false;
        flows.turn(frame);
    }
    return take<Ip>(source, flow->lane(), flow->endpoint(), view, mbuf, frame + flow->payload_at(),
                    flow->payload_at(), now, {}, [&] { return flow->item_extent(frame); });
}

/// Does the same for a packet whose headers are one segment, and whose payload is another. So come packets
/// from memory that must not be written to (DatagramLane). Those that are lent, left to an engine, or noted
/// for their path go by slow_path().
template <class Decoder>
template <class Ip>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::cut_path(Source& source, BasicFlowCache<Ip>& flows,
                                                       rte_mbuf* mbuf, std::uint64_t now) noexcept {
    if ((mbuf->ol_flags & kChecksumBad) != 0 || mbuf->data_len < Ip::kHeader)
        return false;
    const std::uint8_t* const frame = frame_of(mbuf);
    const bool verify = (mbuf->ol_flags & kIpChecksumGood) == 0;
    heap::PacketView view;
    const auto fits = [&](const BasicFlowTemplate<Ip>& flow) {
        return flow.payload_at() == mbuf->data_len && flow.match(frame, mbuf->pkt_len, verify, view);
    };
    const BasicFlowTemplate<Ip>* flow = &flows.usual(frame);
    if (!fits(*flow)) {
        flow = &flows.other(frame);
        if (!fits(*flow))
            return false;
        flows.turn(frame);
    }
    if (view.payload_length > mbuf->next->data_len || lanes_[flow->lane()]->diverts)
        return false;
    source.counters.multi_segment++;
    return take<Ip>(source, flow->lane(), flow->endpoint(), view, mbuf, frame_of(mbuf->next),
                    flow->payload_at(), now, {}, [&] { return flow->item_extent(frame); });
}

/// Does the same for IPv6 and for packets in two segments, out of the way of others: slow_path() begins with
/// it.
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::other_fast_path(Source& source, rte_mbuf* mbuf,
                                                              std::uint64_t now) noexcept {
    const bool ipv6 = Ipv6Frame::is(frame_of(mbuf), mbuf->data_len);
    if (mbuf->nb_segs == 2)
        return ipv6 ? cut_path(source, source.flows6, mbuf, now) : cut_path(source, source.flows, mbuf, now);
    return ipv6 && fast_path(source, source.flows6, mbuf, now);
}

/// Returns the end of the taken packets: `end`, or the packet that has to wait (stopped_short_).
template <class Decoder>
std::uint16_t BasicRxAgent<Decoder>::batch(Source& source, rte_mbuf** mbufs, std::uint16_t begin,
                                           std::uint16_t end, std::uint64_t now) noexcept {
    batch_number_++;
    batch_time_ = now;
    const bool second = source.queue.pool == nullptr;
    const int staged = source.staged;
    std::uint64_t bytes = 0;
    std::uint64_t matched = 0;
    for (std::uint16_t i = begin; i < end; i++) {
        prefetch_mbuf(mbufs[i + kAhead], second);
        prefetch_header(mbufs[i + kHeaderAhead]);
        bytes += mbufs[i]->pkt_len;
        if (source.check_udp && udp_checksum_is_wrong(*mbufs[i])) [[unlikely]] {
            source.counters[PortOutcome::bad_checksum]++;
            continue;
        }
        if (fast_path(source, source.flows, mbufs[i], now)) [[likely]] {
            matched++;
        } else {
            const PortOutcome outcome =
                stopped_short_ ? PortOutcome::stream : slow_path(source, mbufs[i], now);
            if (stopped_short_) [[unlikely]] {
                bytes -= mbufs[i]->pkt_len;
                end = i;
                break;
            }
            if (is_apart(outcome)) [[unlikely]] {
                if (handle_apart(source, mbufs[i], outcome, now, bytes))
                    continue;
                bytes -= mbufs[i]->pkt_len;
                end = i;
                break;
            }
            source.counters[outcome]++;
        }
        if (copy_count_ - copied_ > staged) [[likely]]
            copy_one(copies_[copied_ + 1].from);
    }
    source.counters.bytes += bytes;
    source.counters[PortOutcome::stream] += matched;
    copy_staged(soon_copied(mbufs[end]));
    commit_batch();
    if (again_count_ != 0) [[unlikely]]
        offer_again(source);
    return end;
}

template <class Decoder>
void BasicRxAgent<Decoder>::commit_batch() noexcept {
    for (std::uint16_t i = 0; i < touched_count_; i++) {
        Lane<Decoder>& lane = *touched_[i];
        if (lane.chunks) {
            lane.chunks->boundary();
            continue;
        }
        lane.window.commit();
        short_ |= lane.window.is_short();
        if (lane.window.has_ended() && !lane.has_ended) {
            lane.has_ended = true;
            with_ended_.push_back(&lane);
        }
    }
    touched_count_ = 0;
}

/// Processes a burst from the queue. Returns how many of its packets were taken.
template <class Decoder>
std::uint16_t BasicRxAgent<Decoder>::process(Source& source, rte_mbuf** mbufs, std::uint16_t count,
                                             std::uint64_t now) noexcept {
    source.counters.bursts++;
    source.counters.active.seen(now);
    source.counters.full_bursts += count == kBurst;
    source.counters.burst_sizes[stats::burst_bin(count)]++;
    return work(source, mbufs, count, now);
}

/// Takes packets until one has to wait; that one and the next ones stay with the source.
template <class Decoder>
std::uint16_t BasicRxAgent<Decoder>::work(Source& source, rte_mbuf** mbufs, std::uint16_t count,
                                          std::uint64_t now) noexcept {
    const std::uint64_t bytes_before = source.counters.bytes;
    for (std::uint16_t i = 0; i < kAhead; i++)
        mbufs[count + i] = mbufs[count - 1];
    for (std::uint16_t i = 0; i < kAhead; i++)
        prefetch_mbuf(mbufs[i], source.queue.pool == nullptr);
    for (std::uint16_t i = 0; i < kHeaderAhead; i++)
        prefetch_header(mbufs[i]);
    std::uint16_t taken = 0;
    while (taken < count && !stopped_short_) {
        const auto end = static_cast<std::uint16_t>(std::min<std::uint32_t>(count, taken + source.batch));
        taken = batch(source, mbufs, taken, end, now);
    }
    if (stopped_short_) [[unlikely]] {
        source.waiting.keep(mbufs + taken, count - taken);
        stopped_short_ = false;
        waiting_ = true;
    }
    if (taken == 0) [[unlikely]]
        return 0;
    const std::uint64_t average = (source.counters.bytes - bytes_before) / taken;
    const auto packets_of = [average](std::uint64_t most) {
        return static_cast<std::uint16_t>(
            std::clamp<std::uint64_t>(most / (average + 1), kLeastStaged, kBurst));
    };
    source.staged = packets_of(kStagedBytes);
    source.batch = packets_of(kBatchBytes);
    source.unattributed += taken;
    if (taken < kBurst || source.unattributed >= kLookEvery)
        look_at_sender(source, mbufs[some(source.counters.bursts, taken)]);
    const std::uint16_t free = kept_count_ == 0 ? taken : without_kept(mbufs, taken);
    if (!source.keeps_packets)
        free_burst<kBurst>(mbufs, free, source.queue.pool);
    return taken;
}

/// Hands ended heaps over. Full bursts mean that more packets are waiting: then the hand-over of many heaps
/// at once is cheaper, and its delay is bounded. Otherwise all ended heaps go at once.
template <class Decoder>
void BasicRxAgent<Decoder>::hand_over(bool all) noexcept {
    std::size_t kept = 0;
    bool blocked = false;
    for (Lane<Decoder>* const lane : with_ended_) {
        if (all || lane->window.ended() >= heap::kHandOverAt) {
            // Memory that consumers have given back makes room first.
            lane->window.reclaim();
            lane->window.hand_over(rte_rdtsc());
        }
        blocked |= lane->window.blocked();
        if (lane->window.has_ended())
            with_ended_[kept++] = lane;
        else
            lane->has_ended = false;
    }
    with_ended_.resize(kept);
    blocked_ = blocked;
}

template <class Decoder>
bool BasicRxAgent<Decoder>::paused(const Source& source) noexcept {
    return std::any_of(source.lanes.begin(), source.lanes.end(),
                       [this](std::uint16_t lane) { return lanes_[lane]->window.blocked(); });
}

template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::held_by_tap(const Source& source) noexcept {
    const bool held = std::any_of(source.lanes.begin(), source.lanes.end(), [this](std::uint16_t lane) {
        capture::Tap* const tap = lanes_[lane]->tap;
        return tap != nullptr && tap->may_block() && tap->blocked();
    });
    held_ |= held;
    return held;
}

template <class Decoder>
bool BasicRxAgent<Decoder>::poll(std::uint64_t now) noexcept {
    std::array<rte_mbuf*, kBurst + kAhead> mbufs;
    std::uint16_t fullest = 0;
    if (blocked_) [[unlikely]]
        hand_over(true);
    held_ = waiting_ = false;
    for (const auto& gathering : gatherings_)
        gathering->advance(now);
    const std::uint32_t batches_before = batch_number_;
    const bool looks_for_room = std::exchange(short_, false);
    for (Source* const source : sources_) {
        if (source->held) [[unlikely]]
            continue;
        if (taps_block_ && held_by_tap(*source)) [[unlikely]]
            continue;
        if (blocked_ && paused(*source)) [[unlikely]]
            continue;
        if (!gatherings_.empty() && gather_full(*source)) [[unlikely]] {
            source->counters.gather_full++;
            continue;
        }
        if (source->waiting.count != 0) [[unlikely]] {
            fullest = std::max(fullest, resume(*source, !comes_back(*source), now));
            continue;
        }
        std::uint16_t most = kBurst;
        if (looks_for_room && (most = room(*source)) == 0) [[unlikely]]
            continue;
        const std::uint16_t n = source->queue.rx_burst(mbufs.data(), most);
        if (n == 0)
            continue;
        fullest = std::max(fullest, process(*source, mbufs.data(), n, now));
    }
    last_burst_ = fullest;
    // A batch without its packets is one, too: others may wait for this lcore to have no copy outstanding.
    for (Lane<Decoder>* const lane : with_chunks_)
        if (batch_number_ == batches_before || lane->batch != batch_number_)
            lane->chunks->boundary();
    if (!with_ended_.empty()) {
        const bool all = fullest < kBurst || ++polls_since_hand_over_ >= heap::kHandOverEvery;
        if (all)
            polls_since_hand_over_ = 0;
        hand_over(all);
    }
    return fullest != 0;
}

template <class Decoder>
void BasicRxAgent<Decoder>::housekeep(std::uint64_t now) noexcept {
    if (now >= next_choice_) {
        next_choice_ = now + choose_every_;
        choose_stores();
    } else {
        leave_cache();
    }
    for (Lane<Decoder>* const lane : lanes_) {
        if (lane == nullptr)
            continue;
        if (lane->filter)
            lane->filter->reclaim(lane->counters);
        if (lane->chunks)
            lane->chunks->expire(now);
        lane->window.reclaim();
        if (lane->lent)
            lane->counters.lent_now = lane->lent->packets().out();
        lane->window.expire(now);
        if (lane->path_record) {
            lane->path_record->look(lane->packets_by_path(), lane->path_time(now));
            lane->follow_paths();
        }
        if (lane->tap != nullptr) [[unlikely]]
            lane->tap->housekeep(now);
        if (lane->window.has_ended() && !lane->has_ended) {
            lane->has_ended = true;
            with_ended_.push_back(lane);
        }
        blocked_ |= lane->window.blocked();
    }
    for (Source* const source : sources_) {
        if (source->reassembler != nullptr) [[unlikely]]
            source->reassembler->expire(now, source->reassembly_counts());
        if (source->queue.pool != nullptr)
            source->counters.fewest_free_mbufs =
                std::min(source->counters.fewest_free_mbufs, free_mbufs(*source->queue.pool));
    }
}

template <class Decoder>
void BasicRxAgent<Decoder>::rest() noexcept {
    for (Lane<Decoder>* const lane : with_chunks_)
        if (lane->chunks->may_rest())
            lane->chunks->offline();
}

template class BasicRxAgent<SpeadDecoder>;

}  // namespace spead::recv
