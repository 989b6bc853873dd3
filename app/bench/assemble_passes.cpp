// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/assemble_passes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "app/bench/bare_copies.hpp"
#include "heap/pool_placer.hpp"
#include "port/machine.hpp"
#include "runtime/copy_limits.hpp"

namespace spead::app {

namespace {

constexpr const char* kWhere = "bench assemble";

/// Holds the number of heaps that the consumers keep back so that heap memory rotates: two default queues'
/// worth of single-packet heaps.
constexpr std::uint64_t kMostHeldSmall = 512;
constexpr std::uint64_t kMostHeld = 16384;

/// Holds the bursts in which the consumers look at the queue of each stream once.
constexpr std::size_t kLookTurns = 16;

/// Reads a heap as a consumer would that adds up its words.
std::uint64_t sum_of(std::span<const std::byte> bytes) noexcept {
    std::array<std::uint64_t, 8> sums{};
    std::size_t at = 0;
    for (; at + sizeof sums <= bytes.size(); at += sizeof sums) {
        std::array<std::uint64_t, 8> words;
        std::memcpy(words.data(), bytes.data() + at, sizeof words);
        for (std::size_t i = 0; i < words.size(); i++)
            sums[i] += words[i];
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : sums)
        sum += s;
    for (; at < bytes.size(); at++)
        sum += static_cast<std::uint8_t>(bytes[at]);
    return sum;
}

}  // namespace

/// Takes heaps, reads them, and gives each back after `hold` others, so that heap memory rotates through the
/// set.
class AssemblePasses::Consumer {
  public:
    Consumer(std::size_t hold, bool reads) : held_(hold), reads_(reads) {}

    /// Returns whether it has taken any.
    bool take(heap::HeapQueue& queue) noexcept {
        std::array<heap::HeapHandle, 64> heaps;
        for (bool any = false;; any = true) {
            const std::size_t n = queue.pop_burst(heaps);
            if (n == 0)
                return any;
            complete_ += static_cast<std::uint64_t>(
                std::count_if(heaps.begin(), heaps.begin() + static_cast<std::ptrdiff_t>(n),
                              [](const heap::HeapHandle& h) { return h.complete(); }));
            if (record_ != nullptr)
                for (std::size_t i = 0; i < n; i++)
                    (*record_)[heaps[i].cnt()] = heaps[i].payload().data();
            if (reads_)
                read(std::span(heaps.data(), n));
            for (std::size_t i = 0; i < n && !held_.empty(); i++) {
                swap(held_[at_], heaps[i]);
                at_ = at_ + 1 == held_.size() ? 0 : at_ + 1;
            }
            queue.release_burst(std::span(heaps.data(), n));
        }
    }

    void release_all(heap::HeapQueue& queue) { queue.release_burst(held_); }
    void record_into(std::unordered_map<std::uint64_t, const std::byte*>* record) { record_ = record; }
    std::uint64_t complete() const { return complete_; }
    std::uint64_t read_ticks() const { return read_ticks_; }

  private:
    void read(std::span<const heap::HeapHandle> heaps) noexcept {
        const std::uint64_t begin = rte_rdtsc();
        for (const heap::HeapHandle& h : heaps)
            sum_ = sum_ + sum_of(h.payload());
        read_ticks_ += rte_rdtsc() - begin;
    }

