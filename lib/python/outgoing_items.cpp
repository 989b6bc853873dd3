// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "python/outgoing.hpp"

namespace spead::python {

namespace {

/// Limits the idle heaps that a heap of Python's keeps.
constexpr std::size_t kMostIdle = 256;

}  // namespace

OutgoingItems::OutgoingItems(unsigned address_bits) : address_bits_(address_bits) {
    // Throws for a flavour that does not exist.
    const SendHeap probe(address_bits);
}

void OutgoingItems::add_to(SendHeap& heap, const Item& item) {
    const auto bytes =
        item.bytes ? std::span<const std::byte>(item.bytes->span()) : std::span<const std::byte>();
    switch (item.kind) {
        case Kind::bytes:
            if (item.on_gpu)
                heap.add_on_gpu(item.id, item.on_gpu->address(), item.on_gpu->bytes());
            else
                heap.add(item.id, bytes);
            break;
        case Kind::small:
            heap.add_small(item.id, bytes);
            break;
        case Kind::immediate:
            heap.add_immediate(item.id, item.value);
            break;
        case Kind::descriptor:
            heap.add_encoded_descriptor(bytes);
            break;
        case Kind::start:
            heap.add_start();
            break;
        case Kind::stop:
            heap.add_stop();
            break;
    }
}

void OutgoingItems::append(Item item) {
    SendHeap heap = borrow();
    try {
        add_to(heap, item);
    } catch (...) {
        give_back(std::move(heap), version_);
        throw;
    }
    bytes_ += item.length();
    items_.push_back(std::move(item));
    renew(std::move(heap));
}

/// Makes this the only idle heap: others do not have the last change.
void OutgoingItems::renew(SendHeap&& heap) {
    version_++;
    idle_.clear();
    idle_.push_back(std::move(heap));
}

void OutgoingItems::add(std::uint64_t id, const py::handle& value, bool small) {
    // A value on a GPU cannot travel in the item pointer, which the CPU writes.
    if (auto on_gpu = GpuArray::of(value))
        append({Kind::bytes, id, 0, {}, std::move(on_gpu)});
    else
        append({small ? Kind::small : Kind::bytes, id, 0, Bytes(value, "item: its value"), {}});
}

void OutgoingItems::add_immediate(std::uint64_t id, std::uint64_t value) {
    append({Kind::immediate, id, value, {}, {}});
}

void OutgoingItems::add_descriptor(const py::handle& encoded) {
    append({Kind::descriptor, 0, 0, Bytes(encoded, "descriptor"), {}});
}

void OutgoingItems::add_start() {
    append({Kind::start, 0, 0, {}, {}});
}

void OutgoingItems::add_stop() {
    append({Kind::stop, 0, 0, {}, {}});
}

void OutgoingItems::repeat_pointers(bool yes) {
    SendHeap heap = borrow();
    heap.repeat_pointers(yes);
    repeat_pointers_ = yes;
    renew(std::move(heap));
}

SendHeap OutgoingItems::borrow() {
    if (!idle_.empty()) {
        SendHeap heap = std::move(idle_.back());
        idle_.pop_back();
        return heap;
    }
    SendHeap heap(address_bits_);
    heap.may_be_empty(true);
    heap.repeat_pointers(repeat_pointers_);
    for (const Item& item : items_)
        add_to(heap, item);
    return heap;
}

void OutgoingItems::give_back(SendHeap&& heap, std::uint64_t version) {
    if (version == version_ && idle_.size() < kMostIdle)
        idle_.push_back(std::move(heap));
}

}  // namespace spead::python
