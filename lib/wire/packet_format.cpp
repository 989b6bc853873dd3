// SPDX-License-Identifier: BSD-3-Clause
#include "wire/packet_format.hpp"

#include <algorithm>
#include <bit>
#include <bitset>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace spead::wire {

namespace {

__extension__ using WideSum = unsigned __int128;

using HeaderBits = std::bitset<PacketFormat::kMostHeader * 8>;

/// Returns the bits of the header that a field takes.
HeaderBits bits_of(const PacketFormat::Field& f) {
    HeaderBits bits;
    for (unsigned b = f.shift; b < 8 * f.bytes; b++)
        if ((f.mask >> (b - f.shift) & 1) != 0)
            bits.set(8 * (f.at + (f.little ? b / 8 : f.bytes - 1 - b / 8)) + b % 8);
    return bits;
}

/// Returns the byte of the first of these bits. There is one.
std::size_t first_byte(const HeaderBits& bits) {
    std::size_t bit = 0;
    while (!bits[bit])
        bit++;
    return bit / 8;
}

class FormatCheck {
  public:
    FormatCheck(const PacketFormat& format, std::string_view where) : format_(format), where_(where) {}

    void all() const {
        if (format_.header < PacketFormat::kLeastHeader)
            throw_usage(where_, "the header has {} bytes; give {} to {}, as in header 32", format_.header,
                        PacketFormat::kLeastHeader, PacketFormat::kMostHeader);
        if (format_.header + format_.prefix > PacketFormat::kMostHeader)
            throw_usage(where_, "the header has {} bytes, and {} before it; give {} together at most",
                        format_.header, format_.prefix, PacketFormat::kMostHeader);
        fields();
        if (format_.count.empty())
            throw_usage(where_, "the format has no heap count; give one, as in count sequence");
        sum(format_.count, "the heap count", PacketFormat::kMaxCount);
        items();
        for (const auto* conditions : {&format_.required, &format_.invalid})
            for (const PacketFormat::Condition& c : *conditions)
                condition(c);
        contradictions();
        if (format_.length)
            length(*format_.length);
    }

  private:
    /// Returns the values that a field may have; null: all.
    const std::vector<std::uint64_t>* required_of(std::size_t field) const {
        const auto found = std::ranges::find(format_.required, field, &PacketFormat::Condition::field);
        return found == format_.required.end() ? nullptr : &found->values;
    }

    void fields() const {
        for (std::size_t i = 0; i < format_.fields.size(); i++) {
            const PacketFormat::Field& f = format_.fields[i];
            if (f.at + f.bytes > format_.header)
                outside(f);
            mask(f);
            const HeaderBits bits = bits_of(f);
            if (bits.none())
                throw_usage(where_, "the shift and mask of the field {} leave no bit of its {}; give others",
                            f.name, 8 * f.bytes);
            for (std::size_t j = 0; j < i; j++)
                if (const HeaderBits both = bits & bits_of(format_.fields[j]); both.any())
                    throw_usage(where_,
                                "the fields {} and {} share bits of byte {} of the header; give each its "
                                "own, by `at`, `>>` or `&`",
                                format_.fields[j].name, f.name, first_byte(both));
        }
    }

    [[noreturn]] void outside(const PacketFormat::Field& f) const {
        const std::size_t end = f.at + f.bytes;
        throw_usage(
            where_, "the field {} has bytes {} to {}, and the header has {}; {}let it begin at {} at most",
            f.name, f.at, end - 1, format_.header,
            end + format_.prefix > PacketFormat::kMostHeader ? std::string()
                                                             : fmt::format("give `header {}`, or ", end),
            format_.header - f.bytes);
    }

    /// Refuses a mask that promises more bits than there are.
    void mask(const PacketFormat::Field& f) const {
        const std::uint64_t bits = ~std::uint64_t{0} >> (64 - 8 * f.bytes) >> f.shift;
        if (bits != 0 && f.mask != ~std::uint64_t{0} && (f.mask & ~bits) != 0)
            throw_usage(where_,
                        "the mask {:#x} of the field {} has bits beyond its own, {:#x}; give a part of "
                        "these, or a wider field",
                        f.mask, f.name, bits);
    }

