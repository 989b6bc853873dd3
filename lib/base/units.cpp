// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string>

#include "base/error.hpp"

namespace spead {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kK = 1000;

struct SizeUnit {
    std::string_view name;
    std::uint64_t bytes;
};
constexpr std::array kSizeUnits{
    SizeUnit{"", 1},
    SizeUnit{"B", 1},
    SizeUnit{"KiB", kKi},
    SizeUnit{"MiB", kKi* kKi},
    SizeUnit{"GiB", kKi* kKi* kKi},
    SizeUnit{"TiB", kKi* kKi* kKi* kKi},
    SizeUnit{"PiB", kKi* kKi* kKi* kKi* kKi},
    SizeUnit{"kB", kK},
    SizeUnit{"KB", kK},
    SizeUnit{"MB", kK* kK},
    SizeUnit{"GB", kK* kK* kK},
    SizeUnit{"TB", kK* kK* kK* kK},
    SizeUnit{"PB", kK* kK* kK* kK* kK},
};
constexpr std::string_view kSizeAccepted =
    "give bytes as a bare number, or with B, KiB, MiB, GiB, TiB, PiB (powers of 1024) or kB, MB, GB, TB, PB "
    "(powers of 1000)";

struct RealUnit {
    std::string_view name;
    double factor;
};
constexpr std::array kRateUnits{
    RealUnit{"bps", 1.0 / 8},
    RealUnit{"kbps", 125},
    RealUnit{"Mbps", 125e3},
    RealUnit{"Gbps", 125e6},
    RealUnit{"Tbps", 125e9},
    RealUnit{"b/s", 1.0 / 8},
    RealUnit{"kb/s", 125},
    RealUnit{"Mb/s", 125e3},
    RealUnit{"Gb/s", 125e6},
    RealUnit{"Tb/s", 125e9},
    RealUnit{"B/s", 1},
    RealUnit{"kB/s", 1e3},
    RealUnit{"MB/s", 1e6},
    RealUnit{"GB/s", 1e9},
    RealUnit{"KiB/s", 1024.0},
    RealUnit{"MiB/s", 1048576.0},
    RealUnit{"GiB/s", 1073741824.0},
};
constexpr std::string_view kRateAccepted =
    "give a number with bps, kbps, Mbps, Gbps, Tbps (or b/s, kb/s, Mb/s, Gb/s, Tb/s) for bits, B/s, kB/s, "
    "MB/s, GB/s, "
    "KiB/s, MiB/s, GiB/s for bytes, or 0";

constexpr std::array kDurationUnits{
    RealUnit{"", 1},      RealUnit{"s", 1},    RealUnit{"ms", 1e-3}, RealUnit{"us", 1e-6},
    RealUnit{"ns", 1e-9}, RealUnit{"min", 60}, RealUnit{"h", 3600},
};
constexpr std::string_view kDurationAccepted =
    "give seconds as a bare number, or with ns, us, ms, s, min or h";

/// Splits "1.5 GiB" into {"1.5", "GiB"}; `number` is empty when the text does not start with a plain decimal
/// number.
struct Split {
    std::string_view number;
    std::string_view unit;
};

Split split(std::string_view text) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view number = text.substr(0, end);
    std::string_view unit = text.substr(end);
    const bool plain = number.find_first_of("0123456789") != std::string_view::npos && number.back() != '.' &&
                       number.front() != '.' && number.find('.') == number.rfind('.');
    if (!plain)
        return {{}, unit};
    if (unit.size() > 1 && unit.front() == ' ')
        unit.remove_prefix(1);
    return {number, unit};
}

[[noreturn]] void refuse(std::string_view where, std::string_view text, std::string_view why,
                         std::string_view accepted) {
    throw UsageError(std::string(where), fmt::format("`{}` {}; {}", text, why, accepted));
}

bool negative(std::string_view text) {
    return text.size() > 1 && text.front() == '-';
}

