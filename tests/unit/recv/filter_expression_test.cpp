// SPDX-License-Identifier: BSD-3-Clause
#include "recv/filter_expression.hpp"

#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::recv {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Describes a packet, with item words of its own.
struct Made {
    std::uint64_t heap = 41;
    std::uint32_t payload = 1024;
    std::string source = "10.1.2.3";
    std::string destination = "239.1.2.3";
    bool control = false;
    std::vector<std::uint64_t> words{};

    bool matches(const std::string& text) const {
        const FilterExpression expression = FilterExpression::parse(text);
        std::vector<std::uint8_t> bytes(words.size() * 8);
        for (std::size_t i = 0; i < words.size(); i++)
            store_be(&bytes[i * 8], words[i]);
        heap::PacketView view;
        view.key = heap;
        view.payload_length = payload;
        view.flavour = 48;
        view.items = bytes.data();
        view.item_count = static_cast<std::uint32_t>(words.size());
        view.flags = control ? heap::PacketView::kControl : 0;
        return expression.matches({view, {parse_ip(source), parse_ip(destination), 4000, 7148}, nullptr, 0});
    }
};

constexpr wire::Flavour kFlavour(48);

Made with_items() {
    Made m;
    m.words = {kFlavour.make_address(0x1000, 0), kFlavour.make_immediate(0x1600, 5),
               kFlavour.make_immediate(0x1601, 0xFFFFFFFFFFFF), kFlavour.make_immediate(0x1600, 6)};
    return m;
}

TEST(FilterExpression, SaysWhichPacketsMatch) {
    const struct {
        const char* text;
        bool matches;
    } cases[] = {
        {"item 0x1600 == 5", true},
        {"item 5632 == 0x5", true},
        {"item 0x1600 == 6", false},  // of a repeated item the first one counts
        {"item 0x1600 != 5", false},
        {"item 0x1600 != 4", true},
        {"item 0x1600 < 5", false},
        {"item 0x1600 < 6", true},
        {"item 0x1600 <= 5", true},
        {"item 0x1600 <= 4", false},
        {"item 0x1600 > 4", true},
        {"item 0x1600 > 5", false},
        {"item 0x1600 >= 5", true},
        {"item 0x1600 >= 6", false},
        {"item 0x1600 & 4 == 4", true},
        {"item 0x1600 & 0x2 != 0", false},
        {"item 0x1600 % 3 == 2", true},
        {"item 0x1601 == 0xFFFFFFFFFFFF", true},
        {"item 0x1601 == 18446744073709551615", false},
        {"item 0x1600", true},
        {"item 0x1000", true},
        {"item 0x1700", false},
        {"item 0x1000 == 0", false},  // an address is no value
        {"item 0x1700 == 0", false},
        {"item 0x1700 != 0", false},
        {"not item 0x1700 == 0", true},
        {"heap == 41", true},
        {"heap % 4 == 1", true},
        {"heap % 4 == 2", false},
        {"heap & 1 == 0", false},
        {"heap >= 42", false},
        {"payload == 1024", true},
        {"payload < 1024", false},
        {"source == 10.1.2.3", true},
        {"source == 10.1.2.4", false},
        {"source != 10.1.2.4", true},
        {"source in 10.0.0.0/8", true},
        {"source in 11.0.0.0/8", false},
        {"source in 0.0.0.0/0", true},
        {"source in 10.1.2.3/32", true},
        {"source in 10.1.2.2/32", false},
        {"source in 10.1.2.3", true},
        {"destination == 239.1.2.3", true},
        {"destination in 239.2.0.0/16", false},
        {"control", false},
        {"not control", true},
        {"heap == 41 and payload == 1024", true},
        {"heap == 41 and payload == 1", false},
        {"heap == 1 or payload == 1024", true},
        {"heap == 1 or payload == 1", false},
        {"heap == 41 or heap == 1 and heap == 2", true},  // `and` binds closer
        {"(heap == 41 or heap == 1) and heap == 2", false},
        {"not heap == 1 and heap == 41", true},  // `not` binds closest
        {"not (heap == 41 and heap == 1)", true},
        {"not not heap == 41", true},
        {"not (heap == 1 or not (payload == 1024 or heap == 2))", true},
        {"\theap==41\nand(payload>=1024)", true},
        {"item 0x1600 == 5 and source in 10.0.0.0/8 and heap % 4 == 1", true},
    };
    for (const auto& c : cases)
        EXPECT_EQ(with_items().matches(c.text), c.matches) << c.text;
    EXPECT_TRUE((Made{.control = true}.matches("control")));
}

