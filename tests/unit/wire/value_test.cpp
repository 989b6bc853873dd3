// SPDX-License-Identifier: BSD-3-Clause
#include "wire/value.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

using test::Bytes;

ItemType type_of(std::vector<FieldFormat> format, std::vector<std::optional<std::uint64_t>> shape = {}) {
    Descriptor descriptor;
    descriptor.format = std::move(format);
    descriptor.shape = std::move(shape);
    return item_type(descriptor).value();
}

ItemType numpy_type(std::string_view dtype, std::string_view shape = "()", bool fortran_order = false,
                    unsigned bug_compat = 0) {
    Descriptor descriptor;
    descriptor.numpy_header = "{'descr': '" + std::string(dtype) +
                              "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                              ", 'shape': " + std::string(shape) + "}";
    return item_type(descriptor, bug_compat).value();
}

std::vector<Scalar> all(const ItemValue& value) {
    std::vector<Scalar> out;
    for (std::uint64_t element = 0; element < value.elements(); ++element)
        for (std::size_t field = 0; field < value.type().fields.size(); ++field)
            out.push_back(value.get(element, field));
    return out;
}

std::vector<Scalar> decode(const ItemType& type, std::string_view hex) {
    const Bytes bytes = test::from_hex(hex);
    const test::ExactCopy exact(bytes);
    const auto value = decode_value(type, {exact.data(), exact.size()});
    EXPECT_TRUE(value);
    return value ? all(*value) : std::vector<Scalar>{};
}

template <typename... T>
std::vector<Scalar> scalars(T... values) {
    return {Scalar(values)...};
}

std::uint64_t u(std::uint64_t v) {
    return v;
}
std::int64_t i(std::int64_t v) {
    return v;
}

TEST(Value, IntegersOfMachineWidthsAreBigEndian) {
    EXPECT_EQ(decode(type_of({{'u', 8}}), "ff"), scalars(u(255)));
    EXPECT_EQ(decode(type_of({{'i', 8}}), "ff"), scalars(i(-1)));
    EXPECT_EQ(decode(type_of({{'u', 16}}), "0102"), scalars(u(0x102)));
    EXPECT_EQ(decode(type_of({{'i', 32}}), "80000000"), scalars(i(-2147483648)));
    EXPECT_EQ(decode(type_of({{'u', 64}}), "ffffffffffffffff"), scalars(u(~0ULL)));
    EXPECT_EQ(decode(type_of({{'i', 64}}), "8000000000000000"),
              scalars(std::numeric_limits<std::int64_t>::min()));
}

TEST(Value, BitsArePackedAcrossFieldsAndElements) {
    const ItemType type = type_of({{'u', 4}, {'i', 7}, {'b', 1}}, {2});  // 1010 1111111 1 | 0001 0111111 0
    EXPECT_EQ(decode(type, "afff17e0").size(), 6U);
    EXPECT_EQ(decode(type, "aff 17e"), scalars(u(10), i(-1), true, u(1), i(63), false));
}

TEST(Value, FloatsAndCharacters) {
    EXPECT_EQ(decode(type_of({{'f', 32}, {'c', 8}, {'f', 64}}), "3fc00000 41 c000000000000000"),
              scalars(1.5, std::string("A"), -2.0));
}

TEST(Value, AFloatMayStartInsideAByte) {
    EXPECT_EQ(decode(type_of({{'u', 4}, {'f', 32}, {'u', 4}}), "13fc000002"), scalars(u(1), 1.5, u(2)));
}

TEST(Value, ABooleanOfSeveralBitsIsTrueUnlessAllAreZero) {
    EXPECT_EQ(decode(type_of({{'b', 8}}, {3}), "000180"), scalars(false, true, true));
}

TEST(Value, NumpyTypesHaveTheirOwnByteOrder) {
    EXPECT_EQ(decode(numpy_type("<u2", "(2,)"), "01020304"), scalars(u(0x201), u(0x403)));
    EXPECT_EQ(decode(numpy_type(">u2", "(2,)"), "01020304"), scalars(u(0x102), u(0x304)));
    EXPECT_EQ(decode(numpy_type("<i4"), "feffffff"), scalars(i(-2)));
    EXPECT_EQ(decode(numpy_type("<f8"), "000000000000f03f"), scalars(1.0));
    EXPECT_EQ(decode(numpy_type("<c8"), "0000803f 00000040"), scalars(std::complex<double>(1, 2)));
    EXPECT_EQ(decode(numpy_type(">c16"), "3ff0000000000000 c000000000000000"),
              scalars(std::complex<double>(1, -2)));
    EXPECT_EQ(decode(numpy_type("|b1", "(2,)"), "0001"), scalars(false, true));
}

