// SPDX-License-Identifier: BSD-3-Clause
#include "wire/format_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "tests/unit/wire/random_format.hpp"

namespace spead::wire::format_reader_test {
namespace {

using Verdict = FormatReader::Verdict;

struct Read {
    Verdict verdict;
    FormatReader::Packet packet{};
    std::vector<std::uint64_t> words{};
};

Read read(const FormatReader& reader, const std::vector<std::uint8_t>& datagram) {
    Read r;
    std::array<std::uint8_t, PacketFormat::kMaxItems * 8> words;
    words.fill(0xA5);
    r.verdict = reader.read(datagram.data(), datagram.size(), words.data(), r.packet);
    for (std::size_t i = 0; i < words.size() / 8; i++)
        if (r.verdict == Verdict::good && i < reader.items())
            r.words.push_back(load_be64(&words[i * 8]));
        else
            EXPECT_EQ(load_be64(&words[i * 8]), 0xA5A5A5A5A5A5A5A5) << "written beyond the items";
    return r;
}

TEST(FormatReader, ComputesSums) {
    const FormatReader reader(PacketFormat::parse(
        "header 8; field a: u16 at 0; field b: u8 at 2; item 0x10: a - 100 / 4 * 3 + b; count a // 10"));
    EXPECT_EQ(reader.header(), 8U);
    const auto with = [&](unsigned a, std::uint8_t b) {
        return read(reader,
                    {static_cast<std::uint8_t>(a >> 8), static_cast<std::uint8_t>(a), b, 0, 0, 0, 0, 0, 1});
    };
    const Read good = with(108, 7);
    EXPECT_EQ(good.verdict, Verdict::good);
    EXPECT_EQ(good.packet.count, 10U);
    EXPECT_EQ(good.packet.payload_length, 1U);
    EXPECT_EQ(good.words, (std::vector<std::uint64_t>{0x8010000000000000 + 2 * 3 + 7}));
    EXPECT_EQ(with(99, 0).verdict, Verdict::malformed) << "below the first";
    EXPECT_EQ(with(102, 0).verdict, Verdict::malformed) << "between two steps";
}

TEST(FormatReader, WantsTheWholeHeader) {
    const FormatReader reader(PacketFormat::parse("header 9; prefix 3; field a: u8 at 8; count a"));
    EXPECT_EQ(reader.header(), 12U);
    std::vector<std::uint8_t> d(12, 0);
    d[11] = 77;
    EXPECT_EQ(read(reader, d).packet.count, 77U);
    EXPECT_EQ(read(reader, d).packet.payload_length, 0U);
    d.pop_back();
    EXPECT_EQ(read(reader, d).verdict, Verdict::malformed);
    EXPECT_EQ(read(reader, {}).verdict, Verdict::malformed);
}

TEST(FormatReader, RefusesLengthsThatTheDatagramHasNot) {
    const FormatReader reader(
        PacketFormat::parse("header 8; field n: u16 at 0; payload n * 4 - 8; field k: u8 at 2; count k"));
    std::vector<std::uint8_t> d(20, 0);
    const auto with = [&](std::uint8_t n) {
        d[1] = n;
        return read(reader, d);
    };
    EXPECT_EQ(with(1).verdict, Verdict::malformed) << "less than nothing";
    EXPECT_EQ(with(2).packet.payload_length, 0U);
    EXPECT_EQ(with(5).packet.payload_length, 12U);
    EXPECT_EQ(with(6).verdict, Verdict::malformed);
    d[0] = 0xFF;
    EXPECT_EQ(with(0xFF).verdict, Verdict::malformed);
}

/// Returns a field of a header, bit by bit.
std::uint64_t field_of(const PacketFormat& format, std::size_t number, const std::vector<std::uint8_t>& d) {
    const PacketFormat::Field& f = format.fields[number];
    std::uint64_t value = 0;
    for (unsigned i = 0; i < f.bytes; i++)
        value = value << 8 | d[format.prefix + f.at + (f.little ? f.bytes - 1 - i : i)];
    return (value >> f.shift) & f.mask;
}

/// Does what the declaration says, in the plainest way.
class Model {
  public:
    Model(const PacketFormat& format, const std::vector<std::uint8_t>& d) : format_(format), d_(d) {}

    Read read() {
        Read r{Verdict::malformed};
        const std::size_t header = format_.prefix + format_.header;
        if (d_.size() < header || !conditions_hold(format_.required))
            return r;
        std::uint64_t length = d_.size() - header;
        if (format_.length) {
            const std::uint64_t said = value(format_.length->field) * format_.length->times;
            if (said < format_.length->less || said - format_.length->less > length)
                return r;
            length = said - format_.length->less;
        }
        bool fits = true;
        const std::uint64_t count = sum(format_.count, fits);
        for (const PacketFormat::Item& item : format_.items)
            r.words.push_back(1ULL << 63 | item.id << 48 | sum(item.value, fits));
        if (!fits) {
            r.words.clear();
            return r;
        }
        for (const auto& c : format_.invalid)
            if (is_one_of(c)) {
                r.verdict = Verdict::invalid;
                return r;
            }
        r.verdict = Verdict::good;
        r.packet = {count, static_cast<std::uint32_t>(header), static_cast<std::uint32_t>(length)};
        return r;
    }

  private:
    std::uint64_t value(std::size_t field) const { return field_of(format_, field, d_); }
    bool is_one_of(const PacketFormat::Condition& c) const {
        return std::find(c.values.begin(), c.values.end(), value(c.field)) != c.values.end();
    }
    bool conditions_hold(const std::vector<PacketFormat::Condition>& all) const {
        return std::all_of(all.begin(), all.end(), [this](const auto& c) { return is_one_of(c); });
    }
    std::uint64_t sum(const PacketFormat::Sum& terms, bool& fits) const {
        std::uint64_t all = 0;
        for (const PacketFormat::Term& t : terms) {
            const std::uint64_t v = value(t.field);
            fits &= v >= t.first && (t.truncate || (v - t.first) % t.step == 0);
            all += (v - t.first) / t.step * t.times;
        }
        return all;
    }

    const PacketFormat& format_;
    const std::vector<std::uint8_t>& d_;
};

TEST(FormatReader, AgreesWithAPlainModel) {
    test::RandomFormat random(11);
    std::array<std::uint64_t, 3> seen{};
    constexpr std::uint64_t kPackets = 200;  // of a format
    const std::uint64_t formats = std::max<std::uint64_t>(1, test::random_packets() / kPackets);
    for (std::uint64_t i = 0; i < formats; i++) {
        const PacketFormat format = random.format();
        ASSERT_NO_THROW(format.check());
        const FormatReader reader(format);
        for (std::uint64_t j = 0; j < kPackets; j++) {
            const std::vector<std::uint8_t> d = random.datagram(format);
            const Read got = read(reader, d);
            const Read expected = Model(format, d).read();
            ASSERT_EQ(got.verdict, expected.verdict);
            seen[static_cast<std::size_t>(got.verdict)]++;
            if (got.verdict != Verdict::good)
                continue;
            ASSERT_EQ(got.packet.count, expected.packet.count);
            ASSERT_EQ(got.packet.payload_at, expected.packet.payload_at);
            ASSERT_EQ(got.packet.payload_length, expected.packet.payload_length);
            ASSERT_EQ(got.words, expected.words);
        }
    }
    for (const std::uint64_t n : seen)
        EXPECT_GT(n, formats * kPackets / 20) << "the random packets miss a verdict";
    RecordProperty("packets", std::to_string(formats * kPackets));
}

}  // namespace
}  // namespace spead::wire::format_reader_test
