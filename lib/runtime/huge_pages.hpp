// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "port/machine.hpp"

/// Describes the machine's huge pages, and chooses the source of EAL's memory. Control code; pure but for the
/// files read.
namespace spead::runtime {

/// Holds the number of pages of one size on one NUMA node.
struct HugePages {
    int node = 0;
    std::size_t page = 0;      ///< bytes
    std::size_t reserved = 0;  ///< all of them, whichever process uses them
    std::size_t free = 0;      ///< those that the control group and memory nodes of this process allow
};

struct HugeMemory {
    std::vector<HugePages> pages;  ///< those that are reserved, by node, the largest first
    std::size_t nodes = 1;         ///< NUMA nodes of the machine
    bool small_default = true;     ///< vm.nr_hugepages counts pages of 2 MiB
    /// Holds the size of the largest file that this process may make: EAL's huge pages are files in memory.
    std::uint64_t longest_file = UINT64_MAX;

    std::size_t free_bytes() const;
    std::size_t free_bytes(int node) const;
};

/// Reads /sys/devices/system/node, /sys/kernel/mm/hugepages, and the limits of this process (Mems_allowed of
/// /proc/self/status, hugetlb of its control groups, version 2).
HugeMemory huge_memory(const port::Machine& machine);

/// Returns "none reserved", or "32 of 64 of 2 MiB free", by node where there are several.
std::string describe(const HugeMemory& memory);

/// Holds EAL's memory need: bytes by NUMA node; -1 is any.
using EalMemory = std::map<int, std::size_t>;
std::size_t sum_of(const EalMemory& need);

/// Says why huge pages cannot hold EAL's memory.
struct HugeShortage {
    std::string reason;   ///< a clause with the arithmetic: "182 MiB of huge pages are needed and ..."
    std::string command;  ///< the command that fixes it
};
std::optional<HugeShortage> huge_shortage(const HugeMemory& have, const EalMemory& need);

/// Holds EAL's memory options, for a user who gave none.
struct MemoryChoice {
    std::vector<std::string> arguments;
    bool huge = false;
    std::string remark;  ///< why available huge pages stay unused; empty: nothing to report
};

/// Chooses huge pages if enough are free, else ordinary pages; the pages are taken when EAL starts. `card`:
/// requires huge pages, and throws Error that says how many are missing. `user_amount`: the user gave -m,
/// which stays as it is.
MemoryChoice choose_memory(const HugeMemory& have, const EalMemory& need, bool card, bool user_amount);

}  // namespace spead::runtime
