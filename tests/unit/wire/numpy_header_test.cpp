// SPDX-License-Identifier: BSD-3-Clause
#include "wire/numpy_header.hpp"

#include <random>

#include <gtest/gtest.h>

namespace spead::wire {
namespace {

NumpyHeader good(std::string_view text) {
    const auto header = parse_numpy_header(text);
    EXPECT_TRUE(header) << text;
    return header.value_or(NumpyHeader{});
}

NumpyError error(std::string_view text) {
    const auto header = parse_numpy_header(text);
    EXPECT_FALSE(header) << text;
    return header ? NumpyError::count_ : header.error();
}

std::string with_dtype(std::string_view dtype) {
    return "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': ()}";
}

std::string with_shape(std::string_view shape) {
    return "{'descr': '<u2', 'fortran_order': False, 'shape': " + std::string(shape) + "}";
}

TEST(NumpyHeader, TheUsualTextIsReadAndWrittenBack) {
    const std::string text = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}";
    const NumpyHeader header = good(text);
    EXPECT_EQ(header, (NumpyHeader{'<', 'u', 2, false, {2, 3}}));
    EXPECT_EQ(to_string(header), text);
}

TEST(NumpyHeader, KeysMayComeInAnyOrder) {
    const NumpyHeader expected{'>', 'f', 8, true, {4}};
    for (const std::string_view text : {"{'shape': (4,), 'fortran_order': True, 'descr': '>f8'}",
                                        "{'fortran_order': True, 'descr': '>f8', 'shape': (4,)}",
                                        "{'descr': '>f8', 'shape': (4,), 'fortran_order': True}"})
        EXPECT_EQ(good(text), expected);
}

TEST(NumpyHeader, SpacesQuotesAndATrailingCommaDoNotMatter) {
    const NumpyHeader expected{'<', 'i', 4, false, {5, 6}};
    for (const std::string_view text :
         {"{\"descr\":\"<i4\",\"fortran_order\":False,\"shape\":(5,6)}",
          "  { 'descr' : '<i4' ,\t'fortran_order' : False ,\n'shape' : ( 5 , 6 , ) , }  \n",
          "{u'descr': u'<i4', u'fortran_order': False, u'shape': (5, 6)}"})
        EXPECT_EQ(good(text), expected);
}

TEST(NumpyHeader, ShapesAreTuples) {
    EXPECT_EQ(good(with_shape("()")).shape, (std::vector<std::uint64_t>{}));
    EXPECT_EQ(good(with_shape("(7,)")).shape, (std::vector<std::uint64_t>{7}));
    EXPECT_EQ(good(with_shape("(0, 18446744073709551615)")).shape, (std::vector<std::uint64_t>{0, ~0ULL}));
    for (const std::string_view shape : {"(7)", "7", "[7]", "(7, -1)", "(7 8)", "(,)", "(7,,8)",
                                         "(18446744073709551616,)", "(07,)", "(1.0,)", "(7,", "(None,)"})
        EXPECT_EQ(error(with_shape(shape)), NumpyError::syntax) << shape;
}

TEST(NumpyHeader, OneDimensionIsWrittenWithItsComma) {
    for (const std::string_view shape : {"()", "(7,)", "(7, 8)", "(0, 1, 2)"})
        EXPECT_EQ(to_string(good(with_shape(shape))), with_shape(shape));
}

TEST(NumpyHeader, TheNumberOfDimensionsIsBounded) {
    std::string shape = "(";
    for (std::size_t i = 0; i < kMaxNumpyDimensions; ++i)
        shape += "1,";
    EXPECT_EQ(good(with_shape(shape + ")")).shape.size(), kMaxNumpyDimensions);
    EXPECT_EQ(error(with_shape(shape + "1)")), NumpyError::syntax);
}

TEST(NumpyHeader, EveryCoveredTypeIsReadAndWrittenBack) {
    for (const std::string_view dtype : {"|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">u4", "<i8", ">u8", "<f2",
                                         "<f4", ">f8", "<f16", "<c8", ">c16", "|S1", "|S12", "<U5", ">U1"})
        EXPECT_EQ(to_string(good(with_dtype(dtype))), with_dtype(dtype));
    EXPECT_EQ(good(with_dtype("<U5")).item_size, 20U);
}

TEST(NumpyHeader, AMissingOrNativeByteOrderIsLittleEndian) {
    for (const std::string_view dtype : {"u2", "=u2", "|u2"})
        EXPECT_EQ(good(with_dtype(dtype)).byte_order, '<');
    EXPECT_EQ(good(with_dtype("<u1")).byte_order, '|');
    EXPECT_EQ(good(with_dtype("a3")), good(with_dtype("|S3")));
}

TEST(NumpyHeader, OtherTypesAreNamedUnsupported) {
    for (const std::string_view dtype :
         {"",        "<",   "u",    "<u",     "|O",          "|O8",         "|V4",
          "<M8[ns]", "<u3", "<u16", "|b2",    "<f3",         "<S0",         "<c4",
          "<U0",     "u-2", "<u2x", "uint16", "S4294967296", "U1073741824", "S2147483648"})
        EXPECT_EQ(error(with_dtype(dtype)), NumpyError::unsupported_dtype) << dtype;
    EXPECT_EQ(error("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': ()}"),
              NumpyError::unsupported_dtype);
}

TEST(NumpyHeader, ExactlyTheThreeKeysAreAccepted) {
    for (const std::string_view text :
         {"{}", "{'descr': '<u2', 'fortran_order': False}", "{'descr': '<u2', 'shape': ()}",
          "{'shape': (), 'fortran_order': False}",
          "{'descr': '<u2', 'fortran_order': False, 'shape': (), 'more': 1}", "{'shape': (), 'shape': ()}"})
        EXPECT_EQ(error(text), NumpyError::wrong_keys) << text;
}

TEST(NumpyHeader, AnythingElseIsASyntaxError) {
    for (const std::string_view text :
         {"", "{", "}", "()", "None", "{'descr'}", "{'descr': }", "{'descr' '<u2'}", "{descr: '<u2'}",
          "{'descr': '<u2' 'shape': ()}", "{'descr': '<u2',, 'shape': ()}", "{,}", "{'descr': '<u2\\n'}",
          "{'fortran_order': 0}", "{'fortran_order': false}", "{'descr': 3}",
          "{'descr': '<u2', 'fortran_order': False, 'shape': ()} x"})
        EXPECT_EQ(error(text), NumpyError::syntax) << text;
}

TEST(NumpyHeader, TextCutAnywhereIsRefused) {
    const std::string text = with_shape("(2, 3)");
    for (std::size_t length = 0; length < text.size(); ++length)
        EXPECT_EQ(error(std::string(text, 0, length)), NumpyError::syntax) << length;
}

TEST(NumpyHeader, WhatIsAcceptedIsStableUnderWritingAndReading) {
    std::mt19937 random(3);
    const std::string base = with_shape("(2, 3)");
    const std::string_view alphabet = "{}()[]'\",:<>=| 0123456789uifcSUTrueFalsdhpo_\\n";
    std::size_t accepted = 0;
    for (int round = 0; round < 100000; ++round) {
        std::string text = base;
        for (std::size_t i = 1 + random() % 2; i > 0; --i)
            text[random() % text.size()] = alphabet[random() % alphabet.size()];
        const auto header = parse_numpy_header(text);
        if (!header)
            continue;
        ++accepted;
        ASSERT_EQ(good(to_string(*header)), *header) << text;
    }
    EXPECT_GT(accepted, 100U);
}

TEST(NumpyHeader, EveryErrorHasAName) {
    EXPECT_EQ(name_of(NumpyError::unsupported_dtype), "unsupported_dtype");
    EXPECT_EQ(name_of(NumpyError::count_), "unknown");
}

}  // namespace
}  // namespace spead::wire
