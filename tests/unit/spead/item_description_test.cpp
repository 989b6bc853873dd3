// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "spead/send_heap.hpp"
#include "wire/item_type.hpp"

namespace spead::door {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using wire::FieldFormat;

ItemDescription item(const std::string& dtype, const std::string& format,
                     std::vector<std::int64_t> shape = {}) {
    return {0x1000, "spectra", "What comes", std::move(shape), dtype, format};
}

TEST(ItemDescription, NamesNumpyTypesAsNumpyDoes) {
    const wire::Descriptor d = descriptor_of(item(">u2", "", {4, 512}));
    EXPECT_EQ(d.id, 0x1000U);
    EXPECT_EQ(d.name, "spectra");
    EXPECT_EQ(d.description, "What comes");
    EXPECT_EQ(d.numpy_header, "{'descr': '>u2', 'fortran_order': False, 'shape': (4, 512)}");
    EXPECT_THAT(d.shape, IsEmpty());
    EXPECT_THAT(d.format, IsEmpty());
    EXPECT_EQ(descriptor_of(item("<f4", "", {7})).numpy_header,
              "{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}");
    EXPECT_EQ(descriptor_of(item("|u1", "")).numpy_header,
              "{'descr': '|u1', 'fortran_order': False, 'shape': ()}");
}

TEST(ItemDescription, NamesFieldsOfAnyWidth) {
    const wire::Descriptor d = descriptor_of(item("", "u12 i4  f32", {-1, 3}));
    EXPECT_THAT(d.format, ElementsAre(FieldFormat{'u', 12}, FieldFormat{'i', 4}, FieldFormat{'f', 32}));
    EXPECT_THAT(d.shape, ElementsAre(std::nullopt, std::optional<std::uint64_t>(3)));
    EXPECT_EQ(d.numpy_header, "");
    EXPECT_EQ(wire::item_type(d)->element_bits, 48U);
}

TEST(ItemDescription, RefusesInWordsWhatNoReceiverCouldRead) {
    const auto refuses = [](const ItemDescription& wrong, const std::string& words) {
        EXPECT_THAT([&] { descriptor_of(wrong); },
                    ThrowsMessage<UsageError>(
                        testing::AllOf(HasSubstr("item 0x1000 (\"spectra\")"), HasSubstr(words))));
    };
    refuses(item("", ""), "either its `dtype`");
    refuses(item(">u2", "u16"), "either its `dtype`");
    refuses(item(">q9", ""), "dtype \">q9\" is not supported");
    refuses(item(">u2', 'x': '", ""), "is not supported");
    refuses(item(">u2", "", {-1}), "give `format`");
    refuses(item("", "u16", {-1, -1}), "receivers could not read it");
    refuses(item("", "u16", {-2}), "dimension -2 is not a size");
    refuses(item("", "x16"), "format field \"x16\" is not supported");
    refuses(item("", "u"), "format field \"u\"");
    refuses(item("", "u0"), "format field \"u0\"");
    refuses(item("", "u-1"), "format field \"u-1\"");
    refuses(item("", "u99999999999999999999"), "format field");
    refuses(item("", "u16,i4"), "format field \"u16,i4\"");
    refuses(item("", "f13"), "receivers could not read it");
    refuses(item(">u2", "", std::vector<std::int64_t>(200, 1)), "dimensions");
}

}  // namespace
}  // namespace spead::door
