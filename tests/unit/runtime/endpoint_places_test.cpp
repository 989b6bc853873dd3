// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/endpoint_places.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::runtime::unit_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PathEndpoint group(std::uint32_t n, std::uint8_t path = 0) {
    return {{Ipv4{0xEF000000 + n}, 7148, {}}, path};
}

TEST(EndpointPlaces, StayTheSameWhileOthersComeAndGo) {
    EndpointPlaces places;
    EXPECT_EQ(places.of(group(1)), places.size());
    EXPECT_THAT(places.keep({group(1), group(2), group(3)}, false), ElementsAre(0, 1, 2));
    EXPECT_THAT(places.keep({group(3), group(1)}, false), IsEmpty());
    EXPECT_EQ(places.of(group(1)), 0U);
    EXPECT_EQ(places.of(group(3)), 2U);
    EXPECT_EQ(places.of(group(2)), 1U) << "its place is not taken yet";
}

TEST(EndpointPlaces, OfFormerEndpointsAreTakenOnceNoTableCountsThem) {
    EndpointPlaces places;
    places.keep({group(1), group(2)}, false);
    EXPECT_THAT(places.keep({group(1), group(4)}, false), ElementsAre(2))
        << "packets to 2 may still be counted";
    EXPECT_THAT(places.keep({group(1), group(4), group(5)}, false), ElementsAre(1));
    EXPECT_THAT(places.all(), ElementsAre(group(1), group(5), group(4)));
    EXPECT_EQ(places.of(group(2)), places.size());
}

TEST(EndpointPlaces, AreNotTakenWhileLanesLeave) {
    EndpointPlaces places;
    places.keep({group(1), group(2)}, false);
    places.keep({group(1)}, true);
    EXPECT_THAT(places.keep({group(1), group(3)}, true), ElementsAre(2));
    EXPECT_THAT(places.keep({group(1), group(3), group(4)}, false), ElementsAre(1));
    EXPECT_EQ(places.size(), 3U);
}

TEST(EndpointPlaces, HaveTheNumbersOfTheirEndpointsInThePlan) {
    EndpointPlaces places;
    places.keep({group(1), group(2)}, false);
    EXPECT_THAT(places.numbers({group(1), group(2)}, {}), ElementsAre(0, 1));
    EXPECT_THAT(places.numbers({group(2), group(1)}, {0, 1}), ElementsAre(1, 0));
    places.keep({group(2), group(3)}, false);
    EXPECT_THAT(places.numbers({group(2), group(3)}, {1, 0}), ElementsAre(1, 0, 1))
        << "packets to 1 may still come";
}

TEST(EndpointPlaces, TheSameEndpointOfTwoPathsHasTwoPlacesAndOneNumber) {
    EndpointPlaces places;
    const std::vector<PathEndpoint> all{group(1), group(2), group(1, 1), group(2, 1)};
    EXPECT_THAT(places.keep(all, false), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(places.of(group(2, 1)), 3U);
    EXPECT_THAT(places.numbers(all, {}), ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(places.paths(), ElementsAre(0, 0, 1, 1));
    // One that comes in front changes the numbers, and no place.
    const std::vector<PathEndpoint> more{group(3), group(1), group(2), group(3, 1), group(1, 1), group(2, 1)};
    EXPECT_THAT(places.keep(more, false), ElementsAre(4, 5));
    EXPECT_THAT(places.numbers(more, {}), ElementsAre(1, 2, 1, 2, 0, 0));
    EXPECT_THAT(places.paths(), ElementsAre(0, 0, 1, 1, 0, 1));
}

}  // namespace
}  // namespace spead::runtime::unit_test
