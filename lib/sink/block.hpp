// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sink/raw_file.hpp"

namespace spead::sink {

/// Aligns blocks in memory and in the file, as O_DIRECT needs it on disks with sectors of up to 4 KiB.
inline constexpr std::size_t kSector = 4096;

constexpr std::size_t whole_sectors(std::size_t bytes) noexcept {
    return (bytes + kSector - 1) / kSector * kSector;
}

/// Holds consecutive bytes of a file until they are written. Its thread is the one that has it now: the one
/// that fills it, or the one that writes it.
struct Block {
    std::span<std::byte> memory;    ///< starts at a sector's boundary, and has whole sectors
    std::size_t index = 0;          ///< of this memory
    std::shared_ptr<RawFile> file;  ///< null: the block is free
    std::uint64_t number = 0;       ///< counts blocks in the order of their bytes
    std::uint64_t offset = 0;       ///< of its first byte in the file: whole sectors
    std::size_t used = 0;           ///< bytes
    std::size_t carried = 0;        ///< of them, those at its beginning that the block before it has, too
    bool done = false;              ///< written, or failed
    int error = 0;                  ///< errno, once done

    std::span<const std::byte> bytes() const noexcept { return memory.first(whole_sectors(used)); }
    bool full() const noexcept { return used == memory.size(); }
};

}  // namespace spead::sink
