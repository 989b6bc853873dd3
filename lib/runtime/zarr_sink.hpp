// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "runtime/chunk_sink.hpp"
#include "runtime/wall_clock.hpp"
#include "runtime/zarr_store.hpp"
#include "sink/missing_heaps.hpp"
#include "sink/raw_writer.hpp"

namespace spead::runtime {

/// Writes chunks to Zarr arrays in DIRECTORY/STREAM: `data`, `presence`, `arrival`, and `extra` if there are
/// extra values. Each chunk is a file of its own, written past the page cache, and named when it is whole. A
/// chunk that does not come has no file.
///
/// A chunk is given back once it is copied, and settled when it has its name. A chunk whose file exists, or
/// which has no place in the arrays, is lost; that is no failure.
class ZarrSink : public ChunkSink {
  public:
    /// Throws Error as ZarrStore.
    ZarrSink(const std::string& directory, std::string stream, const ZarrContent& content);

    void hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept override;
    void settle() noexcept override { writer_.settle(); }
    /// Writes the chunk at once, and waits for that.
    void consume_chunk(const chunk::Chunk& chunk) override;
    void finish() override;

  private:
    sink::RawWriter::Options options() const;
    sink::RawWriter::Hooks hooks();
    void add(const chunk::Chunk& chunk, const Settled& settled);
    int publish(std::span<const sink::RawWriter::Note> notes, std::uint64_t& written);
    void tell(std::int64_t id, ZarrStore::Refusal refusal);

    std::string stream_;
    ZarrContent content_;
    std::vector<std::byte> missing_;  ///< an element that is not there
    sink::MissingHeaps heaps_;
    WallClock clock_;
    ZarrStore store_;
    std::deque<bool> kept_;  ///< of the writer's thread: published chunks that are not settled
    bool told_ = false;      ///< likewise
    sink::RawWriter writer_;
};

/// Returns what the plan's sink writes. Throws UsageError when the placement does not fit.
ZarrContent zarr_content(const ReceivePlan& plan, const std::string& where);

}  // namespace spead::runtime
