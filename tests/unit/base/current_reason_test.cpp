// SPDX-License-Identifier: BSD-3-Clause
#include "base/current_reason.hpp"

#include <new>
#include <string>

#include <gtest/gtest.h>

namespace spead {
namespace {

template <typename Thrown>
std::string reason_of_thrown(const Thrown& thrown) {
    try {
        throw thrown;
    } catch (...) {
        return reason_of_current();
    }
}

TEST(ReasonOfCurrent, IsThatOfTheExceptionWhateverItsType) {
    EXPECT_EQ(reason_of_thrown(Error("port p0", "no")), "port p0: no");
    EXPECT_EQ(reason_of_thrown(std::bad_alloc()), reason_of(std::bad_alloc()));
    EXPECT_EQ(reason_of_thrown(3), "an exception that is no std::exception");
}

}  // namespace
}  // namespace spead