TEST(Value, WithSwappedEndianNumpyTypesMeanTheOtherOrder) {
    EXPECT_EQ(decode(numpy_type("<u2", "()", false, kBugCompatSwapEndian), "0102"), scalars(u(0x102)));
}

TEST(Value, NumpyStringsLoseTheZerosAtTheirEnd) {
    EXPECT_EQ(decode(numpy_type("|S4", "(3,)"), "61620000 00630000 61626364"),
              scalars(std::string("ab"), std::string("\0c", 2), std::string("abcd")));
    EXPECT_EQ(decode(numpy_type("<U2", "(2,)"), "ac200000 00000000 41000000 00d80000"),
              scalars(std::string("\xE2\x82\xAC"), std::string("A\xEF\xBF\xBD")));
}

TEST(Value, ElementsAreAskedForInRowMajorOrderHoweverTheyAreStored) {
    EXPECT_EQ(decode(numpy_type("|u1", "(2, 3)"), "000102030405"),
              scalars(u(0), u(1), u(2), u(3), u(4), u(5)));
    EXPECT_EQ(decode(numpy_type("|u1", "(2, 3)", true), "000102030405"),
              scalars(u(0), u(2), u(4), u(1), u(3), u(5)));
    EXPECT_EQ(decode(numpy_type("|u1", "(2, 1, 2, 2)", true), "0001020304050607"),
              scalars(u(0), u(4), u(2), u(6), u(1), u(5), u(3), u(7)));
}

TEST(Value, BytesAfterTheLastElementArePadding) {
    EXPECT_EQ(decode(type_of({{'u', 16}}, {2}), "00010002ffff"), scalars(u(1), u(2)));
}

TEST(Value, TooFewBytesForTheShapeAreRefused) {
    for (const std::size_t length : {0U, 1U, 3U}) {
        const Bytes bytes(length);
        const auto value = decode_value(type_of({{'u', 16}}, {2}), bytes);
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error(), ValueError::too_few_bytes);
    }
    EXPECT_TRUE(decode_value(type_of({{'u', 12}}, {2}), Bytes(3)));
    EXPECT_FALSE(decode_value(type_of({{'u', 12}}, {2}), Bytes(2)));
}

TEST(Value, AVariableDimensionTakesWhatTheBytesHold) {
    const Bytes bytes(25);
    const auto value = decode_value(type_of({{'u', 16}}, {3, std::nullopt, 2}), bytes);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->shape(), (std::vector<std::uint64_t>{3, 2, 2}));
    EXPECT_EQ(value->elements(), 12U);
    const auto none = decode_value(type_of({{'u', 16}}, {3, std::nullopt, 2}), Bytes(11));
    ASSERT_TRUE(none);
    EXPECT_EQ(none->shape(), (std::vector<std::uint64_t>{3, 0, 2}));
    EXPECT_EQ(none->elements(), 0U);
}

TEST(Value, HostileShapesNeverWrap) {
    constexpr std::uint64_t huge = std::uint64_t{1} << 32;
    EXPECT_FALSE(decode_value(type_of({{'u', 8}}, {huge, huge}), Bytes(8)));
    EXPECT_FALSE(decode_value(type_of({{'u', 8}}, {huge, huge, 2}), Bytes(8)));
    EXPECT_FALSE(decode_value(type_of({{'u', 8}}, {~0ULL}), Bytes(8)));
    EXPECT_FALSE(decode_value(numpy_type("|S2147483647", "(4294967296, 4)"), Bytes(8)));
    auto value = decode_value(type_of({{'u', 8}}, {huge, huge, 0}), Bytes(8));
    ASSERT_TRUE(value);
    EXPECT_EQ(value->elements(), 0U);
    value = decode_value(type_of({{'u', 8}}, {0, huge, huge, std::nullopt}), Bytes(8));
    ASSERT_TRUE(value);
    EXPECT_EQ(value->elements(), 0U);
    value = decode_value(type_of({{'u', 8}}, {huge, huge, std::nullopt}), Bytes(8));
    ASSERT_TRUE(value);
    EXPECT_EQ(value->elements(), 0U);
}

