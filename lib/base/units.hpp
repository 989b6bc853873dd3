// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Parses and formats sizes, rates and durations as people write them.
///
/// Every parse function takes the whole text, accepts one space before the unit, and throws UsageError that
/// quotes the text and lists the accepted units. `where` names the option or file:line of the text and may be
/// empty. Overflow, negative numbers, infinities and NaN are errors, never wrapped or clamped.
namespace spead {

/// Limits the parsers' results: sizes in bytes, rates in bytes per second, durations in seconds.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
inline constexpr double kMaxRate = 1e15;
inline constexpr double kMaxDuration = 1e9;

/// Parses "9200", "64KiB", "1.5GiB", "1GB" to bytes. KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB
/// powers of 1000; a bare number is bytes. "16M" is refused, because it does not say which. A fraction must
/// give whole bytes.
std::uint64_t parse_size(std::string_view text, std::string_view where = {});

/// Parses "10Gbps", "2.5Gb/s", "1.25GB/s" to bytes per second; small b is bits, capital B bytes. A bare
/// number is refused, except 0, because its meaning differs between tools.
double parse_rate(std::string_view text, std::string_view where = {});

/// Parses "5", "5s", "250ms", "10us", "2min", "1h" to seconds. A bare number is seconds.
double parse_duration(std::string_view text, std::string_view where = {});

/// Parses "65536", "-1" to an integer in [min, max].
std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max,
                           std::string_view where = {});

// Exact texts: parse_size(size_text(x)) == x, and likewise for the others, bit for bit.
std::string size_text(std::uint64_t bytes);      ///< "16MiB", "9200"
std::string rate_text(double bytes_per_second);  ///< "10Gbps", "0"
std::string duration_text(double seconds);       ///< "250ms", "5s", "0"

// Texts for people, three significant digits.
std::string human_size(std::uint64_t bytes);               ///< "64 KiB", "1.21 GiB", "9200 B"
std::string human_bit_rate(double bytes_per_second);       ///< "9.87 Gb/s"
std::string human_packet_rate(double packets_per_second);  ///< "1.23 Mpps"
std::string human_count(std::uint64_t count);              ///< "1.23 M", "9876"
std::string human_duration(double seconds);                ///< "2.50 s", "250 ms", "3 min 5 s"

}  // namespace spead
