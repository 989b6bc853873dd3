// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spead::capture {

/// Limits a written record: any frame of IPv4, whole.
inline constexpr std::uint32_t kLongestRecord = 65535;

/// Holds the options of a capture. Plain data, with the defaults of the command line and the file.
struct Options {
    std::vector<std::string> files;  ///< at least one; each has a writer thread, and packets are distributed
                                     ///< by block
    std::uint64_t rotate_size = 0;   ///< bytes of a file, at most, before the next one is begun; 0: no limit
    double rotate_seconds = 0;       ///< of packets' time in a file, at most; 0: no limit
    std::uint32_t snap_length = kLongestRecord;      ///< bytes of a packet that are kept, 1..kLongestRecord
    std::uint64_t count = 0;                         ///< packets; 0: no limit
    double duration = 0;                             ///< seconds after which it ends; 0: no limit
    bool direct_io = false;                          ///< past the kernel's page cache (O_DIRECT)
    std::uint64_t buffer = std::uint64_t{64} << 20;  ///< bytes of packets that wait for the disks
    bool only = false;  ///< packets end in the capture instead of going on to heaps
    bool rotates() const noexcept { return rotate_size != 0 || rotate_seconds != 0; }
    bool operator==(const Options&) const = default;
};

}  // namespace spead::capture
