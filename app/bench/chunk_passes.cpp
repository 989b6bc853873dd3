// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/chunk_passes.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "app/bench/bare_copies.hpp"
#include "chunk/chunk_lane.hpp"
#include "heap/pool_placer.hpp"
#include "memory/arena.hpp"
#include "memory/copy.hpp"
#include "port/machine.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/copy_limits.hpp"

namespace spead::app {

namespace {

constexpr const char* kWhere = "bench chunks";
constexpr std::uint32_t kWindow = 2;
constexpr std::uint64_t kChunks = kPassChunks + kWindow + 2;
/// Limits a pass, in case that lcores wait for each other in vain.
constexpr std::uint64_t kPassSeconds = 60;
constexpr int kFlushes = 1000;

struct ChunkCopy {
    std::uint64_t to;  ///< in its chunk
    const std::byte* from;
    std::uint32_t length;
    std::uint32_t chunk;  ///< of the pass
};

/// Returns the packets of a pass, by number, that an lcore has.
std::vector<std::uint64_t> packets_of(const ChunkPoint& point, unsigned number, unsigned lcores) {
    std::vector<std::uint64_t> mine;
    for (std::uint64_t i = 0; i < point.packets(); i++)
        if (point.heap_of(i) % lcores == number)
            mine.push_back(i);
    return mine;
}

recv::LaneConfig lane_config_of_bench() {
    recv::LaneConfig config;
    config.name = "s0";
    config.endpoints = {{{kChunkGroup}, kChunkPort, {}}};
    config.max_packet_size = 65507;
    config.window.max_heap_bytes = 4096;
    return config;
}

chunk::ChunkWindowConfig window_of_bench(unsigned lcores) {
    chunk::ChunkWindowConfig config;
    config.chunks = kWindow;
    config.eviction = lcores > 1 ? chunk::Eviction::lossless : chunk::Eviction::lossy;
    config.second_ticks = rte_get_tsc_hz();
    return config;
}

}  // namespace

BenchChunks::BenchChunks(const chunk::Layout& layout, std::size_t count)
    : stride((layout.bytes + 4095) / 4096 * 4096),
      data(count * stride),
      present(count * layout.present_bytes()),
      extra(count * layout.heaps * layout.extra_bytes),
      ring(count) {
    for (std::size_t i = 0; i < count; i++)
        ring.add(layout, {data.base() + i * stride, layout.bytes},
                 std::span(present).subspan(i * layout.present_bytes(), layout.present_bytes()),
                 std::span(extra).subspan(i * layout.heaps * layout.extra_bytes,
                                          layout.heaps * layout.extra_bytes));
}

/// Is what one lcore has for itself.
struct ChunkPasses::Part {
    Part(ChunkPasses& passes, unsigned of_lcore, const std::vector<std::uint64_t>& mine);

