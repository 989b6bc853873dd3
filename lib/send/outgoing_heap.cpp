// SPDX-License-Identifier: BSD-3-Clause
#include "send/outgoing_heap.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace spead::send {
namespace {

void check_id(std::uint64_t id, wire::Flavour flavour) {
    if (id < wire::item::kDescriptor)
        throw Error(fmt::format("item id {:#x} belongs to the protocol (0 to 4 do); give {:#x} or above", id,
                                wire::item::kDescriptor));
    if (id > flavour.max_id())
        throw Error(fmt::format("item id {:#x} does not fit SPEAD-64-{}: the largest is {:#x}", id,
                                flavour.address_bits(), flavour.max_id()));
}

void check_value(std::uint64_t id, std::uint64_t value, wire::Flavour flavour) {
    if (value > flavour.value_mask())
        throw Error(
            fmt::format("immediate value {:#x} of item {:#x} does not fit SPEAD-64-{}: the largest is {:#x}",
                        value, id, flavour.address_bits(), flavour.value_mask()));
}

PieceKind kind_of(const memory::RegionTable::Run& run) {
    if (!run.registered)
        return PieceKind::unregistered;
    return run.cpu_accessible ? PieceKind::registered : PieceKind::device;
}

}  // namespace

OutgoingHeap::Handle OutgoingHeap::add(Item item) {
    changing();
    items_.push_back(item);
    return items_.size() - 1;
}

void OutgoingHeap::changing() {
    if (in_flight())
        throw Error("a heap cannot be changed while it is being sent: wait for its completion");
    stale_ = true;
}

OutgoingHeap::Handle OutgoingHeap::add_item(std::uint64_t id, std::span<const std::byte> data,
                                            bool allow_immediate) {
    check_id(id, flavour_);
    return add({id, data, 0, allow_immediate ? Kind::maybe_immediate : Kind::memory});
}

OutgoingHeap::Handle OutgoingHeap::add_immediate(std::uint64_t id, std::uint64_t value) {
    check_id(id, flavour_);
    check_value(id, value, flavour_);
    return add({id, {}, value, Kind::immediate});
}

OutgoingHeap::Handle OutgoingHeap::add_padding(std::span<const std::byte> data) {
    return add({wire::item::kNull, data, 0, Kind::memory});
}

OutgoingHeap::Handle OutgoingHeap::add_descriptor(std::span<const std::byte> encoded) {
    changing();
    owned_.emplace_back(encoded.begin(), encoded.end());
    return add({wire::item::kDescriptor, owned_.back(), 0, Kind::owned});
}

OutgoingHeap::Handle OutgoingHeap::add_descriptor(const wire::Descriptor& descriptor, unsigned bug_compat) {
    const auto encoded = wire::encode_descriptor(descriptor, flavour_, bug_compat);
    if (!encoded)
        throw Error(fmt::format("the descriptor of item {:#x} (\"{}\") cannot be encoded for SPEAD-64-{}: {}",
                                descriptor.id, descriptor.name, flavour_.address_bits(),
                                name_of(encoded.error())));
    return add_descriptor(std::as_bytes(std::span(*encoded)));
}

void OutgoingHeap::set_item(Handle item, std::span<const std::byte> data) {
    if (item >= items_.size() ||
        (items_[item].kind != Kind::memory && items_[item].kind != Kind::maybe_immediate))
        throw Error(fmt::format("the heap has no item {} that refers to memory", item));
    changing();
    items_[item].data = data;
}

void OutgoingHeap::set_immediate(Handle item, std::uint64_t value) {
    if (item >= items_.size() || items_[item].kind != Kind::immediate)
        throw Error(fmt::format("the heap has no immediate item {}", item));
    check_value(items_[item].id, value, flavour_);
    const bool was_stale = stale_;
    changing();
    items_[item].value = value;
    if (!was_stale) {  // a value changes nothing of the cut
        layout_.pointers[item] = byte_swap(pointer_of(items_[item], 0));
        stale_ = false;
    }
}

void OutgoingHeap::set_repeat_pointers(bool repeat) {
    changing();
    repeat_pointers_ = repeat;
}

void OutgoingHeap::set_cnt(std::optional<std::uint64_t> cnt) {
    if (in_flight())
        throw Error("a heap cannot be changed while it is being sent: wait for its completion");
    if (cnt && *cnt > flavour_.value_mask())
        throw Error(fmt::format("heap count {:#x} does not fit SPEAD-64-{}: the largest is {:#x}", *cnt,
                                flavour_.address_bits(), flavour_.value_mask()));
    cnt_ = cnt;
}

bool OutgoingHeap::inlined(const Item& item) const noexcept {
    return item.kind == Kind::immediate ||
           (item.kind == Kind::maybe_immediate && item.data.size() <= flavour_.address_bytes());
}