TEST(Value, AnImmediateStandsAtTheRight) {
    const auto read = [](const ItemType& type, Flavour flavour, std::uint64_t immediate) {
        const auto value = decode_value(type, flavour, immediate);
        EXPECT_TRUE(value);
        return value ? all(*value) : std::vector<Scalar>{};
    };
    EXPECT_EQ(read(type_of({{'u', 16}}), Flavour(40), 0x1234), scalars(u(0x1234)));
    EXPECT_EQ(read(type_of({{'u', 16}}), Flavour(40), 0xAB00001234), scalars(u(0x1234)));
    EXPECT_EQ(read(type_of({{'i', 40}}), Flavour(40), 0xFFFFFFFFFE), scalars(i(-2)));
    EXPECT_EQ(read(type_of({{'u', 48}}), Flavour(48), 0x123456789ABC), scalars(u(0x123456789ABC)));
    EXPECT_EQ(read(type_of({{'u', 8}, {'i', 8}}), Flavour(48), 0x01FF), scalars(u(1), i(-1)));
    EXPECT_EQ(read(type_of({{'u', 8}}, {2}), Flavour(16), 0x0102), scalars(u(1), u(2)));
    EXPECT_EQ(read(numpy_type("<u2"), Flavour(40), 0x0102), scalars(u(0x201)));
    EXPECT_EQ(read(type_of({{'f', 32}}), Flavour(32), 0x3FC00000), scalars(1.5));
}

TEST(Value, AnImmediateOfPartOfAByteIsReadFromTheTopOfItsBytes) {
    const auto value = decode_value(type_of({{'u', 10}}), Flavour(40), 0x40);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->get(0), Scalar(u(1)));
}

TEST(Value, AnImmediateShorterThanTheTypeIsRefused) {
    EXPECT_FALSE(decode_value(type_of({{'u', 16}}), Flavour(8), 1));
    EXPECT_FALSE(decode_value(type_of({{'f', 64}}), Flavour(56), 1));
}

TEST(Value, AnImmediateMayBeCopied) {
    const ItemType type = type_of({{'u', 16}});
    ItemValue copy = decode_value(type, Flavour(40), 1).value();
    copy = decode_value(type, Flavour(40), 0x4321).value();
    EXPECT_EQ(copy.get(0), Scalar(u(0x4321)));
}

TEST(Value, AnArrayOfCharactersIsText) {
    const Bytes bytes = test::from_hex("68656c6c6f");
    EXPECT_EQ(decode_value(type_of({{'c', 8}}, {std::nullopt}), bytes).value().text(), "hello");
    EXPECT_EQ(decode_value(type_of({{'c', 8}}, {2}), bytes).value().text(), "he");
    EXPECT_EQ(decode_value(type_of({{'c', 8}}, {2}), Flavour(40), 0x6869).value().text(), "hi");
    EXPECT_EQ(decode_value(type_of({{'c', 8}}), bytes).value().text(), "");
    EXPECT_EQ(decode_value(type_of({{'u', 8}}, {2}), bytes).value().text(), "");
}

TEST(Value, ScalarsArePrinted) {
    EXPECT_EQ(to_string(Scalar(u(12))), "12");
    EXPECT_EQ(to_string(Scalar(i(-3))), "-3");
    EXPECT_EQ(to_string(Scalar(0.5)), "0.5");
    EXPECT_EQ(to_string(Scalar(true)), "true");
    EXPECT_EQ(to_string(Scalar(std::complex<double>(1, -2))), "(1-2j)");
    EXPECT_EQ(to_string(Scalar(std::string("text"))), "text");
}

Bytes encode(const ItemType& type, std::vector<std::uint64_t> shape, const std::vector<Scalar>& values) {
    const auto out = encode_value(type, shape, values);
    EXPECT_TRUE(out) << name_of(out.error());
    return out.value_or(Bytes{});
}

ValueError encode_error(const ItemType& type, std::vector<std::uint64_t> shape,
                        const std::vector<Scalar>& values) {
    const auto out = encode_value(type, shape, values);
    EXPECT_FALSE(out);
    return out ? ValueError::count_ : out.error();
}

