// SPDX-License-Identifier: BSD-3-Clause
#include "base/empty.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(EmptyOf, IsEmptyAndTheSameAtEachCall) {
    EXPECT_TRUE(empty_of<std::string>().empty());
    EXPECT_TRUE(empty_of<std::vector<int>>().empty());
    EXPECT_EQ(&empty_of<std::string>(), &empty_of<std::string>());
}

}  // namespace
}  // namespace spead