    const unsigned number;
    PrebuiltQueue queue;
    memory::Arena arena{std::size_t{2} << 20, 4096};
    std::unique_ptr<recv::SpeadLane> lane;
    recv::Source source;
    recv::RxAgent agent;
    std::vector<ChunkCopy> jobs;
};

ChunkPasses::Part::Part(ChunkPasses& passes, unsigned of_lcore, const std::vector<std::uint64_t>& mine)
    : number(of_lcore),
      queue(kWhere, mine.size(), passes.point_.sizes(), [&passes, &mine](std::uint64_t i, rte_mbuf& mbuf) {
          build_chunk_packet(passes.point_, mine[i], mbuf);
      }) {
    recv::LaneConfig config = lane_config_of_bench();
    config.copy = passes.point_.copy;
    if (passes.point_.way == BenchWay::format)
        config.format = wire::PacketFormat::parse(passes.point_.format(), kWhere);
    agent.set_stores(runtime::stores_rule(port::this_machine().files, passes.crew_.cpu_of(number),
                                          passes.crew_.all_cpus()));
    lane = std::make_unique<recv::SpeadLane>(config, heap::PoolPlacer(arena, arena.capacity()));
    const bool can_wait = passes.crew_.lcores() > 1;
    heap::WindowConfig heaps;
    // The heaps of a time arrive together, and the next ones begin before they are full.
    heaps.max_live = static_cast<std::uint32_t>(4 * passes.point_.width);
    heaps.history_ticks = rte_get_tsc_hz();
    if (passes.point_.way == BenchWay::callback)
        lane->chunks =
            std::make_unique<chunk::ChunkLane>(passes.by_function_.callback(passes.placement_.check(kWhere)),
                                               passes.window_, lane->counters, can_wait, heaps);
    else
        lane->chunks = std::make_unique<chunk::ChunkLane>(passes.placement_, passes.window_, lane->counters,
                                                          can_wait, heaps);
    source.queue = queue.queue();
    source.flows = recv::FlowCache(1);
    const std::uint16_t index = agent.add_lane(*lane);
    source.classifier.add(config.endpoints[0], {index, 0});
    source.lanes.push_back(index);
    agent.add_source(source);
}

ChunkPasses::ChunkPasses(const ChunkPoint& point, LcoreCrew& crew)
    : point_(point),
      crew_(crew),
      placement_(chunk::Placement::parse(point.placement(), kWhere)),
      chunks_(placement_.check(kWhere), kChunks),
      window_(window_of_bench(crew.lcores()), chunks_.ring) {
    for (unsigned k = 0; k < crew.lcores(); k++)
        parts_.push_back(std::make_unique<Part>(*this, k, packets_of(point, k, crew.lcores())));
}

ChunkPasses::~ChunkPasses() {
    // In turn: the last packets of one may wait for another.
    bool left = true;
    for (int tries = 0; left && tries < kFlushes; tries++) {
        left = false;
        for (const auto& part : parts_)
            left |= !part->agent.flush();
    }
    for (const auto& part : parts_)
        if (left)
            part->agent.drop_rest();
}

ChunkResult ChunkPasses::run(double seconds, std::uint32_t rounds, const process::StopSignals& signals) {
    ChunkResult r;
    // The first pass finds the chunks empty: it tells where the second begins.
    place_pass(nullptr);
    place_pass(&r.exact);
    copy_pass(memory::Stores::cached);
    std::vector<double> ours;
    BareCopies copies;
    const std::uint64_t warm = warm_passes(point_.packets() * point_.packet, chunks_.data.length());
    const std::uint64_t until =
        rte_rdtsc() + static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
    while (ours.empty() || ((ours.size() < rounds || rte_rdtsc() < until) && !signals.came())) {
        ours.push_back(time_after(warm, [this] { return place_pass(nullptr); }));
        copies.measure(warm, [this](memory::Stores stores) { return copy_pass(stores); });
    }
    r.streams = parts_.front()->lane->stores == memory::Stores::streaming;
    r.lcores = crew_.lcores();
    r.cpus = crew_.cpus();
    r.packets = point_.packets();
    r.ns = median_of(ours);
    r.copy_ns = median_of(copies.limit());
    r.added_ns = median_of(copies.over_limit(ours));
    r.pages = chunks_.data.backing();
    r.exact &= all_came();
    return r;
}

/// Returns whether every packet was placed and came back, and every chunk was complete.
bool ChunkPasses::all_came() const {
    std::uint64_t placed = 0;
    std::uint64_t jobs = 0;
    bool back = true;
    for (const auto& part : parts_) {
        placed += part->lane->counters[PacketOutcome::placed];
        jobs += part->jobs.size();
        back &= part->queue.all_back();
    }
    return back && placed == passes_ * point_.packets() && jobs == point_.packets() && complete_ == taken_ &&
           taken_ + kWindow == passes_ * kPassChunks;
}

/// Returns ns per packet. `exact`: compares every byte of the chunks that leave, and notes the places of
/// the packets for copy_pass().
double ChunkPasses::place_pass(bool* exact) {
    // The same heap counts come again: let a window of heaps forget them, outside the measured time.
    now_offset_ += 2 * rte_get_tsc_hz();
    for (const auto& part : parts_) {
        part->agent.housekeep(rte_rdtsc() + now_offset_);
        part->queue.next_pass();
    }
    by_function_.passes = passes_;
    passes_++;
    at_work_.store(crew_.lcores());
    const std::uint64_t ticks = crew_.run([this](unsigned number) { return place_part(number); });
    settle();
    take_all(exact);
    return to_ns(ticks);
}

/// Places the packets of one lcore. Returns when the last one was placed. Polls on until all lcores have had
/// theirs: they may wait for this one's boundaries.
std::uint64_t ChunkPasses::place_part(unsigned number) noexcept {
    Part& part = *parts_[number];
    const std::uint64_t limit = rte_rdtsc() + kPassSeconds * rte_get_tsc_hz();
    std::uint64_t end = 0;
    while (rte_rdtsc() < limit) {
        if (part.agent.poll(rte_rdtsc() + now_offset_))
            continue;
        if (end == 0 && !part.queue.has_left() && part.source.waiting.count == 0) {
            end = rte_rdtsc_precise();
            at_work_.fetch_sub(1, std::memory_order_acq_rel);
        }
        if (at_work_.load(std::memory_order_acquire) == 0)
            break;
        crew_.pause();
    }
    return end != 0 ? end : rte_rdtsc_precise();
}

/// Lets the chunks go that have left the window: each member has no copy outstanding. No lcore works.
void ChunkPasses::settle() noexcept {
    for (int i = 0; i < 2 && parts_.size() > 1; i++)
        for (const auto& part : parts_)
            part->agent.poll(rte_rdtsc() + now_offset_);
}

double ChunkPasses::copy_pass(memory::Stores stores) {
    const memory::PayloadCopy& copy = memory::payload_copies().with(stores);
    // Goes through all chunks in turn, as the lcores do.
    std::array<std::byte*, kPassChunks> bases;
    for (std::byte*& base : bases)
        base = chunks_.data.base() + copied_++ % kChunks * chunks_.stride;
    return to_ns(crew_.run([this, &copy, &bases](unsigned number) {
        const std::span<const ChunkCopy> jobs = parts_[number]->jobs;
        for (std::size_t i = 0; i < jobs.size(); i++)
            copy.then(bases[jobs[i].chunk] + jobs[i].to, jobs[i].from, jobs[i].length,
                      i + 1 < jobs.size() ? jobs[i + 1].from : nullptr);
        memory::end_streaming();
        return rte_rdtsc_precise();
    }));
}

double ChunkPasses::to_ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * 1e9 / static_cast<double>(rte_get_tsc_hz()) * crew_.lcores() /
           static_cast<double>(point_.packets());
}

