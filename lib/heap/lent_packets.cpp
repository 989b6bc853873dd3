// SPDX-License-Identifier: BSD-3-Clause
#include "heap/lent_packets.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace spead::heap {

LentPackets::LentPackets(std::uint32_t room, std::size_t records, Free free)
    : most_(room),
      free_buffers_(free),
      records_(records),
      free_(room == 0 ? kNone : 0),
      slots_(std::make_unique<Slot[]>(room)),
      chains_(std::make_unique<Chain[]>(records)) {
    for (std::uint32_t i = 0; i < room; i++)
        slots_[i].next = i + 1 < room ? i + 1 : kNone;
}

LentPackets::~LentPackets() {
    for (std::size_t i = 0; i < records_; i++)
        free_chain(chains_[i]);
}

bool LentPackets::keep(const Record& r, void* buffer, const std::byte* from, std::uint32_t offset,
                       std::uint32_t length) noexcept {
    Chain& c = chain_of(r);
    if (c.copied || full())
        return false;
    const std::uint32_t number = free_;
    Slot& slot = slots_[number];
    free_ = slot.next;
    slot = {buffer, from, offset, length, kNone};
    (c.first == kNone ? c.first : slots_[c.last].next) = number;
    c.last = number;
    out_++;
    return true;
}

void LentPackets::free_chain(Chain& c) noexcept {
    std::array<void*, 64> buffers;
    std::size_t n = 0;
    for (std::uint32_t i = c.first; i != kNone;) {
        Slot& slot = slots_[i];
        const std::uint32_t next = slot.next;
        buffers[n++] = slot.buffer;
        slot.next = free_;
        free_ = i;
        out_--;
        if (n == buffers.size() || next == kNone) {
            free_buffers_(buffers.data(), n);
            n = 0;
        }
        i = next;
    }
    c.first = c.last = kNone;
}

void LentPackets::release(const Record& r) noexcept {
    Chain& c = chain_of(r);
    c.copied = false;
    if (c.first == kNone)
        return;
    free_chain(c);
    c.gathered.store(Gathered::no, std::memory_order_relaxed);
}

std::vector<Segment> LentPackets::segments(const Record& r) const {
    std::vector<Segment> lent;
    for (std::uint32_t i = chain_of(r).first; i != kNone; i = slots_[i].next)
        lent.push_back({slots_[i].offset, {slots_[i].from, slots_[i].length}});
    const auto earlier = [](const Segment& a, const Segment& b) { return a.offset < b.offset; };
    if (!std::is_sorted(lent.begin(), lent.end(), earlier))
        std::sort(lent.begin(), lent.end(), earlier);

    std::vector<Segment> all;
    all.reserve(lent.size() + 1);
    auto next = lent.begin();
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
        // A packet's bytes lie in one range, and no other packet has them.
        while (begin != end) {
            const bool is_lent = next != lent.end() && next->offset < end;
            const std::uint64_t copied_to = is_lent ? next->offset : end;
            if (begin != copied_to)
                all.push_back({begin, {r.base + begin, static_cast<std::size_t>(copied_to - begin)}});
            begin = copied_to;
            if (is_lent) {
                begin += next->bytes.size();
                all.push_back(*next++);
            }
        }
    };
    add(0, r.coverage.prefix());
    for (const Range& range : r.coverage.ranges())
        add(range.begin, range.end);
    return all;
}

std::span<const std::byte> LentPackets::gather(const Record& r, std::size_t size) noexcept {
    Chain& c = chain_of(r);
    if (c.first == kNone)
        return {r.base, size};
    if (const Slot& only = slots_[c.first]; only.length == size)
        return {only.from, size};
    for (;;) {
        Gathered state = c.gathered.load(std::memory_order_acquire);
        if (state == Gathered::yes)
            return {r.base, size};
        if (state == Gathered::now) {
            c.gathered.wait(state, std::memory_order_acquire);
            continue;
        }
        if (!c.gathered.compare_exchange_strong(state, Gathered::now, std::memory_order_acquire))
            continue;
        for (std::uint32_t i = c.first; i != kNone; i = slots_[i].next)
            std::memcpy(r.base + slots_[i].offset, slots_[i].from, slots_[i].length);
        c.gathered.store(Gathered::yes, std::memory_order_release);
        c.gathered.notify_all();
    }
}

}  // namespace spead::heap
