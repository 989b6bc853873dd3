// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "chunk/chunk.hpp"
#include "memory/memory_kind.hpp"
#include "runtime/plan.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

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

    /// Uses the chunk, which is given back afterwards. Throws Error when the sink can take no more (a full
    /// disk), with how much it has written.
    virtual void consume_chunk(const chunk::Chunk& chunk) = 0;

  private:
    /// Does nothing: a stream of chunks hands no heaps over.
    void consume(const heap::HeapHandle&) final {}
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