TEST(Value, EncodedBitsArePackedAndPaddedAtTheEnd) {
    EXPECT_EQ(encode(type_of({{'u', 4}, {'i', 7}, {'b', 1}}, {2}), {2},
                     scalars(u(10), i(-1), true, u(1), i(63), false)),
              test::from_hex("aff17e"));
    EXPECT_EQ(encode(type_of({{'u', 10}}), {}, scalars(u(1))), test::from_hex("0040"));
}

TEST(Value, EncodedNumpyArraysHaveTheirOrders) {
    EXPECT_EQ(encode(numpy_type("<u2", "(2, 3)", true), {2, 3}, scalars(u(0), u(2), u(4), u(1), u(3), u(5))),
              test::from_hex("000001000200030004000500"));
    EXPECT_EQ(encode(numpy_type(">i2"), {}, scalars(i(-2))), test::from_hex("fffe"));
    EXPECT_EQ(encode(numpy_type("<c8"), {}, scalars(std::complex<double>(1, 2))),
              test::from_hex("0000803f00000040"));
    EXPECT_EQ(encode(numpy_type("|S4"), {}, scalars(std::string("ab"))), test::from_hex("61620000"));
    EXPECT_EQ(encode(numpy_type("<U2"), {}, scalars(std::string("\xE2\x82\xAC"))),
              test::from_hex("ac20000000000000"));
}

TEST(Value, NumbersAreTakenForWiderKinds) {
    EXPECT_EQ(encode(type_of({{'f', 32}}), {}, scalars(i(-2))), test::from_hex("c0000000"));
    EXPECT_EQ(encode(type_of({{'u', 8}}), {}, scalars(i(200))), test::from_hex("c8"));
    EXPECT_EQ(encode(type_of({{'i', 8}}), {}, scalars(u(127))), test::from_hex("7f"));
    EXPECT_EQ(encode(numpy_type(">c8"), {}, scalars(1.0)), test::from_hex("3f80000000000000"));
}

TEST(Value, NumbersThatDoNotFitAreRefusedAtEveryWidth) {
    for (unsigned bits = 1; bits <= 64; ++bits) {
        const ItemType unsigned_type = type_of({{'u', bits}}), signed_type = type_of({{'i', bits}});
        const std::uint64_t most = ~0ULL >> (64 - bits);
        const auto top = static_cast<std::int64_t>(most >> 1), bottom = -top - 1;
        EXPECT_TRUE(encode_value(unsigned_type, {}, scalars(u(most))));
        EXPECT_TRUE(encode_value(signed_type, {}, scalars(i(top))));
        EXPECT_TRUE(encode_value(signed_type, {}, scalars(i(bottom))));
        EXPECT_EQ(encode_error(unsigned_type, {}, scalars(i(-1))), ValueError::out_of_range);
        EXPECT_EQ(encode_error(signed_type, {}, scalars(u(static_cast<std::uint64_t>(top) + 1))),
                  ValueError::out_of_range);
        if (bits == 64)
            continue;
        EXPECT_EQ(encode_error(unsigned_type, {}, scalars(u(most + 1))), ValueError::out_of_range);
        EXPECT_EQ(encode_error(signed_type, {}, scalars(i(top + 1))), ValueError::out_of_range);
        EXPECT_EQ(encode_error(signed_type, {}, scalars(i(bottom - 1))), ValueError::out_of_range);
    }
    EXPECT_EQ(encode_error(type_of({{'f', 32}}), {}, scalars(1e39)), ValueError::out_of_range);
    EXPECT_TRUE(encode_value(type_of({{'f', 32}}), {}, scalars(std::numeric_limits<double>::infinity())));
    EXPECT_EQ(encode_error(type_of({{'c', 8}}), {}, scalars(std::string("ab"))), ValueError::out_of_range);
    EXPECT_EQ(encode_error(type_of({{'c', 8}}), {}, scalars(std::string())), ValueError::out_of_range);
    EXPECT_EQ(encode_error(numpy_type("|S1"), {}, scalars(std::string("ab"))), ValueError::out_of_range);
    EXPECT_EQ(encode_error(numpy_type("<U1"), {}, scalars(std::string("ab"))), ValueError::out_of_range);
    EXPECT_EQ(encode_error(numpy_type("<U1"), {}, scalars(std::string("\xFF"))), ValueError::out_of_range);
}

