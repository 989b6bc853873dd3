// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <poll.h>
#include <utility>

#include <rte_ring.h>

#include "base/error.hpp"
#include "base/overlap.hpp"

namespace spead::chunk {

namespace {

constexpr const char* kRing = "chunk ring";

void need(const char* part, std::uint64_t has, std::uint64_t needs) {
    if (has < needs)
        throw_usage(kRing, "the `{}` of a chunk has {} bytes; its placement needs {}", part, has, needs);
}

/// Names memory of a chunk.
struct Part {
    const char* name;
    std::span<const std::byte> bytes;
};

using Parts = std::array<Part, 3>;

Parts parts_of(std::span<const std::byte> data, std::span<const std::uint8_t> present,
               std::span<const std::byte> extra) {
    return {{{"data", data}, {"present", std::as_bytes(present)}, {"extra", extra}}};
}

/// Throws UsageError when two parts of a new chunk share memory: lcores write to all of it without locks.
void need_apart(const Parts& parts) {
    for (std::size_t a = 0; a < parts.size(); a++)
        for (std::size_t b = a + 1; b < parts.size(); b++)
            if (overlap(parts[a].bytes, parts[b].bytes))
                throw_usage(kRing, "the `{}` of a chunk overlaps its `{}`; give each its own memory",
                            parts[a].name, parts[b].name);
}

/// Throws UsageError when a part of a new chunk shares memory with another chunk.
void need_apart(const Parts& parts, const Chunk& other) {
    for (const Part& a : parts)
        for (const Part& b : parts_of(other.data, other.present, other.extra))
            if (overlap(a.bytes, b.bytes))
                throw_usage(kRing,
                            "the `{}` of a chunk overlaps the `{}` of chunk {}; give each its own memory",
                            a.name, b.name, other.index);
}

void add_up_shares(Chunk& chunk, std::uint64_t& parts) {
    parts = chunk.packets = chunk.bytes = chunk.first_arrival = chunk.last_arrival = 0;
    for (const Chunk::Share& share : chunk.shares) {
        parts += share.parts;
        chunk.packets += share.packets;
        chunk.bytes += share.bytes;
        if (share.first != 0 && (chunk.first_arrival == 0 || share.first < chunk.first_arrival))
            chunk.first_arrival = share.first;
        chunk.last_arrival = std::max(chunk.last_arrival, share.last);
    }
}

/// Counts the heaps of which every part is there, and writes `present`. Returns the parts that are there.
std::uint64_t reduce(Chunk& chunk, const Layout& layout) {
    const std::uint8_t* parts = chunk.parts.data();
    const std::size_t each = chunk.parts_per_heap;
    const bool by_packet = layout.packets_per_heap == each;
    std::uint64_t here = 0;
    chunk.heaps_present = 0;
    chunk.heaps_expected = layout.heaps;
    for (std::size_t heap = 0; heap < layout.heaps; heap++, parts += each) {
        const auto n = static_cast<std::size_t>(std::count(parts, parts + each, 1));
        here += n;
        chunk.heaps_present += n == each;
        if (by_packet)
            std::memcpy(&chunk.present[heap * each], parts, each);
        else
            std::memset(&chunk.present[heap * layout.packets_per_heap], n == each, layout.packets_per_heap);
    }
    return here;
}

}  // namespace

ChunkRing::ChunkRing(std::size_t chunks)
    : capacity_(chunks),
      free_(make_own_ring(kRing, "free chunks", std::clamp<std::size_t>(chunks, 1, kMaxChunks),
                          RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ)),
      data_(make_own_ring(kRing, "chunks", std::clamp<std::size_t>(chunks, 1, kMaxChunks),
                          RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ)) {
    if (chunks == 0 || chunks > kMaxChunks)
        throw_usage(kRing, "{} chunks: a ring has 1 to {}", chunks, kMaxChunks);
    chunks_.reserve(chunks);
}

ChunkRing::ChunkRing(std::shared_ptr<ChunkQueue> free, std::shared_ptr<ChunkQueue> data) : ChunkRing(1) {
    capacity_ = kMaxLoose;
    loose_free_ = std::move(free);
    loose_data_ = std::move(data);
}

ChunkRing::~ChunkRing() = default;

Chunk& ChunkRing::add(const Layout& layout, std::span<std::byte> data, std::span<std::uint8_t> present,
                      std::span<std::byte> extra, MemoryKind kind, void* user) {
    if (chunks_.size() == capacity_)
        throw_usage(kRing, "it has its {} chunks already", capacity_);
    need("data", data.size(), layout.bytes);
    need("present", present.size(), layout.present_bytes());
    need("extra", extra.size(), layout.heaps * layout.extra_bytes);
    const Parts parts_of_it = parts_of(data.first(layout.bytes), present.first(layout.present_bytes()),
                                       extra.first(layout.heaps * layout.extra_bytes));
    need_apart(parts_of_it);
    for (const auto& other : chunks_)
        need_apart(parts_of_it, other->chunk);
    auto owned = std::make_unique<Owned>();
    owned->layout = layout;
    const std::size_t parts = layout.heaps * layout.most_parts;
    owned->parts = std::make_unique<std::uint8_t[]>(parts);
    owned->shares = std::make_unique<Chunk::Share[]>(kMaxMembers);
    Chunk& chunk = owned->chunk;
    chunk.data = data.first(layout.bytes);
    chunk.base = chunk.data.data();
    chunk.present = present.first(layout.present_bytes());
    chunk.extra = extra.first(layout.heaps * layout.extra_bytes);
    chunk.parts = {owned->parts.get(), parts};
    chunk.shares = {owned->shares.get(), kMaxMembers};
    chunk.kind = kind;
    chunk.user = user;
    chunk.index = static_cast<std::uint32_t>(chunks_.size());
    bytes_.fetch_add(layout.bytes, std::memory_order_relaxed);
    zero(*owned);
    chunks_.push_back(std::move(owned));
    chunk.holder.store(Holder::free, std::memory_order_relaxed);
    void* const entry = &chunk;
    rte_ring_mp_rts_enqueue_bulk(free_.get(), &entry, 1, nullptr);
    return chunk;
}

void ChunkRing::zero(Owned& owned) noexcept {
    Chunk& chunk = owned.chunk;
    std::memset(chunk.present.data(), 0, chunk.present.size());
    std::memset(chunk.parts.data(), 0, chunk.parts.size());
    std::fill(chunk.shares.begin(), chunk.shares.end(), Chunk::Share{});
    chunk.broken.store(false, std::memory_order_relaxed);
}

Chunk* ChunkRing::take() noexcept {
    void* entry = nullptr;
    if (rte_ring_mc_rts_dequeue_bulk(data_.get(), &entry, 1, nullptr) == 0)
        return nullptr;
    Chunk& chunk = *static_cast<Chunk*>(entry);
    chunk.holder.store(Holder::user, std::memory_order_relaxed);
    std::uint64_t set = 0;
    add_up_shares(chunk, set);
    const bool broken = chunk.broken.load(std::memory_order_relaxed);
    if (broken) [[unlikely]]
        std::memset(chunk.parts.data(), 0, chunk.parts.size());
    const std::uint64_t here = reduce(chunk, chunks_[chunk.index]->layout);
    chunk.doubled = broken ? 0 : set - here;
    constexpr auto relaxed = std::memory_order_relaxed;
    counts_.taken.fetch_add(1, relaxed);
    counts_.complete.fetch_add(chunk.complete() ? 1 : 0, relaxed);
    counts_.heaps_present.fetch_add(chunk.heaps_present, relaxed);
    counts_.heaps_expected.fetch_add(chunk.heaps_expected, relaxed);
    counts_.doubled.fetch_add(chunk.doubled, relaxed);
    return &chunk;
}

bool ChunkRing::give_back(Chunk& chunk) noexcept {
    if (chunk.index >= chunks_.size() || &chunks_[chunk.index]->chunk != &chunk)
        return false;
    // One of two threads that give the same chunk back loses here; the lcores cannot have it yet.
    Holder user = Holder::user;
    if (!chunk.holder.compare_exchange_strong(user, Holder::free, std::memory_order_acq_rel))
        return false;
    zero(*chunks_[chunk.index]);
    counts_.given_back.fetch_add(1, std::memory_order_relaxed);
    void* const entry = &chunk;
    rte_ring_mp_rts_enqueue_bulk(free_.get(), &entry, 1, nullptr);
    return true;
}

std::size_t ChunkRing::waiting() const noexcept {
    return loose() ? loose_data_->size() : rte_ring_count(data_.get());
}

std::size_t ChunkRing::free() const noexcept {
    return loose() ? loose_free_->size() : rte_ring_count(free_.get());
}

bool ChunkRing::arm() {
    data_event_.arm();
    if (waiting() == 0)
        return true;
    data_event_.withdraw();
    return false;
}

void ChunkRing::disarm() {
    data_event_.clear();
}

bool ChunkRing::wait(int timeout_ms) {
    if (!arm())
        return true;
    if (!closed()) {
        pollfd p{data_fd(), POLLIN, 0};
        poll(&p, 1, timeout_ms);
    }
    disarm();
    return waiting() != 0;
}

void ChunkRing::close() noexcept {
    closed_.store(true, std::memory_order_release);
    data_event_.wake();
}

/// Takes a chunk from the user's queue, with empty books.
Chunk* ChunkRing::open_loose() noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (loose_out_.load(relaxed) >= kMaxLoose)
        return nullptr;
    Chunk* const chunk = loose_free_->open();
    if (chunk == nullptr)
        return nullptr;
    const std::size_t out = loose_out_.fetch_add(1, relaxed) + 1;
    largest_.store(std::max(largest_.load(relaxed), chunk->data.size()), relaxed);
    bytes_.store(std::max(bytes_.load(relaxed), (out + 1) * chunk->data.size()), relaxed);
    std::fill(chunk->shares.begin(), chunk->shares.end(), Chunk::Share{});
    chunk->holder.store(Holder::window, relaxed);
    return chunk;
}

