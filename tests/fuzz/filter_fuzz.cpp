// SPDX-License-Identifier: BSD-3-Clause
// Any text as a filter, on a packet.

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "recv/filter_expression.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace spead;
using namespace spead::recv;

FilterPacket packet(const std::uint8_t* items, std::uint32_t count, std::uint64_t heap) {
    heap::PacketView view;
    view.key = heap;
    view.payload_length = 1024;
    view.flavour = 48;
    view.items = items;
    view.item_count = count;
    return {view, {{0x0A010203}, {0xEF010203}, 4000, 7148}, nullptr, 0};
}

}  // namespace

std::vector<spead::fuzz::Input> spead::fuzz::seeds() {
    std::vector<Input> inputs;
    for (const std::string_view text :
         {"item 0x1600 == 5 and source in 10.0.0.0/8 and heap % 4 == 1", "not (control or payload >= 1024)",
          "destination != 239.1.2.3 or item 0x1000 & 0xff < 3", "(((heap <= 18446744073709551615)))",
          "item 7 and not not item 8 or source == 10.1.2.3"})
        inputs.emplace_back(text.begin(), text.end());
    return inputs;
}

/// Checks that the text matches or is refused, and that its negation has the opposite result.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::array<std::uint8_t, 16> items{};
    store_be(&items[0], wire::Flavour(48).make_immediate(0x1600, 5));
    store_be(&items[8], wire::Flavour(48).make_address(0x1000, 5));
    try {
        const FilterExpression expression = FilterExpression::parse(text, "fuzz");
        fuzz::require(expression.tests() >= 1 && expression.tests() <= FilterExpression::kMaxTests,
                      "a filter has tests, and not too many");
        std::string negated = "not(" + text + ")";
        try {
            const FilterExpression opposite = FilterExpression::parse(negated, "fuzz");
            for (const std::uint64_t heap : {0U, 1U, 5U, 41U}) {
                const FilterPacket p = packet(items.data(), 2, heap);
                fuzz::require(expression.matches(p) != opposite.matches(p), "not is the opposite");
            }
        } catch (const UsageError&) {
            // Only for being deeper or longer than allowed.
            fuzz::require(text.find('(') != std::string::npos || text.find("not") != std::string::npos ||
                              negated.size() > FilterExpression::kMaxText,
                          "what is allowed may be negated");
        }
    } catch (const UsageError& error) {
        fuzz::require(std::string_view(error.what()).starts_with("fuzz: "), "errors say where");
        for (const char c : std::string_view(error.what()))
            fuzz::require(c >= ' ' && c <= '~', "errors can be printed");
    }
    return 0;
}
