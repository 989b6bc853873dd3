// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(Error, TellsWhereAndWhatInPrintableWords) {
    const Error error("port p\x1b[2J", "it is away");
    EXPECT_STREQ(error.what(), "port p\\x1b[2J: it is away");
    EXPECT_EQ(error.where(), "port p\\x1b[2J");
}

TEST(Error, OfMemoryThatIsLackingNamesItAndTheFix) {
    EXPECT_THAT(reason_of(std::bad_alloc()), testing::HasSubstr("no memory is left"));
    EXPECT_STREQ(reason_of(Error("the cat sleeps")), "the cat sleeps");
}

}  // namespace
}  // namespace spead
