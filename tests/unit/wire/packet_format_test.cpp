// SPDX-License-Identifier: BSD-3-Clause
#include "wire/packet_format.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"
#include "wire/known_formats.hpp"

namespace spead::wire::packet_format_test {
namespace {

using Field = PacketFormat::Field;
using Term = PacketFormat::Term;

/// Expects the text to be refused with all of `words`.
void refused(const std::string& text, std::initializer_list<std::string> words) {
    try {
        PacketFormat::parse(text, "format");
        ADD_FAILURE() << "not refused: " << text;
    } catch (const UsageError& error) {
        for (const std::string& word : words)
            EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
                << text << "\n"
                << error.what() << "\nlacks " << word;
    }
}

constexpr auto kLeast = "header 16; field n: u32 at 0; count n";

TEST(PacketFormat, ReadsEveryStatement) {
    const PacketFormat f = PacketFormat::parse(
        "header 32; prefix 8; little; field a: u16 at 4 big >> 3 & 0xFF; field b: u64 at 8 & 0xFFFF;"
        "field c: u8 at 31; require c = 1, 0x2; invalid c = 2; payload b * 8 - 32;"
        "item 0x1600: a - 7 / 3 * 5 + b // 2; count b * 256 + a");
    EXPECT_EQ(f.header, 32U);
    EXPECT_EQ(f.prefix, 8U);
    EXPECT_EQ(f.fields,
              (std::vector<Field>{
                  {"a", 4, 2, false, 3, 0xFF}, {"b", 8, 8, true, 0, 0xFFFF}, {"c", 31, 1, true, 0, ~0ULL}}));
    EXPECT_EQ(f.items,
              (std::vector<PacketFormat::Item>{{0x1600, {{0, 7, 3, false, 5}, {1, 0, 2, true, 1}}}}));
    EXPECT_EQ(f.count, (PacketFormat::Sum{{1, 0, 1, false, 256}, {0, 0, 1, false, 1}}));
    EXPECT_EQ(f.required, (std::vector<PacketFormat::Condition>{{2, {1, 2}}}));
    EXPECT_EQ(f.invalid, (std::vector<PacketFormat::Condition>{{2, {2}}}));
    EXPECT_EQ(f.length, (PacketFormat::Length{1, 8, 32}));
}

TEST(PacketFormat, TakesBigEndianAndTheRestWithoutAWord) {
    const PacketFormat f = PacketFormat::parse(kLeast);
    EXPECT_FALSE(f.fields[0].little);
    EXPECT_FALSE(f.length);
    EXPECT_TRUE(f.items.empty());
}

TEST(PacketFormat, ExtendsAndReplacesAKnownOne) {
    const PacketFormat known = PacketFormat::parse("vdif");
    const PacketFormat f = PacketFormat::parse(
        "vdif; prefix 8; item 0x1600: second * 25600 + frame; field mine: u32 at 16; item 0x2000: mine");
    EXPECT_EQ(f.prefix, 8U);
    EXPECT_EQ(f.items.size(), known.items.size() + 1);
    EXPECT_EQ(f.items[0].value.size(), 2U);
    EXPECT_TRUE(f.fields.back().little) << "the byte order of the known one goes on";
    EXPECT_EQ(f.required, known.required);
    EXPECT_EQ(PacketFormat::parse("vdif; payload rest").length, std::nullopt);
    EXPECT_EQ(PacketFormat::parse("vdif;"), known);
}

TEST(PacketFormat, RefusesTextWithItsPlace) {
    refused("", {"0 bytes", "header"});
    refused("vdiff", {"`vdiff`", "character 1", "vdif", "header"});
    refused("spead", {"without a format receives SPEAD", "known format pst"});
    refused("header 32; feild a: u8 at 0", {"`feild`", "character 12", "did you mean `field`"});
    refused("header x", {"`x`", "bytes of the header"});
    refused("header 2000", {"`2000`", "too much"});
    refused("header 16; header 16", {"`header`", "second time"});
    refused("header 16; field a: u24 at 0", {"`u24`", "u8", "u64"});
    refused("header 16; field a: u8 on 0", {"`on`", "at"});
    refused("header 16; field 1: u8 at 0", {"`1`", "name"});
    refused("header 16; field rest: u8 at 0", {"`rest`", "name"});
    refused("header 16; field a: u8 at 0; field a: u8 at 1", {"field a", "second time"});
    refused("header 16; field a: u8 at 0; little", {"`little`", "before the first field"});
    refused("header 16; field a: u8 at 0 >> 64", {"`64`", "too much"});
    refused("header 16; count b", {"`b`", "declared before"});
    refused("header 16; field a: u8 at 0; count a / 0", {"`0`", "too little"});
    refused("header 16; field a: u8 at 0; count a * 0", {"`0`", "too little"});
    refused("header 16; field a: u8 at 0; item 5: a", {"`5`", "too little", "from 7 to 0x7FFF"});
    refused("header 16; field a: u8 at 0; item 0x8000: a", {"`0x8000`", "too much"});
    refused("header 16; field a: u8 at 0; require a", {"the end", "="});
    refused("header 16; field a: u8 at 0; require a = 1; require a = 2", {"require a", "second time"});
    refused("header 16; field a: u8 at 0; count a nonsense", {"`nonsense`", "`+`"});
    refused("header 16; payload some", {"`some`", "declared before"});
    refused("header 16; refuse all", {"`all`", "`spead`"});
    EXPECT_TRUE(PacketFormat::parse("header 16; refuse spead; field a: u8 at 0; count a").refuses_spead);
    EXPECT_FALSE(PacketFormat::parse("header 16; field a: u8 at 0; count a").refuses_spead);
    refused("vdif header 16", {"`header`", "`;`"});
    refused("header 16; vdif", {"`vdif`", "can only begin with"});
    refused("pst; vdif", {"`vdif`", "character 6", "can only begin with"});
    refused(std::string(PacketFormat::kMaxText + 1, ' '), {"too long"});
}

TEST(PacketFormat, RefusesWhatCannotBe) {
    refused("header 4; field a: u8 at 0; count a", {"4 bytes", "8 to 1024"});
    refused("header 1000; prefix 100; field a: u8 at 0; count a",
            {"1000 bytes", "100 before", "1024 together"});
    refused("header 4; prefix 8; field a: u8 at 0; count a", {"4 bytes; give 8 to 1024"});
    refused("header 16", {"no heap count"});
    refused("header 16; field a: u32 at 13; count a", {"field a", "13 to 16", "header 17", "at 12 at most"});
    refused("header 1024; field a: u32 at 1022; count a", {"1022 to 1025", "1024; let it begin at 1020"});
    refused("header 16; field a: u8 at 0 >> 8; count a", {"field a", "leave no bit"});
    refused("header 16; field a: u8 at 0 & 0; count a", {"leave no bit"});
    refused("header 16; field a: u32 at 0; field b: u16 at 2; count a", {"a and b", "share bits of byte 2"});
    refused("header 16; field a: u32 at 0 little & 0xFF; field b: u8 at 0; count a",
            {"share bits of byte 0"});
    refused("header 16; field a: u16 at 4 & 0xFFF; field b: u8 at 4 >> 3; count a", {"share bits of byte 4"});
    refused("header 16; field a: u8 at 0 & 0x1FF; count a", {"mask 0x1ff", "field a", "0xff"});
    refused("header 16; field a: u16 at 0 >> 4 & 0x1FFF; count a", {"mask 0x1fff", "0xfff;"});
    EXPECT_NO_THROW(
        PacketFormat::parse("header 16; field a: u32 at 0 big & 0xFF; field b: u8 at 0; count a"));
    EXPECT_NO_THROW(
        PacketFormat::parse("header 16; field a: u32 at 0 >> 4; field b: u32 at 0 & 0xF; count a * 16 + b"));
    refused("header 16; field a: u64 at 0; count a", {"heap count", "field a", "mask"});
    refused("header 16; field a: u64 at 0; count a // 2 + a // 2", {"heap count", "field a"});
    refused("header 16; field a: u32 at 0; item 0x1600: a * 65537; count a", {"item 0x1600", "field a"});
    EXPECT_NO_THROW(PacketFormat::parse("header 16; field a: u32 at 0; item 0x1600: a * 65536; count a"));
    refused("header 16; field a: u8 at 0; count a - 256", {"subtracts 256", "255 at most"});
    refused("header 16; field a: u8 at 0; require a = 256; count a", {"never be 256"});
    refused("header 16; field a: u8 at 0 & 0xF0; require a = 15; count a", {"0xf0", "never be 15"});
    refused("header 16; field a: u8 at 0; require a = 1; invalid a = 2; count a", {"`require` refuses"});
    refused("header 16; field a: u8 at 0; require a = 1, 2; invalid a = 1, 2, 2; count a",
            {"field a", "`require` takes only 1, 2"});
    refused("header 16; field a: u8 at 0 & 1; invalid a = 0, 1; count a", {"field a", "no other values"});
    refused("header 16; field a: u8 at 0; payload a - 300; count a", {"never positive"});
    refused("header 16; field a: u8 at 0; payload a * 2 - 510; count a", {"never positive", "less than 510"});
    refused("header 16; field a: u8 at 0; require a = 3; payload a * 8 - 32; count a",
            {"never positive", "3 at most"});
    refused("header 16; field a: u8 at 0; require a = 1, 2; count a - 3", {"heap count", "field a", "1, 2"});
    refused("header 16; field a: u8 at 0; require a = 6, 9; count a / 4", {"heap count", "6, 9"});
    refused("header 16; field a: u8 at 0; field b: u8 at 1; require a = 1; item 0x1600: a - 2; count b",
            {"item 0x1600", "field a"});
    EXPECT_NO_THROW(PacketFormat::parse("header 16; field a: u8 at 0; require a = 6, 9; count a // 4"));
    EXPECT_NO_THROW(PacketFormat::parse("header 16; field a: u8 at 0; require a = 8, 9; count a / 4"));
    EXPECT_NO_THROW(PacketFormat::parse("header 16; field a: u8 at 0 & 3; invalid a = 0, 1, 2; count a"));
    EXPECT_NO_THROW(PacketFormat::parse("header 16; field a: u8 at 0; payload a * 2 - 509; count a"));
    refused("header 16; field a: u64 at 0 & 0xFFFFFFFF; payload a * 0xFFFFFFFFFFFFFFFF; count a",
            {"overflow"});
}

TEST(PacketFormat, HasLimits) {
    std::string fields = "header 64;";
    for (std::size_t i = 0; i <= PacketFormat::kMaxFields; i++)
        fields += "field f" + std::to_string(i) + ": u8 at " + std::to_string(i) + ";";
    refused(fields + "count f0", {"at most 24 fields"});
    std::string items = std::string(kLeast) + ";";
    for (std::size_t i = 0; i <= PacketFormat::kMaxItems; i++)
        items += "item " + std::to_string(100 + i) + ": n;";
    refused(items, {"at most 16 items"});
    refused("header 16; field n: u8 at 0; count n+n+n+n+n+n+n+n+n", {"at most 8 terms"});
    refused("header 16; field n: u8 at 0; require n = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17; count n",
            {"at most 16 values"});
}

}  // namespace
}  // namespace spead::wire::packet_format_test
