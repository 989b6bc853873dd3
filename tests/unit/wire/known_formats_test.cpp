// SPDX-License-Identifier: BSD-3-Clause
#include "wire/known_formats.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "tests/unit/wire/random_format.hpp"
#include "wire/flavour.hpp"
#include "wire/format_reader.hpp"

/// Compares the known formats with headers that are written here, field by field, from the published layouts.
namespace spead::wire::known_formats_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Verdict = FormatReader::Verdict;
using Items = std::map<std::uint64_t, std::uint64_t>;

constexpr int kTurns = 20'000;

/// Writes the lowest bytes of a value.
void little(Bytes& to, std::size_t at, unsigned bytes, std::uint64_t value) {
    for (unsigned i = 0; i < bytes; i++)
        to[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
}
void big(Bytes& to, std::size_t at, unsigned bytes, std::uint64_t value) {
    for (unsigned i = 0; i < bytes; i++)
        to[at + bytes - 1 - i] = static_cast<std::uint8_t>(value >> 8 * i);
}

/// Reads packets of a known format.
class Reading {
  public:
    explicit Reading(std::string_view name) : reader_(PacketFormat::parse(find_format(name)->text)) {}

    Verdict read(const Bytes& datagram) {
        std::array<std::uint8_t, PacketFormat::kMaxItems * 8> words;
        const Verdict verdict = reader_.read(datagram.data(), datagram.size(), words.data(), packet);
        items.clear();
        if (verdict == Verdict::good)
            for (std::uint32_t i = 0; i < reader_.items(); i++) {
                const std::uint64_t word = load_be64(words.data() + i * 8);
                const Flavour flavour(PacketFormat::kAddressBits);
                EXPECT_TRUE(flavour.is_immediate(word));
                items[flavour.id(word)] = flavour.value(word);
            }
        return verdict;
    }

    FormatReader::Packet packet{};
    Items items;

  private:
    FormatReader reader_;
};

/// Makes headers of random bytes, in which the test then writes the fields.
class Random {
  public:
    Bytes bytes(std::size_t n) {
        Bytes b(n);
        for (auto& one : b)
            one = static_cast<std::uint8_t>(random_());
        return b;
    }
    std::uint64_t bits(unsigned n) { return random_() >> (64 - n); }

  private:
    std::mt19937_64 random_{7};
};

TEST(KnownFormats, HaveNamesThatAreFound) {
    for (const KnownFormat& f : known_formats()) {
        EXPECT_EQ(find_format(f.name), &f);
        EXPECT_NO_THROW(PacketFormat::parse(f.text)) << f.name;
        EXPECT_FALSE(f.about.empty());
        EXPECT_FALSE(f.source.empty());
    }
    EXPECT_EQ(find_format("spead"), nullptr);
    EXPECT_EQ(find_format(""), nullptr);
}

TEST(KnownFormats, NoneTakesSpead) {
    for (const KnownFormat& f : known_formats()) {
        Reading reading(f.name);
        Random random;
        for (int i = 0; i < kTurns; i++) {
            // Few item pointers, with any content: VDIF's length of the payload may fit.
            Bytes d = random.bytes(100 + 8 * random.bits(8));
            const std::uint64_t id_bytes = 1 + random.bits(6) % 7;
            big(d, 0, 8,
                std::uint64_t{0x5304} << 48 | id_bytes << 40 | (8 - id_bytes) << 32 | (1 + random.bits(5)));
            little(d, 8, 4, d.size() / 8);
            for (const std::size_t at : {24U, 28U})
                big(d, at, 4, random.bits(10));
            ASSERT_EQ(reading.read(d), Verdict::malformed) << f.name;
        }
    }
}

TEST(KnownFormats, ASequenceNumberBeforeTheHeaderIsNoSpead) {
    const FormatReader reader(PacketFormat::parse("vdif; prefix 8"));
    Bytes d(8 + 32 + 64);
    little(d, 0, 8, 0x01070453);  // begins as SPEAD does
    little(d, 8 + 8, 4, (d.size() - 8) / 8);
    std::array<std::uint8_t, PacketFormat::kMaxItems * 8> words;
    FormatReader::Packet packet{};
    EXPECT_EQ(reader.read(d.data(), d.size(), words.data(), packet), Verdict::good);
}

TEST(KnownFormats, ReadPst) {
    Reading pst("pst");
    Random random;
    for (int i = 0; i < kTurns; i++) {
        Bytes d = random.bytes(96 + random.bits(8));
        const std::uint64_t sequence = random.bits(35), second = random.bits(32), channel = random.bits(17);
        const std::uint64_t channels = random.bits(16), valid = 1 + random.bits(15),
                            samples = random.bits(16);
        const std::uint64_t beam = random.bits(11), scan = random.bits(48);
        little(d, 0, 8, sequence);
        little(d, 16, 4, second);
        little(d, 48, 4, channel);
        little(d, 52, 2, channels);
        little(d, 54, 2, valid);
        little(d, 56, 2, samples);
        little(d, 58, 2, beam);
        little(d, 60, 4, 0xBEADFEED);
        little(d, 72, 8, scan);
        ASSERT_EQ(pst.read(d), Verdict::good);
        EXPECT_EQ(pst.items, (Items{{0x1600, sequence},
                                    {0x1601, second},
                                    {0x4103, channel},
                                    {0x4104, channels},
                                    {0x4105, samples},
                                    {0x4101, beam},
                                    {0x1602, scan}}));
        EXPECT_EQ(pst.packet.count, (sequence << 28) + (channel << 11) + beam);
        EXPECT_EQ(pst.packet.payload_at, 96U);
        EXPECT_EQ(pst.packet.payload_length, d.size() - 96);
        little(d, 54, 2, 0);
        EXPECT_EQ(pst.read(d), Verdict::invalid);
        d[60] ^= 1;
        EXPECT_EQ(pst.read(d), Verdict::malformed);
    }
}

TEST(KnownFormats, ReadAta) {
    Reading ata("ata");
    Random random;
    for (int i = 0; i < kTurns; i++) {
        Bytes d = random.bytes(16 + random.bits(8));
        const std::uint64_t type = random.bits(8), channels = random.bits(16), channel = random.bits(16);
        const std::uint64_t antenna = random.bits(9), time = random.bits(38);
        big(d, 1, 1, type);
        big(d, 2, 2, channels);
        big(d, 4, 2, channel);
        big(d, 6, 2, antenna);
        big(d, 8, 8, time);
        ASSERT_EQ(ata.read(d), Verdict::good);
        EXPECT_EQ(
            ata.items,
            (Items{
                {0x1600, time}, {0x4101, antenna}, {0x4103, channel}, {0x4104, channels}, {0x4106, type}}));
        EXPECT_EQ(ata.packet.count, (time << 25) + (channel << 9) + antenna);
        EXPECT_EQ(ata.packet.payload_length, d.size() - 16);
        big(d, 6, 2, antenna + 512);
        EXPECT_EQ(ata.read(d), Verdict::malformed) << "an antenna that the heap count has no room for";
    }
}

TEST(KnownFormats, ReadSnap2) {
    Reading snap2("snap2");
    Random random;
    for (int i = 0; i < kTurns; i++) {
        Bytes d = random.bytes(32 + random.bits(8));
        const std::uint64_t sequence = random.bits(40), sync = random.bits(32), block = random.bits(32);
        const std::uint64_t channel = random.bits(13), pol = random.bits(10);
        big(d, 0, 8, sequence);
        big(d, 8, 4, sync);
        big(d, 20, 4, block);
        big(d, 24, 4, channel);
        big(d, 28, 4, pol);
        ASSERT_EQ(snap2.read(d), Verdict::good);
        EXPECT_EQ(
            snap2.items,
            (Items{{0x1600, sequence}, {0x1603, sync}, {0x4103, channel}, {0x4101, pol}, {0x4107, block}}));
        EXPECT_EQ(snap2.packet.count, (sequence << 23) + (channel << 10) + pol);
        big(d, 24, 4, channel + (1 << 13));
        EXPECT_EQ(snap2.read(d), Verdict::malformed);
    }
}

/// Writes the words of a VDIF header.
void write_vdif(Bytes& d, std::uint64_t second, std::uint64_t frame, std::uint64_t epoch,
                std::uint64_t length8, std::uint64_t station, std::uint64_t thread, bool legacy, bool invalid,
                std::uint64_t other) {
    little(d, 0, 4, second | std::uint64_t{legacy} << 30 | std::uint64_t{invalid} << 31);
    little(d, 4, 4, frame | epoch << 24);
    little(d, 8, 4, length8 | (other & 0xFF) << 24);
    little(d, 12, 4, station | thread << 16 | (other & 0x3F) << 26);
}

TEST(KnownFormats, ReadVdif) {
    Random random;
    for (const bool legacy : {false, true}) {
        Reading vdif(legacy ? "vdif_legacy" : "vdif");
        const std::size_t header = legacy ? 16 : 32;
        for (int i = 0; i < kTurns; i++) {
            Bytes d = random.bytes(header + 8 * random.bits(8));
            const std::uint64_t second = random.bits(29), frame = random.bits(24), epoch = random.bits(6);
            const std::uint64_t station = random.bits(16), thread = random.bits(10), other = random.bits(8);
            const auto write = [&](std::uint64_t more, bool as_legacy, bool invalid) {
                write_vdif(d, second, frame, epoch, d.size() / 8 + more, station, thread, as_legacy, invalid,
                           other);
            };
            write(0, legacy, false);
            ASSERT_EQ(vdif.read(d), Verdict::good);
            EXPECT_EQ(vdif.items, (Items{{0x1600, second},
                                         {0x1601, frame},
                                         {0x4101, thread},
                                         {0x4100, station},
                                         {0x1604, epoch}}));
            EXPECT_EQ(vdif.packet.count, (second << 34) + (frame << 10) + thread);
            EXPECT_EQ(vdif.packet.payload_at, header);
            EXPECT_EQ(vdif.packet.payload_length, d.size() - header);
            write(0, legacy, true);
            EXPECT_EQ(vdif.read(d), Verdict::invalid);
            write(0, !legacy, false);
            EXPECT_EQ(vdif.read(d), Verdict::malformed);
            write(1, legacy, false);
            EXPECT_EQ(vdif.read(d), Verdict::malformed) << "the datagram was cut";
            d.resize(d.size() + 8);
            write(0, legacy, false);
            d.push_back(0);
            EXPECT_EQ(vdif.read(d), Verdict::good) << "padded";
            EXPECT_EQ(vdif.packet.payload_length, d.size() - 1 - header);
        }
    }
}

/// Reads the lowest bytes of a value.
std::uint64_t from_little(const Bytes& d, std::size_t at, unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = bytes; i > 0; i--)
        value = value << 8 | d[at + i - 1];
    return value;
}
std::uint64_t from_big(const Bytes& d, std::size_t at, unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | d[at + i];
    return value;
}

