// SPDX-License-Identifier: BSD-3-Clause
#include "port/impairments.hpp"

#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::port {

namespace {

/// Returns a word of the SplitMix64 sequence (Steele, Lea and Flood, 2014) from its number, without the
/// earlier ones.
constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

/// Names the random draws for a packet, and for a group.
enum class Draw : std::uint8_t { loss, duplicate, corrupt, delay, bit, exchange };

constexpr std::uint64_t word(std::uint64_t seed, Draw draw, std::uint64_t number) {
    return mixed(mixed(mixed(seed) + static_cast<std::uint64_t>(draw)) + number);
}

/// Returns true for this fraction of the words.
constexpr bool hits(double fraction, std::uint64_t drawn) {
    return static_cast<double>(drawn >> 11) * 0x1p-53 < fraction;
}

double parse_fraction(std::string_view text, const std::string& where) {
    const bool percent = text.ends_with('%');
    const std::string_view digits = percent ? text.substr(0, text.size() - 1) : text;
    double value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    value /= percent ? 100 : 1;
    if (error != std::errc{} || stop != digits.data() + digits.size() || !(value >= 0 && value <= 1))
        throw_usage(where, "`{}` is not a fraction; give 0 to 1, or 0% to 100%", text);
    return value;
}

std::uint64_t parse_seed(std::string_view text, const std::string& where) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size() || text.empty())
        throw_usage(where, "`{}` is not a seed; give a whole number", text);
    return value;
}

}  // namespace

Impairments Impairments::parse(std::string_view text, const std::string& where) {
    Impairments out;
    std::set<std::string_view> seen;
    for (bool more = !text.empty(); more;) {
        const std::size_t end = text.find(',');
        const std::string_view part = text.substr(0, end);
        more = end != std::string_view::npos;
        text = more ? text.substr(end + 1) : std::string_view();
        const std::size_t equals = part.find('=');
        const std::string_view key = part.substr(0, equals);
        if (equals == std::string_view::npos)
            throw_usage(where, "`{}` is not KEY=VALUE, as in loss=1%,reorder=10,seed=7", part);
        if (!seen.insert(key).second)
            throw_usage(where, "`{}` is given twice", key);
        const std::string_view value = part.substr(equals + 1);
        if (key == "loss") {
            out.loss = parse_fraction(value, where);
        } else if (key == "duplicate") {
            out.duplicate = parse_fraction(value, where);
        } else if (key == "corrupt") {
            out.corrupt = parse_fraction(value, where);
        } else if (key == "reorder") {
            out.reorder = static_cast<std::uint32_t>(parse_integer(value, 0, kMostReorder, where));
        } else if (key == "delay") {
            const std::size_t colon = value.find(':');
            out.delayed = colon == std::string_view::npos ? 1 : parse_fraction(value.substr(0, colon), where);
            out.delay =
                parse_duration(colon == std::string_view::npos ? value : value.substr(colon + 1), where);
            if (out.delay > kLongestDelay)
                throw_usage(where, "a delay of {} is too long; give {} at most", value,
                            duration_text(kLongestDelay));
        } else if (key == "seed") {
            out.seed = parse_seed(value, where);
        } else {
            throw_usage(where,
                        "`{}` is not an impairment; give loss, duplicate, corrupt, reorder, delay or seed",
                        key);
        }
    }
    return out;
}

Fate fate_of(const Impairments& i, std::uint64_t packet) noexcept {
    Fate fate;
    fate.lost = hits(i.loss, word(i.seed, Draw::loss, packet));
    if (fate.lost)
        return fate;
    fate.duplicated = hits(i.duplicate, word(i.seed, Draw::duplicate, packet));
    fate.corrupted = hits(i.corrupt, word(i.seed, Draw::corrupt, packet));
    fate.delayed = hits(i.delayed, word(i.seed, Draw::delay, packet));
    fate.bit = word(i.seed, Draw::bit, packet);
    return fate;
}

std::uint32_t exchange_of(const Impairments& i, std::uint64_t group, std::uint32_t place) noexcept {
    return static_cast<std::uint32_t>(
        word(i.seed, Draw::exchange, group * Impairments::kMostReorder + place) % (place + 1));
}

}  // namespace spead::port
