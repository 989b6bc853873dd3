// SPDX-License-Identifier: BSD-3-Clause
#include "spead/chunk_ring.hpp"

#include <algorithm>
#include <utility>

#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/tick_rate.hpp"
#include "spead/loose_chunks.hpp"
#include "spead/main_thread.hpp"
#include "spead/place_adapter.hpp"
#include "spead/placement_access.hpp"
#include "spead/user_memory.hpp"

/// Implements the chunks that users take.
namespace spead {

namespace {

constexpr const char* kInRing = "chunk ring";
/// Limits a wait while no stream has begun that could tell of the session's end.
constexpr std::chrono::milliseconds kLook{100};

/// Converts ticks of the lcores' clock to nanoseconds since 1970.
class Times {
  public:
    Times()
        : now_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count()),
          now_(rte_rdtsc()),
          ns_per_tick_(1e9 / ticks_per_second()) {}
    std::uint64_t at(std::uint64_t ticks) const {
        if (ticks == 0)
            return 0;
        const auto ago = static_cast<double>(static_cast<std::int64_t>(now_ - ticks)) * ns_per_tick_;
        return static_cast<std::uint64_t>(now_ns_ - static_cast<std::int64_t>(ago));
    }

  private:
    std::int64_t now_ns_;
    std::uint64_t now_;
    double ns_per_tick_;
};

Chunk view_of(const runtime::UserChunks::Loan& loan) {
    const chunk::Chunk& from = *loan.chunk;
    const Times times;
    Chunk c;
    c.id = from.id;
    c.stream = loan.filler->tag;
    c.data = from.data;
    c.present = from.present;
    c.extra = from.extra;
    c.heaps_present = from.heaps_present;
    c.heaps_expected = from.heaps_expected;
    c.packets = from.packets;
    c.doubled = from.doubled;
    c.first_time = times.at(from.first_arrival);
    c.last_time = times.at(from.last_arrival);
    c.user = from.user;
    return c;
}

}  // namespace

ChunkPtr::ChunkPtr() noexcept = default;
ChunkPtr::ChunkPtr(std::unique_ptr<door::ChunkLoan> loan) noexcept : loan_(std::move(loan)) {
    if (loan_)
        chunk_ = view_of(loan_->loan);
}
ChunkPtr::ChunkPtr(ChunkPtr&& other) noexcept
    : chunk_(std::exchange(other.chunk_, {})), loan_(std::move(other.loan_)) {}
ChunkPtr& ChunkPtr::operator=(ChunkPtr&& other) noexcept {
    if (this != &other) {
        reset();
        chunk_ = std::exchange(other.chunk_, {});
        loan_ = std::move(other.loan_);
    }
    return *this;
}
ChunkPtr::~ChunkPtr() {
    reset();
}

void ChunkPtr::reset() noexcept {
    if (const std::unique_ptr<door::ChunkLoan> loan = std::move(loan_)) {
        chunk_ = {};
        loan->chunks->give_back(loan->loan);
    }
}

ChunkRing::State::State(std::size_t count, std::shared_ptr<door::Session> of)
    : session(std::move(of)), kept(std::make_shared<door::KeptChunks>()) {
    kept->chunks = std::make_shared<runtime::UserChunks>(count);
    chunks = kept->chunks;
}

ChunkRing::State::State(std::shared_ptr<chunk::ChunkQueue> free, std::shared_ptr<chunk::ChunkQueue> full)
    : kept(std::make_shared<door::KeptChunks>()) {
    kept->chunks = std::make_shared<runtime::UserChunks>(std::move(free), std::move(full));
    chunks = kept->chunks;
}

void ChunkRing::State::keep(const Memory& memory, std::span<const std::byte> data) {
    const std::span<const std::byte> all = memory.bytes();
    if (data.data() < all.data() || data.data() + data.size() > all.data() + all.size())
        throw_usage(kInRing, "`data` of a chunk does not lie in the memory of {} bytes; give a part of it",
                    all.size());
    const std::lock_guard lock(kept->mutex);
    kept->memory.push_back(memory);
}

ChunkRing::State& ChunkRing::State::of(const std::unique_ptr<State>& state) {
    if (!state)
        throw_usage(kInRing, "it was moved to another variable; use that one");
    door::need_own_process(kInRing, state->is_own());
    return *state;
}

ChunkRing::ChunkRing(std::size_t chunks) : state_(std::make_unique<State>(chunks)) {}
ChunkRing::ChunkRing(const Process& process, std::size_t chunks)
    : state_(std::make_unique<State>(chunks, process.session_)) {}
