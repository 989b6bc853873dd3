// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/format_packets.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "wire/known_formats.hpp"

namespace spead::app {

namespace {

using wire::PacketFormat;

/// Returns the declaration, with one number for the time.
std::string text_of(std::string_view name) {
    if (wire::find_format(name) == nullptr) {
        std::string names;
        for (const wire::KnownFormat& known : wire::known_formats())
            names += (names.empty() ? "" : ", ") + std::string(known.name);
        throw_usage("--format", "`{}` is no known format; give one of {}", name, names);
    }
    std::string text(name);
    if (name.starts_with("vdif"))
        text += "; field second: u32 at 0 & 0xFFFFFF; item 0x1600: second * 16777216 + frame";
    return text;
}

void put(std::vector<std::uint8_t>& header, const PacketFormat& format, std::size_t number,
         std::uint64_t value) {
    const PacketFormat::Field& f = format.fields[number];
    for (unsigned bit = f.shift; bit < 8 * f.bytes; bit++)
        if ((f.mask >> (bit - f.shift) & 1) != 0 && (value >> (bit - f.shift) & 1) != 0) {
            const unsigned byte = f.little ? bit / 8 : f.bytes - 1 - bit / 8;
            header[format.prefix + f.at + byte] |= static_cast<std::uint8_t>(1U << bit % 8);
        }
}

/// Writes a value into the fields of an item, those with the largest factor first.
void put_item(std::vector<std::uint8_t>& header, const PacketFormat& format, std::uint64_t id,
              std::uint64_t value) {
    const auto item = std::ranges::find(format.items, id, &PacketFormat::Item::id);
    assert(item != format.items.end());
    PacketFormat::Sum terms = item->value;
    std::ranges::sort(terms, std::greater{}, &PacketFormat::Term::times);
    for (const PacketFormat::Term& t : terms) {
        put(header, format, t.field, value / t.times);
        value %= t.times;
    }
}

}  // namespace

FormatPackets::FormatPackets(std::string_view name)
    : text_(text_of(name)), format_(PacketFormat::parse(text_, "--format")) {}

std::vector<std::uint8_t> FormatPackets::make(std::uint64_t time, std::uint64_t lane,
                                              std::uint64_t payload) const {
    std::vector<std::uint8_t> header(format_.prefix + format_.header);
    for (const PacketFormat::Condition& c : format_.required)
        put(header, format_, c.field, c.values.front());
    for (const PacketFormat::Condition& c : format_.invalid)
        if (std::ranges::find(c.values, std::uint64_t{0}) != c.values.end())
            put(header, format_, c.field, 1);
    if (format_.length)
        put(header, format_, format_.length->field, (payload + format_.length->less) / format_.length->times);
    put_item(header, format_, kTime, time);
    put_item(header, format_, kLane, lane);
    return header;
}

}  // namespace spead::app
