// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "port/machine.hpp"

/// The machine's huge pages, and where EAL's memory comes from. Control world, pure but for the files read.
namespace spead::runtime {

/// Pages of one size on one NUMA node.
struct HugePages {
    int node = 0;
    std::size_t page = 0;      ///< bytes
    std::size_t reserved = 0;  ///< all of them, whoever has them
    std::size_t free = 0;      ///< what this process can take: its control group and memory nodes allow it
};

struct HugeMemory {
    std::vector<HugePages> pages;  ///< those that are reserved; by node, the largest first
    std::size_t nodes = 1;         ///< NUMA nodes of the machine
    bool small_default = true;     ///< vm.nr_hugepages counts pages of 2 MiB
    /// Bytes of the largest file that this process may make: EAL's huge pages are files in memory.
    std::uint64_t longest_file = UINT64_MAX;

    std::size_t free_bytes() const;
    std::size_t free_bytes(int node) const;
};

/// Reads /sys/devices/system/node, /sys/kernel/mm/hugepages, and what limits this process
/// (Mems_allowed of /proc/self/status, hugetlb of its control groups, version 2).
HugeMemory huge_memory(const port::Machine& machine);

/// Returns "none reserved", or as in "32 of 64 of 2 MiB free", by node where there are several.
std::string describe(const HugeMemory& memory);

/// What EAL needs: bytes by NUMA node; -1 is any.
using EalMemory = std::map<int, std::size_t>;
std::size_t sum_of(const EalMemory& need);

/// Why huge pages do not hold EAL's memory.
struct HugeShortage {
    std::string
        reason;  ///< with the arithmetic, without a subject: "182 MiB of huge pages are needed and ..."
    std::string command;  ///< that fixes it
};
std::optional<HugeShortage> huge_shortage(const HugeMemory& have, const EalMemory& need);

/// EAL's options for its memory, where the user gave none of them.
struct MemoryChoice {
    std::vector<std::string> arguments;
    bool huge = false;
    std::string remark;  ///< why huge pages that there are stay unused; empty: nothing to say
};

/// Huge pages where they hold it, taken when EAL starts; else ordinary pages. `card`: only huge pages will
/// do, and Error says what is missing. `user_amount`: the user gave -m, which stays as it is.
MemoryChoice choose_memory(const HugeMemory& have, const EalMemory& need, bool card, bool user_amount);

}  // namespace spead::runtime
