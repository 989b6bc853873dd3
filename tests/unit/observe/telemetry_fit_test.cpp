// SPDX-License-Identifier: BSD-3-Clause
#include "observe/telemetry_fit.hpp"

#include <gtest/gtest.h>

namespace spead::observe {
namespace {

using Json = nlohmann::ordered_json;

std::string fitted(const char* text) {
    return fit_telemetry(Json::parse(text)).dump();
}

TEST(TelemetryFit, WhatFitsStaysAsItIs) {
    const char* const text =
        R"({"name":"s0","bytes":18446744073709551615,"down":-5,"packets":{"received":1},"endpoints":["a","b"],"cpus":[1,2]})";
    EXPECT_EQ(fitted(text), text);
}

TEST(TelemetryFit, EveryCountIsUnsigned) {
    const Json out = fit_telemetry(Json{{"a", 5}, {"b", std::int64_t{1} << 40}, {"c", true}, {"d", {1, 2}}});
    EXPECT_TRUE(out["a"].is_number_unsigned());
    EXPECT_EQ(out["b"], std::uint64_t{1} << 40);
    EXPECT_TRUE(out["b"].is_number_unsigned());
    EXPECT_EQ(out["c"], 1u);
    EXPECT_TRUE(out["d"][0].is_number_unsigned());
}

TEST(TelemetryFit, NumbersThatItCannotSayAreStrings) {
    EXPECT_EQ(fitted(R"({"seconds":2.5,"low":-3000000000,"mixed":[1,-1]})"),
              R"({"seconds":"2.5","low":"-3000000000","mixed":{"0":1,"1":-1}})");
}

TEST(TelemetryFit, NothingIsLeftOut) {
    EXPECT_EQ(fitted(R"({"hits":null,"queues":[]})"), R"({"queues":[]})");
}

TEST(TelemetryFit, ListsOfObjectsAreObjects) {
    EXPECT_EQ(fitted(R"({"streams":[{"name":"a"},{"name":"b"}]})"),
              R"({"streams":{"0":{"name":"a"},"1":{"name":"b"}}})");
    EXPECT_EQ(fitted(R"([[1],["x"]])"), R"({"0":[1],"1":["x"]})");
}

TEST(TelemetryFit, NamesAndStringsAreThoseOfTelemetry) {
    EXPECT_EQ(fitted(R"({"in-order s.0":"gr\u00fcn\n"})"), R"({"in_order_s_0":"gr??n?"})");
    const Json out = fit_telemetry(Json{{"text", std::string(300, 'x')}});
    EXPECT_EQ(out["text"], std::string(127, 'x'));
}

TEST(TelemetryFit, WhatIsTooLongIsCutAndSaysSo) {
    Json list = Json::array();
    for (int i = 0; i < 1000; i++)
        list.push_back("239.255.255.255:65535");
    const Json out = fit_telemetry(Json{{"name", "s0"}, {"endpoints", list}, {"bytes", 7}});
    EXPECT_EQ(out["name"], "s0");
    EXPECT_EQ(out["bytes"], 7);
    EXPECT_GT(out["endpoints"].size(), 100u);
    EXPECT_EQ(out["endpoints"].size() + out["left_out"].get<std::size_t>(), 1000u);
    EXPECT_LE(out.dump().size(), kTelemetryBytes);
}

TEST(TelemetryFit, AnObjectHasNoMoreMembersThanTelemetryTakes) {
    Json many = Json::object();
    for (int i = 0; i < 300; i++)
        many["m" + std::to_string(i)] = i;
    const Json out = fit_telemetry(many);
    EXPECT_EQ(out.size(), 256u);
    EXPECT_EQ(out["left_out"], 45);
}

TEST(TelemetryFit, WhatCannotBeCutIsAnError) {
    Json many = Json::object();
    for (int i = 0; i < 200; i++)
        many["m" + std::to_string(i)] = std::string(120, 'x');
    EXPECT_TRUE(fit_telemetry(many).contains("error"));
}

}  // namespace
}  // namespace spead::observe
