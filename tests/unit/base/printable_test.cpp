// SPDX-License-Identifier: BSD-3-Clause
#include "base/printable.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

TEST(Printable, LeavesTextAlone) {
    EXPECT_EQ(printable(""), "");
    EXPECT_EQ(printable("räume/日本 \"q\" \\ ~"), "räume/日本 \"q\" \\ ~");
    EXPECT_EQ(printable("\xc2\xa0\xf0\x9f\x98\x80"), "\xc2\xa0\xf0\x9f\x98\x80");
}

TEST(Printable, ShowsControlCharactersByNumber) {
    EXPECT_EQ(printable("a\n\tb\x7f"), "a\\x0a\\x09b\\x7f");
    EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
    EXPECT_EQ(printable("\xc2\x9b"
                        "2J"),
              "\\xc2\\x9b2J")
        << "the one character that stands for ESC [";
}

TEST(Printable, ShowsBytesThatAreNoTextByNumber) {
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
    EXPECT_EQ(printable("\xe2\x82x"), "\\xe2\\x82x");
}

TEST(Error, IsPrintableWhateverItNames) {
    EXPECT_STREQ(Error("no file \x1b]0;x\x07").what(), "no file \\x1b]0;x\\x07");
    const UsageError error("a\nb", "`\r` is no key");
    EXPECT_STREQ(error.what(), "a\\x0ab: `\\x0d` is no key");
    EXPECT_EQ(error.where(), "a\\x0ab");
}

}  // namespace
}  // namespace spead
