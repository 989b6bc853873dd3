// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/memory_kind.hpp"

namespace spead::chunk {

/// Limits the lcores that fill one sequence of chunks.
inline constexpr std::size_t kMaxMembers = 64;

/// Says who has a chunk. Each chunk is in exactly one of these.
enum class Holder : std::uint8_t {
    free,    ///< waits in the free ring
    window,  ///< lcores fill it
    data,    ///< waits in the data ring
    user,    ///< in the user's hands
};

using memory::MemoryKind;

/// Holds the books of one chunk. Its payload, presence and extra values lie elsewhere, in memory that
/// outlives it. No function of this layer reads or writes `data`, which may be memory of a device.
///
/// Control code makes a chunk. Lcores write what the comments say while `holder` is `window`; the user reads
/// and writes everything while it is `user`. The rings of ChunkRing and the window's hand-over are the only
/// synchronisation needed.
struct Chunk {
    // Set by control code, and never changed by lcores.
    std::byte* base = nullptr;  ///< data.data()
    std::span<std::byte> data;  ///< payload
    /// Holds 1 for each heap that arrived, or for each packet of a heap if the placement declares
    /// `packet_bytes`. Written by ChunkRing::take(), from `parts`.
    std::span<std::uint8_t> present;
    std::span<std::byte> extra;          ///< extra values: Layout::extra_bytes for each heap
    MemoryKind kind = MemoryKind::host;  ///< of `data`
    void* user = nullptr;                ///< the user's own
    std::uint32_t index = 0;             ///< number in its ring: 0 for the first that was added
    /// Marks a chunk of a ChunkQueue: its sizes are its own, and `parts` are `present`.
    bool loose = false;

    /// Holds 1 for each part of a heap that arrived: a packet in the direct way, the heap in the tracked
    /// way. Several lcores may write the same byte: std::atomic_ref, relaxed. Belongs to the ring.
    std::span<std::uint8_t> parts;

    // Set by the lcore that opens it.
    std::int64_t id = -1;              ///< 0 and up, unwrapped
    std::uint32_t stream = 0;          ///< number of the stream, as the user chose it
    std::uint32_t parts_per_heap = 1;  ///< heap h has parts [h, h + 1) x parts_per_heap
    std::uint64_t opened = 0;          ///< ticks of the lcore's clock
    std::uint64_t handed_over = 0;     ///< ticks
    /// Marks a chunk that the window began or ended with, rather than its packets: some of its heaps were
    /// never to come here.
    bool cut = false;
    /// Marks a chunk some of whose payload will never come, because the engine that moves it has failed: it
    /// is lost as a whole. Set by a member before it lets the chunk go; ChunkRing::take() then empties
    /// presence.
    std::atomic<bool> broken{false};

    /// Holds what one member placed into the chunk. Each member writes its own, while the chunk is in the
    /// window.
    struct alignas(64) Share {
        std::uint64_t parts = 0;  ///< that it set
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
        std::uint64_t first = 0;  ///< ticks of its first packet; 0: none
        std::uint64_t last = 0;   ///< ticks of its last packet
    };
    std::span<Share> shares;  ///< by member's number

    // Computed by ChunkRing::take() for the user.
    std::uint64_t heaps_present = 0;   ///< heaps all of whose parts arrived
    std::uint64_t heaps_expected = 0;  ///< heaps that the chunk has room for
    std::uint64_t packets = 0;         ///< placed ones, of all members
    std::uint64_t bytes = 0;           ///< payload, of these
    std::uint64_t doubled = 0;         ///< parts that two lcores set at the same time
    std::uint64_t first_arrival = 0;   ///< ticks; 0: no packet came
    std::uint64_t last_arrival = 0;    ///< ticks

    /// Holds the ticks of its last packets, noted at batch boundaries if the window has a timeout.
    std::atomic<std::uint64_t> last_used{0};
    std::atomic<Holder> holder{Holder::user};

    bool complete() const noexcept { return heaps_present == heaps_expected; }
};

}  // namespace spead::chunk