/// Holds what a decoder has to find in a datagram.
struct Expected {
    Verdict verdict = Verdict::malformed;
    std::uint64_t count = 0;
    std::uint64_t length = 0;  ///< of the payload
    Items items{};
};

bool is_spead(const Bytes& d) {
    return d[0] == 0x53 && d[1] == 4 && d[2] >= 1 && d[2] <= 7 && d[2] + d[3] == 8 && d[4] == 0 &&
           d[5] == 0 && (d[6] != 0 || d[7] != 0);
}

Expected decode_pst(const Bytes& d) {
    if (d.size() < 96 || from_little(d, 60, 4) != 0xBEADFEED)
        return {};
    const std::uint64_t sequence = from_little(d, 0, 8) % (1ULL << 35), channel = from_little(d, 48, 4),
                        beam = from_little(d, 58, 2);
    if (channel >= 1U << 17 || beam >= 1U << 11)
        return {};
    if (from_little(d, 54, 2) == 0)
        return {Verdict::invalid};
    return {Verdict::good, (sequence * (1U << 17) + channel) * (1U << 11) + beam, d.size() - 96,
            Items{{0x1600, sequence},
                  {0x1601, from_little(d, 16, 4)},
                  {0x4103, channel},
                  {0x4104, from_little(d, 52, 2)},
                  {0x4105, from_little(d, 56, 2)},
                  {0x4101, beam},
                  {0x1602, from_little(d, 72, 6)}}};
}

