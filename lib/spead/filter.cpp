// SPDX-License-Identifier: BSD-3-Clause
#include "spead/filter.hpp"

#include <new>
#include <type_traits>
#include <utility>

#include "spead/filter_adapter.hpp"

/// Runs filters of the user's own.
namespace spead {

std::uint32_t Packet::source_address() const noexcept {
    return packet_->way().source.v4().value;
}

std::uint32_t Packet::destination_address() const noexcept {
    return packet_->way().destination.v4().value;
}

std::uint16_t Packet::source_port() const noexcept {
    return packet_->way().source_port;
}

std::uint16_t Packet::destination_port() const noexcept {
    return packet_->way().destination_port;
}

std::uint64_t Packet::heap_cnt() const noexcept {
    return packet_->heap_count();
}

std::optional<std::uint64_t> Packet::heap_length() const noexcept {
    const std::uint64_t length = packet_->heap_length();
    return length == heap::kUnknownLength ? std::nullopt : std::optional(length);
}

std::uint64_t Packet::offset() const noexcept {
    return packet_->offset();
}

std::uint32_t Packet::payload_length() const noexcept {
    return packet_->payload_length();
}

std::size_t Packet::payload(std::span<std::span<const std::byte>> pieces) const noexcept {
    return packet_->payload(pieces);
}

std::optional<std::uint64_t> Packet::immediate(std::uint64_t id) const noexcept {
    const std::optional<recv::ItemPointer> item = packet_->item(id);
    return item && item->immediate ? std::optional(item->value) : std::nullopt;
}

static_assert(sizeof(recv::HeldPacket) == sizeof(void*) && alignof(recv::HeldPacket) <= alignof(void*));
static_assert(std::is_nothrow_move_constructible_v<recv::HeldPacket>);

HeldPacket::HeldPacket() noexcept {
    new (held_) recv::HeldPacket();
}

HeldPacket::HeldPacket(HeldPacket&& other) noexcept {
    new (held_) recv::HeldPacket(std::move(door::FilterAccess::held(other)));
}

HeldPacket& HeldPacket::operator=(HeldPacket&& other) noexcept {
    door::FilterAccess::held(*this) = std::move(door::FilterAccess::held(other));
    return *this;
}

HeldPacket::~HeldPacket() {
    door::FilterAccess::held(*this).~HeldPacket();
}

HeldPacket::operator bool() const noexcept {
    return static_cast<bool>(door::FilterAccess::held(*this));
}

Packet HeldPacket::packet() const noexcept {
    return door::FilterAccess::packet(*door::FilterAccess::held(*this));
}

void HeldPacket::reset() noexcept {
    door::FilterAccess::held(*this).reset();
}

PacketFilter::~PacketFilter() = default;

bool PacketFilter::keep(const Packet& /*packet*/) noexcept {
    return true;
}

FilterAnswer PacketFilter::look(const Packet& packet) noexcept {
    return keep(packet) ? FilterAnswer::keep : FilterAnswer::drop;
}

void PacketFilter::hold(HeldPacket /*packet*/) noexcept {}

void PacketFilter::ending() noexcept {}

namespace door {

namespace {

/// Returns the inner answer. Values that are none of FilterAnswer's drop the packet.
recv::FilterAnswer inner(FilterAnswer answer) noexcept {
    switch (answer) {
        case FilterAnswer::keep:
            return recv::FilterAnswer::keep;
        case FilterAnswer::hold_or_keep:
            return recv::FilterAnswer::hold_or_keep;
        case FilterAnswer::hold_or_drop:
            return recv::FilterAnswer::hold_or_drop;
        case FilterAnswer::drop:
            break;
    }
    return recv::FilterAnswer::drop;
}

}  // namespace

UserFilter::UserFilter(std::unique_ptr<spead::PacketFilter> filter) noexcept : filter_(std::move(filter)) {}
UserFilter::~UserFilter() = default;

recv::FilterAnswer UserFilter::look(const recv::FilterPacket& packet) noexcept {
    return inner(filter_->look(FilterAccess::packet(packet)));
}

void UserFilter::lent(recv::HeldPacket packet) noexcept {
    filter_->hold(FilterAccess::make(std::move(packet)));
}

void UserFilter::ending() noexcept {
    filter_->ending();
}

}  // namespace door

}  // namespace spead