/// Parses a number with a unit, for rates and durations.
double parse_real(std::string_view text, std::string_view where, std::span<const RealUnit> units, double max,
                  std::string_view what, std::string_view accepted) {
    if (negative(text))
        refuse(where, text, fmt::format("is negative, and a {} cannot be", what), accepted);
    const Split parts = split(text);
    if (parts.number.empty())
        refuse(where, text, fmt::format("is not a {}", what), accepted);
    double number = 0;
    const auto [stop, error] = std::from_chars(parts.number.data(), parts.number.data() + parts.number.size(),
                                               number, std::chars_format::fixed);
    // Out of range is too large, or so small that it is 0.
    const std::string_view whole = parts.number.substr(0, parts.number.find('.'));
    if (error == std::errc::result_out_of_range && whole.find_first_not_of('0') != std::string_view::npos)
        refuse(where, text, fmt::format("is too large a {}", what), accepted);
    for (const RealUnit& unit : units) {
        if (unit.name != parts.unit)
            continue;
        const double value = number * unit.factor;
        if (!(value <= max))
            refuse(where, text, fmt::format("is too large a {}", what), accepted);
        return value;
    }
    if (number == 0 && parts.unit.empty())
        return 0;
    if (parts.unit.empty())
        refuse(where, text, "has no unit", accepted);
    refuse(where, text, fmt::format("has the unknown unit `{}`", parts.unit), accepted);
}

std::string fixed_text(double value) {
    std::array<char, 512> buffer;
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
    return {buffer.data(), error == std::errc{} ? end : buffer.data()};
}

/// Returns the number with the first unit that gives a short text meaning exactly `value`, else with the last
/// one.
std::string exact_text(double value, std::span<const RealUnit> units,
                       double (*parse)(std::string_view, std::string_view)) {
    constexpr std::size_t kShort = 12;
    if (value == 0)
        return "0";
    for (const RealUnit& unit : units.first(units.size() - 1)) {
        const double number = value / unit.factor;
        if (number < 1)
            continue;
        std::string text = fixed_text(number) + std::string(unit.name);
        if (text.size() <= kShort && parse(text, {}) == value)
            return text;
    }
    return fixed_text(value) + std::string(units.back().name);
}

struct Scale {
    std::string_view prefix;
    double factor;
};
constexpr std::array kDecimal{Scale{"", 1},    Scale{"k", 1e3},  Scale{"M", 1e6},
                              Scale{"G", 1e9}, Scale{"T", 1e12}, Scale{"P", 1e15}};
constexpr std::array kBinary{Scale{"", 1},        Scale{"Ki", 0x1p10}, Scale{"Mi", 0x1p20},
                             Scale{"Gi", 0x1p30}, Scale{"Ti", 0x1p40}, Scale{"Pi", 0x1p50}};

