// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notice_address.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::runtime::unit_test {
namespace {

TEST(NoticeAddress, IsAPathOrAPort) {
    EXPECT_EQ(parse_notice_address("unix:/a:b"), (NoticeAddress{"/a:b", {}}));
    EXPECT_EQ(parse_notice_address("tcp:5000"), (NoticeAddress{"", {kLoopback, 5000}}));
    EXPECT_EQ(parse_notice_address("tcp:0.0.0.0:0"), (NoticeAddress{"", {Ipv4{0}, 0}}));
}

TEST(NoticeAddress, RefusesOthers) {
    for (const char* wrong : {"", "unix:", "/a", "tcp:", "tcp:x", "tcp:70000", "tcp:239.1.1.1:5", "udp:5"})
        EXPECT_NE(spead::test::usage_error_of([&] { parse_notice_address(wrong, "--notify"); }), "") << wrong;
    EXPECT_THAT(spead::test::usage_error_of(
                    [] { parse_notice_address("unix:" + std::string(108, 'a'), "--notify"); }),
                testing::HasSubstr("108 characters of 107"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
