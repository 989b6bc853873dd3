// SPDX-License-Identifier: BSD-3-Clause
// main() of every test that needs EAL: initialises it once, runs the tests, and fails if they left mempools
// or ports behind.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sched.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "memory/huge_turn.hpp"
#include "runtime/huge_pages.hpp"

using namespace spead;

namespace {

/// Three lcores on at most two of the CPUs this process may use.
std::string lcores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::string cpus;
    int taken = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE && taken < 2; ++cpu) {
            if (CPU_ISSET(cpu, &allowed)) {
                cpus += (taken++ == 0 ? "" : ",") + std::to_string(cpu);
            }
        }
    }
    return "(0-2)@(" + (cpus.empty() ? "0" : cpus) + ")";
}

std::string environment_or(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

bool initialise_eal(const char* program) {
    std::vector<std::string> words = {
        program,
        "--no-shconf",
        "--no-pci",
        "--no-telemetry",
        "--iova-mode=va",
        "--lcores=" + lcores(),
        "--file-prefix=spead-test-" + std::to_string(getpid()),
        "--log-level=lib.eal:" + environment_or("DPDK_SPEAD_TEST_LOG", "warning"),
    };
    // As the program does it: huge pages where enough are free.
    const std::size_t mib = std::stoul(environment_or("DPDK_SPEAD_TEST_MEMORY", "512"));
    std::optional<memory::HugePageTurn> turn(std::in_place);
    const runtime::MemoryChoice memory =
        runtime::choose_memory(runtime::huge_memory(port::this_host()), {{-1, mib << 20}}, false, false);
    words.insert(words.end(), memory.arguments.begin(), memory.arguments.end());
    if (memory.huge) {
        // Tests that want more than there is must not get it.
        words.push_back("--socket-limit=" + std::to_string(mib));
    }
    std::printf("EAL's memory: %s\n", memory.huge ? "huge pages" : "ordinary pages");
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
        std::fprintf(stderr, "EAL does not start: %s\n", rte_strerror(rte_errno));
        return false;
    }
    return true;
}

/// Whatever outlives the tests: a pool or port that production code would leak just the same.
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
    if (testing::GTEST_FLAG(list_tests)) {
        return RUN_ALL_TESTS();
    }
    if (!initialise_eal(argv[0])) {
        return EXIT_FAILURE;
    }
    int status = RUN_ALL_TESTS();
    if (count_left_behind() > 0 && status == EXIT_SUCCESS) {
        status = EXIT_FAILURE;
    }
    const std::filesystem::path runtime_directory = rte_eal_get_runtime_dir();
    rte_eal_cleanup();
    std::error_code
        ignored;  // EAL leaves its empty directory; if it is not empty, something else may want it
    std::filesystem::remove(runtime_directory, ignored);
    return status;
}
