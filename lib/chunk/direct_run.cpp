// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/direct_run.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "wire/flavour.hpp"

namespace spead::chunk {

namespace {

/// Limits steps and first values, so that a value which is no number of an axis exceeds every count.
constexpr int kMostStepBits = 32;
constexpr int kMostFirstBits = 56;

}  // namespace

/// Returns false for a term that needs more than shifts and masks.
bool DirectRun::compile(const Term& term, Item& item, Origin& origin) noexcept {
    if (term.kind != Term::Kind::item || !term.list.empty() || !std::has_single_bit(term.step) ||
        std::countr_zero(term.step) > kMostStepBits || std::bit_width(term.first) > kMostFirstBits)
        return false;
    item.shift = static_cast<std::uint8_t>(term.shift);
    item.step_shift = static_cast<std::uint8_t>(std::countr_zero(term.step));
    item.first = term.first;
    origin = {term.id, term.mask};
    if (!term.truncate)
        return true;
    // The remainder goes before `first` is subtracted, which changes nothing if `first` has none.
    origin.mask &= ~(term.step - 1);
    return (term.first & (term.step - 1)) == 0;
}

DirectRun::DirectRun(const Placement& placement) {
    if (std::endian::native != std::endian::little || placement.rows.bytes != 0 ||
        placement.way == Way::tracked)
        return;
    const Layout layout = placement.check();
    const std::vector<std::uint64_t> strides = placement.strides();
    std::uint64_t heaps = 1;
    line_count_ = 1;
    for (std::size_t i = placement.axes.size(); i-- > 0;) {
        const Axis& axis = placement.axes[i];
        if (!axis.is_time && axis.term.kind == Term::Kind::constant) {
            first_heap_ += axis.term.first * heaps;
            first_offset_ += axis.term.first * strides[i];
        } else {
            const std::size_t at = axis.is_time ? 0 : line_count_++;
            Line& line = lines_[at];
            if (!compile(axis.term, line.item, line_origins_[at]))
                return;
            line.last = axis.count - 1;
            line.heaps = heaps;
            line.bytes = strides[i];
        }
        heaps *= axis.count;
    }
    for (const Extra& extra : placement.extras) {
        Value& value = extras_[extra_count_];
        if (!compile(extra.term, value.item, extra_origins_[extra_count_]))
            return;
        extra_count_++;
        value.low = extra.term.truncate ? 0 : extra.term.step - 1;
        value.bytes = static_cast<std::uint8_t>(extra.bytes);
    }
    const Item& time = lines_[0].item;
    times_ = placement.axes[placement.time_axis()].count;
    last_time_ = ((~std::uint64_t{0} >> (64 - placement.time_bits())) - time.first) >> time.step_shift;
    heap_bytes_ = placement.heap_bytes;
    extra_bytes_ = layout.extra_bytes;
    serves_ = true;
}

/// Finds an item of the packet.
bool DirectRun::locate(const heap::PacketView& view, const Origin& origin, Item& item) noexcept {
    const wire::Flavour flavour(view.flavour);
    if (origin.id > flavour.max_id())
        return false;
    item.id = flavour.make_immediate(origin.id, 0);
    item.mask = origin.mask & (flavour.value_mask() >> item.shift);
    for (std::uint32_t i = 0; i < view.item_count; i++)
        if (((load_be64(view.items + std::size_t{i} * 8) ^ item.id) & ~flavour.value_mask()) == 0) {
            item.at = static_cast<std::uint16_t>(i * 8);
            return true;
        }
    return false;
}

void DirectRun::begin(const heap::PacketView& view, const Start& start) noexcept {
    token_ = 0;
    if (!serves_ || !wire::Flavour::is_valid(view.flavour) ||
        view.item_count > std::numeric_limits<std::uint16_t>::max() / 8 || start.part_bytes < 2)
        return;
    for (std::uint32_t i = 0; i < line_count_; i++)
        if (!locate(view, line_origins_[i], lines_[i].item))
            return;
    for (std::uint32_t i = 0; i < extra_count_; i++)
        if (!locate(view, extra_origins_[i], extras_[i].item))
            return;
    flavour_ = view.flavour;
    id_mask_ = ~wire::Flavour(view.flavour).value_mask();
    Line& time = lines_[0];
    const std::uint64_t number = time.item.number(load_be64(view.items + time.item.at));
    const std::uint64_t place = start.time_heap / time.heaps;
    // After a wrap within the chunk its first time is below 0; the placer knows the values of such times.
    if (number > last_time_ || place > number)
        return;
    time.start = number - place;
    time.last = std::min(times_ - 1, last_time_ - number + place);
    base_ = &start.chunk->base;
    parts_ = start.chunk->parts.data();
    extra_ = start.chunk->extra.data();
    share_ = start.share;
    part_bytes_ = start.part_bytes;
    parts_per_heap_ = start.parts_per_heap;
    reciprocal_ = ~std::uint64_t{0} / part_bytes_ + 1;
    item_count_ = view.item_count;
    token_ = start.token;
}

}  // namespace spead::chunk