Expected decode_ata(const Bytes& d) {
    if (d.size() < 16 || is_spead(d))
        return {};
    const std::uint64_t channel = from_big(d, 4, 2), antenna = from_big(d, 6, 2),
                        time = from_big(d, 8, 8) % (1ULL << 38);
    if (antenna >= 512)
        return {};
    return {Verdict::good, (time * 65536 + channel) * 512 + antenna, d.size() - 16,
            Items{{0x1600, time},
                  {0x4101, antenna},
                  {0x4103, channel},
                  {0x4104, from_big(d, 2, 2)},
                  {0x4106, d[1]}}};
}

Expected decode_snap2(const Bytes& d) {
    if (d.size() < 32 || is_spead(d))
        return {};
    const std::uint64_t sequence = from_big(d, 0, 8) % (1ULL << 40), channel = from_big(d, 24, 4),
                        pol = from_big(d, 28, 4);
    if (channel >= 8192 || pol >= 1024)
        return {};
    return {Verdict::good, (sequence * 8192 + channel) * 1024 + pol, d.size() - 32,
            Items{{0x1600, sequence},
                  {0x1603, from_big(d, 8, 4)},
                  {0x4103, channel},
                  {0x4101, pol},
                  {0x4107, from_big(d, 20, 4)}}};
}