Chunk* ChunkRing::open() noexcept {
    if (loose())
        return open_loose();
    void* entry = nullptr;
    if (rte_ring_mc_rts_dequeue_bulk(free_.get(), &entry, 1, nullptr) == 0)
        return nullptr;
    auto* const chunk = static_cast<Chunk*>(entry);
    chunk->holder.store(Holder::window, std::memory_order_relaxed);
    return chunk;
}

void ChunkRing::hand_over(Chunk& chunk) noexcept {
    if (loose()) {
        loose_out_.fetch_sub(1, std::memory_order_relaxed);
        loose_data_->push(chunk);
        return;
    }
    chunk.holder.store(Holder::data, std::memory_order_relaxed);
    void* const entry = &chunk;
    rte_ring_mp_rts_enqueue_bulk(data_.get(), &entry, 1, nullptr);
}

void ChunkRing::return_unused(Chunk& chunk) noexcept {
    if (loose()) {
        loose_out_.fetch_sub(1, std::memory_order_relaxed);
        loose_free_->push(chunk);
        return;
    }
    chunk.holder.store(Holder::free, std::memory_order_relaxed);
    void* const entry = &chunk;
    rte_ring_mp_rts_enqueue_bulk(free_.get(), &entry, 1, nullptr);
}

}  // namespace spead::chunk
