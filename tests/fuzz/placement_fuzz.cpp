// SPDX-License-Identifier: BSD-3-Clause
// Any text as a placement, and hostile packets for it.

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "chunk/placer.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "wire/flavour.hpp"

namespace {

using namespace spead;
using namespace spead::chunk;

/// Makes values of a packet: near the edges of the placement's terms, and any.
class Values {
  public:
    Values(const Placement& placement, std::uint64_t seed) : placement_(placement), random_(seed) {}

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    /// Returns a value for the item of a term.
    std::uint64_t value(const Term& term) {
        if (below(4) == 0)
            return random_() >> below(64);
        std::uint64_t value = 0;
        if (!term.list.empty())
            value = term.list[below(term.list.size())];
        else
            value = term.first + term.step * (random_() >> (32 + below(32)));
        return (value << term.shift) + (below(4) == 0 ? 1 : 0);
    }

    /// Fills in the words of a packet; sometimes an item is missing, doubled, or an address.
    std::vector<std::uint8_t> items(wire::Flavour flavour) {
        std::vector<std::uint64_t> words;
        const auto add = [&](const Term& term) {
            const std::uint64_t kind = below(16);
            if (term.kind != Term::Kind::item || kind == 0)
                return;
            words.push_back(kind == 1 ? flavour.make_address(term.id, value(term))
                                      : flavour.make_immediate(term.id, value(term)));
            if (kind == 2)
                words.push_back(random_());
        };
        for (const Axis& axis : placement_.axes)
            add(axis.term);
        for (const Extra& extra : placement_.extras)
            add(extra.term);
        std::vector<std::uint8_t> bytes(words.size() * 8);
        for (std::size_t i = 0; i < words.size(); i++)
            store_be(&bytes[i * 8], words[i]);
        return bytes;
    }

    heap::PacketView view(const std::vector<std::uint8_t>& items, wire::Flavour flavour) {
        heap::PacketView view;
        view.key = below(2) == 0 ? random_() : below(1000);
        const std::uint64_t length = below(8);
        view.heap_length = length == 0   ? random_()
                           : length == 1 ? heap::kUnknownLength
                                         : placement_.heap_bytes;
        view.offset = below(4) == 0 ? random_() >> below(64) : 0;
        view.payload_length =
            static_cast<std::uint32_t>(below(placement_.heap_bytes + (length == 2 ? 2 : 1)));
        view.items = items.data();
        view.item_count = static_cast<std::uint32_t>(items.size() / 8);
        view.flavour = static_cast<std::uint8_t>(below(16) == 0 ? below(256) : flavour.address_bits());
        return view;
    }

  private:
    const Placement& placement_;
    std::mt19937_64 random_;
};

/// Returns one past the last byte that a heap at `offset` fills.
std::uint64_t end_of(const Placement& p, std::uint64_t offset) {
    return offset + (p.rows.bytes == 0 ? p.heap_bytes
                                       : (p.heap_bytes / p.rows.bytes - 1) * p.rows.stride + p.rows.bytes);
}

void place_packets(const Placement& placement, std::uint64_t seed) {
    Placer placer(placement);
    const Layout& layout = placer.layout();
    Values values(placement, seed);
    std::vector<std::byte> extra(layout.extra_bytes + 1);
    for (int i = 0; i < 40; i++) {
        const wire::Flavour flavour(8 + 8 * static_cast<unsigned>(values.below(7)));
        const std::vector<std::uint8_t> items = values.items(flavour);
        const heap::PacketView view = values.view(items, flavour);
        const auto endpoint = static_cast<std::uint16_t>(values.below(values.below(2) == 0 ? 65536 : 4));
        Place place;
        const PacketOutcome outcome = placer.place(view, endpoint, place);
        extra.back() = std::byte{0x5A};
        placer.write_extras(view, endpoint, extra.data());
        fuzz::require(extra.back() == std::byte{0x5A}, "extra values have a size");
        if (outcome != PacketOutcome::placed) {
            fuzz::require(outcome == PacketOutcome::no_item || outcome == PacketOutcome::bad_length ||
                              outcome == PacketOutcome::bad_step || outcome == PacketOutcome::out_of_range,
                          "packets are placed or rejected");
            fuzz::require(outcome != PacketOutcome::no_item || !placer.has_items(view),
                          "no_item: an item is missing");
            continue;
        }
        fuzz::require(placer.wrap() == 0 || place.time < placer.wrap(), "the time has its range");
        for (const std::uint64_t time : {place.time, std::uint64_t{0}, (std::uint64_t{1} << 63) - 1}) {
            const Placer::Time split = placer.split(time);
            fuzz::require(split.id >= 0, "chunks have ids from 0");
            fuzz::require(place.heap + split.heap < layout.heaps, "heaps have numbers within the chunk");
            fuzz::require(end_of(placement, place.offset + split.offset) <= layout.bytes,
                          "heaps lie within the chunk");
        }
        fuzz::require(view.offset + view.payload_length <= placement.heap_bytes,
                      "the payload lies within the heap");
        placer.follow(place.time + values.below(3));
    }
}

}  // namespace

std::vector<spead::fuzz::Input> spead::fuzz::seeds() {
    std::vector<Input> inputs;
    for (const std::string_view text : {"heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 "
                                        "[8192]; extra u16: item 0x3102 >> 32",
                                        "heap 8192; axis ant: item 0x4101 [80]; time: item 0x1600 / 2097152 "
                                        "[13]; presence packet 1024; direct",
                                        "heap 8192; time batch: heap - 5 // 1000 [128] by 512; axis a: "
                                        "constant 1 [2]; rows 512 by 65536; wrap 38",
                                        "heap 8; axis f: item 0x4103 >> 4 & 0xfff {256, 0, 512}; time: item "
                                        "0x1600 - 77 / 1000 [7]; tracked",
                                        "heap 64; axis e: endpoint // 8 [2] by 1048576; time: heap [16]; "
                                        "extra u64: item 9; extra u8: constant 3"})
        inputs.emplace_back(text.begin(), text.end());
    return inputs;
}

/// Checks that the text is a placement or refused, that its text gives it again, and that no packet is placed
/// outside a chunk.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const Placement placement = Placement::parse(text, "fuzz");
        const Layout layout = placement.check("fuzz");
        fuzz::require(layout.bytes <= Placement::kMaxBytes && layout.heaps <= Placement::kMaxHeaps &&
                          layout.present_bytes() <= Placement::kMaxPresence,
                      "sizes are bounded");
        fuzz::require(Placement::parse(placement.text(), "text") == placement,
                      "the text gives the placement");
        fuzz::require(!placement.explain().empty(), "a placement can be explained");
        std::uint64_t seed = size;
        for (const char c : text)
            seed = seed * 31 + static_cast<unsigned char>(c);
        place_packets(placement, seed);
    } catch (const UsageError& error) {
        fuzz::require(std::string_view(error.what()).starts_with("fuzz: "), "errors say where");
        for (const char c : std::string_view(error.what()))
            fuzz::require(c >= ' ' && c <= '~', "errors can be printed");
    }
    return 0;
}
