// SPDX-License-Identifier: BSD-3-Clause
#include "gather/connections.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace spead::gather::connections_test {
namespace {

using std::chrono::milliseconds;

struct Served {
    std::shared_ptr<Channel> channel;
    int prepared = 0;
};
using Ours = Connections<Served>;

const auto prepare = [](Served& served) { served.prepared++; };

TEST(Connections, TheThreadGetsNewChannelsAndLosesThoseThatNobodyElseHas) {
    Ours connections;
    const auto first = connections.connect(2, prepare);
    auto second = connections.connect(2, prepare);
    std::vector<Ours::Pointer> served;
    connections.update(served);
    ASSERT_EQ(served.size(), 2U);
    EXPECT_EQ(served[0]->channel, first);
    EXPECT_EQ(served[1]->prepared, 1);
    second.reset();
    const auto third = connections.connect(2, prepare);
    connections.update(served);
    ASSERT_EQ(served.size(), 2U);
    EXPECT_EQ(served[1]->channel, third);
}

TEST(Connections, AChannelThatCannotBePreparedIsNone) {
    Ours connections;
    EXPECT_THROW(connections.connect(2, [](Served&) { throw std::runtime_error("no"); }), std::runtime_error);
    std::vector<Ours::Pointer> served;
    connections.update(served);
    EXPECT_TRUE(served.empty());
}

TEST(Connections, ChannelsAfterAFailureHaveItToo) {
    Ours connections;
    const auto before = connections.connect(2, prepare);
    connections.fail("the device is gone");
    const auto after = connections.connect(2, prepare);
    for (const auto& channel : {before, after}) {
        EXPECT_EQ(channel->state(), Channel::State::failed);
        EXPECT_EQ(channel->failure(), "the device is gone");
    }
    connections.end();
    EXPECT_EQ(before->state(), Channel::State::ended);
    EXPECT_EQ(after->state(), Channel::State::ended);
    EXPECT_EQ(connections.connect(2, prepare)->state(), Channel::State::ended);
}

TEST(Connections, MemoryStaysWhileTheThreadStandsStill) {
    Ours connections;
    auto region = std::make_shared<const memory::Region>();
    const std::weak_ptr<const memory::Region> kept = region;
    connections.keep(region);
    std::atomic<bool> goes_on{false};
    std::thread thread([&] {
        goes_on.wait(false);
        connections.end();
    });
    EXPECT_FALSE(connections.stop(thread, milliseconds(1)));
    EXPECT_TRUE(connections.is_stopping());
    region.reset();
    EXPECT_FALSE(kept.expired());
    goes_on.store(true);
    goes_on.notify_all();
    EXPECT_TRUE(connections.stop(thread, milliseconds(20'000)));
    EXPECT_TRUE(kept.expired());
    EXPECT_TRUE(connections.stop(thread, milliseconds(0)));
}

}  // namespace
}  // namespace spead::gather::connections_test
