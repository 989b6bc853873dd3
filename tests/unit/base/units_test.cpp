// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using test::expect_usage_error;

TEST(ParseSize, BareNumbersAreBytes) {
    EXPECT_EQ(parse_size("0"), 0u);
    EXPECT_EQ(parse_size("9200"), 9200u);
    EXPECT_EQ(parse_size("9200B"), 9200u);
}

TEST(ParseSize, BinaryAndDecimalUnitsDiffer) {
    EXPECT_EQ(parse_size("64KiB"), 65536u);
    EXPECT_EQ(parse_size("16MiB"), std::uint64_t{16} << 20);
    EXPECT_EQ(parse_size("2GiB"), std::uint64_t{2} << 30);
    EXPECT_EQ(parse_size("3TiB"), std::uint64_t{3} << 40);
    EXPECT_EQ(parse_size("1 PiB"), std::uint64_t{1} << 50);
    EXPECT_EQ(parse_size("2PB"), 2'000'000'000'000'000u);
    EXPECT_EQ(parse_size("64kB"), 64000u);
    EXPECT_EQ(parse_size("64KB"), 64000u);
    EXPECT_EQ(parse_size("16MB"), 16000000u);
    EXPECT_EQ(parse_size("1GB"), 1000000000u);
    EXPECT_EQ(parse_size("1TB"), 1000000000000u);
}

TEST(ParseSize, OneSpaceAndFractionsThatGiveWholeBytes) {
    EXPECT_EQ(parse_size("16 MiB"), std::uint64_t{16} << 20);
    EXPECT_EQ(parse_size("1.5GiB"), std::uint64_t{3} << 29);
    EXPECT_EQ(parse_size("0.5KiB"), 512u);
    EXPECT_EQ(parse_size("1.0"), 1u);
    // Exact where a double would not be.
    EXPECT_EQ(parse_size("1.000000001GB"), 1000000001u);
    expect_usage_error([] { parse_size("1.5"); }, {"`1.5`", "whole number of bytes", "MiB"});
    expect_usage_error([] { parse_size("0.3KiB"); }, {"`0.3KiB`", "whole number of bytes"});
}

TEST(ParseSize, AnAmbiguousUnitIsExplained) {
    expect_usage_error([] { parse_size("16M"); }, {"`16M`", "MiB is a power of 1024", "MB one of 1000"});
    expect_usage_error([] { parse_size("16k"); }, {"`16k`", "kiB", "kB"});
}

TEST(ParseSize, WhatIsNoSizeIsQuotedWithTheUnits) {
    for (const char* text : {"", "MiB", "sixteen", "16mib", "16Mb", "16 Gbps", "1e6", "16  MiB", " 16MiB",
                             "16MiB ", "1.2.3MiB", ".5KiB", "5.KiB", "+5", "0x10", "16,5MiB", "."})
        expect_usage_error([&] { parse_size(text); },
                           {std::string("`") + text + "`", "KiB, MiB, GiB, TiB, PiB", "kB, MB, GB, TB, PB"});
}

TEST(ParseSize, NegativeNumbersAreCalledSo) {
    expect_usage_error([] { parse_size("-1"); }, {"`-1`", "negative", "MiB"});
    expect_usage_error([] { parse_size("-16MiB"); }, {"`-16MiB`", "negative"});
}

TEST(ParseSize, OverflowIsAnErrorNeverAWrap) {
    EXPECT_EQ(parse_size("4194304TiB"), kMaxSize);
    EXPECT_EQ(parse_size("4611686018427387904"), kMaxSize);
    for (const char* text :
         {"4194305TiB", "4611686018427387905", "18446744073709551616", "18446744073709551617", "16777216TiB",
          "340282366920938463463374607431768211457", "99999999999999999999999999999999999999999999TiB",
          "0.00000000000000000000000000000000000000000001"})
        expect_usage_error([&] { parse_size(text); }, {text});
}

TEST(ParseSize, AnyNumberOfDigitsIsRead) {
    expect_usage_error([] { parse_size("0." + std::string(200, '0')); }, {"too many digits"});
    expect_usage_error([] { parse_size(std::string(200, '9')); }, {"too many digits"});
    EXPECT_EQ(parse_size(std::string(200, '0') + "7"), 7u);
}

TEST(ParseSize, TheErrorNamesWhereTheTextCameFrom) {
    expect_usage_error([] { parse_size("16M", "--buffer-size"); }, {"--buffer-size: `16M`"});
}

TEST(ParseRate, SmallBIsBitsAndCapitalBIsBytes) {
    EXPECT_DOUBLE_EQ(parse_rate("10Gbps"), 1.25e9);
    EXPECT_DOUBLE_EQ(parse_rate("10Gb/s"), 1.25e9);
    EXPECT_DOUBLE_EQ(parse_rate("2.5Gb/s"), 312.5e6);
    EXPECT_DOUBLE_EQ(parse_rate("1.25GB/s"), 1.25e9);
    EXPECT_DOUBLE_EQ(parse_rate("100Mbps"), 12.5e6);
    EXPECT_DOUBLE_EQ(parse_rate("8kbps"), 1000);
    EXPECT_DOUBLE_EQ(parse_rate("8bps"), 1);
    EXPECT_DOUBLE_EQ(parse_rate("1Tbps"), 125e9);
    EXPECT_DOUBLE_EQ(parse_rate("1MiB/s"), 1048576);
    EXPECT_DOUBLE_EQ(parse_rate("10 Gbps"), 1.25e9);
}

TEST(ParseRate, ZeroNeedsNoUnit) {
    EXPECT_EQ(parse_rate("0"), 0);
    EXPECT_EQ(parse_rate("0Gbps"), 0);
}

TEST(ParseRate, ABareNumberIsRefusedWithTheUnits) {
    expect_usage_error([] { parse_rate("10"); }, {"`10`", "no unit", "Gbps", "Gb/s", "GB/s"});
    expect_usage_error([] { parse_rate("10", "--rate"); }, {"--rate: `10`"});
}

TEST(ParseRate, WhatIsNoRateIsQuotedWithTheUnits) {
    for (const char* text :
         {"", "fast", "10gbps", "10GBps", "10G", "10Gbit", "1e9B/s", "inf", "nanGbps", "10Gbps ", "--5Gbps"})
        expect_usage_error([&] { parse_rate(text); }, {std::string("`") + text + "`", "Gbps"});
    expect_usage_error([] { parse_rate("-1Gbps"); }, {"`-1Gbps`", "negative"});
}

TEST(ParseRate, TooLargeIsAnError) {
    const std::string digits(400, '9');
    for (const std::string& text : {std::string("9000000000Tbps"), digits + "bps", digits})
        expect_usage_error([&] { parse_rate(text); }, {"`" + text + "`", "too large"});
}

TEST(ParseDuration, UnitsAndBareSeconds) {
    EXPECT_EQ(parse_duration("5"), 5);
    EXPECT_EQ(parse_duration("5s"), 5);
    EXPECT_EQ(parse_duration("0"), 0);
    EXPECT_EQ(parse_duration("0.5"), 0.5);
    EXPECT_DOUBLE_EQ(parse_duration("250ms"), 0.25);
    EXPECT_DOUBLE_EQ(parse_duration("10us"), 1e-5);
    EXPECT_DOUBLE_EQ(parse_duration("10ns"), 1e-8);
    EXPECT_EQ(parse_duration("2min"), 120);
    EXPECT_EQ(parse_duration("1.5h"), 5400);
    EXPECT_EQ(parse_duration("5 s"), 5);
}

TEST(ParseDuration, WhatIsNoDurationIsQuotedWithTheUnits) {
    for (const char* text : {"", "soon", "5m", "5sec", "5S", "s", "5 ", "1e3", "inf"})
        expect_usage_error([&] { parse_duration(text); },
                           {std::string("`") + text + "`", "ns, us, ms, s, min or h"});
    expect_usage_error([] { parse_duration("-5s"); }, {"`-5s`", "negative"});
    expect_usage_error([] { parse_duration("300000h"); }, {"`300000h`", "too large"});
}

TEST(ParseDuration, ANumberTooSmallForADoubleIsZero) {
    EXPECT_EQ(parse_duration("0." + std::string(400, '0') + "1"), 0);
}

TEST(ParseInteger, AcceptsItsRangeOnly) {
    EXPECT_EQ(parse_integer("1", 1, 10), 1);
    EXPECT_EQ(parse_integer("10", 1, 10), 10);
    EXPECT_EQ(parse_integer("-1", -1, 10), -1);
    for (const char* text : {"0", "11", "", "x", "5x", " 5", "+5", "5.0", "1e1", "99999999999999999999",
                             "-99999999999999999999"})
        expect_usage_error([&] { parse_integer(text, 1, 10, "--items"); },
                           {std::string("--items: `") + text + "`", "whole number from 1 to 10"});
}

TEST(SizeText, IsShortAndExact) {
    EXPECT_EQ(size_text(0), "0");
    EXPECT_EQ(size_text(9200), "9200");
    EXPECT_EQ(size_text(9000), "9000");
    EXPECT_EQ(size_text(65536), "64KiB");
    EXPECT_EQ(size_text(std::uint64_t{16} << 20), "16MiB");
    EXPECT_EQ(size_text(1000000000), "1GB");
    EXPECT_EQ(size_text(2000000000), "2GB");
    EXPECT_EQ(size_text(kMaxSize), "4096PiB");
}

TEST(SizeText, ReadsBackAsItself) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; i++) {
        const unsigned shift = static_cast<unsigned>(random() % 62);
        const std::uint64_t size = (random() >> 2) >> shift << (random() % (shift + 1)) & (kMaxSize - 1);
        ASSERT_EQ(parse_size(size_text(size)), size);
    }
}

