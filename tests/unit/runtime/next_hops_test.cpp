// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/next_hops.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::runtime::unit_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Makes hops of the substreams 0, 1 ...
NextHops hops_of(std::uint32_t n) {
    std::vector<NextHop> hops(n);
    for (std::uint32_t i = 0; i < n; i++)
        hops[i].substream = i;
    return NextHops(std::move(hops));
}

std::vector<std::uint32_t> due(NextHops& hops, std::size_t most) {
    std::vector<std::uint32_t> substreams;
    for (const NextHop* const hop : hops.due(most))
        substreams.push_back(hop->substream);
    return substreams;
}

TEST(NextHops, AreLookedAtInTurn) {
    NextHops hops = hops_of(5);
    EXPECT_THAT(due(hops, 2), ElementsAre(0, 1));
    EXPECT_THAT(due(hops, 2), ElementsAre(0, 1)) << "not looked at yet";
    hops.note_looked_at(2);
    EXPECT_THAT(due(hops, 2), ElementsAre(2, 3));
    hops.note_looked_at(2);
    EXPECT_THAT(due(hops, 2), ElementsAre(4, 0));
    hops.note_looked_at(2);
    EXPECT_THAT(due(hops, 2), ElementsAre(1, 2));
}

TEST(NextHops, AreDueOnceEach) {
    NextHops hops = hops_of(3);
    hops.note_looked_at(2);
    EXPECT_THAT(due(hops, 32), ElementsAre(2, 0, 1));
    hops.note_looked_at(3);
    EXPECT_THAT(due(hops, 32), ElementsAre(2, 0, 1));
    NextHops none;
    EXPECT_TRUE(none.empty());
    EXPECT_THAT(due(none, 32), IsEmpty());
}

TEST(NextHops, KeepTheAddressOfADueHop) {
    NextHops hops = hops_of(2);
    hops.due(1).front()->mac = MacAddress{2, 0, 0, 0, 0, 1};
    EXPECT_EQ(hops.all()[0].mac, (MacAddress{2, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace spead::runtime::unit_test