void ChunkPasses::take_all(bool* exact) {
    while (chunk::Chunk* const c = chunks_.ring.take()) {
        taken_++;
        complete_ += c->complete() ? 1 : 0;
        if (exact != nullptr)
            *exact &= is_right(*c);
        chunks_.ring.give_back(*c);
    }
    if (exact != nullptr)
        note_places();
}

/// Returns whether each heap of the chunk is the one that belongs there, with every byte.
bool ChunkPasses::is_right(const chunk::Chunk& c) const {
    const std::uint64_t first = static_cast<std::uint64_t>(c.id) % kPassChunks * point_.chunk_times;
    for (std::uint64_t t = first; t < first + point_.chunk_times; t++)
        for (std::uint64_t place = 0; place < point_.width; place++) {
            const PatternHeap heap = point_.heap_at(t, place);
            const auto bytes = c.data.subspan(point_.number_of(heap) * point_.heap, point_.heap);
            if (pattern_check(bytes, point_.pattern, heap) != bytes.size())
                return false;
        }
    return true;
}

void ChunkPasses::note_places() {
    for (const auto& part : parts_) {
        const std::vector<std::uint64_t> mine = packets_of(point_, part->number, crew_.lcores());
        for (std::size_t n = 0; n < mine.size(); n++) {
            const std::uint64_t in_pass = point_.heap_of(mine[n]);
            const PatternHeap heap = point_.heap_at(in_pass / point_.width, in_pass % point_.width);
            const auto packet = std::as_bytes(part->queue.frame(n)).last(point_.packet);
            part->jobs.push_back({point_.number_of(heap) * point_.heap + point_.offset_of(mine[n]),
                                  packet.data(), point_.packet,
                                  static_cast<std::uint32_t>(heap.time / point_.chunk_times)});
        }
    }
}

}  // namespace spead::app