TEST(FilterExpression, ComparesAddressesOfIpv6) {
    const Made six{.source = "fd00:9::8000:0:0:2", .destination = "ff15::1"};
    const struct {
        const char* text;
        bool matches;
    } cases[] = {
        {"source == fd00:9::8000:0:0:2", true},
        {"source == FD00:9:0:0:8000::2", true},
        {"source == fd00:9::8000:0:0:3", false},
        {"source == fd00:8::8000:0:0:2", false},
        {"source != fd00:9::8000:0:0:2", false},
        {"source != fd00:9::8000:0:0:3", true},
        {"source != 10.1.2.3", true},
        {"destination == ff15::1", true},
        {"destination == ff15::2", false},
        {"destination in ff00::/8", true},
        {"source in fd00:9::/32", true},
        {"source in fd00:8::/32", false},
        {"source in fd00:9::/64", true},
        {"source in fd00:9:0:1::/64", false},
        {"source in fd00:9::8000:0:0:0/65", true},
        {"source in fd00:9::/65", false},
        {"source in fd00:9::8000:0:0:2/127", true},
        {"source in fd00:9::8000:0:0:2/128", true},
        {"source in fd00:9::8000:0:0:2", true},
        {"source in fd00:9::8000:0:0:3", false},
        {"source in ::/0", true},
        {"source in 8000::/1", true},
        {"source in ::/1", false},
        {"source in 0.0.0.0/0", false},
        {"not source in ::/0 or destination == ff15::1", true},
    };
    for (const auto& c : cases)
        EXPECT_EQ(six.matches(c.text), c.matches) << c.text;
    // An IPv4 packet is of no IPv6 address, whatever its bits.
    for (const char* text :
         {"source in ::/0", "source in ::/1", "destination in ::/16", "source == ::10.1.2.3"})
        EXPECT_FALSE(Made{}.matches(text)) << text;
    EXPECT_TRUE(Made{}.matches("source != ff15::1"));
    EXPECT_TRUE(Made{}.matches("source in 10.0.0.0/8 or source in fd00::/8"));
}

TEST(FilterExpression, AgreesWithEveryAssignmentOfItsTests) {
    for (unsigned bits = 0; bits < 16; bits++) {
        const bool a = (bits & 1) != 0, b = (bits & 2) != 0, c = (bits & 4) != 0, d = (bits & 8) != 0;
        const Made m{.heap = bits};
        const std::string A = "heap & 1 == 1", B = "heap & 2 == 2", C = "heap & 4 == 4", D = "heap & 8 == 8";
        EXPECT_EQ(m.matches(A + " and " + B + " or " + C + " and " + D), (a && b) || (c && d));
        EXPECT_EQ(m.matches("(" + A + " or " + B + ") and (" + C + " or not " + D + ")"),
                  (a || b) && (c || !d));
        EXPECT_EQ(m.matches("not (" + A + " or " + B + " and not (" + C + " and " + D + "))"),
                  !(a || (b && !(c && d))));
        EXPECT_EQ(m.matches(A + " or " + B + " or " + C + " or " + D), bits != 0);
        EXPECT_EQ(m.matches(A + " and " + B + " and " + C + " and " + D), bits == 15);
    }
}

std::string error_of(const std::string& text) {
    try {
        FilterExpression::parse(text, "here");
    } catch (const UsageError& error) {
        EXPECT_EQ(error.where(), "here");
        return error.what();
    }
    return "it was accepted";
}

