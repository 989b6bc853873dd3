// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/bench/chunk_point.hpp"
#include "app/bench/lcore_crew.hpp"
#include "chunk/chunk_ring.hpp"
#include "chunk/chunk_window.hpp"
#include "chunk/placement.hpp"
#include "memory/mapping.hpp"
#include "process/stop_signals.hpp"

namespace spead::app {

/// Holds the chunks of a measurement and their memory.
struct BenchChunks {
    BenchChunks(const chunk::Layout& layout, std::size_t count);

    std::size_t stride;
    memory::Mapping data;
    std::vector<std::uint8_t> present;
    std::vector<std::byte> extra;
    chunk::ChunkRing ring;
};

/// Holds the result of a measurement. Times are those of an lcore: with n of them, n times what a packet
/// takes all together.
struct ChunkResult {
    unsigned lcores = 1;
    unsigned cpus = 1;          ///< that they ran on
    std::uint64_t packets = 0;  ///< per pass
    double ns = 0;              ///< per packet, median
    double copy_ns = 0;         ///< of the better of both bare copies
    bool streams = false;       ///< the first lcore copied past the cache in the end
    double added_ns = 0;
    memory::Mapping::Backing pages{};
    bool exact = true;  ///< all packets placed, each byte right, all chunks complete but those of the window
};

/// Measures a pattern of `bench chunks`: the lcores of a crew fill chunks through one window, each with
/// packets, lane and agent of its own. Heaps are dealt to them in turn. So an lcore has senders of its own
/// if a time has as many of them as there are lcores, or a multiple. Nothing is late: with several lcores the
/// window is lossless, and one that is ahead waits.
class ChunkPasses {
  public:
    /// Refers to both, which outlive it. Throws Error.
    ChunkPasses(const ChunkPoint& point, LcoreCrew& crew);
    ~ChunkPasses();
    ChunkPasses(const ChunkPasses&) = delete;
    ChunkPasses& operator=(const ChunkPasses&) = delete;

    /// Measures for so many seconds, `rounds` times at least.
    ChunkResult run(double seconds, std::uint32_t rounds, const process::StopSignals& signals);

  private:
    struct Part;

    double place_pass(bool* exact);
    std::uint64_t place_part(unsigned number) noexcept;
    double copy_pass(memory::Stores stores);
    double to_ns(std::uint64_t ticks) const;
    void settle() noexcept;
    void take_all(bool* exact);
    bool is_right(const chunk::Chunk& c) const;
    void note_places();
    bool all_came() const;

    const ChunkPoint& point_;
    LcoreCrew& crew_;
    chunk::Placement placement_;
    PlaceByFunction by_function_{point_};
    BenchChunks chunks_;
    chunk::ChunkWindow window_;
    std::vector<std::unique_ptr<Part>> parts_;      ///< by lcore
    alignas(64) std::atomic<unsigned> at_work_{0};  ///< lcores that have not had all their packets of a pass
    alignas(64) std::uint64_t now_offset_ =
        0;  ///< ticks that housekeeping was told of, and that did not pass
    std::uint64_t passes_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t complete_ = 0;
    std::uint64_t copied_ = 0;  ///< chunks, by copy_pass()
};

}  // namespace spead::app
