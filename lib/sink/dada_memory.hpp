// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// Describes the shared memory of a ring of PSRDADA, from its documented protocol (docs/psrdada.md). No line
/// of PSRDADA is in this tree, and nothing of it is linked.
namespace spead::sink::dada {

/// Limits the readers of a ring, and next its transfers that a reader has not finished.
inline constexpr std::size_t kMostReaders = 8;
inline constexpr std::size_t kTransfers = 8;

/// Limits the blocks of a ring that is used: each is a segment, and semaphores count to 32767.
inline constexpr std::uint64_t kMostBlocks = 16384;
inline constexpr std::uint64_t kMostBlockBytes = std::uint64_t{1} << 40;

/// Says what the writer does, in Sync::state.
inline constexpr std::int32_t kIdle = 0;
inline constexpr std::int32_t kWriting = 3;

/// Lies at the beginning of the segment with a ring's key. Behind it are a byte per block (its pending
/// transfers), and the key of each block's segment. Others may write it at any time: read a member once,
/// and check the copy.
struct Sync {
    std::int32_t connect_key;
    std::array<std::int32_t, kMostReaders> reader_keys;
    std::uint64_t blocks;
    std::uint64_t block_bytes;
    std::uint64_t next;     ///< blocks that a writer began
    std::uint64_t current;  ///< blocks that are filled
    std::int32_t state;
    std::uint64_t transfer;  ///< the writer's
    std::array<std::uint64_t, kMostReaders> reader_block;
    std::array<std::int32_t, kMostReaders> reader_state;
    std::array<std::uint64_t, kMostReaders> reader_transfer;
    std::uint32_t readers;
    std::array<std::uint64_t, kTransfers> start_block;
    std::array<std::uint64_t, kTransfers> start_byte;
    std::array<char, kTransfers> ended;
    std::array<std::uint64_t, kTransfers> end_block;
    std::array<std::uint64_t, kTransfers> end_byte;
    std::int32_t device;  ///< GPU with the blocks; -1: none
};
static_assert(offsetof(Sync, blocks) == 40 && offsetof(Sync, state) == 72 && offsetof(Sync, readers) == 248);
static_assert(offsetof(Sync, ended) == 384 && offsetof(Sync, device) == 520 && sizeof(Sync) == 528);

/// Returns the bytes of the segment of a ring with so many blocks.
constexpr std::size_t segment_bytes(std::uint64_t blocks) noexcept {
    return sizeof(Sync) + static_cast<std::size_t>(blocks) * (1 + sizeof(std::int32_t));
}

/// Numbers the semaphores of the set with connect_key, and next of each reader's set.
inline constexpr unsigned short kWriter = 0;
inline constexpr unsigned kConnectSemaphores = 2;
inline constexpr unsigned short kStartAck = 0;
inline constexpr unsigned short kEndAck = 1;
inline constexpr unsigned short kFull = 2;
inline constexpr unsigned short kClear = 3;
inline constexpr unsigned kReaderSemaphores = 5;

/// Reads or writes a member that others see.
template <typename T>
T read_once(const T& member) noexcept {
    return std::atomic_ref<T>(const_cast<T&>(member)).load(std::memory_order_acquire);
}
template <typename T>
void write_once(T& member, T value) noexcept {
    std::atomic_ref<T>(member).store(value, std::memory_order_release);
}

}  // namespace spead::sink::dada
