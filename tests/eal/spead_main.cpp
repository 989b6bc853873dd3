// SPDX-License-Identifier: BSD-3-Clause
// main() of the tests of the C++ API, which starts EAL itself.

#include <cstdlib>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/eal/one_file.hpp"

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    return spead::test::choose_file(argc, argv) ? RUN_ALL_TESTS() : EXIT_FAILURE;
}
