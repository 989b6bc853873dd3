// SPDX-License-Identifier: BSD-3-Clause
#include "observe/once_per_address.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace spead::observe {
namespace {

using namespace std::chrono_literals;

TEST(OncePerAddress, ALineAMinutePassesForEachAddress) {
    OncePerAddress once;
    const OncePerAddress::Clock::time_point start{1h};
    EXPECT_TRUE(once.ask("10.0.0.1:5000", start));
    EXPECT_FALSE(once.ask("10.0.0.1:5001", start + 1s)) << "another port is the same client";
    EXPECT_TRUE(once.ask("10.0.0.2:5000", start + 1s));
    EXPECT_FALSE(once.ask("10.0.0.1:5000", start + 59s));
    EXPECT_TRUE(once.ask("10.0.0.1:5000", start + 60s));
    EXPECT_FALSE(once.ask("10.0.0.1:5000", start + 119s));
    EXPECT_TRUE(once.ask("somebody", start)) << "a client that has gone has no address";
}

TEST(OncePerAddress, ItsMemoryIsBounded) {
    OncePerAddress once;
    const OncePerAddress::Clock::time_point start{1h};
    for (std::size_t i = 0; i < OncePerAddress::kMost; i++)
        EXPECT_TRUE(once.ask(fmt::format("10.0.{}.{}:1", i / 250, i % 250), start));
    EXPECT_FALSE(once.ask("10.0.0.0:1", start));
    EXPECT_TRUE(once.ask("10.9.9.9:1", start));
    EXPECT_TRUE(once.ask("10.0.0.0:1", start)) << "it was forgotten";
}

}  // namespace
}  // namespace spead::observe
