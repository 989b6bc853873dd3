// SPDX-License-Identifier: BSD-3-Clause
#include "observe/api_query.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::observe {
namespace {

using Parts = std::vector<std::string>;
using Values = std::map<std::string, std::string>;

TEST(ApiQuery, PercentIsDecodedOnce) {
    EXPECT_EQ(percent_decoded("a%20b%2f%2F%25"), "a b//%");
    EXPECT_EQ(percent_decoded(""), "");
    for (const char* const bad : {"%", "%1", "a%", "%g0", "%0g", "%%20"})
        EXPECT_EQ(percent_decoded(bad), std::nullopt) << bad;
}

TEST(ApiQuery, PathsAreSplitBeforeTheyAreDecoded) {
    EXPECT_EQ(path_parts("/api/v1/streams/a%2Fb"), (Parts{"api", "v1", "streams", "a/b"}));
    EXPECT_EQ(path_parts("/api/v1/"), (Parts{"api", "v1"}));
    EXPECT_EQ(path_parts("/"), Parts{});
    EXPECT_EQ(path_parts("/api/%zz"), std::nullopt);
}

TEST(ApiQuery, OnlyKnownNamesHaveValues) {
    EXPECT_EQ(query_values("", {}), Values{});
    EXPECT_EQ(query_values("since=7&interval=1%73", {"since", "interval"}),
              (Values{{"since", "7"}, {"interval", "1s"}}));
    EXPECT_EQ(query_values("since=&&", {"since"}), (Values{{"since", ""}}));
    for (const char* const bad : {"other=1", "since", "since=1&since=2", "since=%", "=1"})
        EXPECT_THROW(query_values(bad, {"since"}), UsageError) << bad;
}

TEST(ApiQuery, NumbersAreWhole) {
    EXPECT_EQ(query_number("18446744073709551615", "since"), UINT64_MAX);
    for (const char* const bad : {"", "-1", "+1", "1.0", "18446744073709551616", "1x", " 1"})
        EXPECT_THROW(query_number(bad, "since"), UsageError) << bad;
}

}  // namespace
}  // namespace spead::observe
