// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chunk/chunk.hpp"
#include "memory/memory_kind.hpp"
#include "runtime/plan.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

class ChunkNotices;
struct ChunkNotice;

/// Gets the chunks of one stream, on one thread. Fails like any sink.
class ChunkSink : public Sink {
  public:
    /// Calls consume_chunk(), unless the sink has failed. Returns false when it has failed, now or before;
    /// then the chunk is lost.
    bool take_chunk(const chunk::Chunk& chunk) noexcept {
        return attempt([&] { consume_chunk(chunk); });
    }

    /// Takes a chunk as take_chunk() does, and says what became of it, as hand() does of a heap.
    virtual void hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept {
        settled(take_chunk(chunk));
    }

    /// Tells of each chunk that the sink keeps. Call it before the first one.
    void notify(std::shared_ptr<ChunkNotices> notices) noexcept;
    /// Hands a chunk over as hand_chunk() does. With notices, tells of it once it is kept. Not thread-safe.
    void give_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept;

    /// Uses the chunk, which is given back afterwards. Throws Error when the sink can take no more (a full
    /// disk), with how much it has written.
    virtual void consume_chunk(const chunk::Chunk& chunk) = 0;

  protected:
    /// Says which file has the chunk that is being handed over, and where in it the payload begins. Presence
    /// and extra values follow. For notices; call it within hand_chunk().
    void wrote(const std::string& path, std::uint64_t offset) noexcept;

  private:
    /// Does nothing: a stream of chunks hands no heaps over.
    void consume(const heap::HeapHandle&) final {}

    std::shared_ptr<ChunkNotices> notices_;
    std::shared_ptr<ChunkNotice> notice_;  ///< of the chunk that is being handed over
};

/// Gives every chunk back unread.
class NullChunkSink : public ChunkSink {
  public:
    void consume_chunk(const chunk::Chunk&) override {}
};

/// Throws UsageError if the sink reads payload, and the CPU cannot read such memory. `where`: the error's
/// where().
void check_readable(SinkKind sink, memory::MemoryKind kind, const std::string& where);

/// Makes the sink of a stream with chunks. Throws Error when its directory cannot be made or written, and
/// UsageError when the placement does not say enough for it.
std::unique_ptr<ChunkSink> make_chunk_sink(const ReceivePlan& plan);

}  // namespace spead::runtime