std::uint64_t OutgoingHeap::pointer_of(const Item& item, std::uint64_t offset) const noexcept {
    if (!inlined(item))
        return flavour_.make_address(item.id, offset);
    std::uint64_t value = item.value;
    if (item.kind == Kind::maybe_immediate) {
        value = 0;
        for (const std::byte b : item.data)
            value = value << 8 | std::to_integer<std::uint64_t>(b);
    }
    return flavour_.make_immediate(item.id, value);
}

void OutgoingHeap::refresh_immediates() noexcept {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (items_[i].kind == Kind::maybe_immediate && inlined(items_[i]))
            layout_.pointers[i] = byte_swap(pointer_of(items_[i], 0));
    }
}

const HeapLayout& OutgoingHeap::layout(std::size_t max_packet_size, const memory::RegionTable* regions) {
    if (in_flight()) {
        if (max_packet_size != layout_packet_size_)
            throw Error("a heap cannot be sent by a second sender while the first still sends it");
        return layout_;
    }
    const std::uint64_t generation = regions == nullptr ? 0 : regions->generation();
    if (stale_ || max_packet_size != layout_packet_size_ || regions != layout_regions_ ||
        generation != layout_generation_) {
        stale_ = true;
        make_layout(max_packet_size, regions);
        layout_packet_size_ = max_packet_size;
        layout_regions_ = regions;
        layout_generation_ = generation;
        stale_ = false;
    } else if (reads_immediates_) {
        refresh_immediates();
    }
    return layout_;
}

void OutgoingHeap::make_layout(std::size_t max_packet_size, const memory::RegionTable* regions) {
    HeapLayout& l = layout_;
    l.flavour = flavour_;
    l.repeat_pointers = repeat_pointers_;
    l.packet_size = usable_packet_size(max_packet_size);
    l.max_pointers = max_pointers(l.packet_size);
    l.has_device = l.has_unregistered = false;
    l.pointers.clear();
    l.pieces.clear();
    reads_immediates_ = false;
    if (repeat_pointers_ && items_.size() >= l.max_pointers)
        throw Error(
            fmt::format("packet size of {} bytes is too small to repeat {} item pointers in every packet: it "
                        "holds {} beside the padding's; send fewer items or larger packets",
                        max_packet_size, items_.size(), l.max_pointers - 1));

    std::uint64_t length = 0;
    for (const Item& item : items_) {
        const bool in_pointer = inlined(item);
        if (in_pointer && item.kind == Kind::maybe_immediate && !item.data.empty()) {
            if (regions != nullptr && !regions->run(item.data.data(), item.data.size()).cpu_accessible)
                throw Error(fmt::format(
                    "item {:#x} lies in memory of a GPU: its value cannot be an immediate", item.id));
            reads_immediates_ = true;
        }
        l.pointers.push_back(byte_swap(pointer_of(item, length)));
        if (in_pointer)
            continue;
        append_pieces(item.data, item.kind == Kind::owned, regions);
        length += item.data.size();
    }
    const std::uint64_t least = min_payload(items_.size(), l.max_pointers);
    if (length < least) {
        l.pointers.push_back(byte_swap(flavour_.make_address(wire::item::kNull, length)));
        padding_.resize(least - length);
        append_pieces(padding_, true, nullptr);
        length = least;
    }
    if (length > flavour_.value_mask())
        throw Error(fmt::format("a heap of {} payload bytes does not fit SPEAD-64-{}, whose limit is {}",
                                length, flavour_.address_bits(), flavour_.value_mask()));
    l.payload_length = length;
    l.packets = count_packets(l);
    l.only = l.packets == 1 && l.pieces.size() == 1 ? l.pieces.front() : Piece{};
}

void OutgoingHeap::append_pieces(std::span<const std::byte> data, bool owned,
                                 const memory::RegionTable* regions) {
    std::vector<Piece>& pieces = layout_.pieces;
    while (!data.empty()) {
        Piece piece{data.data(), data.size(), PieceKind::unregistered};
        if (owned) {
            piece.kind = PieceKind::owned;
        } else if (regions != nullptr) {
            const memory::RegionTable::Run run = regions->run(data.data(), data.size(), region_cache_);
            piece.length = run.length;
            piece.kind = kind_of(run);
        }
        layout_.has_device |= piece.kind == PieceKind::device;
        layout_.has_unregistered |= piece.kind == PieceKind::unregistered;
        data = data.subspan(piece.length);
        // Items that follow each other in memory travel as one piece, within one region.
        if (!owned && !pieces.empty() && pieces.back().kind == piece.kind &&
            pieces.back().data + pieces.back().length == piece.data &&
            (piece.kind == PieceKind::unregistered ||
             regions->contains(pieces.back().data, pieces.back().length + piece.length, region_cache_))) {
            pieces.back().length += piece.length;
            continue;
        }
        pieces.push_back(piece);
    }
}

}  // namespace spead::send
