// SPDX-License-Identifier: BSD-3-Clause
#include "spead/filter.hpp"

#include <utility>

#include "spead/filter_adapter.hpp"

/// Runs filters of the user's own.
namespace spead {

std::uint32_t Packet::source_address() const noexcept {
    return view_->packet.way().source.value;
}

std::uint32_t Packet::destination_address() const noexcept {
    return view_->packet.way().destination.value;
}

std::uint16_t Packet::source_port() const noexcept {
    return view_->packet.way().source_port;
}

std::uint16_t Packet::destination_port() const noexcept {
    return view_->packet.way().destination_port;
}

std::uint64_t Packet::heap_cnt() const noexcept {
    return view_->packet.heap_count();
}

std::uint64_t Packet::offset() const noexcept {
    return view_->packet.offset();
}

std::uint32_t Packet::payload_length() const noexcept {
    return view_->packet.payload_length();
}

std::optional<std::uint64_t> Packet::immediate(std::uint64_t id) const noexcept {
    const std::optional<recv::ItemPointer> item = view_->packet.item(id);
    return item && item->immediate ? std::optional(item->value) : std::nullopt;
}

PacketFilter::~PacketFilter() = default;

namespace door {

UserFilter::UserFilter(std::unique_ptr<spead::PacketFilter> filter) noexcept : filter_(std::move(filter)) {}
UserFilter::~UserFilter() = default;

recv::FilterAnswer UserFilter::look(const recv::FilterPacket& packet) noexcept {
    const Packet::View view{packet};
    return filter_->keep(Packet(view)) ? recv::FilterAnswer::keep : recv::FilterAnswer::drop;
}

}  // namespace door

}  // namespace spead
