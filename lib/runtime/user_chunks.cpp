// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/user_chunks.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

namespace {

constexpr const char* kChunks = "chunk ring";

bool same(const chunk::Layout& a, const chunk::Layout& b) {
    return a.heaps == b.heaps && a.bytes == b.bytes && a.packets_per_heap == b.packets_per_heap &&
           a.extra_bytes == b.extra_bytes;
}

std::string sums(const chunk::Layout& layout) {
    return fmt::format("{} in {}, {} of presence, {} x {} = {} of extra values",
                       counted(layout.heaps, "heaps"), counted(layout.bytes, "bytes"),
                       counted(layout.present_bytes(), "bytes"), layout.heaps, layout.extra_bytes,
                       counted(layout.heaps * layout.extra_bytes, "bytes"));
}

}  // namespace

ChunkShape::ChunkShape(const chunk::Placement& p)
    : layout(p.check("placement")), placement(p), text(fmt::format("the placement `{}`", p.text())) {}

ChunkShape::ChunkShape(const chunk::PlaceCallback& sizes)
    : layout(sizes.layout()), loose(sizes.loose), text("a place callback") {}

/// Throws UsageError unless the shape is that of the chunks before. Guarded. Streams may need fewer parts of
/// a heap than the chunks have; further chunks (`exactly`) may not have fewer.
void UserChunks::need_like(const ChunkShape& shape, bool exactly) const {
    if (!shape_)
        return;
    const std::uint32_t parts = shape_->layout.most_parts;
    const bool fits = exactly ? shape.layout.most_parts == parts : shape.layout.most_parts <= parts;
    if (!fits || !same(shape.layout, shape_->layout))
        throw_usage(kChunks, "its chunks are made for {}: {}; {} needs others: {}; use another ring",
                    shape_->text, sums(shape_->layout), shape.text, sums(shape.layout));
}

void UserChunks::need_own_chunks() const {
    if (ring_.loose())
        throw_usage(kChunks, "its chunks come and go through queues; put them in there, and take them there");
}

void UserChunks::add(const ChunkShape& shape, std::size_t chunks) {
    need_own_chunks();
    const chunk::Layout& layout = shape.layout;
    const std::lock_guard lock(mutex_);
    if (chunks == 0 || chunks > ring_.capacity() - ring_.chunks())
        throw_usage(kChunks, "{} cannot be added: it has {}, and room for {}; give 1 to {}",
                    counted(chunks, "chunks"), ring_.chunks(), ring_.capacity(),
                    ring_.capacity() - ring_.chunks());
    if (begun_ || filling_ != 0)
        throw_usage(kChunks, "a stream fills its chunks already; add all chunks before the first stream");
    need_like(shape, true);
    const std::size_t each = memory_of_chunk(layout);
    const std::size_t extra = layout.heaps * layout.extra_bytes;
    auto block = std::make_unique<Block>();
    try {
        block->data = memory::Mapping(each * chunks);
    } catch (const Error&) {
        throw_error(kChunks, "{} x {} = {} cannot be mapped: {} are available; add fewer",
                    counted(chunks, "chunks"), human_size(layout.bytes), human_size(each * chunks),
                    human_size(memory::available_memory()));
    }
    block->present.resize(layout.present_bytes() * chunks);
    block->extra.resize(extra * chunks);
    const Block& b = *blocks_.emplace_back(std::move(block));
    for (std::size_t i = 0; i < chunks; i++)
        ring_.add(
            layout, {b.data.base() + i * each, layout.bytes},
            std::span(blocks_.back()->present).subspan(i * layout.present_bytes(), layout.present_bytes()),
            std::span(blocks_.back()->extra).subspan(i * extra, extra));
    shape_ = shape;
}

void UserChunks::add(const ChunkShape& shape, std::span<std::byte> data, std::span<std::uint8_t> present,
                     std::span<std::byte> extra, void* user) {
    need_own_chunks();
    const chunk::Layout& layout = shape.layout;
    const std::lock_guard lock(mutex_);
    if (begun_ || filling_ != 0)
        throw_usage(kChunks, "a stream fills its chunks already; add all chunks before the first stream");
    need_like(shape, true);
    if (data.data() == nullptr || present.data() == nullptr)
        throw_usage(kChunks, "`{}` of a chunk is a null pointer; give {}",
                    data.data() == nullptr ? "data" : "present", sums(layout));
    ring_.add(layout, data, present, extra, chunk::MemoryKind::host, user);
    shape_ = shape;
}

