// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spead::observe {

/// Holds the facts that stay the same while a process runs.
struct ProcessIdentity {
    std::string name;     ///< `name` in [runtime]
    std::string version;  ///< of this program
    std::string dpdk;     ///< rte_version()
};

/// Holds the resources that the kernel has given this process. A member without a value could not be read,
/// for example because there was no free descriptor. Source: proc(5), getrlimit(2), clock_gettime(2).
struct ProcessUsage {
    std::optional<double> cpu_s;                    ///< user and system time of all threads
    std::optional<double> start_s;                  ///< since the epoch (UTC)
    std::optional<std::uint64_t> resident_bytes;    ///< without huge pages, which the kernel counts apart
    std::optional<std::uint64_t> virtual_bytes;     ///< address space
    std::optional<std::uint64_t> threads;           ///< lcores and EAL's threads included
    std::optional<std::uint64_t> descriptors;       ///< open ones
    std::optional<std::uint64_t> most_descriptors;  ///< soft limit (RLIMIT_NOFILE); none: there is no limit
};

/// Reads a few files of /proc. Never throws because of them.
ProcessUsage process_usage();

/// Holds the fields of /proc/self/stat that process_usage() needs.
struct StatFields {
    std::uint64_t threads = 0;      ///< field 20
    std::uint64_t start_ticks = 0;  ///< field 22: since the machine's start, in ticks of sysconf(_SC_CLK_TCK)
    std::uint64_t virtual_bytes = 0;   ///< field 23
    std::uint64_t resident_pages = 0;  ///< field 24
    bool operator==(const StatFields&) const = default;
};

/// Returns none when the text has fewer fields or an invalid number. The process's name, the second field,
/// may hold any byte.
std::optional<StatFields> parse_stat_fields(std::string_view text);

}  // namespace spead::observe
