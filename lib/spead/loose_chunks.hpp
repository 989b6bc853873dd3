// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/process_mark.hpp"
#include "chunk/chunk.hpp"
#include "chunk/chunk_queue.hpp"
#include "spead/chunk_queue.hpp"

/// Holds the inner parts of chunks that their users bring. Not installed.
namespace spead {

struct LooseChunk::State {
    chunk::Chunk chunk;
    std::array<chunk::Chunk::Share, chunk::kMaxMembers> shares{};
};

struct ChunkQueue::State {
    explicit State(std::size_t most) : queue(most) {}
    /// Returns whether this process has made it, and not its parent.
    bool is_own() const noexcept { return mark.is_own(); }

    chunk::ChunkQueue queue;
    const ProcessMark mark;
};

namespace door {

/// Counts a stream among those that put chunks into a queue, until it ends.
class LooseProducer {
  public:
    explicit LooseProducer(std::shared_ptr<chunk::ChunkQueue> queue) : queue_(std::move(queue)) {
        queue_->add_producer();
    }
    ~LooseProducer() { end(); }
    LooseProducer(const LooseProducer&) = delete;
    LooseProducer& operator=(const LooseProducer&) = delete;

    /// Ends it: once, on any thread.
    void end() noexcept {
        if (!ended_.exchange(true))
            queue_->remove_producer();
    }

  private:
    std::shared_ptr<chunk::ChunkQueue> queue_;
    std::atomic<bool> ended_{false};
};

}  // namespace door
}  // namespace spead
