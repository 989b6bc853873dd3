// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/placement.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "chunk/saturated.hpp"

/// Checks placements, and works out their sizes.
namespace spead::chunk {

namespace {

/// Describes one dimension of the bytes of a chunk: an axis, or the rows of a heap.
struct Dimension {
    std::string name;
    std::uint64_t count;
    std::uint64_t stride;
};

std::uint64_t rows_of(const Placement& p) {
    return p.rows.bytes == 0 ? 1 : p.heap_bytes / p.rows.bytes;
}

/// Returns the bytes that lie together: those of a row, or of a heap without rows.
std::uint64_t piece_of(const Placement& p) {
    return p.rows.bytes == 0 ? p.heap_bytes : p.rows.bytes;
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void check_name(const std::string& name, std::string_view where) {
    const bool good = !name.empty() && name.size() <= Axis::kMaxName && is_letter(name.front()) &&
                      std::all_of(name.begin(), name.end(),
                                  [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
    if (!good)
        throw_usage(
            std::string(where),
            "an axis cannot have the name `{}`; give a letter, then letters, digits and `_`, {} characters "
            "at most",
            name.substr(0, Axis::kMaxName), Axis::kMaxName);
}

/// Checks the parts of a placement in turn. Each function throws UsageError.
class Check {
  public:
    Check(const Placement& placement, std::string_view where) : p_(placement), where_(where) {}

    Layout run() {
        if (p_.heap_bytes == 0 || p_.heap_bytes > Placement::kMaxBytes)
            throw_usage(where_,
                        "a placement for heaps of {} bytes is not possible; give 1 to {}, as in heap 5120",
                        p_.heap_bytes, Placement::kMaxBytes);
        check_axes();
        check_time();
        check_extras();
        check_rows();
        check_heaps();
        check_bytes();
        check_presence();
        return layout_;
    }

  private:
    void check_axes() {
        if (p_.axes.empty() || p_.axes.size() > Placement::kMaxAxes)
            throw_usage(where_, "the placement has {} axes; give 1 to {}, one of them the time",
                        p_.axes.size(), Placement::kMaxAxes);
        for (const Axis& axis : p_.axes) {
            check_name(axis.name, where_);
            if (std::count_if(p_.axes.begin(), p_.axes.end(),
                              [&](const Axis& other) { return other.name == axis.name; }) > 1)
                throw_usage(where_, "two axes of the placement have the name `{}`; give each its own",
                            axis.name);
            const std::string name = "the axis `" + axis.name + "`";
            if (axis.count == 0)
                throw_usage(where_, "{} has 0 places; give 1 at least", name);
            if (axis.stride > Placement::kMaxBytes)
                throw_usage(where_, "{} has places {} bytes apart; give at most {}", name, axis.stride,
                            Placement::kMaxBytes);
            if (!axis.term.list.empty() && axis.term.list.size() != axis.count)
                throw_usage(where_, "{} has {}, and its list {}; give one for each place", name,
                            counted(axis.count, "places"), counted(axis.term.list.size(), "values"));
            check_term(axis.term, name);
            if (axis.term.kind == Term::Kind::constant && axis.term.first >= axis.count)
                throw_usage(where_, "{} has {}, and the constant {} is none of them; give 0 to {}", name,
                            counted(axis.count, "places"), axis.term.first, axis.count - 1);
        }
    }

    void check_term(const Term& term, const std::string& name) {
        if (term.kind == Term::Kind::item && (term.id <= 4 || term.id > Term::kMaxId))
            throw_usage(
                where_,
                "{} has item {:#x}, which {}; give the id of an item of the heaps, `heap` for the heap "
                "count, or another id up to {:#x}",
                name, term.id,
                term.id == 0  ? "is padding"
                : term.id < 5 ? "belongs to the packet"
                              : "no flavour of SPEAD can express",
                Term::kMaxId);
        if (term.kind != Term::Kind::item && term.id != 0)
            throw_usage(where_, "{} has an item's id, {:#x}, and no item; leave the id out", name, term.id);
        if (term.shift > 63)
            throw_usage(where_, "{} shifts by {} bits; give 0 to 63", name, term.shift);
        if (term.step == 0)
            throw_usage(where_, "{} has steps of 0; give 1 at least", name);
        const bool plain = term.first == 0 && term.step == 1 && !term.truncate;
        if (term.kind == Term::Kind::constant &&
            (term.shift != 0 || ~term.mask != 0 || term.step != 1 || term.truncate || !term.list.empty()))
            throw_usage(where_, "{} is a constant and has a shift, mask, step or list; leave these out",
                        name);
        if (!term.list.empty() && !plain)
            throw_usage(where_, "{} has a list and a subtraction or division; leave one of them out", name);
        check_list(term, name);
    }

    void check_list(const Term& term, const std::string& name) {
        listed_ += term.list.size();
        if (listed_ > Placement::kMaxList)
            throw_usage(where_, "the lists of the placement have {} values or more; give at most {} in all",
                        listed_, Placement::kMaxList);
        std::vector<std::uint64_t> sorted = term.list;
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end())
            throw_usage(where_, "{} has {} twice in its list; give each value once", name, *twice);
        const std::uint64_t possible = term.mask & (~std::uint64_t{0} >> term.shift);
        for (const std::uint64_t value : term.list)
            if ((value & ~possible) != 0)
                throw_usage(
                    where_,
                    "{} has {} in its list, and its shift and mask leave only the bits {:#x}; give values "
                    "after shift and mask",
                    name, value, possible);
    }

    void check_time() {
        const auto times =
            std::count_if(p_.axes.begin(), p_.axes.end(), [](const Axis& axis) { return axis.is_time; });
        if (times != 1)
            throw_usage(
                where_,
                "the placement has {} time axes; give one, as in time: item 0x1600 / 4096 [8192]: its number "
                "divided by the places is the chunk's id",
                times);
        const Term& term = p_.axes[p_.time_axis()].term;
        if ((term.kind != Term::Kind::item && term.kind != Term::Kind::heap) || !term.list.empty())
            throw_usage(where_, "the time is {}, which does not go on; give an item or the heap count",
                        !term.list.empty()                  ? "a list"
                        : term.kind == Term::Kind::endpoint ? "an endpoint"
                                                            : "a constant");
        if (p_.wrap_bits < 1 || p_.wrap_bits > 64)
            throw_usage(where_, "the time wraps after {} bits; give 1 to 64, more than {} if it never wraps",
                        p_.wrap_bits, Placement::kMaxWrap);
        if (term.shift >= p_.wrap_bits)
            throw_usage(where_,
                        "the time shifts by {} bits, and has {}; give a smaller shift or a larger wrap",
                        term.shift, p_.wrap_bits);
        check_time_mask(term);
    }

    void check_time_mask(const Term& term) {
        const std::uint64_t adjacent = term.mask == 0 ? 0 : term.mask >> std::countr_zero(term.mask);
        if (term.mask == 0 || (adjacent & (adjacent + 1)) != 0)
            throw_usage(where_, "the time has the mask {:#x}; give one whose bits are adjacent", term.mask);
        const unsigned bits = p_.time_bits();
        const std::uint64_t most = (bits == 64 ? 0 : std::uint64_t{1} << bits) - 1;
        if ((term.mask & most) == 0)
            throw_usage(where_,
                        "the time has the mask {:#x}, and wraps after {} bits; give a mask of fewer bits",
                        term.mask, p_.wrap_bits);
        if (term.first > most)
            throw_usage(where_,
                        "the time begins at {}, and its {} bits hold at most {}; give a smaller first value",
                        term.first, bits, most);
        if (term.step > most)
            throw_usage(where_,
                        "the time has steps of {}, and its {} bits hold at most {}; give a smaller step",
                        term.step, bits, most);
        check_times_of_chunk(term, bits);
    }

    /// Refuses chunks so long that packets of the next one would be taken for those of an earlier one.
    void check_times_of_chunk(const Term& term, unsigned bits) {
        if (bits > Placement::kMaxWrap)
            return;
        const std::uint64_t count = p_.axes[p_.time_axis()].count;
        const std::uint64_t times = (std::uint64_t{1} << bits) / term.step;
        if (count > times / 2)
            throw_usage(where_,
                        "a chunk has {} times, and the time wraps after {} (2^{} / {}): the next chunk could "
                        "not be told from an earlier one; give at most {} times, or a larger wrap",
                        count, times, bits, term.step, times / 2);
    }

    void check_extras() {
        if (p_.extras.size() > Placement::kMaxExtras)
            throw_usage(where_, "the placement has {} extra values; give at most {}", p_.extras.size(),
                        Placement::kMaxExtras);
        for (std::size_t i = 0; i < p_.extras.size(); i++) {
            const Extra& extra = p_.extras[i];
            const std::string name = fmt::format("extra value {}", i + 1);
            if (!std::has_single_bit(extra.bytes) || extra.bytes > 8)
                throw_usage(where_, "{} has {} bytes; give 1, 2, 4 or 8", name, extra.bytes);
            check_term(extra.term, name);
            layout_.extra_bytes += extra.bytes;
        }
    }

    void check_rows() {
        const Rows& rows = p_.rows;
        if (rows.bytes == 0 && rows.stride != 0)
            throw_usage(where_,
                        "rows of 0 bytes have the stride {}; give their bytes, as in rows 512 by 65536",
                        rows.stride);
        if (rows.bytes != 0 && p_.heap_bytes % rows.bytes != 0)
            throw_usage(
                where_,
                "a heap of {} bytes has no whole number of rows of {} bytes: {} are left; give a divisor",
                p_.heap_bytes, rows.bytes, p_.heap_bytes % rows.bytes);
        if (rows.stride > Placement::kMaxBytes)
            throw_usage(where_, "the rows are {} bytes apart; give at most {}", rows.stride,
                        Placement::kMaxBytes);
        if (rows.stride < rows.bytes)
            throw_usage(where_,
                        "rows of {} bytes are {} bytes apart and overlap; give a stride of {} at least",
                        rows.bytes, rows.stride, rows.bytes);
    }

    void check_heaps() {
        layout_.heaps = 1;
        std::string product;
        for (const Axis& axis : p_.axes) {
            layout_.heaps = saturated_product(layout_.heaps, axis.count);
            product += fmt::format("{}{}", product.empty() ? "" : " x ", axis.count);
        }
        if (layout_.heaps > Placement::kMaxHeaps)
            throw_usage(where_, "a chunk has {} heaps; give fewer places: {} heaps at most", product,
                        Placement::kMaxHeaps);
    }

    /// Goes from the smallest stride to the largest. The places of each dimension must be as far apart as all
    /// smaller ones together reach.
    void check_bytes() {
        std::vector<Dimension> dimensions;
        const std::vector<std::uint64_t> strides = p_.strides();
        if (rows_of(p_) > 1)
            dimensions.push_back({"the rows of a heap lie", rows_of(p_), p_.rows.stride});
        for (std::size_t i = p_.axes.size(); i-- > 0;)
            if (p_.axes[i].count > 1)
                dimensions.push_back(
                    {"the places of the axis `" + p_.axes[i].name + "` lie", p_.axes[i].count, strides[i]});
        std::stable_sort(dimensions.begin(), dimensions.end(),
                         [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
        std::uint64_t reach = piece_of(p_);
        std::string sum = fmt::format("{}", reach);
        for (const Dimension& d : dimensions) {
            if (d.stride < reach)
                throw_usage(
                    where_,
                    "{} {} bytes apart, and each takes {} bytes ({}); give a stride of {} at least, or none",
                    d.name, d.stride, reach, sum, reach);
            reach = saturated_sum(reach, saturated_product(d.count - 1, d.stride));
            sum += fmt::format(" + {} x {}", d.count - 1, d.stride);
        }
        layout_.bytes = reach;
        if (reach > Placement::kMaxBytes)
            throw_usage(where_,
                        "a chunk has {} bytes ({}{}); give fewer places or smaller strides: {} bytes at most",
                        reach, sum, reach == kSaturated ? " or more" : "", Placement::kMaxBytes);
    }

    void check_presence() {
        if (p_.packet_bytes > p_.heap_bytes)
            throw_usage(where_,
                        "packets of {} bytes are larger than heaps of {} bytes; give the bytes of a packet",
                        p_.packet_bytes, p_.heap_bytes);
        const auto parts = [&](std::uint64_t bytes) { return (p_.heap_bytes + bytes - 1) / bytes; };
        const std::uint64_t packets = p_.packet_bytes == 0 ? 1 : parts(p_.packet_bytes);
        if (saturated_product(layout_.heaps, packets) > Placement::kMaxPresence)
            throw_usage(where_,
                        "the presence of a chunk has {} x {}; give fewer heaps, or presence heap: {} "
                        "bytes at most",
                        counted(layout_.heaps, "heaps"), counted(packets, "packets"),
                        Placement::kMaxPresence);
        layout_.packets_per_heap = static_cast<std::uint32_t>(packets);
        layout_.most_parts =
            static_cast<std::uint32_t>(p_.packet_bytes == 0 ? parts(Placement::kLeastPacket) : packets);
    }

    const Placement& p_;
    std::string where_;
    Layout layout_;
    std::size_t listed_ = 0;
};

}  // namespace

Layout Placement::check(std::string_view where) const {
    return Check(*this, where).run();
}

std::vector<std::uint64_t> Placement::strides() const {
    std::vector<std::uint64_t> result(axes.size());
    std::uint64_t room = std::max(heap_bytes, saturated_product(rows_of(*this), rows.stride));
    for (std::size_t i = axes.size(); i-- > 0;) {
        result[i] = axes[i].stride == 0 ? room : axes[i].stride;
        room = std::max(room, saturated_product(result[i], axes[i].count));
    }
    return result;
}

std::size_t Placement::time_axis() const noexcept {
    std::size_t i = 0;
    while (i + 1 < axes.size() && !axes[i].is_time)
        i++;
    return i;
}

unsigned Placement::time_bits() const noexcept {
    const Term& term = axes[time_axis()].term;
    return std::min(wrap_bits - term.shift, static_cast<unsigned>(std::bit_width(term.mask)));
}

}  // namespace spead::chunk
