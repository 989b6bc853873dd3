// SPDX-License-Identifier: BSD-3-Clause
#include "base/mac.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

TEST(Mac, ReadsSixPairsOfDigitsInEitherCase) {
    EXPECT_EQ(parse_mac("02:53:50:44:00:ff"), (MacAddress{0x02, 0x53, 0x50, 0x44, 0x00, 0xff}));
    EXPECT_EQ(parse_mac("AA:bB:Cc:00:10:01"), (MacAddress{0xaa, 0xbb, 0xcc, 0x00, 0x10, 0x01}));
}

TEST(Mac, IsWrittenAsItIsRead) {
    EXPECT_EQ(mac_text(MacAddress{0x02, 0, 0x5e, 0x10, 0xff, 0x01}), "02:00:5e:10:ff:01");
    EXPECT_EQ(parse_mac(mac_text(MacAddress{1, 2, 3, 4, 5, 6})), (MacAddress{1, 2, 3, 4, 5, 6}));
}

TEST(Mac, AnythingElseIsRefusedAndQuoted) {
    for (const char* text :
         {"", "02:53:50:44:00", "02:53:50:44:00:0", "02:53:50:44:00:000", "02-53-50-44-00-ff",
          "02:53:50:44:00:fg", "02:53:50:44: 0:ff", "02:53:50:44:-1:ff", "0x:53:50:44:00:ff",
          "02:53:50:44:00:ff:", "02:53:50:4:400:ff"}) {
        try {
            parse_mac(text, "--dst-mac");
            FAIL() << text;
        } catch (const UsageError& e) {
            EXPECT_EQ(e.where(), "--dst-mac");
            EXPECT_NE(std::string(e.what()).find("`" + std::string(text) + "` is not a MAC address"),
                      std::string::npos)
                << e.what();
        }
    }
}

}  // namespace
}  // namespace spead
