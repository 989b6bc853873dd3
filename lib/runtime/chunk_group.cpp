// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_group.hpp"

#include <algorithm>

#include "base/tick_rate.hpp"

namespace spead::runtime {

namespace {

std::uint64_t ticks_of(double seconds) {
    return seconds <= 0
               ? 0
               : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(seconds * ticks_per_second()));
}

/// Returns the use without its group, which holds what is made of it.
UserChunks::Use alone(UserChunks::Use use) {
    use.group = nullptr;
    return use;
}

}  // namespace

chunk::ChunkWindowConfig window_config(const ChunkPlan& plan, std::uint32_t number) {
    chunk::ChunkWindowConfig c;
    c.chunks = plan.window;
    c.eviction = plan.eviction;
    c.timeout_ticks = ticks_of(plan.timeout);
    c.patience_ticks = ticks_of(plan.patience);
    c.max_jump = plan.jump();
    c.back_fill = plan.back_fill;
    c.second_ticks = ticks_of(1);
    c.stream = number;
    return c;
}

void tell(const chunk::WindowCounts& window, stats::ChunkCounts& to) noexcept {
    const auto load = [](const std::atomic<std::uint64_t>& count) {
        return count.load(std::memory_order_acquire);
    };
    to.handed_over = load(window.handed_over);
    to.opened = load(window.opened);
    to.timed_out = load(window.timed_out);
    to.short_of = load(window.short_of);
    to.skipped = load(window.skipped);
    to.resyncs = load(window.resyncs);
    to.out_waited = load(window.out_waited);
    to.long_past = load(window.long_past);
}

ChunkFilling::ChunkFilling(const UserChunks::Use& use, const ChunkShape& shape, const ChunkPlan& plan)
    : filling_(alone(use), shape, plan, kMostWindows * plan.window),
      window_(window_config(plan, use.chunks->ring().loose() ? use.tag : filling_.number()),
              use.chunks->ring()),
      heaps_(shape.layout.heaps) {
    // No stream has filled one of them yet.
    if (shape.placement)
        filling_.filler()->tally.expect(*shape.placement);
}

stats::ChunkCounts ChunkFilling::counts() const {
    // Later steps of a chunk's way first: so no step has more chunks than the one before it.
    stats::ChunkCounts c;
    filling_.filler()->tally.tell(c, ticks_per_second());
    tell(window_.counts(), c);
    c.heaps_skipped = c.skipped * heaps_;
    return c;
}

std::shared_ptr<ChunkFilling> ChunkGroup::filling(const UserChunks::Use& use, const ChunkShape& shape,
                                                  const ChunkPlan& plan) {
    const std::lock_guard lock(mutex_);
    if (current_ && !current_->ended()) {
        use.chunks->check(shape, plan.window, plan.back_fill);
        return current_;
    }
    auto fresh = std::make_shared<ChunkFilling>(use, shape, plan);
    if (current_)
        former_.push_back({current_->counts(), current_->filler()});
    std::erase_if(former_, [this](const Former& f) {
        if (f.filler->tally.finished() < f.window.handed_over)
            return false;
        past_.add(counts_of(f));
        return true;
    });
    current_ = std::move(fresh);
    return current_;
}

stats::ChunkCounts ChunkGroup::counts_of(const Former& former) {
    stats::ChunkCounts c = former.window;
    former.filler->tally.tell(c, ticks_per_second());
    return c;
}

stats::ChunkCounts ChunkGroup::counts() const {
    const std::lock_guard lock(mutex_);
    stats::ChunkCounts all = past_;
    std::uint64_t finished = past_.taken;
    for (const Former& f : former_) {
        finished += f.filler->tally.finished();
        all.add(counts_of(f));
    }
    if (!current_)
        return all;
    finished += current_->filler()->tally.finished();
    chunk::ChunkRing& ring = current_->window().ring();
    all.add(current_->counts());
    all.buffer_bytes = ring.bytes_of_chunk();
    // Others may have chunks of the ring, too.
    all.free = ring.free();
    all.open = all.opened - std::min(all.opened, all.handed_over);
    all.buffers = ring.loose() ? std::max<std::uint64_t>(1, all.free + all.open) : ring.chunks();
    // Nobody tells when loose chunks are taken.
    all.waiting = ring.loose() ? 0 : all.handed_over - std::min(all.handed_over, all.taken);
    all.held = all.taken - std::min(all.taken, finished);
    return all;
}

stats::ChunkCounts ChunkGroup::counts_of_streams() const {
    stats::ChunkCounts now = counts();
    now.take(taken_);
    return now;
}

stats::ChunkCounts ChunkGroup::take_counts() {
    const stats::ChunkCounts now = counts_of_streams();
    taken_.add(now);
    return now;
}

}  // namespace spead::runtime
