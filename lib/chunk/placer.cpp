// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/placer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <rte_reciprocal.h>

#include "base/byte_order.hpp"
#include "chunk/saturated.hpp"
#include "wire/flavour.hpp"

namespace spead::chunk {

namespace {

/// Begins the search for multipliers: 2^64 divided by the golden ratio, which distributes multiples well.
constexpr std::uint64_t kPlacerMultiplier = 0x9E3779B97F4A7C15;
constexpr std::uint8_t kNoSlot = 0xFF;

/// Writes the lowest bytes of a value, in the host's order.
template <typename T>
std::byte* write_value(std::byte* to, std::uint64_t value) noexcept {
    const T narrow = static_cast<T>(value);
    std::memcpy(to, &narrow, sizeof narrow);
    return to + sizeof narrow;
}

}  // namespace

Placer::Divisor::Divisor(std::uint64_t divisor) : by(divisor), power(std::has_single_bit(divisor)) {
    if (power) {
        shift = static_cast<std::uint8_t>(std::countr_zero(divisor));
        return;
    }
    const rte_reciprocal_u64 reciprocal = rte_reciprocal_value_u64(divisor);
    multiplier = reciprocal.m;
    shift1 = reciprocal.sh1;
    shift2 = reciprocal.sh2;
}

inline std::uint64_t Placer::Divisor::divide(std::uint64_t n) const noexcept {
    if (power)
        return n >> shift;
    const rte_reciprocal_u64 reciprocal{multiplier, shift1, shift2};
    return rte_reciprocal_divide_u64(n, &reciprocal);
}

Placer::Lookup::Lookup(const std::vector<std::uint64_t>& list) {
    if (list.empty())
        return;
    const std::size_t entries = std::bit_ceil(list.size() * 2);
    table.resize(entries);
    shift = 64 - static_cast<unsigned>(std::countr_zero(entries));
    for (std::uint32_t place = 0; place < list.size(); place++) {
        std::size_t i = (list[place] * kPlacerMultiplier) >> shift;
        while (table[i].place != kEmpty)
            i = (i + 1) & (entries - 1);
        table[i] = {list[place], place};
    }
}

inline std::uint32_t Placer::Lookup::find(std::uint64_t value) const noexcept {
    std::size_t i = (value * kPlacerMultiplier) >> shift;
    while (table[i].place != kEmpty && table[i].value != value)
        i = (i + 1) & (table.size() - 1);
    return table[i].place;
}

inline Placer::Source::Source(const heap::PacketView& view, std::uint16_t to) noexcept
    : items(view.items),
      count(wire::Flavour::is_valid(view.flavour) ? view.item_count : 0),
      bits(view.flavour & 63U),
      immediate(std::uint64_t{1} << (63 - bits)),
      heap(view.key),
      endpoint(to) {}

inline std::uint64_t Placer::Source::word(std::uint32_t index) const noexcept {
    return load_be64(items + std::size_t{index} * 8);
}

inline bool Placer::Items::read(const Source& from, std::uint32_t slot, std::uint64_t& value) const noexcept {
    const Slot& s = slots[slot];
    if (s.index >= from.count) [[unlikely]]
        return false;
    const std::uint64_t word = from.word(s.index);
    value = from.value(word);
    return from.id(word) == s.id;
}

inline bool Placer::Number::read(const Items& items, const Source& from,
                                 std::uint64_t& value) const noexcept {
    std::uint64_t raw = 0;
    switch (kind) {
        case Term::Kind::item:
            if (!items.read(from, slot, raw)) [[unlikely]]
                return false;
            break;
        case Term::Kind::heap:
            raw = from.heap;
            break;
        case Term::Kind::endpoint:
            raw = from.endpoint;
            break;
        case Term::Kind::constant:
            value = first;
            return true;
    }
    value = (raw >> shift) & mask;
    return true;
}

inline PacketOutcome Placer::Number::compute(std::uint64_t value, std::uint64_t& number) const noexcept {
    if (plain && value >= first) {
        const std::uint64_t n = value - first;
        number = n >> step.shift;
        return (n & low) == 0 ? PacketOutcome::placed : PacketOutcome::bad_step;
    }
    if (kind == Term::Kind::constant) {
        number = value;
        return PacketOutcome::placed;
    }
    if (!list.table.empty()) {
        number = list.find(value);
        return number == Lookup::kEmpty ? PacketOutcome::bad_step : PacketOutcome::placed;
    }
    if (value < first)
        return PacketOutcome::out_of_range;
    number = step.divide(value - first);
    return truncate || number * step.by == value - first ? PacketOutcome::placed : PacketOutcome::bad_step;
}

inline PacketOutcome Placer::TimeLine::compute(std::uint64_t value, std::uint64_t& result) const noexcept {
    if (value > range)
        return PacketOutcome::out_of_range;
    if (!wraps)
        return number.compute(value, result);
    const std::uint64_t n = (value - number.first) & range;
    if (!number.step.power)
        return compute_near(n, result);
    result = n >> number.step.shift;
    return (n & number.low) == 0 ? PacketOutcome::placed : PacketOutcome::bad_step;
}

/// Unwraps the value, near the one that follow() told, and then divides it. A sender that begins anew begins
/// without a wrap.
PacketOutcome Placer::TimeLine::compute_near(std::uint64_t value, std::uint64_t& result) const noexcept {
    const std::uint64_t half = range / 2 + 1;
    std::uint64_t n = (near & ~range) | value;
    if (n > near + half && n > range)
        n -= range + 1;
    else if (n + half < near)
        n += range + 1;
    result = number.step.divide(n);
    if (number.truncate || result * number.step.by == n)
        return PacketOutcome::placed;
    result = number.step.divide(value);
    return result * number.step.by == value ? PacketOutcome::placed : PacketOutcome::bad_step;
}

std::uint8_t Placer::Items::slot(std::uint64_t id) {
    for (std::uint32_t i = 0; i < count; i++)
        if (slots[i].id == id)
            return static_cast<std::uint8_t>(i);
    slots[count].id = id;
    return static_cast<std::uint8_t>(count++);
}

/// Gives each id a place of its own. Of 16 ids and 256 places, every second multiplier does that.
void Placer::Items::hash() {
    bool alone = false;
    for (multiplier = kPlacerMultiplier; !alone;) {
        slot_of.fill(kNoSlot);
        alone = true;
        for (std::uint8_t i = 0; i < count && alone; i++) {
            std::uint8_t& place = slot_of[(slots[i].id * multiplier) >> 56];
            alone = place == kNoSlot;
            place = i;
        }
        if (!alone)
            multiplier = multiplier * kPlacerMultiplier + 2;
    }
}

bool Placer::Items::locate(const Source& from) noexcept {
    const std::uint32_t all = (1U << count) - 1;
    std::uint32_t found = 0;
    for (std::uint32_t at = 0; at < from.count && found != all; at++) {
        const std::uint64_t id = from.id(from.word(at));
        const std::uint8_t i = slot_of[(id * multiplier) >> 56];
        if (i == kNoSlot || slots[i].id != id || (found >> i & 1) != 0)
            continue;
        slots[i].index = at;
        found |= 1U << i;
    }
    return found == all;
}

Placer::Number Placer::compile(const Term& term) {
    Number n;
    n.kind = term.kind;
    if (term.kind == Term::Kind::item)
        n.slot = items_.slot(term.id);
    n.shift = static_cast<std::uint8_t>(term.shift);
    n.truncate = term.truncate;
    n.mask = term.mask;
    n.first = term.first;
    n.step = Divisor(term.step);
    n.list = Lookup(term.list);
    n.low = term.truncate ? 0 : term.step - 1;
    n.plain = term.kind == Term::Kind::item && n.step.power && term.list.empty();
    return n;
}

Placer::Placer(const Placement& placement) : placement_(placement), layout_(placement.check()) {
    const std::vector<std::uint64_t> strides = placement.strides();
    std::uint64_t heaps = 1;
    for (std::size_t i = placement.axes.size(); i-- > 0;) {
        const Axis& axis = placement.axes[i];
        if (axis.is_time) {
            time_.number = compile(axis.term);
            time_.count = Divisor(axis.count);
            time_.heaps = heaps;
            time_.bytes = strides[i];
        } else {
            lines_.insert(lines_.begin(), Line{compile(axis.term), axis.count, heaps, strides[i]});
        }
        heaps *= axis.count;
    }
    items_.others = items_.count;
    for (const Extra& extra : placement.extras)
        extras_.push_back(compile(extra.term));
    items_.hash();

    const unsigned bits = placement.time_bits();
    time_.range = ~std::uint64_t{0} >> (64 - bits);
    time_.wraps = bits <= Placement::kMaxWrap;
    if (time_.wraps && time_.number.step.power)
        wrap_ = std::uint64_t{1} << (bits - time_.number.step.shift);
    plain_ = wrap_ != 0 && time_.number.plain &&
             std::all_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.number.plain; });
}

