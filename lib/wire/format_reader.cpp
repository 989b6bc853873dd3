// SPDX-License-Identifier: BSD-3-Clause
#include "wire/format_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/byte_order.hpp"
#include "wire/spead.hpp"

namespace spead::wire {

namespace {

constexpr std::uint64_t kItemMode = std::uint64_t{1} << 63;

}  // namespace

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
    for (const PacketFormat::Field& f : format.fields) {
        const std::size_t at = format.prefix + f.at;
        const std::size_t from = std::min(at, header_ - 8);
        const std::size_t bytes_before = at - from;
        const std::size_t skip = 8 * (f.little ? bytes_before : 8 - bytes_before - f.bytes);
        const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * f.bytes);
        // A field that is shifted out has no bits left in its mask.
        loads_.push_back({static_cast<std::uint16_t>(from), f.little,
                          static_cast<std::uint8_t>((skip + f.shift) % 64), (all >> f.shift) & f.mask});
    }
    for (const PacketFormat::Item& item : format.items)
        items_.push_back(compile(item.value, kItemMode | item.id << PacketFormat::kAddressBits));
    for (const PacketFormat::Condition& c : format.required)
        required_.push_back(compile(c));
    for (const PacketFormat::Condition& c : format.invalid)
        invalid_.push_back(compile(c));
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
    values_.insert(values_.end(), condition.values.begin(), condition.values.end());
    return {static_cast<std::uint32_t>(condition.field), begin, static_cast<std::uint32_t>(values_.size())};
}

/// Returns false when a value is below its first one, or between two steps. The declaration's check() has
/// shown that nothing overflows.
bool FormatReader::compute(const Sum& sum, const Values& values, std::uint64_t& result) const noexcept {
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

bool FormatReader::holds(const Condition& condition, const Values& values) const noexcept {
    const std::uint64_t value = values[condition.field];
    for (std::uint32_t i = condition.begin; i < condition.end; i++)
        if (values_[i] == value)
            return true;
    return false;
}

FormatReader::Verdict FormatReader::read(const std::uint8_t* head, std::size_t length, std::uint8_t* words,
                                         Packet& packet) const noexcept {
    if (length < header_ || (refuses_spead_ && begins_as_spead(head)))
        return Verdict::malformed;
    Values values;
    for (std::size_t i = 0; i < loads_.size(); i++) {
        const Load& load = loads_[i];
        std::uint64_t raw;
        std::memcpy(&raw, head + load.from, sizeof raw);
        raw = load.little ? raw : byte_swap(raw);
        values[i] = (raw >> load.shift) & load.mask;
    }
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
    if (!compute(count_, values, packet.count))
        return Verdict::malformed;
    std::array<std::uint64_t, PacketFormat::kMaxItems> made;
    for (std::size_t i = 0; i < items_.size(); i++)
        if (!compute(items_[i], values, made[i]))
            return Verdict::malformed;
    // Last: what is no packet of the format says nothing about data.
    for (const Condition& c : invalid_)
        if (holds(c, values))
            return Verdict::invalid;
    for (std::size_t i = 0; i < items_.size(); i++)
        store_be64(words + i * 8, made[i]);
    packet.payload_at = static_cast<std::uint32_t>(header_);
    packet.payload_length = static_cast<std::uint32_t>(payload);
    return Verdict::good;
}

}  // namespace spead::wire