void UserChunks::check(const ChunkShape& shape, std::uint32_t window, bool back_fill) const {
    if (shape.loose != ring_.loose() && ring_.loose())
        throw_usage(kChunks,
                    "its chunks come from a queue, each with sizes of its own; give a place callback with "
                    "ChunkSizes::by_chunk");
    if (shape.loose != ring_.loose())
        throw_usage(kChunks,
                    "ChunkSizes::by_chunk is for chunks that come from queues; give the sizes of all");
    if (ring_.loose())
        return;
    const std::lock_guard lock(mutex_);
    need_like(shape, false);
    const std::uint32_t spare = ChunkPlan::spare(back_fill);
    if (ring_.chunks() < std::size_t{window} + spare)
        throw_usage(kChunks,
                    "{} in the window + at least {} with the user = {} chunks, and {} {} added; add more, or "
                    "lower `window`",
                    window, spare, window + spare, ring_.chunks(), word_for(ring_.chunks(), "was", "were"));
}

UserChunks::Filling::Filling(const Use& use, const ChunkShape& shape, const ChunkPlan& plan,
                             std::int64_t most_ids)
    : of_(use), filler_(std::make_shared<Filler>()) {
    of_.chunks->check(shape, plan.window, plan.back_fill);
    filler_->tag = use.tag;
    filler_->most_ids = most_ids;
    filler_->totals = use.totals;
    number_ = of_.chunks->begin(filler_);
    if (of_.totals)
        of_.totals->filling.fetch_add(1);
}

void UserChunks::Filling::serve() noexcept {
    of_.chunks->serve();
}

void UserChunks::Filling::end() noexcept {
    if (of_.chunks->end(*filler_) && of_.totals)
        of_.totals->filling.fetch_sub(1);
}

/// Returns the number of the new filler.
std::uint32_t UserChunks::begin(const std::shared_ptr<Filler>& filler) {
    const std::lock_guard lock(mutex_);
    // No waiting chunk is of those that have ended.
    if (ring_.waiting() == 0)
        std::erase_if(fillers_, [](const auto& f) { return f.second->ended; });
    fillers_.emplace(number_ + 1, filler);
    number_++;
    filling_++;
    return number_;
}

void UserChunks::serve() noexcept {
    const std::lock_guard lock(mutex_);
    begun_ = true;
}

/// Returns false when it had ended before. The end of a filler that never served is the user's end only if
/// others have served, and none of these is left.
bool UserChunks::end(Filler& filler) noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(filler.ended, true))
        return false;
    if (--filling_ == 0 && begun_)
        ring_.close();
    return true;
}

std::optional<UserChunks::Loan> UserChunks::try_take() noexcept {
    const std::lock_guard lock(mutex_);
    if (stopped_)
        return std::nullopt;
    for (;;) {
        if (chunk::Chunk* const taken = ring_.take(); taken != nullptr) {
            const auto found = fillers_.find(taken->stream);
            if (found == fillers_.end()) {
                // Of an lcore that was lost: its stream has ended long ago.
                ring_.give_back(*taken);
                continue;
            }
            const std::shared_ptr<Filler>& filler = found->second;
            filler->tally.take(*taken, filler->most_ids);
            filler->tally.deliver(true);
            if (filler->totals)
                filler->totals->tally.take(*taken, filler->most_ids);
            return Loan{taken, filler, std::chrono::steady_clock::now()};
        }
        if (is_over())
            return std::nullopt;
        // An lcore that was about to signal may make it readable once without a chunk.
        ring_.disarm();
        if (ring_.arm())
            return std::nullopt;
    }
}

std::optional<UserChunks::Loan> UserChunks::take(std::chrono::nanoseconds timeout) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point now = Clock::now();
    const Clock::time_point until =
        timeout < Clock::time_point::max() - now ? now + timeout : Clock::time_point::max();
    for (;;) {
        if (std::optional<Loan> loan = try_take(); loan || ended())
            return loan;
        const std::chrono::nanoseconds left = until - Clock::now();
        if (left.count() <= 0)
            return std::nullopt;
        const timespec wait{static_cast<time_t>(left.count() / 1'000'000'000),
                            static_cast<long>(left.count() % 1'000'000'000)};
        pollfd p{fd(), POLLIN, 0};
        ppoll(&p, 1, &wait, nullptr);
    }
}

void UserChunks::give_back(const Loan& loan) noexcept {
    const std::chrono::nanoseconds had = std::chrono::steady_clock::now() - loan.since;
    loan.filler->tally.give_back(static_cast<std::uint64_t>(had.count()));
    ring_.give_back(*loan.chunk);
}

bool UserChunks::ended() const noexcept {
    const std::lock_guard lock(mutex_);
    return stopped_ || (is_over() && ring_.waiting() == 0);
}

bool UserChunks::begun() const noexcept {
    const std::lock_guard lock(mutex_);
    return begun_;
}

void UserChunks::stop() noexcept {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    ring_.close();
}

}  // namespace spead::runtime
