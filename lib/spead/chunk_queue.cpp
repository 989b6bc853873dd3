// SPDX-License-Identifier: BSD-3-Clause
#include "spead/chunk_queue.hpp"

#include "base/error.hpp"
#include "chunk/chunk_queue.hpp"
#include "spead/loose_chunks.hpp"
#include "spead/user_memory.hpp"

/// Implements chunks that their users bring, and their queues.
namespace spead {

namespace {

constexpr const char* kChunk = "chunk";

}  // namespace

LooseChunk::LooseChunk(void* user) : user_(user), state_(std::make_unique<State>()) {
    state_->chunk.user = this;
    state_->chunk.loose = true;
    state_->chunk.shares = state_->shares;
}
LooseChunk::~LooseChunk() = default;

void LooseChunk::set_memory(std::span<std::byte> data, std::span<std::uint8_t> present,
                            std::span<std::byte> extra) {
    if (!is_mine())
        throw_usage(kChunk, "a queue or a stream has it; take it from there first");
    door::need_chunk_memory(kChunk, data);
    chunk::Chunk& c = state_->chunk;
    c.data = data;
    c.base = data.data();
    c.present = present;
    c.parts = present;
    c.extra = extra;
}

bool LooseChunk::is_mine() const noexcept {
    return state_->chunk.holder.load(std::memory_order_acquire) == chunk::Holder::user;
}

std::int64_t LooseChunk::id() const noexcept {
    return state_->chunk.id;
}
std::uint32_t LooseChunk::stream() const noexcept {
    return state_->chunk.stream;
}
void LooseChunk::set_id(std::int64_t id) noexcept {
    state_->chunk.id = id;
}
void LooseChunk::set_stream(std::uint32_t number) noexcept {
    state_->chunk.stream = number;
}
std::uint64_t LooseChunk::packets() const noexcept {
    std::uint64_t n = 0;
    for (const chunk::Chunk::Share& share : state_->shares)
        n += share.packets;
    return n;
}
std::uint64_t LooseChunk::bytes() const noexcept {
    std::uint64_t n = 0;
    for (const chunk::Chunk::Share& share : state_->shares)
        n += share.bytes;
    return n;
}

ChunkQueue::ChunkQueue(std::size_t most) : state_(std::make_shared<State>(most)) {}

ChunkQueue::Put ChunkQueue::put(LooseChunk& chunk) {
    need_own();
    chunk::Chunk& c = chunk.state_->chunk;
    // Of two threads that put it in, one does.
    chunk::Holder holder = chunk::Holder::user;
    if (!c.holder.compare_exchange_strong(holder, chunk::Holder::data, std::memory_order_acq_rel))
        throw_usage(kChunk, "a queue or a stream has it already; take it from there first");
    const auto back = [&c] { c.holder.store(chunk::Holder::user, std::memory_order_release); };
    if (c.data.data() == nullptr || c.present.data() == nullptr) {
        back();
        throw_usage(kChunk, "it has no `{}`; set its memory before it goes into a queue",
                    c.data.data() == nullptr ? "data" : "present");
    }
    switch (state_->queue.put(c)) {
        case chunk::ChunkQueue::Put::full:
            back();
            return Put::full;
        case chunk::ChunkQueue::Put::stopped:
            back();
            return Put::stopped;
        case chunk::ChunkQueue::Put::done:
            break;
    }
    return Put::done;
}

/// Throws Error in a child of fork(2): the descriptors that wake the parent's users are shared with it.
void ChunkQueue::need_own() const {
    if (!state_->is_own())
        throw_error("chunk queue", "it belongs to the parent process; make another in this one");
}

LooseChunk* ChunkQueue::take() noexcept {
    if (!state_->is_own())
        return nullptr;
    chunk::Chunk* const taken = state_->queue.take();
    return taken == nullptr ? nullptr : static_cast<LooseChunk*>(taken->user);
}

bool ChunkQueue::stop() noexcept {
    return state_->is_own() && state_->queue.stop();
}
bool ChunkQueue::stopped() const noexcept {
    return state_->queue.stopped();
}
void ChunkQueue::add_producer() noexcept {
    state_->queue.add_producer();
}
bool ChunkQueue::remove_producer() noexcept {
    return state_->is_own() && state_->queue.remove_producer();
}
std::size_t ChunkQueue::size() const noexcept {
    return state_->queue.size();
}
std::size_t ChunkQueue::most() const noexcept {
    return state_->queue.most();
}
int ChunkQueue::data_fd() const noexcept {
    return state_->queue.data_fd();
}
int ChunkQueue::space_fd() const noexcept {
    return state_->queue.space_fd();
}

}  // namespace spead
