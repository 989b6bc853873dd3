// SPDX-License-Identifier: BSD-3-Clause
#include "wire/item_type.hpp"

#include <gtest/gtest.h>

namespace spead::wire {
namespace {

Descriptor with_format(std::vector<FieldFormat> format,
                       std::vector<std::optional<std::uint64_t>> shape = {}) {
    Descriptor out;
    out.id = 1;
    out.format = std::move(format);
    out.shape = std::move(shape);
    return out;
}

Descriptor with_numpy(std::string_view dtype, bool fortran_order = false, std::string_view shape = "(2, 3)") {
    Descriptor out;
    out.id = 1;
    out.numpy_header = "{'descr': '" + std::string(dtype) +
                       "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': " + std::string(shape) + "}";
    return out;
}

TypeError error(const Descriptor& descriptor) {
    const auto type = item_type(descriptor);
    EXPECT_FALSE(type);
    return type ? TypeError::count_ : type.error();
}

TEST(ItemType, FieldsOfAFormatFollowEachOther) {
    const auto type =
        item_type(with_format({{'u', 10}, {'i', 6}, {'f', 32}, {'b', 1}, {'c', 8}}, {3, std::nullopt}));
    ASSERT_TRUE(type);
    EXPECT_EQ(type->fields, (std::vector<Field>{{FieldKind::unsigned_integer, false, 10, 0},
                                                {FieldKind::signed_integer, false, 6, 10},
                                                {FieldKind::floating, false, 32, 16},
                                                {FieldKind::boolean, false, 1, 48},
                                                {FieldKind::character, false, 8, 49}}));
    EXPECT_EQ(type->element_bits, 57U);
    EXPECT_EQ(type->shape, (std::vector<std::optional<std::uint64_t>>{3, std::nullopt}));
    EXPECT_TRUE(type->is_variable());
    EXPECT_FALSE(type->fortran_order);
}

TEST(ItemType, WidthsThatMachinesDoNotHaveAreUnsupported) {
    for (const FieldFormat field : std::initializer_list<FieldFormat>{{'u', 0},
                                                                      {'u', 65},
                                                                      {'i', 0},
                                                                      {'i', 65},
                                                                      {'i', ~0ULL},
                                                                      {'b', 0},
                                                                      {'f', 16},
                                                                      {'f', 80},
                                                                      {'c', 7},
                                                                      {'c', 16},
                                                                      {'0', 8},
                                                                      {'\0', 8},
                                                                      {'x', 8}})
        EXPECT_EQ(error(with_format({field})), TypeError::unsupported_type) << field.type << field.bits;
    for (std::uint64_t bits = 1; bits <= 64; ++bits)
        EXPECT_TRUE(item_type(with_format({{'u', bits}, {'i', bits}, {'b', bits}}))) << bits;
}

TEST(ItemType, WithoutFormatAndNumpyHeaderThereIsNoType) {
    EXPECT_EQ(error(with_format({})), TypeError::no_format);
}

TEST(ItemType, OneVariableDimensionIsAllowed) {
    EXPECT_TRUE(item_type(with_format({{'u', 8}}, {std::nullopt, 4})));
    EXPECT_EQ(error(with_format({{'u', 8}}, {std::nullopt, 4, std::nullopt})), TypeError::several_variable);
}

TEST(ItemType, NumpyTypesHaveOneField) {
    const auto type = item_type(with_numpy("<i4", true));
    ASSERT_TRUE(type);
    EXPECT_EQ(type->fields, (std::vector<Field>{{FieldKind::signed_integer, true, 32, 0}}));
    EXPECT_EQ(type->element_bits, 32U);
    EXPECT_TRUE(type->fortran_order);
    EXPECT_FALSE(type->is_variable());
    EXPECT_EQ(type->shape, (std::vector<std::optional<std::uint64_t>>{2, 3}));
}

TEST(ItemType, NumpyKindsAndOrders) {
    const auto field = [](std::string_view dtype, unsigned bug_compat = 0) {
        const auto type = item_type(with_numpy(dtype), bug_compat);
        EXPECT_TRUE(type) << dtype;
        return type ? type->fields.at(0) : Field{};
    };
    EXPECT_EQ(field("|u1"), (Field{FieldKind::unsigned_integer, false, 8, 0}));
    EXPECT_EQ(field("|b1"), (Field{FieldKind::boolean, false, 8, 0}));
    EXPECT_EQ(field(">f8"), (Field{FieldKind::floating, false, 64, 0}));
    EXPECT_EQ(field("<c16"), (Field{FieldKind::complex, true, 128, 0}));
    EXPECT_EQ(field("|S6"), (Field{FieldKind::bytes, false, 48, 0}));
    EXPECT_EQ(field("<U2"), (Field{FieldKind::text, true, 64, 0}));
    EXPECT_EQ(field("<u2", kBugCompatSwapEndian), (Field{FieldKind::unsigned_integer, false, 16, 0}));
    EXPECT_EQ(field(">u2", kBugCompatSwapEndian), (Field{FieldKind::unsigned_integer, true, 16, 0}));
    EXPECT_EQ(field("|u1", kBugCompatSwapEndian), (Field{FieldKind::unsigned_integer, false, 8, 0}));
    EXPECT_EQ(field("<u2", kBugCompatDescriptorWidths | kBugCompatShapeBit1).little_endian, true);
}

TEST(ItemType, SwapEndianDoesNotTouchFormats) {
    EXPECT_EQ(item_type(with_format({{'u', 16}}), kBugCompatPySpead052), item_type(with_format({{'u', 16}})));
}

TEST(ItemType, NumpyTypesThatMachinesDoNotHaveAreUnsupported) {
    for (const std::string_view dtype : {"<f2", "<f16", "<c32", "|O", "<M8[ns]"})
        EXPECT_EQ(error(with_numpy(dtype)), TypeError::unsupported_type) << dtype;
    Descriptor broken = with_numpy("<u2");
    broken.numpy_header.pop_back();
    EXPECT_EQ(error(broken), TypeError::bad_numpy_header);
}

TEST(ItemType, OnlyFixedShapesOfWholeBytesMayBecomeImmediates) {
    EXPECT_TRUE(allows_immediate(item_type(with_format({{'u', 10}, {'u', 6}}, {2})).value()));
    EXPECT_FALSE(allows_immediate(item_type(with_format({{'u', 10}})).value()));
    EXPECT_FALSE(allows_immediate(item_type(with_format({{'u', 8}}, {std::nullopt})).value()));
    EXPECT_TRUE(allows_immediate(item_type(with_numpy("<u2")).value()));
}

TEST(ItemType, EveryErrorHasAName) {
    EXPECT_EQ(name_of(TypeError::no_format), "no_format");
    EXPECT_EQ(name_of(TypeError::several_variable), "several_variable");
    EXPECT_EQ(name_of(TypeError::count_), "unknown");
}

}  // namespace
}  // namespace spead::wire