TEST(RateText, IsShortAndExact) {
    EXPECT_EQ(rate_text(0), "0");
    EXPECT_EQ(rate_text(1.25e9), "10Gbps");
    EXPECT_EQ(rate_text(312.5e6), "2.5Gbps");
    EXPECT_EQ(rate_text(1), "8bps");
    EXPECT_EQ(rate_text(0.1), "0.1B/s");
}

TEST(RateText, ReadsBackAsItself) {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> exponent(-3, 14);
    for (int i = 0; i < 20000; i++) {
        const double rate = std::pow(10.0, exponent(random));
        ASSERT_EQ(parse_rate(rate_text(rate)), rate);
        const double round = std::floor(rate);
        ASSERT_EQ(parse_rate(rate_text(round)), round);
    }
    EXPECT_EQ(parse_rate(rate_text(kMaxRate)), kMaxRate);
}

TEST(DurationText, IsShortAndExact) {
    EXPECT_EQ(duration_text(0), "0");
    EXPECT_EQ(duration_text(5), "5s");
    EXPECT_EQ(duration_text(0.25), "250ms");
    EXPECT_EQ(duration_text(1.5), "1.5s");
    EXPECT_EQ(duration_text(120), "120s");
}

TEST(DurationText, ReadsBackAsItself) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> exponent(-10, 9);
    for (int i = 0; i < 20000; i++) {
        const double seconds = std::pow(10.0, exponent(random));
        ASSERT_EQ(parse_duration(duration_text(seconds)), seconds);
    }
    EXPECT_EQ(parse_duration(duration_text(kMaxDuration)), kMaxDuration);
}

