// SPDX-License-Identifier: BSD-3-Clause
#include "port/impaired_queue.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "base/byte_order.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "port/sizes.hpp"
#include "wire/net.hpp"

namespace spead::port {

namespace {

constexpr std::uint16_t kCache = 32;
constexpr std::size_t kBurst = 64;
/// Limits packets that are to be sent now: a group and its duplicates, and bursts that the driver did not
/// take.
constexpr std::size_t kReady = std::bit_ceil(2 * std::size_t{Impairments::kMostReorder} + 4 * kBurst);
/// Limits the packets that may be delayed at once.
constexpr std::uint32_t kMostDelayed = 4096;

/// Returns the mbufs for the driver, for the packets that wait here, and for those that caches withhold.
std::uint32_t mbufs_of(const ImpairedQueue::Setup& s) {
    return s.descriptors + 512U + 2 * s.impairments.reorder +
           (s.impairments.delayed > 0 ? kMostDelayed : 0U) + 3U * kCache;
}

std::uint64_t ticks_of(double seconds, double hz) {
    return static_cast<std::uint64_t>(seconds * hz);
}

/// Finds the datagram of a packet in one segment. Returns false when it has no payload or is none.
bool find_datagram(const rte_mbuf& m, wire::UdpView& out) {
    return m.nb_segs == 1 &&
           wire::parse_udp(rte_pktmbuf_mtod(&m, const std::uint8_t*), m.data_len, m.data_len, false, out) ==
               PortOutcome::stream &&
           out.payload_length != 0;
}

/// Completes the checksum in software: a port would compute it over the corrupted packet.
void complete_checksum(rte_mbuf& m, const wire::UdpView& udp) {
    if ((m.ol_flags & RTE_MBUF_F_TX_L4_MASK) != RTE_MBUF_F_TX_UDP_CKSUM)
        return;
    m.ol_flags &= ~RTE_MBUF_F_TX_L4_MASK;
    auto* const data = rte_pktmbuf_mtod(&m, std::uint8_t*);
    const std::span<const std::uint8_t> payload(data + udp.payload_offset, udp.payload_length);
    store_be16(data + udp.payload_offset - 2,
               wire::udp_checksum(udp.source(), udp.destination(), udp.src_port, udp.dst_port, payload));
}

}  // namespace

void tell(const ImpairCounters& counters, stats::SendCounters& to) noexcept {
    to.impaired_lost = counters.lost;
    to.impaired_duplicated = counters.duplicated;
    to.impaired_corrupted = counters.corrupted;
    to.impaired_reordered = counters.reordered;
    to.impaired_delayed = counters.delayed;
    to.impaired_sent = counters.sent;
    to.impaired_dropped = counters.dropped;
}

std::size_t ImpairedQueue::memory_need(const Setup& setup) noexcept {
    return pool_bytes_of(mbufs_of(setup), data_room_of(setup.longest_frame), kCache);
}

ImpairedQueue::ImpairedQueue(const Setup& setup, const std::string& where)
    : impairments_(setup.impairments),
      ticks_(setup.ticks != nullptr ? setup.ticks : [](const void*) -> std::uint64_t { return rte_rdtsc(); }),
      context_(setup.context),
      delay_(ticks_of(setup.impairments.delay, setup.hz)),
      hold_(ticks_of(kLongestHold, setup.hz)) {
    static std::atomic<unsigned> number{0};
    ready_.entries.resize(kReady);
    delayed_.entries.resize(impairments_.delayed > 0 ? kMostDelayed : 1);
    // The last packet of a group may have a duplicate.
    group_.reserve(impairments_.reorder + 1);
    places_.reserve(impairments_.reorder + 1);
    pool_ = rte_pktmbuf_pool_create(fmt::format("impaired_{}", number.fetch_add(1)).c_str(), mbufs_of(setup),
                                    kCache, 0, static_cast<std::uint16_t>(data_room_of(setup.longest_frame)),
                                    setup.numa);
    if (pool_ == nullptr)
        throw_error(where, "no memory for {} packets that are impaired: {}; give EAL more (-m)",
                    mbufs_of(setup), rte_strerror(rte_errno));
}

ImpairedQueue::~ImpairedQueue() {
    give_up();
    if (out() == 0)
        rte_mempool_free(pool_);
    else
        log_warning(LogType::send, "{} did not come back; the pool stays allocated",
                    counted(out(), "impaired packets"));
}

std::size_t ImpairedQueue::out() const noexcept {
    return rte_mempool_in_use_count(pool_);
}

std::uint64_t ImpairedQueue::now() const noexcept {
    return ticks_(context_);
}

void ImpairedQueue::tell_holds() noexcept {
    holds_.store(ready_.size() + delayed_.size() + group_.size(), std::memory_order_release);
}

/// Takes the packet. Returns false when there is no room or no mbuf for it now.
bool ImpairedQueue::take(rte_mbuf* packet, std::uint64_t now) noexcept {
    const Fate fate = fate_of(impairments_, counters_.given);
    if (fate.lost) {
        rte_pktmbuf_free(packet);
        counters_.given++;
        counters_.lost++;
        return true;
    }
    if (ready_.room() < group_.size() + 2 || (fate.delayed && delayed_.room() < 2))
        return false;
    rte_mbuf* one = packet;
    bool corrupted = false;
    // Waiting packets are copies, so that their sender has its memory back; changed ones are, too.
    if (impairments_.reorder > 1 || fate.delayed || fate.corrupted) {
        one = rte_pktmbuf_copy(packet, pool_, 0, UINT32_MAX);
        if (one == nullptr)
            return false;
    }
    if (wire::UdpView udp{}; fate.corrupted && find_datagram(*one, udp)) {
        complete_checksum(*one, udp);
        const std::uint64_t bit = fate.bit % (std::uint64_t{udp.payload_length} * 8);
        rte_pktmbuf_mtod(one, std::uint8_t*)[udp.payload_offset + bit / 8] ^=
            static_cast<std::uint8_t>(1U << bit % 8);
        corrupted = true;
    }
    rte_mbuf* const two = fate.duplicated ? rte_pktmbuf_copy(one, pool_, 0, UINT32_MAX) : nullptr;
    if (fate.duplicated && two == nullptr) {
        if (one != packet)
            rte_pktmbuf_free(one);
        return false;
    }
    if (one != packet)
        rte_pktmbuf_free(packet);
    counters_.given++;
    counters_.corrupted += corrupted;
    counters_.duplicated += fate.duplicated;
    counters_.delayed += fate.delayed;
    if (group_.empty())
        group_since_ = now;
    for (rte_mbuf* const m : {one, two}) {
        if (m == nullptr)
            continue;
        if (fate.delayed)
            delayed_.push(m, now + delay_);
        else if (impairments_.reorder > 1)
            group_.push_back(m);
        else
            ready_.push(m);
    }
    if (group_.size() >= impairments_.reorder && !group_.empty())
        shuffle();
    return true;
}

/// Shuffles the group, for which there is room.
void ImpairedQueue::shuffle() noexcept {
    places_.clear();
    for (std::uint32_t i = 0; i < group_.size(); i++)
        places_.push_back(i);
    for (auto place = static_cast<std::uint32_t>(group_.size() - 1); place > 0; place--)
        std::swap(places_[place], places_[exchange_of(impairments_, groups_, place)]);
    std::uint32_t latest = 0;
    for (const std::uint32_t place : places_) {
        counters_.reordered += place < latest;
        latest = std::max(latest, place);
        ready_.push(group_[place]);
    }
    groups_++;
    group_.clear();
}

void ImpairedQueue::release(std::uint64_t now) noexcept {
    const bool all = flush_.load(std::memory_order_acquire);
    if (!group_.empty() && (all || now - group_since_ >= hold_) && ready_.room() >= group_.size())
        shuffle();
    while (delayed_.size() != 0 && ready_.room() > group_.size() + 2 && (all || delayed_[0].due <= now)) {
        ready_.push(delayed_[0].mbuf);
        delayed_.head++;
    }
}

bool ImpairedQueue::push() noexcept {
    bool any = false;
    while (ready_.size() != 0 && inner_.burst != nullptr) {
        std::array<rte_mbuf*, kBurst> burst;
        const std::size_t n = std::min(ready_.size(), burst.size());
        for (std::size_t i = 0; i < n; i++)
            burst[i] = ready_[i].mbuf;
        const std::uint16_t taken = inner_.tx_burst(burst.data(), static_cast<std::uint16_t>(n));
        ready_.head += taken;
        counters_.sent += taken;
        any |= taken != 0;
        if (taken != n)
            break;
    }
    return any;
}

bool ImpairedQueue::poll() noexcept {
    if (holds_.load(std::memory_order_relaxed) == 0)
        return false;
    release(now());
    const bool any = push();
    tell_holds();
    return any;
}

void ImpairedQueue::give_up() noexcept {
    const auto drop = [this](rte_mbuf* m) {
        rte_pktmbuf_free(m);
        counters_.dropped++;
    };
    for (Line* const line : {&ready_, &delayed_})
        for (; line->size() != 0; line->head++)
            drop((*line)[0].mbuf);
    for (rte_mbuf* const m : group_)
        drop(m);
    group_.clear();
    tell_holds();
}

std::uint64_t ImpairedQueue::next_time() const noexcept {
    if (ready_.size() != 0)
        return 1;
    const std::uint64_t due = delayed_.size() != 0
                                  ? delayed_.entries[delayed_.head & (delayed_.entries.size() - 1)].due
                                  : UINT64_MAX;
    const std::uint64_t full = !group_.empty() ? group_since_ + hold_ : UINT64_MAX;
    const std::uint64_t next = std::min(due, full);
    return next == UINT64_MAX ? 0 : next;
}

std::uint16_t ImpairedQueue::tx(void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t count) {
    auto& q = *static_cast<ImpairedQueue*>(self);
    const std::uint64_t now = q.now();
    // A sender that sends again has not ended.
    if (q.flush_.load(std::memory_order_relaxed))
        q.flush_.store(false, std::memory_order_relaxed);
    q.release(now);
    q.push();
    std::uint16_t taken = 0;
    while (taken < count && q.take(mbufs[taken], now))
        taken++;
    q.push();
    q.tell_holds();
    return taken;
}

bool ImpairedQueue::only_delays(const TxQueue& queue) noexcept {
    if (queue.burst != tx)
        return false;
    const auto& q = *static_cast<const ImpairedQueue*>(queue.context);
    return q.ready_.size() == 0 && q.impairments_.delayed > 0 && q.delayed_.room() < 2;
}

void ImpairedQueue::reap(void* self, std::uint16_t) {
    auto& q = *static_cast<ImpairedQueue*>(self);
    q.poll();
    if (q.inner_.reap != nullptr)
        q.inner_.reap(q.inner_.context, q.inner_.queue);
}

}  // namespace spead::port