Expected decode_vdif(const Bytes& d, bool legacy) {
    const std::size_t header = legacy ? 16 : 32;
    if (d.size() < header || is_spead(d))
        return {};
    const bool invalid = d[3] >> 7 != 0;
    const std::uint64_t second = from_little(d, 0, 4) & 0x3FFFFFFF, frame = from_little(d, 4, 3),
                        bytes = from_little(d, 8, 3) * 8, thread = from_little(d, 14, 2) & 0x3FF;
    if ((d[3] >> 6 & 1) != (legacy ? 1 : 0) || second >= 1U << 29 || bytes < header || bytes > d.size())
        return {};
    if (invalid)
        return {Verdict::invalid};
    return {Verdict::good, (second * (1U << 24) + frame) * 1024 + thread, bytes - header,
            Items{{0x1600, second},
                  {0x1601, frame},
                  {0x4101, thread},
                  {0x4100, from_little(d, 12, 2)},
                  {0x1604, d[7] & 0x3FU}}};
}

Expected decode(std::string_view name, const Bytes& d) {
    if (name == "pst")
        return decode_pst(d);
    if (name == "ata")
        return decode_ata(d);
    if (name == "snap2")
        return decode_snap2(d);
    return decode_vdif(d, name == "vdif_legacy");
}

/// Makes a datagram of random length and content. Where a format wants a value, it often has that.
Bytes hostile(Random& random) {
    Bytes d = random.bytes(random.bits(3) == 0 ? random.bits(7) : 96 + 8 * random.bits(6) + random.bits(2));
    const auto often = [&](std::size_t end) { return d.size() >= end && random.bits(2) != 0; };
    if (random.bits(4) == 0 && d.size() >= 8)
        big(d, 0, 8, 0x5304030500000000 + random.bits(3));
    if (random.bits(1) != 0) {
        if (often(64))
            little(d, 60, 4, 0xBEADFEED);
        if (often(52))
            little(d, 48, 4, random.bits(18));
        if (often(60))
            little(d, 58, 2, random.bits(12));
        if (random.bits(1) == 0 && d.size() >= 56)
            little(d, 54, 2, 0);
        return d;
    }
    if (often(8))
        d[6] = static_cast<std::uint8_t>(random.bits(2));
    if (often(12))
        little(d, 8, 3, d.size() / 8 + 1 - random.bits(2));
    if (often(28))
        big(d, 24, 4, random.bits(14));
    if (often(32))
        big(d, 28, 4, random.bits(11));
    return d;
}

TEST(KnownFormats, AgreeWithDecodersOfThePublishedLayouts) {
    Random random;
    std::map<std::string_view, std::array<std::uint64_t, 3>> seen;
    std::map<std::string_view, Reading> readings;
    for (const KnownFormat& f : known_formats())
        readings.emplace(f.name, Reading(f.name));
    const std::uint64_t packets = test::random_packets() / known_formats().size();
    for (std::uint64_t i = 0; i < packets; i++) {
        const Bytes d = hostile(random);
        for (auto& [name, reading] : readings) {
            const Expected expected = decode(name, d);
            const Verdict verdict = reading.read(d);
            ASSERT_EQ(verdict, expected.verdict) << name << ", packet " << i;
            seen[name][static_cast<std::size_t>(verdict)]++;
            if (verdict != Verdict::good)
                continue;
            ASSERT_EQ(reading.packet.count, expected.count) << name << ", packet " << i;
            ASSERT_EQ(reading.packet.payload_length, expected.length) << name << ", packet " << i;
            ASSERT_EQ(reading.items, expected.items) << name << ", packet " << i;
        }
    }
    for (const auto& [name, verdicts] : seen) {
        EXPECT_GT(verdicts[static_cast<std::size_t>(Verdict::good)], packets / 100) << name;
        EXPECT_GT(verdicts[static_cast<std::size_t>(Verdict::malformed)], packets / 100) << name;
        if (name == "pst" || name.starts_with("vdif")) {
            EXPECT_GT(verdicts[static_cast<std::size_t>(Verdict::invalid)], packets / 100) << name;
        }
    }
}

}  // namespace
}  // namespace spead::wire::known_formats_test
