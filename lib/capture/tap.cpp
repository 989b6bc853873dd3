// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tap.hpp"

#include <algorithm>
#include <cstring>
#include <time.h>

#include <rte_mbuf.h>

#include "capture/pcap_format.hpp"

namespace spead::capture {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Copies the first `length` bytes of a packet, which has at least that many.
void copy_packet(const rte_mbuf& mbuf, std::byte* to, std::size_t length) noexcept {
    for (const rte_mbuf* m = &mbuf; length != 0; m = m->next) {
        const std::size_t n = std::min<std::size_t>(length, m->data_len);
        std::memcpy(to, rte_pktmbuf_mtod(m, const std::byte*), n);
        to += n;
        length -= n;
    }
}

}  // namespace

Tap::Tap(std::byte* memory, std::uint32_t block_bytes, std::size_t blocks, std::size_t ways,
         std::uint32_t snap_length, bool only, Limit& limit, std::uint64_t flush_ticks, std::size_t reserve)
    : limit_(limit),
      block_bytes_(block_bytes),
      snap_length_(snap_length),
      flush_ticks_(flush_ticks),
      reserve_(reserve),
      only_(only),
      blocks_(blocks) {
    free_.reserve(blocks);
    for (Block& block : blocks_) {
        block.data = memory;
        memory += block_bytes;
        free_.push_back(&block);
    }
    for (std::size_t i = 0; i < ways; i++)
        ways_.emplace_back(blocks);
}

/// Returns the packet's arrival, in ns since 1970. If a port's own time stamps are ever used, they belong
/// here. Reads the clock once a burst (through the vDSO, without a system call). The packets of a burst get
/// times a nanosecond apart, so that their order is kept in several files.
std::uint64_t Tap::arrival_ns(const rte_mbuf&, std::uint64_t now) noexcept {
    if (now != clock_at_) {
        timespec time{};
        clock_gettime(CLOCK_REALTIME, &time);
        clock_ns_ =
            static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
        clock_at_ = now;
    }
    // Back by more than a burst can be ahead of the clock: it was set.
    const bool set_back = clock_ns_ + kSecond / 1000 < last_ns_;
    last_ns_ = set_back ? clock_ns_ : std::max(clock_ns_, last_ns_ + 1);
    return last_ns_;
}

/// Claims one of the packets that the capture may still take.
bool Tap::claim() noexcept {
    return !limit_.counted || limit_.left.fetch_sub(1, std::memory_order_relaxed) > 0;
}

Tap::Offer Tap::offer(const rte_mbuf& mbuf, std::uint64_t now) noexcept {
    if (limit_.over.load(std::memory_order_relaxed)) [[unlikely]] {
        counters_.ended++;
        return Offer::over;
    }
    const std::uint32_t captured = std::min(mbuf.pkt_len, snap_length_);
    const auto need = static_cast<std::uint32_t>(kPcapRecordHeader + captured);
    if ((block_ == nullptr || block_->used + need > block_bytes_) && !next_block(now)) [[unlikely]] {
        counters_.dropped_full++;
        return Offer::full;
    }
    if (!claim()) [[unlikely]] {
        limit_.over.store(true, std::memory_order_relaxed);
        counters_.ended++;
        return Offer::over;
    }
    const std::uint64_t time = arrival_ns(mbuf, now);
    const PcapRecordHeader header{static_cast<std::uint32_t>(time / kSecond),
                                  static_cast<std::uint32_t>(time % kSecond), captured, mbuf.pkt_len};
    std::byte* const to = block_->data + block_->used;
    std::memcpy(to, &header, sizeof header);
    copy_packet(mbuf, to + sizeof header, captured);
    block_->used += need;
    block_->packets++;
    counters_.taken++;
    counters_.taken_bytes += captured;
    counters_.cut += captured < mbuf.pkt_len;
    return Offer::taken;
}

/// Passes the full block on and begins another. Returns false when all of them wait for the disks.
bool Tap::next_block(std::uint64_t now) noexcept {
    pass_on();
    if (free_.empty())
        collect();
    if (free_.empty())
        return false;
    block_ = free_.back();
    free_.pop_back();
    block_->used = block_->packets = 0;
    block_since_ = now;
    return true;
}

/// Collects blocks that the writers have finished.
void Tap::collect() noexcept {
    for (Way& way : ways_)
        while (Block* const block = way.back.pop())
            free_.push_back(block);
}

bool Tap::blocked() noexcept {
    if (free_.size() < reserve_)
        collect();
    return free_.size() < reserve_ && !limit_.over.load(std::memory_order_relaxed);
}

/// Passes blocks to the writer with the least work; to each in turn while they keep up.
void Tap::pass_on() noexcept {
    if (block_ == nullptr)
        return;
    std::size_t least = next_way_;
    for (std::size_t i = 0; i < ways_.size(); i++)
        if (const std::size_t way = (next_way_ + i) % ways_.size();
            ways_[way].there.size() < ways_[least].there.size())
            least = way;
    ways_[least].there.push(block_);
    next_way_ = (least + 1) % ways_.size();
    block_ = nullptr;
}

void Tap::housekeep(std::uint64_t now) noexcept {
    if (block_ != nullptr && now - block_since_ > flush_ticks_)
        flush();
}

void Tap::flush() noexcept {
    if (block_ != nullptr && block_->packets != 0)
        pass_on();
}

}  // namespace spead::capture
