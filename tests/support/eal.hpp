// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sched.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <rte_eal.h>
#include <rte_errno.h>

#include "memory/huge_turn.hpp"
#include "runtime/huge_pages.hpp"

/// Starts EAL for a test's process: no devices, nothing visible to other processes.
namespace spead::test {

/// Returns three lcores on at most two of the CPUs that this process may use.
inline std::string eal_lcores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::string lcores = "(0-2)@(";
    int taken = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE && taken < 2; ++cpu) {
            if (CPU_ISSET(cpu, &allowed)) {
                lcores.append(taken++ == 0 ? "" : ",").append(std::to_string(cpu));
            }
        }
    }
    return lcores.append(taken == 0 ? "0)" : ")");
}

inline std::string environment_or(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

/// Starts EAL. Call it once in a process. Returns false when EAL does not start; standard error has the
/// reason.
inline bool initialise_eal(const char* program) {
    std::vector<std::string> words = {
        program,
        "--no-shconf",
        "--no-pci",
        "--no-telemetry",
        "--iova-mode=va",
        "--lcores=" + eal_lcores(),
        "--file-prefix=spead-test-" + std::to_string(getpid()),
        "--log-level=lib.eal:" + environment_or("DPDK_SPEAD_TEST_LOG", "warning"),
    };
    // As the program does it: huge pages where enough are free.
    const std::size_t mib = std::stoul(environment_or("DPDK_SPEAD_TEST_MEMORY", "512"));
    std::optional<memory::HugePageTurn> turn(std::in_place);
    const runtime::MemoryChoice memory =
        runtime::choose_memory(runtime::huge_memory(port::this_machine()), {{-1, mib << 20}}, false, false);
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
    // With these arguments EAL never puts anything there. At the end is too late: some processes are killed.
    std::error_code ignored;
    std::filesystem::remove(rte_eal_get_runtime_dir(), ignored);
    return true;
}

/// Cleans up. Nothing uses EAL afterwards.
inline void clean_up_eal() {
    rte_eal_cleanup();
}

}  // namespace spead::test