    std::vector<heap::HeapHandle> held_;
    std::size_t at_ = 0;
    bool reads_;
    std::uint64_t complete_ = 0;
    std::uint64_t read_ticks_ = 0;
    volatile std::uint64_t sum_ = 0;
    std::unordered_map<std::uint64_t, const std::byte*>* record_ = nullptr;
};

AssemblePasses::AssemblePasses(const AssemblePoint& point, LcoreCrew& crew)
    : point_(point),
      crew_(crew),
      packets_(point.packets()),
      queue_(
          kWhere, packets_, point.sizes(),
          [&point](std::uint64_t i, rte_mbuf& mbuf) { build_assemble_packet(point, i, mbuf); },
          point.descriptors) {
    agent_.set_stores(runtime::stores_rule(port::this_machine().files, crew.cpu_of(0), {crew.cpu_of(0)}));
    const std::uint64_t block = std::max<std::uint64_t>(std::bit_ceil(point.heap), 256);
    const std::uint64_t open = std::uint64_t{point.streams} * point.live;
    // As many heaps rotate as the set holds, at most kMostHeld in the consumer's hands, and at least those
    // open.
    const std::uint64_t most = point.heap == point.payload ? kMostHeldSmall : kMostHeld;
    const std::uint64_t rotating =
        point.reuse == Reuse::lifo
            ? open + 2 * point.streams
            : std::max(std::min(point.heap_set / block, most), open + 2 * point.streams);
    const std::size_t hold = point.reuse == Reuse::lifo ? 0 : (rotating - open) / point.streams;
    const std::uint64_t queued = kLookTurns * heap::Window::kMaxBatch / point.packets_per_heap();
    const std::uint64_t spare = std::max<std::uint64_t>(4 * heap::Window::kMaxBatch, queued);
    arena_ = memory::Arena((rotating + spare + 2 * open) * block * 2, block * 4);
    heap_memory_ = rotating * block;
    if (point.lend && point.heap == point.payload)
        instead_ = memory::Mapping(heap_memory_);
    source_.queue = queue_.queue();
    source_.flows = recv::FlowCache(point.streams);
    if (point.two_paths) {
        copies_.emplace(
            kWhere, packets_, point.sizes(),
            [&point](std::uint64_t i, rte_mbuf& mbuf) {
                build_assemble_packet(point, i, mbuf, kAssembleCopies);
            },
            point.descriptors);
        copies_source_.queue = copies_->queue();
        copies_source_.flows = recv::FlowCache(point.streams);
    }
    for (std::uint32_t s = 0; s < point.streams; s++) {
        recv::LaneConfig config;
        config.name = fmt::format("s{}", s);
        config.endpoints = {{{kAssembleGroup + s}, kAssemblePort, {}}};
        config.queue_heaps = static_cast<std::uint32_t>(std::max<std::uint64_t>(256, hold));
        config.max_packet_size = 65507;
        config.copy = point.copy;
        config.window.max_live = point.live;
        config.window.guarded = true;  // as in a run
        config.window.redundant = point.two_paths;
        if (point.two_paths)
            config.endpoints.push_back({{kAssembleCopies + s}, kAssemblePort, {}});
        config.window.max_heap_bytes = block;
        config.window.history_ticks = rte_get_tsc_hz();
        if (point.reader == Reader::other)
            config.window.on_full = heap::FullPolicy::block;
        lanes_.push_back(
            std::make_unique<recv::SpeadLane>(config, heap::PoolPlacer(arena_, arena_.capacity())));
        if (point.lend) {
            const auto all = static_cast<std::uint32_t>(packets_);
            lanes_.back()->lend({std::make_shared<port::BufferLoans>(all), all}, all);
        }
        consumers_.push_back(std::make_unique<Consumer>(hold, point.reader != Reader::none));
        const std::uint16_t lane = agent_.add_lane(*lanes_.back());
        source_.classifier.add(config.endpoints[0], {lane, 0});
        source_.lanes.push_back(lane);
        if (point.two_paths) {
            lanes_.back()->merge({0, 1}, rte_get_tsc_hz() / 20);
            copies_source_.classifier.add(config.endpoints[1], {lane, 1});
            copies_source_.lanes.push_back(lane);
        }
    }
    agent_.add_source(source_);
    if (point.two_paths)
        agent_.add_source(copies_source_);
}

AssemblePasses::~AssemblePasses() = default;

AssembleResult AssemblePasses::run(double seconds, std::uint32_t rounds,
                                   const process::StopSignals& signals) {
    for (int i = 0; i < 3; i++)
        assemble_pass();
    // Heaps rotate through their whole set, and so does the limit.
    const std::uint64_t passes = heap_memory_ / (packets_ * point_.payload) + 1;
    for (std::uint64_t i = 0; i < passes; i++)
        record_addresses();
    copy_pass(memory::Stores::cached);
    const std::uint64_t warm = warm_passes(packets_ * point_.payload, heap_memory_);
    std::vector<double> ours;
    BareCopies copies;
    const std::uint64_t read_before = read_ticks();
    const std::uint64_t passes_before = passes_;
    const std::uint64_t until =
        rte_rdtsc() + static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
    while (ours.empty() || ((ours.size() < rounds || rte_rdtsc() < until) && !signals.came())) {
        ours.push_back(time_after(warm, [this] { return assemble_pass(); }));
        copies.measure(warm, [this](memory::Stores stores) { return copy_pass(stores); });
    }
    AssembleResult r;
    r.cached_ns = copies.median(memory::Stores::cached);
    r.streaming_ns = copies.median(memory::Stores::streaming);
    std::vector<double> ratio;
    for (std::size_t i = 0; i < ours.size(); i++)
        ratio.push_back(copies.limit()[i] / ours[i]);
    r.packets = packets_;
    r.frame_memory = packets_ * point_.packet_bytes();
    r.heap_memory = heap_memory_;
    r.packet_pages = queue_.pages();
    r.heap_pages = arena_.backing();
    r.ns = median_of(ours);
    r.copy_ns = median_of(copies.limit());
    r.ratio = median_of(ratio);
    r.added_ns = median_of(copies.over_limit(ours));
    r.reader_ns = to_ns(read_ticks() - read_before) / static_cast<double>(passes_ - passes_before);
    r.streams = lanes_.front()->stores == memory::Stores::streaming;
    r.exact = exact();
    return r;
}

void AssemblePasses::take_all() noexcept {
    for (std::size_t s = 0; s < lanes_.size(); s++)
        consumers_[s]->take(lanes_[s]->queue);
}

/// Looks at a part of the queues after each burst, in turn. Looks at all, most of them empty, took as long as
/// a third of the lcore's work with 64 streams; consumers of a run look on their own threads.
void AssemblePasses::take_some() noexcept {
    const std::size_t some = (lanes_.size() + kLookTurns - 1) / kLookTurns;
    for (std::size_t i = 0; i < some; i++) {
        consumers_[next_look_]->take(lanes_[next_look_]->queue);
        next_look_ = next_look_ + 1 == lanes_.size() ? 0 : next_look_ + 1;
    }
}

std::uint64_t AssemblePasses::read_ticks() const {
    std::uint64_t ticks = 0;
    for (const auto& c : consumers_)
        ticks += c->read_ticks();
    return ticks;
}

/// Receives all packets of a pass. Returns the ticks that it took, without the reading.
std::uint64_t AssemblePasses::receive_pass() noexcept {
    const bool takes = point_.reader != Reader::other;
    const std::uint64_t read_before = takes ? read_ticks() : 0;
    const std::uint64_t begin = rte_rdtsc_precise();
    while (agent_.poll(rte_rdtsc() + now_offset_) || agent_.blocked())
        if (takes)
            take_some();
        else if (agent_.blocked())
            crew_.pause();
    if (takes)
        take_all();
    // The next pass needs the packets.
    for (std::size_t s = 0; point_.lend && s < lanes_.size(); s++) {
        consumers_[s]->release_all(lanes_[s]->queue);
        lanes_[s]->window.reclaim();
    }
    const std::uint64_t took = rte_rdtsc_precise() - begin;
    all_received_.store(true, std::memory_order_release);
    return took - ((takes ? read_ticks() : 0) - read_before);
}

/// Takes and reads heaps beside the receiving lcore, until there are no more.
void AssemblePasses::read_pass() noexcept {
    for (;;) {
        const bool last = all_received_.load(std::memory_order_acquire);
        bool any = false;
        for (std::size_t s = 0; s < lanes_.size(); s++)
            any |= consumers_[s]->take(lanes_[s]->queue);
        if (last && !any)
            return;
        if (!any)
            crew_.pause();
    }
}

/// Returns ns per packet.
double AssemblePasses::assemble_pass() {
    // The same heap counts come again: let the window forget them, outside the measured time.
    now_offset_ += 2 * rte_get_tsc_hz();
    agent_.housekeep(rte_rdtsc() + now_offset_);
    if (point_.lend)
        queue_.restore_order();
    queue_.next_pass();
    if (copies_ && !point_.silent_path)
        copies_->next_pass();
    passes_++;
    all_received_.store(false, std::memory_order_relaxed);
    crew_.run([this](unsigned number) {
        if (number == 0)
            received_at_ = receive_pass();
        else
            read_pass();
        return rte_rdtsc_precise();
    });
    return to_ns(received_at_);
}

/// Returns ns per packet.
double AssemblePasses::copy_pass(memory::Stores stores) {
    const memory::PayloadCopy& copy = memory::payload_copies().with(stores);
    copy_passes_++;
    std::uint64_t took = 0;
    crew_.run([&](unsigned number) {
        const std::uint64_t begin = rte_rdtsc_precise();
        if (number == 0) {
            const std::span<const CopyJob> jobs = jobs_[copy_passes_ % jobs_.size()];
            for (std::size_t i = 0; i < jobs.size(); i++)
                copy.then(jobs[i].to, jobs[i].from, jobs[i].length,
                          i + 1 < jobs.size() ? jobs[i + 1].from : nullptr);
            memory::end_streaming();
            took = rte_rdtsc_precise() - begin;
        }
        return begin;
    });
    return to_ns(took);
}

double AssemblePasses::to_ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * 1e9 / static_cast<double>(rte_get_tsc_hz()) /
           static_cast<double>(packets_);
}