    void sum(const PacketFormat::Sum& sum, const std::string& what, std::uint64_t limit) const {
        WideSum most = 0;
        for (const PacketFormat::Term& t : sum) {
            const PacketFormat::Field& f = format_.fields[t.field];
            if (t.first > f.most())
                throw_usage(where_, "{} subtracts {} from the field {}, which has {} at most; give less",
                            what, t.first, f.name, f.most());
            if (const std::vector<std::uint64_t>* const taken = required_of(t.field);
                taken != nullptr && std::ranges::none_of(*taken, [&t](std::uint64_t value) {
                    return value >= t.first && (t.truncate || (value - t.first) % t.step == 0);
                }))
                throw_usage(where_,
                            "{} refuses all values of the field {} that `require` takes ({}); let it take "
                            "others, or give another sum",
                            what, f.name, fmt::join(*taken, ", "));
            most += WideSum{(f.most() - t.first) / t.step} * t.times;
            if (most > limit)
                throw_usage(
                    where_,
                    "{} can exceed {:#x} through the field {}; give that a mask, as in & 0xFFFF, or a "
                    "lower factor",
                    what, limit, f.name);
        }
    }

    void items() const {
        for (std::size_t i = 0; i < format_.items.size(); i++)
            sum(format_.items[i].value, fmt::format("item {:#x}", format_.items[i].id),
                PacketFormat::kMaxValue);
    }

    void condition(const PacketFormat::Condition& c) const {
        const PacketFormat::Field& f = format_.fields[c.field];
        for (const std::uint64_t value : c.values)
            if ((value & ~f.most()) != 0)
                throw_usage(where_,
                            "the field {} has the bits {:#x}, and can never be {}; give a possible value",
                            f.name, f.most(), value);
    }

    /// Returns whether the values are all that the field can have.
    bool are_all(const PacketFormat::Condition& c) const {
        std::vector<std::uint64_t> values = c.values;
        std::ranges::sort(values);
        const auto end = std::unique(values.begin(), values.end());
        const auto different = static_cast<std::size_t>(end - values.begin());
        const int bits = std::popcount(format_.fields[c.field].most());
        return bits < 16 && different == std::size_t{1} << bits;
    }

    /// Refuses conditions that no packet can meet, or that every packet meets whose data are invalid.
    void contradictions() const {
        for (const PacketFormat::Condition& i : format_.invalid)
            if (are_all(i))
                throw_usage(
                    where_,
                    "the field {} marks all data as invalid, because it has no other values; leave one "
                    "out",
                    format_.fields[i.field].name);
        for (const PacketFormat::Condition& r : format_.required)
            for (const PacketFormat::Condition& i : format_.invalid)
                if (r.field == i.field && std::ranges::all_of(r.values, [&i](std::uint64_t value) {
                        return std::ranges::find(i.values, value) != i.values.end();
                    }))
                    throw_usage(
                        where_,
                        "the field {} marks all data as invalid, because `require` takes only {}; let "
                        "`require` take another value, too",
                        format_.fields[r.field].name, fmt::join(r.values, ", "));
        for (const PacketFormat::Condition& r : format_.required)
            for (const PacketFormat::Condition& i : format_.invalid)
                for (const std::uint64_t value : i.values)
                    if (r.field == i.field &&
                        std::find(r.values.begin(), r.values.end(), value) == r.values.end())
                        throw_usage(
                            where_,
                            "the field {} marks invalid data by {}, which `require` refuses; leave one "
                            "of the two out",
                            format_.fields[r.field].name, value);
    }

    void length(const PacketFormat::Length& l) const {
        const PacketFormat::Field& f = format_.fields[l.field];
        if (WideSum{f.most()} * l.times > PacketFormat::kMaxCount)
            throw_usage(where_, "the payload's length can overflow through the field {}; give that a mask",
                        f.name);
        const std::vector<std::uint64_t>* const taken = required_of(l.field);
        const std::uint64_t most = taken == nullptr ? f.most() : std::ranges::max(*taken);
        if (most * l.times <= l.less)
            throw_usage(where_,
                        "the payload's length is never positive: the field {} has {} at most; subtract less "
                        "than {}",
                        f.name, most, most * l.times);
    }

    const PacketFormat& format_;
    const std::string where_;
};

}  // namespace

std::uint64_t PacketFormat::Field::most() const noexcept {
    return ~std::uint64_t{0} >> (64 - 8 * bytes) >> shift & mask;
}

void PacketFormat::check(std::string_view where) const {
    FormatCheck(*this, where).all();
}

}  // namespace spead::wire
