// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/link_watch.hpp"

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

TEST(LinkWatch, HasNothingToTellOfALinkThatStays) {
    LinkWatch watch;
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(watch.update(true), LinkWatch::News::none);
    EXPECT_EQ(watch.losses(), 0U);
}

TEST(LinkWatch, TellsTheFirstLossAndReturnOnce) {
    LinkWatch watch;
    EXPECT_EQ(watch.update(true), LinkWatch::News::none);
    EXPECT_EQ(watch.update(false), LinkWatch::News::lost);
    EXPECT_EQ(watch.update(false), LinkWatch::News::none);
    EXPECT_EQ(watch.update(true), LinkWatch::News::back);
    EXPECT_EQ(watch.update(true), LinkWatch::News::none);
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(watch.update(false), LinkWatch::News::none) << "a link that flaps is no news";
        EXPECT_EQ(watch.update(true), LinkWatch::News::none);
    }
    EXPECT_EQ(watch.losses(), 5U);
}

TEST(LinkWatch, TellsOfAPortThatHasNoLinkFromTheStart) {
    LinkWatch watch;
    EXPECT_EQ(watch.update(false), LinkWatch::News::lost);
    EXPECT_EQ(watch.update(true), LinkWatch::News::back);
}

TEST(PeerWatch, TellsOnceThatNobodyHasComeForSomeTime) {
    PeerWatch w;
    for (int look = 1; look <= 4; look++)
        EXPECT_FALSE(w.update(false)) << look;
    EXPECT_TRUE(w.update(false));
    for (int look = 6; look <= 1000; look++)
        EXPECT_FALSE(w.update(false)) << look;
}

TEST(PeerWatch, SaysNothingOfAPeerThatIsBackSoonAndTellsOfAnotherLossThreeTimesAtMost) {
    PeerWatch w;
    for (int i = 0; i < 100; i++) {
        EXPECT_FALSE(w.update(true));
        for (int look = 1; look <= 4; look++)
            EXPECT_FALSE(w.update(false));
    }
    int told = 0;
    for (int i = 0; i < 100; i++) {
        w.update(true);
        for (int look = 1; look <= 10; look++)
            told += w.update(false);
    }
    EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace spead::runtime
