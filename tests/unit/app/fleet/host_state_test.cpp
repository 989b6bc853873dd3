// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/host_state.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/app/fleet/hosts.hpp"

namespace spead::app {
namespace {

using spead::test::host;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(HostState, IsTheWorstThatIsTrue) {
    HostLook now = host("a:1", "0/1", 6, 5);
    const HostLook before = host("a:1", "0/1", 6, 5);
    EXPECT_EQ(state_of(now, nullptr), HostState::ok);
    EXPECT_EQ(state_of(now, &before), HostState::ok);
    now.heaps_lost = 6;
    EXPECT_EQ(state_of(now, &before), HostState::losing);
    EXPECT_EQ(state_of(now, nullptr), HostState::ok) << "nothing to compare it with";
    now.findings = {{"vis", "late", "window", "came late", {}, 1}};
    EXPECT_EQ(state_of(now, &before), HostState::problem);
    now.faults = {"port p0 is down"};
    EXPECT_EQ(state_of(now, &before), HostState::fault);
    EXPECT_THAT(reasons_of(now), ElementsAre("port p0 is down", "vis: came late"));
    now.failure = "Timeout";
    EXPECT_EQ(state_of(now, &before), HostState::silent);
    EXPECT_THAT(reasons_of(now), ElementsAre("Timeout"));
}

class HostStatesTest : public testing::Test {
  protected:
    /// Takes a look in which the process has lost `lost` heaps since its start.
    HostStates::Entry look(seconds at, std::uint64_t lost) {
        std::vector<HostLook> now{host("a:1", "0/1", 6, lost)};
        const HostStates::Entry entry = states_.take(before_, now, start_ + at).front();
        before_ = std::move(now);
        return entry;
    }
    seconds since(const HostStates::Entry& entry) const {
        return std::chrono::duration_cast<seconds>(entry.since - start_);
    }

    const HostStates::Clock::time_point start_{};
    HostStates states_;
    std::vector<HostLook> before_;
};

TEST_F(HostStatesTest, KnowSinceWhen) {
    EXPECT_EQ(since(look(seconds(0), 0)), seconds(0));
    EXPECT_EQ(look(seconds(10), 0).state, HostState::ok);
    EXPECT_EQ(since(look(seconds(20), 0)), seconds(0));
    const HostStates::Entry losing = look(seconds(30), 1);
    EXPECT_EQ(losing.state, HostState::losing);
    EXPECT_EQ(since(losing), seconds(30));
}

TEST_F(HostStatesTest, LossesThatComeAndGoHaveOneBeginning) {
    look(seconds(0), 0);
    std::uint64_t lost = 0;
    for (int i = 0; i < 20; i++) {
        const HostStates::Entry entry = look(seconds(10 + 3 * i), lost += i % 2 == 0 ? 1 : 0);
        EXPECT_EQ(entry.state, HostState::losing);
        EXPECT_EQ(since(entry), seconds(10));
    }
    const HostStates::Entry after = look(seconds(80), lost);
    EXPECT_EQ(after.state, HostState::ok);
    EXPECT_EQ(since(after), seconds(80));
}

}  // namespace
}  // namespace spead::app
