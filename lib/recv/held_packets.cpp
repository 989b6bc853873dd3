// SPDX-License-Identifier: BSD-3-Clause
#include "recv/held_packets.hpp"

#include <rte_mbuf.h>

namespace spead::recv {

struct HeldPacket::Slot {
    FilterPacket packet;
    std::atomic<std::uint32_t> users{0};
    std::uint16_t segments = 0;
    Slot* next = nullptr;               ///< in the list of free slots, or of returned ones
    std::shared_ptr<HeldPackets> home;  ///< while lent
};

HeldPacket::HeldPacket(const HeldPacket& other) noexcept : slot_(other.slot_) {
    if (slot_ != nullptr)
        slot_->users.fetch_add(1, std::memory_order_relaxed);
}

const FilterPacket& HeldPacket::operator*() const noexcept {
    return slot_->packet;
}

void HeldPacket::reset() noexcept {
    Slot* const slot = std::exchange(slot_, nullptr);
    if (slot == nullptr || slot->users.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    // The list may be the last thing that keeps its owner.
    const std::shared_ptr<HeldPackets> home = std::move(slot->home);
    home->give_back(slot);
}

std::shared_ptr<HeldPackets> HeldPackets::make(std::uint32_t most) {
    return std::make_shared<HeldPackets>(Private{}, most);
}

HeldPackets::HeldPackets(Private, std::uint32_t most)
    : most_(most), slots_(std::make_unique<HeldPacket::Slot[]>(most)) {
    for (std::uint32_t i = 0; i < most; i++)
        slots_[i].next = i + 1 < most ? &slots_[i + 1] : nullptr;
    free_ = most != 0 ? slots_.get() : nullptr;
}

HeldPackets::~HeldPackets() = default;

HeldPacket HeldPackets::lend(const FilterPacket& packet) noexcept {
    const std::uint16_t segments = packet.mbuf()->nb_segs;
    if (buffers_out_ + segments > most_) {
        reclaim();
        if (buffers_out_ + segments > most_)
            return {};
    }
    HeldPacket::Slot* const slot = free_;
    free_ = slot->next;
    slot->packet = packet;
    slot->packet.keep_items_of_mbuf();
    slot->segments = segments;
    slot->home = shared_from_this();
    slot->users.store(1, std::memory_order_relaxed);
    buffers_out_ += segments;
    packets_out_++;
    rte_pktmbuf_refcnt_update(const_cast<rte_mbuf*>(packet.mbuf()), 1);
    return HeldPacket(slot);
}

void HeldPackets::give_back(HeldPacket::Slot* slot) noexcept {
    HeldPacket::Slot* head = returned_.load(std::memory_order_relaxed);
    do {
        slot->next = head;
    } while (
        !returned_.compare_exchange_weak(head, slot, std::memory_order_release, std::memory_order_relaxed));
}

std::uint32_t HeldPackets::reclaim() noexcept {
    if (returned_.load(std::memory_order_relaxed) == nullptr) [[likely]]
        return 0;
    std::uint32_t count = 0;
    HeldPacket::Slot* slot = returned_.exchange(nullptr, std::memory_order_acquire);
    while (slot != nullptr) {
        HeldPacket::Slot* const next = slot->next;
        rte_pktmbuf_free(const_cast<rte_mbuf*>(slot->packet.mbuf()));
        buffers_out_ -= slot->segments;
        slot->next = free_;
        free_ = slot;
        slot = next;
        count++;
    }
    packets_out_ -= count;
    return count;
}

}  // namespace spead::recv