TEST(Value, AnotherKindOfScalarIsRefused) {
    EXPECT_EQ(encode_error(type_of({{'u', 8}}), {}, scalars(1.0)), ValueError::wrong_type);
    EXPECT_EQ(encode_error(type_of({{'b', 8}}), {}, scalars(u(1))), ValueError::wrong_type);
    EXPECT_EQ(encode_error(type_of({{'f', 32}}), {}, scalars(true)), ValueError::wrong_type);
    EXPECT_EQ(encode_error(type_of({{'c', 8}}), {}, scalars(u(65))), ValueError::wrong_type);
    EXPECT_EQ(encode_error(numpy_type("<c8"), {}, scalars(std::string("1"))), ValueError::wrong_type);
}

TEST(Value, AnotherShapeOrNumberOfScalarsIsRefused) {
    const ItemType type = type_of({{'u', 8}, {'u', 8}}, {2, std::nullopt});
    EXPECT_TRUE(encode_value(type, std::vector<std::uint64_t>{2, 1}, scalars(u(1), u(2), u(3), u(4))));
    EXPECT_TRUE(encode_value(type, std::vector<std::uint64_t>{2, 0}, {}));
    EXPECT_EQ(encode_error(type, {2}, scalars(u(1), u(2))), ValueError::wrong_shape);
    EXPECT_EQ(encode_error(type, {1, 1}, scalars(u(1), u(2))), ValueError::wrong_shape);
    EXPECT_EQ(encode_error(type, {2, 1}, scalars(u(1), u(2), u(3))), ValueError::wrong_shape);
    EXPECT_EQ(encode_error(type, {2, 2}, scalars(u(1), u(2), u(3), u(4))), ValueError::wrong_shape);
    EXPECT_EQ(encode_error(type, {2, std::uint64_t{1} << 63}, {}), ValueError::wrong_shape);
    EXPECT_EQ(encode_error(type, {2, 0}, scalars(u(1), u(2))), ValueError::wrong_shape);
    constexpr std::uint64_t huge = std::uint64_t{1} << 63;
    EXPECT_EQ(encode(type_of({{'u', 8}}, {huge, 4, 0}), {huge, 4, 0}, {}), Bytes{});
}

TEST(Value, ShortBytesBecomeAnImmediate) {
    EXPECT_EQ(to_immediate(test::from_hex("0102"), Flavour(40)), 0x102U);
    EXPECT_EQ(to_immediate({}, Flavour(40)), 0U);
    EXPECT_EQ(to_immediate(test::from_hex("0102030405"), Flavour(40)), 0x102030405U);
    const auto out = to_immediate(test::from_hex("010203040506"), Flavour(40));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error(), ValueError::no_immediate);
}

TEST(Value, RandomBytesOfAnyTypeSurviveDecodingAndEncoding) {
    std::mt19937_64 random(77);
    for (int round = 0; round < 3000; ++round) {
        std::vector<FieldFormat> format(1 + random() % 4);
        for (FieldFormat& field : format) {
            field.type = "uic"[random() % 3];
            field.bits = field.type == 'c' ? 8 : 1 + random() % 64;
        }
        ItemType type = type_of(format, {1 + random() % 4, std::nullopt});
        type.fortran_order = random() % 2 != 0;
        Bytes bytes(random() % 300);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>(random());
        const test::ExactCopy exact(bytes);
        const auto value = decode_value(type, {exact.data(), exact.size()});
        ASSERT_TRUE(value);
        Bytes back = encode(type, value->shape(), all(*value));
        const std::uint64_t bits = value->elements() * type.element_bits;
        bytes.resize((bits + 7) / 8);
        if (bits % 8 != 0)
            bytes.back() = static_cast<std::uint8_t>(bytes.back() & 0xFF00 >> bits % 8);
        ASSERT_EQ(back, bytes);
    }
}

TEST(Value, EveryErrorHasAName) {
    EXPECT_EQ(name_of(ValueError::too_few_bytes), "too_few_bytes");
    EXPECT_EQ(name_of(ValueError::no_immediate), "no_immediate");
    EXPECT_EQ(name_of(ValueError::count_), "unknown");
}

}  // namespace
}  // namespace spead::wire
