// SPDX-License-Identifier: BSD-3-Clause
#include "spead/send_heap.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.hpp"
#include "send/packetiser.hpp"
#include "spead/user_heap_source.hpp"
#include "wire/flavour.hpp"

namespace spead {

namespace {

SendHeap::State& existing(const std::shared_ptr<SendHeap::State>& state) {
    if (!state)
        throw_usage("heap", "the heap was moved to another variable; make a new one");
    return *state;
}

}  // namespace

void SendHeap::State::need_idle() const {
    if (in_flight.load(std::memory_order_acquire))
        throw_error(
            "heap",
            "it is in flight and cannot be changed or sent again; wait for it (SendStream::wait_for)");
}

SendHeap::SendHeap(unsigned address_bits) {
    if (!wire::Flavour::is_valid(address_bits))
        throw_usage("heap", "SPEAD-64-{} does not exist; give address_bits 8, 16, 24, 32, 40, 48 or 56",
                    address_bits);
    state_ = std::make_shared<State>(address_bits);
}

SendHeap::SendHeap(SendHeap&&) noexcept = default;

SendHeap& SendHeap::operator=(SendHeap&& other) noexcept {
    // The former heap waits in the destructor of `before`.
    const SendHeap before(std::move(*this));
    state_ = std::move(other.state_);
    return *this;
}

SendHeap::~SendHeap() {
    if (state_ && state_->in_flight.load(std::memory_order_acquire))
        if (const auto sender = state_->sender.lock())
            sender->wait_for_end_of(*state_);
}

std::size_t SendHeap::add(std::uint64_t id, std::span<const std::byte> bytes) {
    State& s = existing(state_);
    s.need_idle();
    const std::size_t item = s.heap.add_item(id, bytes);
    s.memory.resize(item + 1);
    s.memory[item] = {bytes, door::UserMemory::instance().on_gpu(bytes)};
    return item;
}

std::size_t SendHeap::add_on_gpu(std::uint64_t id, std::uintptr_t address, std::size_t bytes) {
    const std::span<const std::byte> there(std::bit_cast<const std::byte*>(address), bytes);
    const std::size_t item = add(id, there);
    state_->memory[item].on_gpu = true;
    return item;
}

std::size_t SendHeap::add_small(std::uint64_t id, std::span<const std::byte> bytes) {
    State& s = existing(state_);
    s.need_idle();
    const std::size_t item = s.heap.add_item(id, bytes, true);
    s.memory.resize(item + 1);
    s.memory[item] = {bytes, door::UserMemory::instance().on_gpu(bytes)};
    return item;
}

std::size_t SendHeap::add_immediate(std::uint64_t id, std::uint64_t value) {
    State& s = existing(state_);
    s.need_idle();
    return s.heap.add_immediate(id, value);
}

std::size_t SendHeap::add_descriptor(const ItemDescription& item) {
    State& s = existing(state_);
    s.need_idle();
    return s.heap.add_descriptor(door::descriptor_of(item));
}

std::size_t SendHeap::add_encoded_descriptor(std::span<const std::byte> encoded) {
    State& s = existing(state_);
    s.need_idle();
    return s.heap.add_descriptor(encoded);
}

std::size_t SendHeap::add_start() {
    State& s = existing(state_);
    s.need_idle();
    return s.heap.add_start();
}

std::size_t SendHeap::add_stop() {
    State& s = existing(state_);
    s.need_idle();
    return s.heap.add_stop();
}

void SendHeap::set_immediate(std::size_t item, std::uint64_t value) {
    State& s = existing(state_);
    s.need_idle();
    s.heap.set_immediate(item, value);
}

void SendHeap::set_bytes(std::size_t item, std::span<const std::byte> bytes) {
    State& s = existing(state_);
    s.need_idle();
    s.heap.set_item(item, bytes);
    s.memory[item] = {bytes, door::UserMemory::instance().on_gpu(bytes)};
}

void SendHeap::repeat_pointers(bool yes) {
    State& s = existing(state_);
    s.need_idle();
    s.heap.set_repeat_pointers(yes);
}

void SendHeap::may_be_empty(bool yes) {
    State& s = existing(state_);
    s.need_idle();
    s.may_be_empty = yes;
}

std::vector<std::vector<std::byte>> SendHeap::packets(std::uint64_t cnt, std::size_t max_packet_size) {
    State& s = existing(state_);
    s.need_idle();
    for (const door::ItemMemory& item : s.memory)
        if (!item.bytes.empty() && (item.on_gpu || door::UserMemory::instance().on_gpu(item.bytes)))
            throw_error(
                "heap",
                "an item of {} bytes at {} lies in memory of a GPU, which the CPU cannot read; copy it "
                "to the CPU first",
                item.bytes.size(), static_cast<const void*>(item.bytes.data()));
    const send::HeapLayout& layout = s.heap.layout(max_packet_size, nullptr);
    if (cnt > layout.flavour.value_mask())
        throw_error("heap", "heap count {:#x} does not fit SPEAD-64-{}", cnt, layout.flavour.address_bits());
    std::vector<std::vector<std::byte>> all;
    send::Packetiser walk;
    for (walk.start(layout, cnt); !walk.done();) {
        const send::Packetiser::Packet packet = walk.next();
        std::vector<std::byte>& bytes = all.emplace_back(packet.header_length);
        walk.write_header(packet, reinterpret_cast<std::uint8_t*>(bytes.data()));
        walk.for_each_piece(packet, [&bytes](const std::byte* data, std::uint32_t length, send::PieceKind) {
            bytes.insert(bytes.end(), data, data + length);
        });
        walk.advance(packet);
    }
    return all;
}

bool SendHeap::in_flight() const noexcept {
    return state_ && state_->in_flight.load(std::memory_order_acquire);
}

}  // namespace spead