ChunkRing::ChunkRing(const ChunkQueue& free, const ChunkQueue& full)
    : state_(std::make_unique<State>(std::shared_ptr<chunk::ChunkQueue>(free.state_, &free.state_->queue),
                                     std::shared_ptr<chunk::ChunkQueue>(full.state_, &full.state_->queue))) {}
ChunkRing::ChunkRing(ChunkRing&&) noexcept = default;
ChunkRing& ChunkRing::operator=(ChunkRing&&) noexcept = default;
ChunkRing::~ChunkRing() = default;

void ChunkRing::add(const Placement& placement, std::size_t chunks) {
    State::of(state_).chunks->add(door::PlacementAccess::placement(placement), chunks);
}

void ChunkRing::add(const Placement& placement, std::span<std::byte> data, std::span<std::uint8_t> present,
                    std::span<std::byte> extra, void* user) {
    door::need_chunk_memory(kInRing, data);
    State::of(state_).chunks->add(door::PlacementAccess::placement(placement), data, present, extra, user);
}

void ChunkRing::add(const ChunkSizes& sizes, std::size_t chunks) {
    State::of(state_).chunks->add(runtime::ChunkShape(door::place_sizes(sizes)), chunks);
}

void ChunkRing::add(const ChunkSizes& sizes, std::span<std::byte> data, std::span<std::uint8_t> present,
                    std::span<std::byte> extra, void* user) {
    door::need_chunk_memory(kInRing, data);
    State::of(state_).chunks->add(runtime::ChunkShape(door::place_sizes(sizes)), data, present, extra, user);
}

void ChunkRing::add(const Placement& placement, const Memory& memory, std::span<std::byte> data,
                    std::span<std::uint8_t> present, std::span<std::byte> extra, void* user) {
    State::of(state_).keep(memory, data);
    add(placement, data, present, extra, user);
}

void ChunkRing::add(const ChunkSizes& sizes, const Memory& memory, std::span<std::byte> data,
                    std::span<std::uint8_t> present, std::span<std::byte> extra, void* user) {
    State::of(state_).keep(memory, data);
    add(sizes, data, present, extra, user);
}

ChunkPtr ChunkRing::get() {
    return get_for(std::chrono::nanoseconds::max());
}

ChunkPtr ChunkRing::get_for(std::chrono::nanoseconds patience) {
    const State& s = State::of(state_);
    s.chunks->need_own_chunks();
    // Memory for the handle comes first: a taken chunk must not be lost for want of it.
    auto loan = std::make_unique<door::ChunkLoan>();
    loan->kept = s.kept;
    loan->chunks = s.chunks;
    std::optional<runtime::UserChunks::Loan> taken;
    for (;;) {
        const std::chrono::nanoseconds wait =
            s.chunks->begun() ? patience : std::min<std::chrono::nanoseconds>(patience, kLook);
        taken = s.chunks->take(wait);
        if (patience != std::chrono::nanoseconds::max())
            patience -= wait;
        if (taken || s.chunks->ended() || patience.count() <= 0 || s.is_forsaken())
            break;
    }
    if (!taken)
        return {};
    loan->loan = std::move(*taken);
    return ChunkPtr(std::move(loan));
}

ChunkPtr ChunkRing::try_get() {
    const State& s = State::of(state_);
    s.chunks->need_own_chunks();
    auto loan = std::make_unique<door::ChunkLoan>();
    std::optional<runtime::UserChunks::Loan> taken = s.chunks->try_take();
    if (!taken)
        return {};
    loan->kept = s.kept;
    loan->chunks = s.chunks;
    loan->loan = std::move(*taken);
    return ChunkPtr(std::move(loan));
}

bool ChunkRing::ended() const noexcept {
    return !state_ || !state_->is_own() || state_->chunks->ended() || state_->is_forsaken();
}

int ChunkRing::fd() const noexcept {
    return state_ ? state_->chunks->fd() : -1;
}

void ChunkRing::stop() noexcept {
    if (state_ && state_->is_own())
        state_->chunks->stop();
}

ChunkRing::Counts ChunkRing::counts() const {
    const chunk::ChunkRing& ring = State::of(state_).chunks->ring();
    const chunk::RingCounts& of = ring.counts();
    Counts c;
    c.chunks = ring.chunks();
    const std::uint64_t back = of.given_back.load();
    c.held = of.taken.load() - back;
    c.waiting = ring.waiting();
    c.free = ring.free();
    c.open = c.chunks - std::min(c.chunks, c.held + c.waiting + c.free);
    return c;
}

}  // namespace spead
