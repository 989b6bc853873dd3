// SPDX-License-Identifier: BSD-3-Clause
#include "base/listen_address.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

TEST(ListenAddress, IsAnAddressAndAPort) {
    EXPECT_EQ(parse_listen_address("10.1.2.3:9100"), (ListenAddress{{0x0A010203}, 9100}));
    EXPECT_EQ(parse_listen_address("0.0.0.0:0"), (ListenAddress{{0}, 0}));
}

TEST(ListenAddress, APortAloneIsOfTheLoopbackAddress) {
    EXPECT_EQ(parse_listen_address("9100"), (ListenAddress{kLoopback, 9100}));
}

TEST(ListenAddress, IsPrintedAsItIsRead) {
    EXPECT_EQ(to_string(parse_listen_address("9100")), "127.0.0.1:9100");
    EXPECT_EQ(parse_listen_address(to_string(ListenAddress{{0x0A010203}, 80})),
              (ListenAddress{{0x0A010203}, 80}));
}

TEST(ListenAddress, AnythingElseIsRefusedWithTheTextAndWhatWouldDo) {
    for (const char* const text :
         {"", ":", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:9100x", "127.0.0.1:+1",
          "somewhere:9100", "127.0.0:9100", "239.1.2.3:9100", "http", "127.0.0.1:9100:9200", " 9100"}) {
        try {
            parse_listen_address(text, "--metrics");
            ADD_FAILURE() << text;
        } catch (const UsageError& error) {
            EXPECT_EQ(error.where(), "--metrics") << text;
        }
    }
}

}  // namespace
}  // namespace spead