TEST(FilterExpression, SaysWhereItIsWrongAndWhatMayStandThere) {
    const struct {
        const char* text;
        const char* place;
        const char* what;
    } cases[] = {
        {"", "the end at character 1", "item, heap, payload"},
        {"   ", "the end at character 4", "item, heap, payload"},
        {"heep == 1", "`heep` at character 1", "did you mean `heap`"},
        {"heap", "the end at character 5", "`==`"},
        {"heap = 1", "`=` at character 6", "`==`"},
        {"heap == ", "the end at character 9", "number"},
        {"heap == x", "`x` at character 9", "number"},
        {"heap == 0x", "`0x` at character 9", "number"},
        {"heap == 1x", "`1x` at character 9", "number"},
        {"heap == -1", "`-` at character 9", "number"},
        {"heap == 18446744073709551616", "at character 9", "64 bits"},
        {"heap % 0 == 1", "0 at character 8", "1 or more"},
        {"heap % 0x0 == 1", "0 at character 8", "1 or more"},
        {"heap % 4 == 4", "4 at character 13", "0 to 3"},
        {"heap % 4", "the end at character 9", "`==`"},
        {"heap == 1 heap == 2", "`heap` at character 11", "`and`, `or`"},
        {"heap == 1 and", "the end at character 14", "item, heap"},
        {"(heap == 1", "the end at character 11", "`)`"},
        {"heap == 1)", "`)` at character 10", "the end"},
        {"item == 5", "`==` at character 6", "item 0x1600"},
        {"item 1 == 5", "item 1 at character 6", "`heap`"},
        {"item 4 == 5", "item 4 at character 6", "`payload`"},
        {"item 0x1600 & 3", "the end at character 16", "`==`"},
        {"source == 10.0.0", "`10.0.0` at character 11", "10.0.0.7"},
        {"source < 10.0.0.1", "at character", "`in`, `==` or `!=`"},
        {"source in 10.0.0.0/33", "`10.0.0.0/33` at character 11", "0 to 32"},
        {"source in 10.0.0.0/", "at character 11", "0 to 32"},
        {"source in 10.1.2.3/8", "at character 11", "give 10.0.0.0/8"},
        {"source in", "the end at character 10", "IPv4"},
        {"source == fd00::7::1", "`fd00::7::1` at character 11", "fd00::7"},
        {"source == [fd00::7]", "`[` at character 11", "fd00::7"},
        {"source == ::ffff:10.0.0.7", "`::ffff:10.0.0.7` at character 11", "10.0.0.7"},
        {"source == fe80::7%eth0", "`%` at character 18", "`and`"},
        {"source in fd00::/129", "`fd00::/129` at character 11", "0 to 128"},
        {"source in fd00::7/64", "at character 11", "give fd00::/64"},
        {"source in fd00:0:0:1:8000::/64", "at character 11", "give fd00:0:0:1::/64"},
        {"source in 10.0.0.0/64", "at character 11", "0 to 32"},
        {"heap == 1 && heap == 2", "`&` at character 11", "`and`"},
        {"heap == 1 \x01", "`\\x01` at character 11", "`and`"},
    };
    for (const auto& c : cases)
        EXPECT_THAT(error_of(c.text), AllOf(HasSubstr(c.place), HasSubstr(c.what))) << c.text;
}

std::string repeated(const std::string& text, std::size_t n) {
    std::string all;
    for (std::size_t i = 0; i < n; i++)
        all += text;
    return all;
}

TEST(FilterExpression, IsBounded) {
    const std::string many = repeated("heap == 1 or ", FilterExpression::kMaxTests - 1) + "heap == 41";
    EXPECT_EQ(FilterExpression::parse(many).tests(), FilterExpression::kMaxTests);
    EXPECT_TRUE(Made{}.matches(many));
    EXPECT_THAT(error_of("heap == 1 or " + many), HasSubstr("at most 64 tests"));
    const auto nested = [](std::size_t n) { return repeated("(", n) + "control" + repeated(")", n); };
    EXPECT_FALSE(Made{}.matches(nested(FilterExpression::kMaxDepth)));
    EXPECT_THAT(error_of(nested(FilterExpression::kMaxDepth + 1)), HasSubstr("at most 32"));
    EXPECT_THAT(error_of(repeated("not ", 1000) + "control"), HasSubstr("at most 32"));
    EXPECT_THAT(error_of(repeated(" ", 5000)), HasSubstr("too long"));
}

}  // namespace
}  // namespace spead::recv