std::string three_digits(double value) {
    if (value < 9.995)
        return fmt::format("{:.2f}", value);
    if (value < 99.95)
        return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

/// Returns the largest scale that leaves at least 1 after rounding to three digits.
const Scale& scale_for(double value, std::span<const Scale> scales, double step) {
    std::size_t i = 0;
    while (i + 1 < scales.size() && value / scales[i].factor >= step - 0.5)
        i++;
    return scales[i];
}

std::string scaled(double value, std::string_view unit) {
    const Scale& scale = scale_for(value, kDecimal, 1000);
    if (scale.factor == 1)
        return fmt::format("{:.0f} {}", value, unit);
    return fmt::format("{} {}{}", three_digits(value / scale.factor), scale.prefix, unit);
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view where) {
    if (negative(text))
        refuse(where, text, "is negative, and a size cannot be", kSizeAccepted);
    const Split parts = split(text);
    if (parts.number.empty())
        refuse(where, text, "is not a size", kSizeAccepted);

    const SizeUnit* unit = nullptr;
    for (const SizeUnit& known : kSizeUnits)
        if (known.name == parts.unit)
            unit = &known;
    if (unit == nullptr && parts.unit.size() == 1 &&
        std::string_view("kKMGT").find(parts.unit[0]) != std::string_view::npos)
        refuse(
            where, text,
            fmt::format("has the ambiguous unit {0}: {0}iB is a power of 1024, {0}B one of 1000", parts.unit),
            kSizeAccepted);
    if (unit == nullptr)
        refuse(where, text, fmt::format("has the unknown unit `{}`", parts.unit), kSizeAccepted);

    // digits / 10^places, exactly.
    Wide digits = 0;
    Wide divisor = 1;
    bool fraction = false;
    for (const char c : parts.number) {
        if (c == '.') {
            fraction = true;
            continue;
        }
        digits = digits * 10 + static_cast<unsigned>(c - '0');
        if (fraction)
            divisor *= 10;
        if (digits > kMaxSize || divisor > kMaxSize)
            refuse(where, text, "has too many digits for a size", kSizeAccepted);
    }
    const Wide bytes = digits * unit->bytes;
    if (bytes / divisor > kMaxSize)
        refuse(where, text, "is too large a size", kSizeAccepted);
    if (bytes % divisor != 0)
        refuse(where, text, "is not a whole number of bytes", kSizeAccepted);
    return static_cast<std::uint64_t>(bytes / divisor);
}

double parse_rate(std::string_view text, std::string_view where) {
    return parse_real(text, where, kRateUnits, kMaxRate, "rate", kRateAccepted);
}

double parse_duration(std::string_view text, std::string_view where) {
    return parse_real(text, where, kDurationUnits, kMaxDuration, "duration", kDurationAccepted);
}

std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max,
                           std::string_view where) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < min || value > max)
        throw UsageError(std::string(where),
                         fmt::format("`{}` is not a whole number from {} to {}", text, min, max));
    return value;
}

std::string size_text(std::uint64_t bytes) {
    std::string best = fmt::format("{}", bytes);
    if (bytes == 0)
        return best;
    for (const SizeUnit& unit : kSizeUnits) {
        const bool binary = unit.bytes % kKi == 0;
        if (unit.bytes < (binary ? kKi : kK * kK) || bytes % unit.bytes != 0)
            continue;
        const std::string text = fmt::format("{}{}", bytes / unit.bytes, unit.name);
        if (text.size() < best.size() || (binary && text.size() == best.size()))
            best = text;
    }
    return best;
}

std::string rate_text(double bytes_per_second) {
    constexpr std::array units{RealUnit{"Tbps", 125e9}, RealUnit{"Gbps", 125e6},  RealUnit{"Mbps", 125e3},
                               RealUnit{"kbps", 125},   RealUnit{"bps", 1.0 / 8}, RealUnit{"B/s", 1}};
    return exact_text(bytes_per_second, units, parse_rate);
}

std::string duration_text(double seconds) {
    constexpr std::array units{RealUnit{"s", 1}, RealUnit{"ms", 1e-3}, RealUnit{"us", 1e-6},
                               RealUnit{"ns", 1e-9}, RealUnit{"s", 1}};
    return exact_text(seconds, units, parse_duration);
}

std::string human_size(std::uint64_t bytes) {
    if (bytes < 1024 || (bytes < 10000 && bytes % 1024 != 0))
        return fmt::format("{} B", bytes);
    const auto value = static_cast<double>(bytes);
    const Scale& scale = scale_for(value, kBinary, 1024);
    const double number = value / scale.factor;
    if (number == std::floor(number))
        return fmt::format("{:.0f} {}B", number, scale.prefix);
    return fmt::format("{} {}B", three_digits(number), scale.prefix);
}

std::string human_bit_rate(double bytes_per_second) {
    return scaled(bytes_per_second * 8, "b/s");
}

std::string human_packet_rate(double packets_per_second) {
    return scaled(packets_per_second, "pps");
}

std::string human_count(std::uint64_t count) {
    if (count < 10000)
        return fmt::format("{}", count);
    return scaled(static_cast<double>(count), "");
}

std::string human_duration(double seconds) {
    if (seconds == 0)
        return "0 s";
    if (seconds < 0.9995e-3)
        return three_digits(seconds * 1e6) + " us";
    if (seconds < 0.9995)
        return three_digits(seconds * 1e3) + " ms";
    if (seconds < 59.95)
        return three_digits(seconds) + " s";
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    if (whole < 3600)
        return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace spead
