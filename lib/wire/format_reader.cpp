// SPDX-License-Identifier: BSD-3-Clause
#include "wire/format_reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/byte_order.hpp"
#include "wire/spead.hpp"

namespace spead::wire {

namespace {

constexpr std::uint64_t kItemMode = std::uint64_t{1} << 63;

std::uint64_t word_at(const std::uint8_t* bytes) noexcept {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

}  // namespace

std::uint64_t FormatReader::Load::value(const std::uint8_t* head) const noexcept {
    const std::uint64_t raw = word_at(head + from);
    return ((little ? raw : byte_swap(raw)) >> shift) & mask;
}

bool begins_as_spead(const std::uint8_t* head) noexcept {
    return head[0] == kSpeadMagic && head[1] == kSpeadVersion && head[2] + head[3] == 8 && head[2] != 0 &&
           head[3] != 0 && (head[4] | head[5]) == 0 && (head[6] | head[7]) != 0;
}

FormatReader::FormatReader(const PacketFormat& format)
    : header_(format.prefix + format.header),
      refuses_spead_(format.refuses_spead),
      count_(compile(format.count, 0)),
      has_length_(format.length.has_value()),
      length_(format.length.value_or(PacketFormat::Length{})) {
    for (const PacketFormat::Item& item : format.items)
        add_item(format, item);
    for (const PacketFormat::Condition& c : format.required)
        if (c.values.size() == 1)
            add_check(load_of(format, c.field), c.values.front());
        else
            required_.push_back(compile(c));
    for (const PacketFormat::Condition& c : format.invalid)
        invalid_.push_back(compile(c));
    for (std::size_t i = 0; i < format.fields.size(); i++) {
        const auto reads = [i](const auto& one) { return one.field == i; };
        if (std::ranges::any_of(terms_, reads) || std::ranges::any_of(required_, reads) ||
            std::ranges::any_of(invalid_, reads) || (has_length_ && length_.field == i))
            loads_.push_back(load_of(format, i));
    }
}

/// Reads eight aligned bytes of the header if the field is in them, so that fields share them.
FormatReader::Load FormatReader::load_of(const PacketFormat& format, std::size_t field) const {
    const PacketFormat::Field& f = format.fields[field];
    const std::size_t at = format.prefix + f.at;
    const std::size_t aligned = at / 8 * 8;
    const bool fits = at + f.bytes <= aligned + 8 && aligned + 8 <= header_;
    const std::size_t from = fits ? aligned : std::min(at, header_ - 8);
    const std::size_t bytes_before = at - from;
    const std::size_t skip = 8 * (f.little ? bytes_before : 8 - bytes_before - f.bytes);
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * f.bytes);
    // A field that is shifted out has no bits left in its mask.
    return {static_cast<std::uint16_t>(from), f.little, static_cast<std::uint8_t>((skip + f.shift) % 64),
            static_cast<std::uint8_t>(field), (all >> f.shift) & f.mask};
}

void FormatReader::add_check(const Load& load, std::uint64_t value) {
    std::uint64_t mask = load.mask << load.shift;
    value <<= load.shift;
    if (!load.little) {
        mask = byte_swap(mask);
        value = byte_swap(value);
    }
    const auto same = std::ranges::find(checks_, load.from, &Check::from);
    if (same == checks_.end())
        return checks_.push_back({load.from, mask, value});
    same->mask |= mask;
    same->value |= value;
}

void FormatReader::add_item(const PacketFormat& format, const PacketFormat::Item& item) {
    const std::uint64_t word = kItemMode | item.id << PacketFormat::kAddressBits;
    const PacketFormat::Term& t = item.value.front();
    const bool is_field = item.value.size() == 1 && t.first == 0 && t.step == 1 && t.times == 1;
    items_.push_back({is_field ? load_of(format, t.field) : Load{}, word, is_field});
    if (!is_field)
        sums_.push_back(compile(item.value, word));
}

FormatReader::Sum FormatReader::compile(const PacketFormat::Sum& sum, std::uint64_t word) {
    const auto begin = static_cast<std::uint32_t>(terms_.size());
    for (const PacketFormat::Term& t : sum)
        terms_.push_back({static_cast<std::uint32_t>(t.field), t.first == 0 && t.step == 1, t.truncate,
                          t.first, t.step, t.times});
    return {begin, static_cast<std::uint32_t>(terms_.size()), word};
}

FormatReader::Condition FormatReader::compile(const PacketFormat::Condition& condition) {
    const auto begin = static_cast<std::uint32_t>(values_.size());
    values_.insert(values_.end(), condition.values.begin() + 1, condition.values.end());
    return {static_cast<std::uint32_t>(condition.field), begin, static_cast<std::uint32_t>(values_.size()),
            condition.values.front()};
}

/// Adds without looking for overflows: the declaration's check() has shown that there are none.
[[gnu::noinline]] bool FormatReader::add_terms(const Sum& sum, const Values& values,
                                               std::uint64_t& result) const noexcept {
    std::uint64_t all = sum.word;
    for (std::uint32_t i = sum.begin; i < sum.end; i++) {
        const Term& t = terms_[i];
        std::uint64_t value = values[t.field];
        if (!t.plain) {
            if (value < t.first)
                return false;
            const std::uint64_t above = value - t.first;
            value = above / t.step;
            if (!t.truncate && value * t.step != above)
                return false;
        }
        all += value * t.times;
    }
    result = all;
    return true;
}

[[gnu::noinline]] bool FormatReader::is_other(const Condition& condition,
                                              std::uint64_t value) const noexcept {
    for (std::uint32_t i = condition.begin; i < condition.end; i++)
        if (values_[i] == value)
            return true;
    return false;
}

FormatReader::Verdict FormatReader::read(const std::uint8_t* head, std::size_t length, std::uint8_t* words,
                                         Packet& packet) const noexcept {
    if (length < header_ || (refuses_spead_ && begins_as_spead(head)))
        return Verdict::malformed;
    for (const Check& check : checks_)
        if ((word_at(head + check.from) & check.mask) != check.value)
            return Verdict::malformed;
    Values values;
    for (const Load& load : loads_)
        values[load.field] = load.value(head);
    for (const Condition& c : required_)
        if (!holds(c, values))
            return Verdict::malformed;
    std::uint64_t payload = length - header_;
    if (has_length_) {
        const std::uint64_t said = values[length_.field] * length_.times;
        if (said < length_.less || said - length_.less > payload)
            return Verdict::malformed;
        payload = said - length_.less;
    }
    if (!add_terms(count_, values, packet.count))
        return Verdict::malformed;
    std::array<std::uint64_t, PacketFormat::kMaxItems> made;
    std::uint64_t* sum = made.data();
    for (const Sum& one : sums_)
        if (!add_terms(one, values, *sum++))
            return Verdict::malformed;
    sum = made.data();
    // Last: what is no packet of the format says nothing about data.
    for (const Condition& c : invalid_)
        if (holds(c, values))
            return Verdict::invalid;
    // Bytes may be any object's: the compiler would read the vector anew after each item.
    for (const Item& item : std::span(items_.data(), items_.size())) {
        const std::uint64_t word = item.is_field ? item.word + item.load.value(head) : *sum++;
        store_be64(words, word);
        words += 8;
    }
    packet.payload_at = static_cast<std::uint32_t>(header_);
    packet.payload_length = static_cast<std::uint32_t>(payload);
    return Verdict::good;
}

}  // namespace spead::wire
