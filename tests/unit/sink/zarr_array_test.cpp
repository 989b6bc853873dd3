// SPDX-License-Identifier: BSD-3-Clause
#include "sink/zarr_array.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::sink::unit_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kPlacement =
    "heap 4096; axis chan: item 0x4103 [4]; time: item 0x1600 [8]; "
    "presence packet 1024; extra u16: item 5; extra u64: item 6";

ZarrArray data_of(const char* type, const Column& column = {}) {
    const auto placement = chunk::Placement::parse(kPlacement);
    return data_array(array_layout(placement, ElementType::parse(type), ""), column);
}

TEST(ZarrArray, GrowsAlongTheTimeAndHasAllColumns) {
    const ZarrArray array = data_of(">f4", {"chan", 1, 3});
    const json text = json::parse(array.metadata(5));
    EXPECT_EQ(text["zarr_format"], 2);
    EXPECT_EQ(text["shape"], (json{12, 40, 1024}));
    EXPECT_EQ(text["chunks"], (json{4, 8, 1024}));
    EXPECT_EQ(text["dtype"], ">f4");
    EXPECT_EQ(text["fill_value"], "NaN");
    EXPECT_EQ(text["order"], "C");
    EXPECT_TRUE(text["compressor"].is_null() && text["filters"].is_null());
    EXPECT_EQ(array.key(7), "1.7.0");
    EXPECT_EQ(data_of("u1").key(7), "0.7.0");
}

TEST(ZarrArray, SaysWhatIsThereWhereNoChunkIs) {
    EXPECT_EQ(data_of("<c8").fill, (json{"NaN", "NaN"})) << "a complex number has two parts";
    EXPECT_EQ(data_of("u1").fill, 0);
}

TEST(ZarrArray, DescribesPresenceAndExtraValuesAndArrival) {
    const auto placement = chunk::Placement::parse(kPlacement);
    const json presence = json::parse(presence_array(placement, {}).metadata(2));
    EXPECT_EQ(presence["shape"], (json{4, 16, 4}));
    EXPECT_EQ(presence["dtype"], "|u1");
    const auto extra = extra_array(placement, {"chan", 2, 3});
    ASSERT_TRUE(extra);
    EXPECT_EQ(json::parse(extra->metadata(1))["dtype"],
              json::parse(R"([["extra0","<u2"],["extra1","<u8"]])"));
    EXPECT_EQ(extra->fill, "/////////////w==") << "ten bytes of all ones";
    EXPECT_EQ(extra->key(3), "2.3");
    const auto one = chunk::Placement::parse("heap 4; time: item 0x1600 [8]; extra u16: item 5");
    EXPECT_EQ(extra_array(one, {})->fill, 65535);
    EXPECT_FALSE(extra_array(chunk::Placement::parse("heap 4; time: item 0x1600 [8]"), {}));
    EXPECT_EQ(json::parse(arrival_array({}).metadata(9))["shape"], (json{9, 2}));
    EXPECT_EQ(arrival_array({"chan", 2, 3}).key(9), "9.2.0");
}

TEST(ZarrArray, KnowsItsOwnMetadataAndTellsOthersApart) {
    const ZarrArray array = data_of(">f4", {"chan", 1, 3});
    EXPECT_EQ(array.read(array.metadata(77)).other, "");
    EXPECT_EQ(array.read(array.metadata(77)).chunks, 77U);
    const auto changed = [&](const char* key, const json& value) {
        json text = json::parse(array.metadata(7));
        text[key] = value;
        return array.read(text.dump()).other;
    };
    EXPECT_THAT(changed("dtype", "<f4"), HasSubstr("`dtype` is \"<f4\", and not \">f4\""));
    EXPECT_THAT(changed("compressor", {{"id", "blosc"}}), HasSubstr("`compressor`"));
    EXPECT_THAT(changed("chunks", {4, 8}), HasSubstr("`chunks`"));
    EXPECT_THAT(changed("shape", {8, 40, 1024}), HasSubstr("`shape` is [8,40,1024]"));
    EXPECT_THAT(changed("shape", {12, 41, 1024}), HasSubstr("whole chunks along `time`"));
    EXPECT_THAT(changed("shape", {12, -8, 1024}), HasSubstr("does not fit"));
    EXPECT_THAT(changed("shape", "x"), HasSubstr("does not fit"));
    EXPECT_THAT(array.read("{").other, HasSubstr("not JSON"));
    EXPECT_THAT(array.read("[]").other, HasSubstr("not JSON"));
    const auto deep = [](std::size_t depth) {
        return "{\"zarr_format\":" + std::string(depth, '[') + std::string(depth, ']') + '}';
    };
    EXPECT_THAT(array.read(deep(450'000)).other, HasSubstr("not JSON"));
    EXPECT_THAT(array.read(deep(9)).other, HasSubstr("its `zarr_format` is a nested list, and not 2"));
    json old = json::parse(array.metadata(7));
    old.erase("dimension_separator");
    EXPECT_EQ(array.read(old.dump()).other, "") << "the dot is the default";
    old.erase("order");
    EXPECT_THAT(array.read(old.dump()).other, HasSubstr("`order` is missing"));
}

}  // namespace
}  // namespace spead::sink::unit_test
