// SPDX-License-Identifier: BSD-3-Clause
// main() of every test that needs EAL: initialises it once, runs the tests, and fails if they left mempools
// or ports behind.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "tests/eal/one_file.hpp"
#include "tests/support/eal.hpp"

namespace {

/// Counts the pools and ports that outlive the tests, as production code would leak them.
int count_left_behind() {
    int left = 0;
    rte_mempool_walk(
        [](rte_mempool* pool, void* count) {
            const bool usable = (pool->flags & RTE_MEMPOOL_F_POOL_CREATED) != 0;
            std::fprintf(stderr, "left behind: mempool %s, %u of %u objects in use\n", pool->name,
                         usable ? rte_mempool_in_use_count(pool) : 0, pool->size);
            ++*static_cast<int*>(count);
        },
        &left);
    for (std::uint16_t port = 0; port < RTE_MAX_ETHPORTS; ++port) {
        if (rte_eth_dev_is_valid_port(port) == 0) {
            continue;
        }
        char name[RTE_ETH_NAME_MAX_LEN] = "?";
        rte_eth_dev_get_name_by_port(port, name);
        std::fprintf(stderr, "left behind: port %u (%s)\n", static_cast<unsigned>(port), name);
        ++left;
    }
    return left;
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (!spead::test::choose_file(argc, argv)) {
        return EXIT_FAILURE;
    }
    if (testing::GTEST_FLAG(list_tests)) {
        return RUN_ALL_TESTS();
    }
    if (!spead::test::initialise_eal(argv[0])) {
        return EXIT_FAILURE;
    }
    int status = RUN_ALL_TESTS();
    if (count_left_behind() > 0 && status == EXIT_SUCCESS) {
        status = EXIT_FAILURE;
    }
    spead::test::clean_up_eal();
    return status;
}
