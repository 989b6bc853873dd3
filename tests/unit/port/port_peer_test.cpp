// SPDX-License-Identifier: BSD-3-Clause
/// Tests a port without a guarded device, which needs no EAL; tests/eal/port/memif_test.cpp has peers.
#include "port/port_peer.hpp"

#include <gtest/gtest.h>

#include "tests/unit/port/plain_driver.hpp"

namespace spead::port::test {
namespace {

class PortPeerTest : public testing::Test {
  protected:
    /// Returns the text that the call writes to the log.
    template <typename Call>
    static std::string logged(Call call) {
        testing::internal::CaptureStderr();
        call();
        return testing::internal::GetCapturedStderr();
    }

    PlainDriver driver;
    PreparedDevice device;
    PortPeer peer{driver, device};
};

TEST_F(PortPeerTest, NothingIsGuardedByDefault) {
    EXPECT_FALSE(peer.keeps_out());
    EXPECT_FALSE(peer.is_awaited());
    EXPECT_TRUE(peer.follow());
    peer.release();
    peer.end_guard();
    EXPECT_EQ(peer.finish(), 0U);
    EXPECT_EQ(driver.questions, 0U) << "only a guarded device has a peer that fetches";
}

TEST_F(PortPeerTest, UnguardedCallsAreMadeAtOnceAndTellTheirResult) {
    unsigned calls = 0;
    EXPECT_EQ(peer.in_order([&] {
        ++calls;
        return -5;
    }),
              -5);
    EXPECT_EQ(calls, 1U);
}

TEST_F(PortPeerTest, TheFirstReasonForItsAbsenceIsLogged) {
    driver.why.reset();
    EXPECT_EQ(logged([&] { EXPECT_EQ(peer.why_absent("port p0"), std::nullopt); }), "");
    driver.why = "";
    EXPECT_EQ(logged([&] { EXPECT_EQ(peer.why_absent("port p0"), ""); }), "") << "none has come yet";
    driver.why = "its user is not trusted";
    EXPECT_NE(logged([&] {
                  EXPECT_EQ(peer.why_absent("port p0"), "its user is not trusted");
              }).find("port p0: its user is not trusted"),
              std::string::npos);
    EXPECT_EQ(logged([&] { EXPECT_EQ(peer.why_absent("port p0"), "its user is not trusted"); }), "");
}

TEST_F(PortPeerTest, IsAwaitedAsTheCallerSays) {
    peer.set_awaited(true);
    EXPECT_TRUE(peer.is_awaited());
    peer.set_awaited(false);
    EXPECT_FALSE(peer.is_awaited());
}

}  // namespace
}  // namespace spead::port::test