bool Placer::has_items(const heap::PacketView& view) noexcept {
    return items_.locate(Source(view, 0));
}

PacketOutcome Placer::evaluate(const Source& from, Place& place) const noexcept {
    std::uint64_t value = 0;
    for (std::uint32_t i = items_.others; i < items_.count; i++)
        if (!items_.read(from, i, value)) [[unlikely]]
            return PacketOutcome::no_item;
    if (!time_.number.read(items_, from, value)) [[unlikely]]
        return PacketOutcome::no_item;
    Place sum;
    PacketOutcome outcome = time_.compute(value, sum.time);
    for (const Line& line : lines_) {
        if (!line.number.read(items_, from, value)) [[unlikely]]
            return PacketOutcome::no_item;
        std::uint64_t n = 0;
        PacketOutcome here = line.number.compute(value, n);
        if (here == PacketOutcome::placed && n >= line.count)
            here = PacketOutcome::out_of_range;
        if (here != PacketOutcome::placed && outcome == PacketOutcome::placed)
            outcome = here;
        sum.heap += n * line.heaps;
        sum.offset += n * line.bytes;
    }
    place = sum;
    return outcome;
}

/// Computes the place without a branch per term, if every term is plain and nothing is wrong.
inline bool Placer::evaluate_plain(const heap::PacketView& view, const Source& from,
                                   Place& place) const noexcept {
    if (!plain_ || from.count == 0)
        return false;
    const std::uint64_t length = placement_.heap_bytes;
    std::uint64_t wrong = view.heap_length ^ length;
    wrong |= static_cast<std::uint64_t>(view.payload_length > length) |
             static_cast<std::uint64_t>(view.offset > length - view.payload_length);
    const auto read = [&](std::uint32_t slot) noexcept {
        const Slot& s = items_.slots[slot];
        const std::uint64_t word = from.word(std::min(s.index, from.count - 1));
        wrong |= from.id(word) ^ s.id;
        return from.value(word);
    };
    for (std::uint32_t i = items_.others; i < items_.count; i++)
        read(i);
    const Number& time = time_.number;
    const std::uint64_t value = (read(time.slot) >> time.shift) & time.mask;
    const std::uint64_t since = (value - time.first) & time_.range;
    wrong |= (value & ~time_.range) | (since & time.low);
    place.time = since >> time.step.shift;
    std::uint64_t heap = 0;
    std::uint64_t offset = 0;
    for (const Line& line : lines_) {
        const Number& number = line.number;
        const std::uint64_t here = (read(number.slot) >> number.shift) & number.mask;
        const std::uint64_t n = (here - number.first) >> number.step.shift;
        wrong |= ((here - number.first) & number.low) | static_cast<std::uint64_t>(here < number.first) |
                 static_cast<std::uint64_t>(n >= line.count);
        heap += n * line.heaps;
        offset += n * line.bytes;
    }
    place.heap = heap;
    place.offset = offset;
    return wrong == 0;
}

