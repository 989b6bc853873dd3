// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace spead::memory {

/// Says what memory is, and so which code may touch it.
enum class MemoryKind : std::uint8_t {
    host,    ///< ordinary memory
    pinned,  ///< host memory that is locked, and that devices may read and write
    device,  ///< memory that the CPU must not touch
};

/// Returns whether code of ours may read and write such memory.
constexpr bool cpu_accessible(MemoryKind kind) noexcept {
    return kind != MemoryKind::device;
}

constexpr std::string_view name_of(MemoryKind kind) noexcept {
    switch (kind) {
        case MemoryKind::pinned:
            return "pinned";
        case MemoryKind::device:
            return "device";
        case MemoryKind::host:
            break;
    }
    return "host";
}

}  // namespace spead::memory
