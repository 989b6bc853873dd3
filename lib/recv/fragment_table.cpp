// SPDX-License-Identifier: BSD-3-Clause
#include "recv/fragment_table.hpp"

#include <algorithm>

namespace spead::recv {

namespace {

constexpr std::uint32_t kWays = port::kReassemblyWays;

}  // namespace

FragmentTable::FragmentTable(std::uint32_t datagrams, std::uint64_t patience, std::uint64_t seed)
    : places_(port::reassembly_places(datagrams)),
      patience_(patience),
      seed_(seed),
      set_mask_(places_.size() / kWays - 1) {}

/// Ends the datagram of a place. Returns what it held.
FragmentTable::Held FragmentTable::close(Place& place, State state) noexcept {
    const Held held{place.pieces, place.bytes};
    open_ -= place.state == State::open ? 1 : 0;
    place.state = state;
    place.bytes = 0;
    place.pieces = 0;
    return held;
}

FragmentTable::Place* FragmentTable::set_of(const wire::FragmentView& fragment) noexcept {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    const Ipv6& source = fragment.source.v6();
    const Ipv6& destination = fragment.destination.v6();
    std::uint64_t hash = seed_;
    for (const std::uint64_t word : {source.high, source.low, destination.high, destination.low}) {
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29;
    }
    return places_.data() + (hash >> 32 & set_mask_) * kWays;
}

FragmentTable::Place* FragmentTable::find(Place* set, const wire::FragmentView& fragment) noexcept {
    for (Place* p = set; p != set + kWays; p++)
        if (p->state != State::free && p->id == fragment.id && p->source == fragment.source &&
            p->destination == fragment.destination)
            return p;
    return nullptr;
}

/// Returns a place of the set for a new datagram; notes in `decision` whose place that was.
FragmentTable::Place& FragmentTable::take(Place* set, std::uint64_t now, Decision& decision) noexcept {
    // Places that hold nothing go first, then those that are late: the oldest of either.
    const auto rank = [this, now](const Place& p) {
        return p.state == State::free ? 0 : p.state == State::over ? 1 : is_late(p, now) ? 2 : 3;
    };
    Place* best = set;
    for (Place* p = set + 1; p != set + kWays; p++)
        if (rank(*p) < rank(*best) || (rank(*p) == rank(*best) && p->since < best->since))
            best = p;
    decision.why = Why::late;
    if (rank(*best) == 3) {
        const auto share = [set](const Place& of) {
            return std::count_if(set, set + kWays, [&of](const Place& p) { return p.source == of.source; });
        };
        std::ptrdiff_t most = 0;
        for (Place* p = set; p != set + kWays; p++)
            if (const std::ptrdiff_t n = share(*p); n > most || (n == most && p->since < best->since)) {
                most = n;
                best = p;
            }
        decision.why = Why::crowded_out;
    }
    decision.given_up = close(*best, State::free);
    return *best;
}

/// Returns the place of the fragment's datagram, a new one if it has none.
FragmentTable::Place& FragmentTable::place_of(const wire::FragmentView& fragment, std::uint64_t now,
                                              Decision& decision) noexcept {
    Place* const set = set_of(fragment);
    Place* place = find(set, fragment);
    if (place != nullptr && is_late(*place, now)) {
        decision.why = Why::late;
        decision.given_up = close(*place, State::free);
    } else if (place == nullptr) {
        place = &take(set, now, decision);
        // So many newer ones of its own sender came: it lacks a fragment, and not a place.
        if (place->source == fragment.source)
            decision.why = Why::late;
    }
    decision.place = static_cast<std::uint32_t>(place - places_.data());
    if (place->state == State::free) {
        *place = {};
        place->source = fragment.source;
        place->destination = fragment.destination;
        place->id = fragment.id;
        place->since = now;
        place->state = State::open;
        open_++;
    }
    return *place;
}

FragmentTable::Decision FragmentTable::refuse(const wire::FragmentView& fragment,
                                              std::uint64_t now) noexcept {
    Decision decision;
    Place& place = place_of(fragment, now, decision);
    if (const Held held = close(place, State::over); held.fragments != 0) {
        decision.given_up = held;
        decision.why = Why::unwanted;
    }
    return decision;
}

FragmentTable::Decision FragmentTable::offer(const wire::FragmentView& fragment, std::uint64_t bytes,
                                             std::uint64_t now) noexcept {
    Decision decision;
    Place& place = place_of(fragment, now, decision);
    if (place.state == State::over)
        return decision;
    const auto give_up = [&](Why why) {
        decision.given_up = close(place, State::over);
        decision.why = why;
        return decision;
    };
    for (std::uint32_t i = 0; i < place.pieces; i++) {
        const Piece& p = place.piece[i];
        if (fragment.begin >= p.end || fragment.end <= p.begin)
            continue;
        const bool is_last = p.end == place.end;
        if (p.begin == fragment.begin && p.end == fragment.end && is_last == !fragment.more)
            return decision;
        return give_up(Why::conflicting);
    }
    if (fragment.more ? place.end != 0 && fragment.end >= place.end
                      : place.end != 0 || place.furthest > fragment.end)
        return give_up(Why::conflicting);
    const bool middle = fragment.more && !fragment.is_first();
    if (middle && place.middle == kMostMiddle)
        return give_up(Why::too_many);
    place.piece[place.pieces++] = {fragment.begin, fragment.end};
    place.middle = static_cast<std::uint8_t>(place.middle + (middle ? 1 : 0));
    place.furthest = std::max(place.furthest, fragment.end);
    place.end = fragment.more ? place.end : fragment.end;
    place.covered += fragment.length();
    place.bytes += bytes;
    decision.answer = Decision::Answer::hold;
    if (place.covered == place.end) {
        decision.answer = Decision::Answer::whole;
        decision.whole = close(place, State::over);
    }
    return decision;
}

}  // namespace spead::recv
