// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/heap_origin.hpp"

#include <algorithm>
#include <cstring>

namespace spead::chunk {

namespace {

std::uint64_t low_bits(unsigned bits) {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// Returns the value of a term, after shift and mask, that gives this number; the least one with `//`. None:
/// it has no such number.
std::optional<std::uint64_t> value_for_number(const Term& term, std::uint64_t number) {
    if (!term.list.empty())
        return number < term.list.size() ? std::optional(term.list[number]) : std::nullopt;
    std::uint64_t value = 0;
    if (__builtin_mul_overflow(number, term.step, &value) ||
        __builtin_add_overflow(value, term.first, &value))
        return std::nullopt;
    return value;
}

}  // namespace

HeapOrigins::HeapOrigins(const Placement& placement) : placement_(placement) {
    for (std::size_t i = 0; i < placement_.axes.size(); i++)
        read(placement_.axes[i].term, i);
    for (std::size_t i = 0; i < placement_.extras.size(); i++)
        read(placement_.extras[i].term, placement_.axes.size() + i);
}

void HeapOrigins::read(const Term& term, std::size_t number) {
    if (term.kind == Term::Kind::constant)
        return;
    auto found = std::find_if(reads_.begin(), reads_.end(),
                              [&](const Read& r) { return r.kind == term.kind && r.id == term.id; });
    if (found == reads_.end())
        found = reads_.insert(found, {term.kind, term.id});
    found->terms.push_back(number);
}

std::optional<HeapOrigins::Known> HeapOrigins::known_of_axis(std::size_t axis, std::uint64_t chunk,
                                                             std::uint64_t place) const {
    const Axis& a = placement_.axes[axis];
    Known known{&a.term, place, 0, ~std::uint64_t{0}, ~std::uint64_t{0}, true};
    if (a.is_time) {
        // The wire has the lowest bits alone, so a number that wrapped may overflow here.
        known.number = chunk * a.count + place;
        known.range = low_bits(placement_.time_bits());
        known.value = (known.number * a.term.step + a.term.first) & known.range;
        return known;
    }
    const std::optional<std::uint64_t> value = value_for_number(a.term, place);
    if (!value)
        return std::nullopt;
    known.value = *value;
    return known;
}

std::optional<HeapOrigins::Known> HeapOrigins::known_of_extra(std::size_t extra,
                                                              std::span<const std::byte> all) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < extra; i++)
        at += placement_.extras[i].bytes;
    const Extra& e = placement_.extras[extra];
    if (all.size() < at + e.bytes)
        return std::nullopt;
    std::uint64_t number = 0;
    std::memcpy(&number, all.data() + at, e.bytes);
    const std::uint64_t kept = low_bits(8 * e.bytes);
    const std::optional<std::uint64_t> value = value_for_number(e.term, number);
    // All ones stand for a number that there was none of.
    if (number == kept || !value)
        return std::nullopt;
    return Known{&e.term, number, *value, ~std::uint64_t{0}, kept, false};
}

/// Returns whether a term alone is enough for a heap count or an endpoint: one of an axis, or one that keeps
/// all bits.
bool HeapOrigins::tells_all(const Known& known) {
    const Term& term = *known.term;
    return known.is_axis || (~known.kept == 0 && term.shift == 0 && ~term.mask == 0 && term.step == 1);
}

/// Returns whether a packet with this value has the number that is known.
bool HeapOrigins::fits(const Known& known, std::uint64_t value) {
    const Term& term = *known.term;
    const std::uint64_t read = (value >> term.shift) & term.mask & known.range;
    if (known.is_axis || !term.list.empty()) {
        const std::uint64_t above = (read - known.value) & known.range;
        return above == 0 || (term.truncate && above < term.step);
    }
    const std::uint64_t above = read - term.first;
    return read >= term.first && (term.truncate || above % term.step == 0) &&
           (above / term.step & known.kept) == known.number;
}

/// Tries the bits of all terms together, those of the axes, and those of each term.
std::optional<std::uint64_t> HeapOrigins::value_for(std::span<const Known> known) {
    std::vector<std::uint64_t> candidates(2, 0);
    for (const Known& k : known) {
        const std::uint64_t bits = k.value << k.term->shift;
        candidates[0] |= bits;
        if (k.is_axis)
            candidates[1] |= bits;
        candidates.push_back(bits);
    }
    const auto fit = [&](std::uint64_t value, bool with_extras) {
        return std::all_of(known.begin(), known.end(),
                           [&](const Known& k) { return (!k.is_axis && !with_extras) || fits(k, value); });
    };
    for (const std::uint64_t value : candidates)
        if (fit(value, true))
            return value;
    // An extra value that does not fit is left out: it has lost bits.
    for (const std::uint64_t value : std::span(candidates).subspan(1))
        if (fit(value, false))
            return value;
    return std::nullopt;
}

std::optional<HeapOrigin> HeapOrigins::of(std::uint64_t chunk, std::span<const std::uint64_t> places,
                                          std::span<const std::byte> extra) const {
    HeapOrigin origin;
    std::vector<Known> known;
    for (const Read& r : reads_) {
        known.clear();
        for (const std::size_t term : r.terms) {
            const bool is_axis = term < placement_.axes.size();
            const std::optional<Known> one = is_axis ? known_of_axis(term, chunk, places[term])
                                                     : known_of_extra(term - placement_.axes.size(), extra);
            if (one)
                known.push_back(*one);
            else if (is_axis)
                return std::nullopt;
        }
        // A count of which bits are lost is none: two heaps could have it.
        if (r.kind != Term::Kind::item && std::none_of(known.begin(), known.end(), tells_all))
            continue;
        const std::optional<std::uint64_t> value = value_for(known);
        if (!value)
            return std::nullopt;
        if (r.kind == Term::Kind::item)
            origin.items.push_back({r.id, *value});
        else
            (r.kind == Term::Kind::heap ? origin.cnt : origin.endpoint) = value;
    }
    return origin;
}

}  // namespace spead::chunk