TEST(Human, Sizes) {
    EXPECT_EQ(human_size(0), "0 B");
    EXPECT_EQ(human_size(1023), "1023 B");
    EXPECT_EQ(human_size(9200), "9200 B");
    EXPECT_EQ(human_size(65536), "64 KiB");
    EXPECT_EQ(human_size(std::uint64_t{16} << 20), "16 MiB");
    EXPECT_EQ(human_size(1300000000), "1.21 GiB");
    EXPECT_EQ(human_size(1048575), "1.00 MiB");
    EXPECT_EQ(human_size(UINT64_MAX), "16384 PiB");
}

TEST(Human, Rates) {
    EXPECT_EQ(human_bit_rate(0), "0 b/s");
    EXPECT_EQ(human_bit_rate(9.87e9 / 8), "9.87 Gb/s");
    EXPECT_EQ(human_bit_rate(98.76e9 / 8), "98.8 Gb/s");
    EXPECT_EQ(human_bit_rate(987.6e9 / 8), "988 Gb/s");
    EXPECT_EQ(human_bit_rate(999.7e6 / 8), "1.00 Gb/s");
    EXPECT_EQ(human_packet_rate(1234567), "1.23 Mpps");
    EXPECT_EQ(human_packet_rate(12), "12 pps");
}

TEST(Human, Counts) {
    EXPECT_EQ(human_count(0), "0");
    EXPECT_EQ(human_count(9999), "9999");
    EXPECT_EQ(human_count(12345), "12.3 k");
    EXPECT_EQ(human_count(1234567), "1.23 M");
    EXPECT_EQ(human_count(999999), "1.00 M");
}

TEST(Human, Durations) {
    EXPECT_EQ(human_duration(0), "0 s");
    EXPECT_EQ(human_duration(1e-5), "10.0 us");
    EXPECT_EQ(human_duration(0.25), "250 ms");
    EXPECT_EQ(human_duration(2.5), "2.50 s");
    EXPECT_EQ(human_duration(185), "3 min 5 s");
    EXPECT_EQ(human_duration(3600 * 2 + 185), "2 h 3 min");
}

}  // namespace
}  // namespace spead