/// Returns where a heap would lie that its packet is lent to: by turns, as heaps do.
std::byte* AssemblePasses::next_instead() noexcept {
    const std::uint64_t block = std::max<std::uint64_t>(std::bit_ceil(point_.heap), 256);
    std::byte* const at = instead_.base() + instead_at_;
    instead_at_ = (instead_at_ + block) % heap_memory_;
    return at;
}

/// Records the heaps' addresses in a pass; a pass of the copy limit writes to the same.
void AssemblePasses::record_addresses() {
    std::vector<std::unordered_map<std::uint64_t, const std::byte*>> bases(lanes_.size());
    for (std::size_t s = 0; s < lanes_.size(); s++)
        consumers_[s]->record_into(&bases[s]);
    assemble_pass();
    for (const auto& c : consumers_)
        c->record_into(nullptr);
    std::vector<CopyJob>& jobs = jobs_.emplace_back();
    for (std::uint64_t i = 0; i < packets_; i++) {
        const PrebuiltPacket p(kWhere, queue_.frame(i));
        const auto recorded = [&] { return bases[p.udp.dst_ip - kAssembleGroup].at(p.spead.heap_cnt); };
        std::byte* const base = instead_.length() != 0 ? next_instead() : const_cast<std::byte*>(recorded());
        jobs.push_back({base + p.spead.payload_offset, p.payload.data(), p.spead.payload_length});
    }
}

bool AssemblePasses::exact() const {
    const std::uint64_t heaps = packets_ / point_.packets_per_heap();
    std::uint64_t placed = 0;
    std::uint64_t complete = 0;
    std::uint64_t copied = 0;
    std::uint64_t redundant = 0;
    for (std::size_t s = 0; s < lanes_.size(); s++) {
        placed += lanes_[s]->counters[PacketOutcome::placed];
        complete += consumers_[s]->complete();
        copied += lanes_[s]->counters.lend_full;
        redundant += lanes_[s]->counters[PacketOutcome::redundant];
    }
    return placed == passes_ * packets_ && complete == passes_ * heaps && copied == 0 &&
           redundant == (copies_ && !point_.silent_path ? passes_ * packets_ : 0) && queue_.all_back() &&
           (!copies_ || copies_->all_back());
}

}  // namespace spead::app