PacketOutcome Placer::place(const heap::PacketView& view, std::uint16_t endpoint, Place& place) noexcept {
    const Source from(view, endpoint);
    if (evaluate_plain(view, from, place)) [[likely]]
        return PacketOutcome::placed;
    PacketOutcome outcome = evaluate(from, place);
    if (outcome == PacketOutcome::no_item) {
        if (!items_.locate(from))
            return outcome;
        outcome = evaluate(from, place);
    }
    const std::uint64_t length = placement_.heap_bytes;
    const bool fits = (view.heap_length == length || view.heap_length == heap::kUnknownLength) &&
                      view.payload_length <= length && view.offset <= length - view.payload_length;
    return fits ? outcome : PacketOutcome::bad_length;
}

Placer::Time Placer::split(std::uint64_t unwrapped) const noexcept {
    const std::uint64_t id = time_.count.divide(unwrapped);
    const std::uint64_t n = unwrapped - id * time_.count.by;
    return {static_cast<std::int64_t>(id), n * time_.heaps, n * time_.bytes};
}

void Placer::follow(std::uint64_t unwrapped) noexcept {
    const std::uint64_t value = saturated_product(unwrapped, time_.number.step.by);
    if (value < kSaturated)
        time_.near = value;
}

void Placer::write_extras(const heap::PacketView& view, std::uint16_t endpoint, std::byte* to) noexcept {
    const Source from(view, endpoint);
    bool located = false;
    for (std::size_t i = 0; i < extras_.size(); i++) {
        const Number& extra = extras_[i];
        std::uint64_t value = 0;
        bool there = extra.read(items_, from, value);
        if (!there && !located) {
            items_.locate(from);
            located = true;
            there = extra.read(items_, from, value);
        }
        std::uint64_t n = 0;
        if (!there || extra.compute(value, n) != PacketOutcome::placed)
            n = ~std::uint64_t{0};
        switch (placement_.extras[i].bytes) {
            case 1:
                to = write_value<std::uint8_t>(to, n);
                break;
            case 2:
                to = write_value<std::uint16_t>(to, n);
                break;
            case 4:
                to = write_value<std::uint32_t>(to, n);
                break;
            default:
                to = write_value<std::uint64_t>(to, n);
        }
    }
}

}  // namespace spead::chunk
