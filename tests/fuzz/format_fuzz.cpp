// SPDX-License-Identifier: BSD-3-Clause
// Any text as a format, and hostile packets for it.

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "wire/flavour.hpp"
#include "wire/format_reader.hpp"
#include "wire/known_formats.hpp"

namespace {

using namespace spead;
using namespace spead::wire;

constexpr std::uint8_t kGuard = 0x5A;

/// Returns a datagram: shorter than the header, or as long and longer, of bytes that are often 0 or the same.
std::vector<std::uint8_t> datagram(const PacketFormat& format, std::mt19937_64& random) {
    const std::size_t header = format.prefix + format.header;
    std::vector<std::uint8_t> d(random() % 4 == 0 ? random() % (header + 1) : header + random() % 32);
    const auto usual = static_cast<std::uint8_t>(random());
    for (auto& byte : d)
        byte = random() % 4 == 0 ? 0 : random() % 2 == 0 ? usual : static_cast<std::uint8_t>(random());
    return d;
}

void read_packets(const PacketFormat& format, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const FormatReader reader(format);
    for (int i = 0; i < 40; i++) {
        const std::vector<std::uint8_t> made = datagram(format, random);
        const fuzz::ExactCopy exact(made);
        std::array<std::uint8_t, PacketFormat::kMaxItems * 8> words;
        words.fill(kGuard);
        FormatReader::Packet p{};
        const bool good =
            reader.read(exact.data(), exact.size(), words.data(), p) == FormatReader::Verdict::good;
        for (std::size_t at = good ? reader.items() * 8 : 0; at < words.size(); at++)
            fuzz::require(words[at] == kGuard, "only items are written");
        if (!good)
            continue;
        fuzz::require(p.payload_at == format.header + format.prefix, "the payload follows the header");
        fuzz::require(std::size_t{p.payload_at} + p.payload_length <= exact.size(),
                      "the payload lies in the datagram");
        fuzz::require(p.count <= PacketFormat::kMaxCount, "heap counts have a limit");
        const Flavour flavour(PacketFormat::kAddressBits);
        for (std::uint32_t n = 0; n < reader.items(); n++) {
            const std::uint64_t word = load_be64(&words[n * 8]);
            fuzz::require(flavour.is_immediate(word) && flavour.id(word) == format.items[n].id,
                          "items have their ids");
        }
    }
}

}  // namespace

std::vector<spead::fuzz::Input> spead::fuzz::seeds() {
    std::vector<Input> inputs;
    const auto add = [&](std::string_view text) { inputs.emplace_back(text.begin(), text.end()); };
    for (const KnownFormat& known : known_formats()) {
        add(known.name);
        add(known.text);
    }
    add("vdif; prefix 8; item 0x1600: second * 25600 + frame");
    add("header 16; little; field a: u32 at 0 big >> 3 & 0xFF; field b: u8 at 15; require b = 1, 2; "
        "invalid b = 2; item 7: a - 1 // 3 * 9 + b; payload a * 4 - 8; count a * 256 + b");
    return inputs;
}

/// Checks that the text is a format or refused, and that no packet is read, or its payload taken, beyond its
/// end.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const PacketFormat format = PacketFormat::parse(text, "fuzz");
        format.check("fuzz");
        std::uint64_t seed = size;
        for (const char c : text)
            seed = seed * 31 + static_cast<unsigned char>(c);
        read_packets(format, seed);
    } catch (const UsageError& error) {
        fuzz::require(std::string_view(error.what()).starts_with("fuzz: "), "errors say where");
        for (const char c : std::string_view(error.what()))
            fuzz::require(c >= ' ' && c <= '~', "errors can be printed");
    }
    return 0;
}
