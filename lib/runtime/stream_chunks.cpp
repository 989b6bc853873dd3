// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_chunks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/tick_rate.hpp"
#include "base/units.hpp"
#include "gpu/registered.hpp"
#include "port/netdev.hpp"
#include "runtime/consumers.hpp"
#include "runtime/layout.hpp"

namespace spead::runtime {

namespace {

/// Limits a wait for chunks, so that a lost wake-up costs little.
constexpr int kWaitMs = 100;
/// Returns the placement of the plan; none: a callback places the heaps.
std::optional<chunk::Placement> placement_of(const ReceivePlan& plan) {
    if (plan.chunk->by_callback)
        return std::nullopt;
    return plan.chunk->parsed(fmt::format("receive {}", plan.name));
}

ChunkShape shape_of(const std::optional<chunk::Placement>& placement,
                    const std::function<chunk::PlaceCallback()>& make_callback) {
    return placement ? ChunkShape(*placement) : ChunkShape(make_callback());
}

void lock(memory::Mapping& memory, const ReceivePlan& plan, const chunk::Layout& layout) {
    const int error = memory.lock();
    if (error == 0)
        return;
    const std::uint64_t limit = port::lockable_bytes();
    throw_error(
        fmt::format("receive {}", plan.name),
        "{} x {} = {} cannot be locked in memory: {}; RLIMIT_MEMLOCK is {}: raise it (ulimit -l, "
        "LimitMEMLOCK of a service), reserve huge pages, which need no limit (vm.nr_hugepages), or set "
        "`memory` of [receive.chunk] to host",
        counted(plan.chunk->chunks, "chunks"), human_size(layout.bytes), human_size(memory.length()),
        std::strerror(error), limit == UINT64_MAX ? "unlimited" : human_size(limit));
}

memory::Mapping map_chunks(const ReceivePlan& plan, const chunk::Layout& layout) {
    const std::size_t bytes = memory_of_chunk(layout) * plan.chunk->chunks;
    memory::Mapping memory(bytes);
    if (kind_of(plan.chunk->memory) == memory::MemoryKind::pinned)
        lock(memory, plan, layout);
    if (plan.chunk->memory == ChunkMemory::huge && memory.backing() != memory::Mapping::Backing::hugetlb)
        throw_error(fmt::format("receive {}", plan.name),
                    "{} x {} = {} do not fit the free huge pages; reserve more (vm.nr_hugepages), or set "
                    "`memory` of [receive.chunk] to host",
                    counted(plan.chunk->chunks, "chunks"), human_size(layout.bytes), human_size(bytes));
    return memory;
}

/// Registers the chunks of a stream with the driver of a GPU, too. Returns both registrations.
std::shared_ptr<const void> register_with_gpu(std::shared_ptr<const void> with_ports,
                                              const memory::Mapping& memory, const std::string& stream) {
    struct Both {
        std::shared_ptr<const void> with_ports;
        gpu::Registered with_gpu;
    };
    try {
        return std::shared_ptr<const void>(
            new Both{std::move(with_ports),
                     {gpu::Context::open(gpu::Driver::load()), memory.base(), memory.length()}});
    } catch (const Error& e) {
        throw_error(
            fmt::format("receive {}", stream),
            "its chunks of `memory = \"cuda_pinned\"` cannot be registered for GPUs: {}; or set `memory` of "
            "[receive.chunk] to pinned",
            e.what());
    }
}

/// Returns the window's filling: the group's, or one of its own.
std::shared_ptr<ChunkFilling> filling_of(const UserChunks::Use& use, const ChunkShape& shape,
                                         const ChunkPlan& plan) {
    return use.group ? use.group->filling(use, shape, plan)
                     : std::make_shared<ChunkFilling>(use, shape, plan);
}

}  // namespace

StreamChunks::StreamChunks(const ReceivePlan& plan, std::uint32_t number, std::shared_ptr<ChunkSink> sink,
                           const std::vector<unsigned>& cpus, const Register& pin,
                           std::shared_ptr<gather::Engine> engine)
    : placement_(placement_of(plan)),
      sink_(std::move(sink)),
      heaps_(placement_->check().heaps),
      engine_(std::move(engine)),
      ring_(std::make_shared<chunk::ChunkRing>(plan.chunk->chunks)),
      tally_(std::make_shared<ChunkTally>()),
      own_window_(std::in_place, window_config(*plan.chunk, number), *ring_),
      window_(*own_window_) {
    const chunk::Layout layout = placement_->check();
    tally_->expect(*placement_);
    const memory::Region memory = make_memory(plan, pin);
    if (!memory.cpu_accessible() && plan.sink.kind != SinkKind::null)
        fetched_.resize(layout.bytes);
    const std::size_t extra = layout.heaps * layout.extra_bytes;
    present_.resize(layout.present_bytes() * plan.chunk->chunks);
    extra_.resize(extra * plan.chunk->chunks);
    for (std::size_t i = 0; i < plan.chunk->chunks; i++)
        ring_->add(layout, {memory.base + i * memory_of_chunk(layout), layout.bytes},
                   std::span(present_).subspan(i * layout.present_bytes(), layout.present_bytes()),
                   std::span(extra_).subspan(i * extra, extra), memory.kind);
    thread_ = start_thread("chunks", [this, cpus] {
        run_on(cpus);
        run();
    });
}

/// Makes the memory of all chunks: the engine's, or a mapping, registered as the plan says.
memory::Region StreamChunks::make_memory(const ReceivePlan& plan, const Register& pin) {
    const chunk::Layout layout = placement_->check();
    if (engine_) {
        region_ = engine_->allocate(memory_of_chunk(layout) * plan.chunk->chunks);
        return *region_;
    }
    memory_ = map_chunks(plan, layout);
    if (memory_.kind() == memory::MemoryKind::pinned && pin)
        registered_ = pin({memory_.base(), memory_.length(), memory_.kind()});
    if (plan.chunk->memory == ChunkMemory::cuda_pinned)
        registered_ = register_with_gpu(std::move(registered_), memory_, plan.name);
    return {memory_.base(), memory_.length(), memory_.kind(), -1};
}

StreamChunks::StreamChunks(const ReceivePlan& plan, const UserChunks::Use& use,
                           std::shared_ptr<ChunkSink> sink)
    : placement_(placement_of(plan)),
      make_callback_(use.make_callback),
      sink_(std::move(sink)),
      heaps_(shape_of(placement_, make_callback_).layout.heaps),
      filling_(filling_of(use, shape_of(placement_, make_callback_), *plan.chunk)),
      open_(use.open),
      at_end_(use.at_end),
      group_(use.group),
      ring_(use.chunks, &use.chunks->ring()),
      tally_(filling_->filler(), &filling_->filler()->tally),
      window_(filling_->window()),
      told_resyncs_(window_.counts().resyncs.load(std::memory_order_acquire)) {
    filling_->join();
    joined_ = true;
    if (open_)
        open_->fetch_add(1);
}

StreamChunks::~StreamChunks() {
    close();
    if (thread_.joinable())
        thread_.join();
}

std::unique_ptr<chunk::ChunkLane> StreamChunks::make_lane(stats::StreamCounters& counters, bool can_wait,
                                                          const heap::WindowConfig& heaps) {
    auto lane =
        placement_ ? std::make_unique<chunk::ChunkLane>(*placement_, window_, counters, can_wait, heaps)
                   : std::make_unique<chunk::ChunkLane>(make_callback_(), window_, counters, can_wait, heaps);
    can_wait_ = can_wait;
    return lane;
}

void StreamChunks::goes_on_from(const StreamChunks& former) noexcept {
    if (!own_window_ || !former.own_window_)
        return;
    const chunk::Axis& time = placement_->axes[placement_->time_axis()];
    const chunk::Axis& before = former.placement_->axes[former.placement_->time_axis()];
    if (time.term == before.term && time.count == before.count &&
        placement_->time_bits() == former.placement_->time_bits())
        own_window_->goes_on_from(*former.own_window_);
}

void StreamChunks::close() noexcept {
    if (filling_) {
        if (std::exchange(joined_, false)) {
            // Before the ring's end, which may let its user start the stream again.
            if (open_)
                open_->fetch_sub(1);
            filling_->leave();
            if (at_end_ && std::exchange(served_, false))
                at_end_();
        }
        ended_.store(true, std::memory_order_release);
    } else {
        ring_->close();
    }
}

void StreamChunks::run() noexcept {
    using Clock = std::chrono::steady_clock;
    const std::int64_t most = kMostWindows * window_.config().chunks;
    for (;;) {
        chunk::Chunk* const chunk = ring_->take();
        if (chunk == nullptr) {
            if (ring_->closed() && ring_->waiting() == 0)
                break;
            ring_->wait(kWaitMs);
            continue;
        }
        tally_->take(*chunk, most);
        const Clock::time_point begin = Clock::now();
        give(*chunk);
        sink_->show_compared();
        const std::chrono::nanoseconds had = Clock::now() - begin;
        tally_->give_back(static_cast<std::uint64_t>(had.count()));
        ring_->give_back(*chunk);
    }
    sink_->end();
    ended_.store(true, std::memory_order_release);
}

/// Fetches the payload, and has the chunk refer to what was fetched. Returns false when the engine fails.
bool StreamChunks::fetch(chunk::Chunk& chunk) noexcept {
    try {
        engine_->fetch(chunk.data.data(), fetched_);
    } catch (const gather::FetchTimedOut& e) {
        sink_->lose(e.what(), Sink::Lack::engine);
        return false;
    } catch (const std::exception& e) {
        sink_->lose(e.what(), Sink::Lack::engine);
        if (!std::exchange(fetch_failed_, true))
            log_error(LogType::runtime, "stream {}: chunk {} cannot be fetched for its sink: {}",
                      chunk.stream, chunk.id, e.what());
        return false;
    }
    chunk.data = fetched_;
    chunk.base = fetched_.data();
    chunk.kind = memory::MemoryKind::host;
    return true;
}

/// Gives a chunk to the sink. One whose payload was lost with the engine goes to nobody.
void StreamChunks::give(chunk::Chunk& chunk) noexcept {
    if (chunk.broken.load(std::memory_order_relaxed))
        return;  // the tally has counted it
    const std::span<std::byte> data = chunk.data;
    const memory::MemoryKind kind = chunk.kind;
    if (!fetched_.empty() && !fetch(chunk)) {
        tally_->deliver(false);
        return;
    }
    sink_->give_chunk(chunk, [tally = tally_](bool kept) { tally->deliver(kept); });
    chunk.data = data;
    chunk.base = data.data();
    chunk.kind = kind;
}

stats::ChunkCounts StreamChunks::counts() const {
    stats::ChunkCounts c;
    if (group_)
        return c;
    // Later steps of a chunk's way first: so no step has more chunks than the one before it.
    c.at_rest = ended() && !filling_;
    const std::uint64_t finished = tally_->finished();
    tally_->tell(c, ticks_per_second());
    tell(window_.counts(), c);
    c.heaps_skipped = c.skipped * heaps_;
    c.buffer_bytes = ring_->bytes_of_chunk();
    // Other streams may have chunks of the ring, too.
    c.free = ring_->free();
    c.open = c.opened - std::min(c.opened, c.handed_over);
    c.buffers = ring_->loose() ? std::max<std::uint64_t>(1, c.free + c.open) : ring_->chunks();
    // Nobody tells when loose chunks are taken.
    c.waiting = ring_->loose() ? 0 : c.handed_over - std::min(c.handed_over, c.taken);
    c.held = c.taken - std::min(c.taken, finished);
    return c;
}

std::uint64_t StreamChunks::new_resyncs() noexcept {
    const std::uint64_t now = window_.counts().resyncs.load(std::memory_order_acquire);
    return now - std::exchange(told_resyncs_, now);
}

}  // namespace spead::runtime
