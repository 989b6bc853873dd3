// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <new>
#include <type_traits>

#include "base/byte_order.hpp"
#include "runtime/heap_items.hpp"
#include "spead/heap_loan.hpp"
#include "wire/flavour.hpp"

/// Gives users access to heaps.
namespace spead {

static_assert(sizeof(runtime::HeapLoan) == Heap::kLoanBytes && alignof(runtime::HeapLoan) <= alignof(void*));
static_assert(std::is_nothrow_move_constructible_v<runtime::HeapLoan>);

namespace {

std::span<const std::uint64_t> words_of(const heap::HeapHandle& h) noexcept {
    return h.item_words();
}

/// Returns whether all of [begin, begin + length) arrived.
bool arrived(const heap::HeapHandle& h, const std::vector<heap::Range>& missing, std::uint64_t begin,
             std::uint64_t length) noexcept {
    return h.contiguous() || std::none_of(missing.begin(), missing.end(), [&](const heap::Range& hole) {
               return hole.begin < begin + length && begin < hole.end;
           });
}

std::vector<heap::Range> holes_of(const heap::HeapHandle& h) {
    return h.contiguous() ? std::vector<heap::Range>() : h.missing();
}

/// Returns whether a stream control item of the heap has this value.
bool says(const heap::HeapHandle& h, std::uint64_t value) noexcept {
    const wire::Flavour flavour(h.flavour());
    const std::span<const std::uint64_t> words = words_of(h);
    return std::any_of(words.begin(), words.end(), [&](std::uint64_t word) {
        const std::uint64_t raw = byte_swap(word);
        return flavour.is_immediate(raw) && flavour.id(raw) == wire::item::kStreamCtrl &&
               flavour.value(raw) == value;
    });
}

}  // namespace

Heap::Heap() noexcept {
    new (loan_) runtime::HeapLoan();
}

Heap::Heap(runtime::HeapLoan&& loan) noexcept {
    new (loan_) runtime::HeapLoan(std::move(loan));
}

Heap::Heap(Heap&& other) noexcept {
    new (loan_) runtime::HeapLoan(std::move(door::loan_of(other)));
}

Heap& Heap::operator=(Heap&& other) noexcept {
    if (this != &other)
        door::loan_of(*this) = std::move(door::loan_of(other));
    return *this;
}

Heap::~Heap() {
    door::loan_of(*this).~HeapLoan();
}

Heap::operator bool() const noexcept {
    return static_cast<bool>(door::heap_of(*this));
}

std::uint64_t Heap::cnt() const noexcept {
    return door::heap_of(*this).cnt();
}

bool Heap::complete() const noexcept {
    return door::heap_of(*this).complete();
}

bool Heap::contiguous() const noexcept {
    return door::heap_of(*this).contiguous();
}

bool Heap::has_length() const noexcept {
    return door::heap_of(*this).has_length();
}

std::uint64_t Heap::length() const noexcept {
    return door::heap_of(*this).size();
}

std::uint64_t Heap::received() const noexcept {
    return door::heap_of(*this).received();
}

std::uint32_t Heap::packets() const noexcept {
    return door::heap_of(*this).packets();
}

unsigned Heap::address_bits() const noexcept {
    return door::heap_of(*this).flavour();
}

std::uint64_t Heap::first_time() const noexcept {
    return door::heap_of(*this).first_time();
}

std::uint64_t Heap::last_time() const noexcept {
    return door::heap_of(*this).last_time();
}

std::span<const std::byte> Heap::payload() const noexcept {
    return door::heap_of(*this).payload();
}

std::vector<Heap::Segment> Heap::segments() const {
    const std::vector<heap::Segment> all = door::heap_of(*this).segments();
    std::vector<Segment> out;
    out.reserve(all.size());
    for (const heap::Segment& s : all)
        out.push_back({s.offset, s.bytes});
    return out;
}

std::vector<Heap::Hole> Heap::missing() const {
    std::vector<Hole> out;
    for (const heap::Range& hole : holes_of(door::heap_of(*this)))
        out.push_back({hole.begin, hole.end});
    return out;
}

std::vector<Item> Heap::items() const {
    const heap::HeapHandle& h = door::heap_of(*this);
    const std::vector<heap::Range> missing = holes_of(h);
    std::vector<Item> out;
    for (const wire::ItemView& view : runtime::items_of(h)) {
        Item& item = out.emplace_back();
        item.id = view.id;
        item.immediate = view.immediate;
        item.value = view.value;
        if (!view.immediate && arrived(h, missing, view.offset, view.length))
            item.bytes = h.payload().subspan(static_cast<std::size_t>(view.offset),
                                             static_cast<std::size_t>(view.length));
    }
    return out;
}

std::optional<std::uint64_t> Heap::immediate(std::uint64_t id) const noexcept {
    const heap::HeapHandle& h = door::heap_of(*this);
    const wire::Flavour flavour(h.flavour());
    for (const std::uint64_t word : words_of(h)) {
        const std::uint64_t raw = byte_swap(word);
        if (flavour.is_immediate(raw) && flavour.id(raw) == id && !wire::is_packet_special(raw, flavour))
            return flavour.value(raw);
    }
    return std::nullopt;
}

bool Heap::is_start_of_stream() const noexcept {
    return says(door::heap_of(*this), wire::stream_ctrl::kStart);
}

bool Heap::is_end_of_stream() const noexcept {
    return says(door::heap_of(*this), wire::stream_ctrl::kStop);
}

std::span<const std::byte> Heap::bytes(std::uint64_t id) const {
    const std::vector<Item> all = items();
    const auto found =
        std::find_if(all.begin(), all.end(), [id](const Item& i) { return i.id == id && !i.immediate; });
    return found == all.end() ? std::span<const std::byte>() : found->bytes;
}

}  // namespace spead
