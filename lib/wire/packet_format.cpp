// SPDX-License-Identifier: BSD-3-Clause
#include "wire/packet_format.hpp"

#include <algorithm>
#include <bitset>

#include <fmt/core.h>

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

class FormatCheck {
  public:
    FormatCheck(const PacketFormat& format, std::string_view where) : format_(format), where_(where) {}

    void all() const {
        if (format_.header < PacketFormat::kLeastHeader ||
            format_.header + format_.prefix > PacketFormat::kMostHeader)
            throw_usage(
                where_, "the header has {} bytes, and {} before it; give {} to {} together, as in header 32",
                format_.header, format_.prefix, PacketFormat::kLeastHeader, PacketFormat::kMostHeader);
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
    void fields() const {
        for (std::size_t i = 0; i < format_.fields.size(); i++) {
            const PacketFormat::Field& f = format_.fields[i];
            if (f.at + f.bytes > format_.header)
                throw_usage(where_,
                            "the field {} has bytes {} to {}, and the header has {}; give `header {}`",
                            f.name, f.at, f.at + f.bytes - 1, format_.header, f.at + f.bytes);
            const HeaderBits bits = bits_of(f);
            if (bits.none())
                throw_usage(where_, "the shift and mask of the field {} leave no bit of its {}; give others",
                            f.name, 8 * f.bytes);
            for (std::size_t j = 0; j < i; j++)
                if ((bits & bits_of(format_.fields[j])).any())
                    throw_usage(where_, "the fields {} and {} share bits of the header; give each its own",
                                format_.fields[j].name, f.name);
        }
    }

    void sum(const PacketFormat::Sum& sum, const std::string& what, std::uint64_t limit) const {
        WideSum most = 0;
        for (const PacketFormat::Term& t : sum) {
            const PacketFormat::Field& f = format_.fields[t.field];
            if (t.first > f.most())
                throw_usage(where_, "{} subtracts {} from the field {}, which has {} at most; give less",
                            what, t.first, f.name, f.most());
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

    void contradictions() const {
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
        if (f.most() * l.times < l.less)
            throw_usage(where_, "the payload's length is never positive: the field {} has {} at most", f.name,
                        f.most());
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
