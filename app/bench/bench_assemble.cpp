// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_assemble.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "app/exit_status.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "heap/pool_placer.hpp"
#include "memory/arena.hpp"
#include "memory/copy.hpp"
#include "observe/report_file.hpp"
#include "port/sizes.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/eal.hpp"
#include "wire/flavour.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

namespace spead::app {

namespace {

constexpr std::uint32_t kGroup = 0xEF0A0A00;  // 239.10.10.0
constexpr std::uint16_t kPort = 7148;
constexpr std::uint32_t kItems = 5;  // the four specials and one item
constexpr std::uint32_t kHeaderBytes =
    static_cast<std::uint32_t>(wire::kNetHeader + wire::kSpeadHeader + kItems * wire::kItemPointer);

/// Holds the number of heaps that the consumers keep back so that heap memory rotates: two default queues'
/// worth of single-packet heaps.
constexpr std::uint64_t kMostHeldSmall = 512;
constexpr std::uint64_t kMostHeld = 16384;

/// Holds one row of the table.
struct Point {
    std::uint32_t payload;
    std::uint64_t heap;  ///< bytes
    std::uint64_t set;   ///< bytes, requested
    std::uint32_t streams;
    std::uint32_t live;  ///< heaps whose packets are interleaved, per stream
};

struct Result {
    Point point;
    std::uint64_t packets = 0;       ///< per pass
    std::uint64_t frame_memory = 0;  ///< bytes of mbufs used in turn
    std::uint64_t heap_memory = 0;   ///< bytes of heap blocks used in turn
    double ns = 0;                   ///< per packet, median
    double copy_ns = 0;
    double ratio = 0;  ///< copy limit's time / ours, median of pairs
    double added_ns = 0;
    memory::Mapping::Backing heap_pages{};
    bool exact = true;  ///< all packets placed and all heaps complete
};

std::uint32_t element_bytes(std::uint32_t payload) {
    const std::uint32_t room = RTE_PKTMBUF_HEADROOM + (kHeaderBytes + payload + 63) / 64 * 64;
    return static_cast<std::uint32_t>(sizeof(rte_mbuf)) + room + 64;
}

/// Returns the packets of one pass: frames fill half of the set, heaps the other half, and every heap is
/// whole.
std::uint64_t packets_of(const Point& p) {
    const std::uint64_t per_heap = (p.heap + p.payload - 1) / p.payload;
    const std::uint64_t group = per_heap * p.streams * p.live;
    const std::uint64_t wanted = p.set / 2 / element_bytes(p.payload);
    return std::max<std::uint64_t>(1, wanted / group) * group;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

/// Gives out prebuilt packets without end, in place of a receive queue: freed mbufs come back in order.
class PrebuiltQueue {
  public:
    PrebuiltQueue(const Point& point, std::uint64_t packets) {
        static unsigned number = 0;
        const std::uint32_t room = RTE_PKTMBUF_HEADROOM + (kHeaderBytes + point.payload + 63) / 64 * 64;
        pool_ = rte_pktmbuf_pool_create_by_ops(fmt::format("bench{}", number++).c_str(),
                                               static_cast<unsigned>(packets), 0, 0,
                                               static_cast<std::uint16_t>(room), SOCKET_ID_ANY, "ring_sp_sc");
        if (pool_ == nullptr)
            throw_error("bench assemble",
                        "no EAL memory for {} mbufs of {} bytes; give -m or a smaller --set", packets,
                        element_bytes(point.payload));
        build(point, packets);
    }
    ~PrebuiltQueue() { rte_mempool_free(pool_); }
    PrebuiltQueue(const PrebuiltQueue&) = delete;
    PrebuiltQueue& operator=(const PrebuiltQueue&) = delete;

    port::RxQueue queue() { return {&PrebuiltQueue::burst, this, 0, pool_}; }
    const std::vector<rte_mbuf*>& in_order() const { return order_; }
    bool all_back() const { return rte_mempool_avail_count(pool_) == order_.size(); }

  private:
    static std::uint16_t burst(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max) {
        auto* const self = static_cast<PrebuiltQueue*>(context);
        if (self->left_ == 0)
            return 0;
        const auto n = static_cast<std::uint16_t>(std::min<std::uint64_t>(max, self->left_));
        if (rte_mempool_get_bulk(self->pool_, reinterpret_cast<void**>(mbufs), n) != 0)
            return 0;
        self->left_ -= n;
        return n;
    }

    void build(const Point& point, std::uint64_t packets) {
        order_.resize(packets);
        if (rte_pktmbuf_alloc_bulk(pool_, order_.data(), static_cast<unsigned>(packets)) != 0)
            throw_error("bench assemble", "cannot take {} mbufs from their pool", packets);
        const wire::Flavour flavour(48);
        const std::uint64_t per_heap = (point.heap + point.payload - 1) / point.payload;
        const std::uint64_t width = std::uint64_t{point.streams} * point.live;
        for (std::uint64_t i = 0; i < packets; i++) {
            // The group of heaps that is open together sends packet k of each in turn.
            const std::uint64_t group = i / (per_heap * width);
            const std::uint64_t in_group = i % (per_heap * width);
            const std::uint64_t k = in_group / width;
            const std::uint64_t member = in_group % width;
            const auto stream = static_cast<std::uint32_t>(member % point.streams);
            const std::uint64_t cnt = 1 + group * point.live + member / point.streams;
            const std::uint64_t offset = k * point.payload;
            const std::uint64_t length = std::min<std::uint64_t>(point.payload, point.heap - offset);

            rte_mbuf* const m = order_[i];
            auto* const frame = reinterpret_cast<std::uint8_t*>(
                rte_pktmbuf_append(m, static_cast<std::uint16_t>(kHeaderBytes + length)));
            wire::NetHeaderSpec spec;
            spec.dst_ip = kGroup + stream;
            spec.src_ip = 0x0A000001;
            spec.dst_port = kPort;
            spec.src_port = kPort;
            spec.dst_mac = wire::multicast_mac({spec.dst_ip});
            const std::size_t spead_length = wire::kSpeadHeader + kItems * wire::kItemPointer + length;
            std::uint8_t* at = frame + wire::write_headers(frame, spec, spead_length);
            const std::array<std::uint8_t, 8> head{0x53, 4, 2, 6, 0, 0, 0, kItems};
            std::memcpy(at, head.data(), head.size());
            const std::array<std::uint64_t, kItems> pointers{
                flavour.make_immediate(wire::item::kHeapCnt, cnt),
                flavour.make_immediate(wire::item::kHeapLength, point.heap),
                flavour.make_immediate(wire::item::kPayloadOffset, offset),
                flavour.make_immediate(wire::item::kPayloadLength, length),
                flavour.make_address(wire::item::kFirstUser, 0),
            };
            for (std::size_t p = 0; p < kItems; p++)
                store_be64(at + wire::kSpeadHeader + 8 * p, pointers[p]);
            std::memset(at + wire::kSpeadHeader + 8 * kItems, static_cast<int>(i), length);
        }
        rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(order_.data()), static_cast<unsigned>(packets));
    }

  public:
    void next_pass() { left_ = order_.size(); }

  private:
    rte_mempool* pool_;
    std::vector<rte_mbuf*> order_;
    std::uint64_t left_ = 0;
};

/// Acts as the consumer: takes heaps and gives each back after `hold` others, so that heap memory rotates
/// through the set.
class HoldingConsumer {
  public:
    explicit HoldingConsumer(std::size_t hold) : held_(hold) {}

    void take(heap::HeapQueue& queue) {
        std::array<heap::HeapHandle, 64> heaps;
        for (;;) {
            const std::size_t n = queue.pop_burst(heaps);
            if (n == 0)
                return;
            complete_ += static_cast<std::uint64_t>(
                std::count_if(heaps.begin(), heaps.begin() + static_cast<std::ptrdiff_t>(n),
                              [](const heap::HeapHandle& h) { return h.complete(); }));
            if (record_ != nullptr)
                for (std::size_t i = 0; i < n; i++)
                    (*record_)[heaps[i].cnt()] = heaps[i].payload().data();
            if (held_.empty()) {
                queue.release_burst(std::span(heaps.data(), n));
                continue;
            }
            for (std::size_t i = 0; i < n; i++) {
                std::swap(held_[at_], heaps[i]);
                at_ = at_ + 1 == held_.size() ? 0 : at_ + 1;
            }
            queue.release_burst(std::span(heaps.data(), n));
        }
    }

    void record_into(std::unordered_map<std::uint64_t, const std::byte*>* record) { record_ = record; }
    std::uint64_t complete() const { return complete_; }

  private:
    std::vector<heap::HeapHandle> held_;
    std::size_t at_ = 0;
    std::uint64_t complete_ = 0;
    std::unordered_map<std::uint64_t, const std::byte*>* record_ = nullptr;
};

struct CopyJob {
    std::byte* to;
    const std::byte* from;
    std::uint32_t length;
};

class Bench {
  public:
    explicit Bench(const Point& point)
        : point_(point),
          packets_(packets_of(point)),
          queue_(point, packets_),
          heaps_((packets_ / ((point.heap + point.payload - 1) / point.payload))) {
        const std::uint64_t block = std::max<std::uint64_t>(std::bit_ceil(point.heap), 256);
        const std::uint64_t open = std::uint64_t{point.streams} * point.live;
        // As many heaps rotate as half the set holds, at most kMostHeld in the consumer's hands, and at least
        // those open.
        const std::uint64_t most = point.heap == point.payload ? kMostHeldSmall : kMostHeld;
        const std::uint64_t rotating =
            std::max(std::min(point.set / 2 / block, most), open + 2 * point.streams);
        hold_ = (rotating - open) / point.streams;
        arena_ = memory::Arena((rotating + 4 * heap::Window::kMaxBatch + 2 * open) * block * 2, block * 4);
        heap_memory_ = rotating * block;
        source_.queue = queue_.queue();
        source_.flows = recv::FlowCache(point.streams);
        for (std::uint32_t s = 0; s < point.streams; s++) {
            recv::LaneConfig config;
            config.name = fmt::format("s{}", s);
            config.endpoints = {{{kGroup + s}, kPort, {}}};
            config.queue_heaps = static_cast<std::uint32_t>(std::max<std::uint64_t>(256, hold_));
            config.max_packet_size = 65507;
            config.window.max_live = point.live;
            config.window.guarded = true;  // as in a run
            config.window.max_heap_bytes = block;
            config.window.history_ticks = rte_get_tsc_hz();
            lanes_.push_back(
                std::make_unique<recv::SpeadLane>(config, heap::PoolPlacer(arena_, arena_.capacity())));
            consumers_.emplace_back(hold_);
            const std::uint16_t lane = agent_.add_lane(*lanes_.back());
            source_.classifier.add(config.endpoints[0], {lane, 0});
            source_.lanes.push_back(lane);
        }
        agent_.add_source(source_);
    }

    Result run(double seconds, std::uint32_t rounds, const process::StopSignals& signals) {
        for (int i = 0; i < 3; i++)
            assemble_pass();
        record_addresses();
        copy_pass();
        std::vector<double> ours;
        std::vector<double> limit;
        std::vector<double> ratio;
        std::vector<double> added;
        const std::uint64_t until =
            rte_rdtsc() + static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
        while (ratio.empty() || ((ratio.size() < rounds || rte_rdtsc() < until) && !signals.came())) {
            const double a = assemble_pass();
            const double b = copy_pass();
            ours.push_back(a);
            limit.push_back(b);
            ratio.push_back(b / a);
            added.push_back(a - b);
        }
        Result r;
        r.point = point_;
        r.packets = packets_;
        r.frame_memory = packets_ * element_bytes(point_.payload);
        r.heap_memory = heap_memory_;
        r.heap_pages = arena_.backing();
        r.ns = median(ours);
        r.copy_ns = median(limit);
        r.ratio = median(ratio);
        r.added_ns = median(added);
        r.exact = exact();
        return r;
    }

  private:
    void take_all() {
        for (std::size_t s = 0; s < lanes_.size(); s++)
            consumers_[s].take(lanes_[s]->queue);
    }

    /// Returns ns per packet.
    double assemble_pass() {
        // The same heap counts come again: let the window forget them, outside the measured time.
        now_offset_ += 2 * rte_get_tsc_hz();
        agent_.housekeep(rte_rdtsc() + now_offset_);
        queue_.next_pass();
        passes_++;
        const std::uint64_t begin = rte_rdtsc_precise();
        while (agent_.poll(rte_rdtsc() + now_offset_))
            take_all();
        take_all();
        const std::uint64_t end = rte_rdtsc_precise();
        return to_ns(end - begin);
    }

    double copy_pass() {
        const memory::CopyFunction copy = memory::payload_copy();
        const std::uint64_t begin = rte_rdtsc_precise();
        for (const CopyJob& job : jobs_)
            copy(job.to, job.from, job.length);
        const std::uint64_t end = rte_rdtsc_precise();
        return to_ns(end - begin);
    }

    double to_ns(std::uint64_t ticks) const {
        return static_cast<double>(ticks) * 1e9 / static_cast<double>(rte_get_tsc_hz()) /
               static_cast<double>(packets_);
    }

    /// Records the heaps' addresses in one pass; the copy limit writes to the same.
    void record_addresses() {
        std::vector<std::unordered_map<std::uint64_t, const std::byte*>> bases(lanes_.size());
        for (std::size_t s = 0; s < lanes_.size(); s++)
            consumers_[s].record_into(&bases[s]);
        assemble_pass();
        for (HoldingConsumer& c : consumers_)
            c.record_into(nullptr);
        for (rte_mbuf* const m : queue_.in_order()) {
            const auto* const frame = rte_pktmbuf_mtod(m, const std::uint8_t*);
            wire::UdpView udp;
            wire::SpeadPacket p;
            if (wire::parse_udp(frame, m->data_len, m->data_len, false, udp) != PortOutcome::stream ||
                wire::parse_spead(frame + udp.payload_offset, udp.payload_length, udp.payload_length, p) !=
                    wire::SpeadError::none)
                throw_error("bench assemble", "a prebuilt packet is broken");
            auto* const base = const_cast<std::byte*>(bases[udp.dst_ip - kGroup].at(p.heap_cnt));
            jobs_.push_back({base + p.payload_offset,
                             reinterpret_cast<const std::byte*>(frame) + udp.payload_offset + p.header_length,
                             p.payload_length});
        }
    }

    bool exact() const {
        std::uint64_t placed = 0;
        std::uint64_t complete = 0;
        for (std::size_t s = 0; s < lanes_.size(); s++) {
            placed += lanes_[s]->counters[PacketOutcome::placed];
            complete += consumers_[s].complete();
        }
        return placed == passes_ * packets_ && complete == passes_ * heaps_ && queue_.all_back();
    }

    Point point_;
    std::uint64_t packets_;
    PrebuiltQueue queue_;
    std::uint64_t heaps_;
    std::size_t hold_ = 0;
    std::uint64_t heap_memory_ = 0;
    memory::Arena arena_;
    std::vector<std::unique_ptr<recv::SpeadLane>> lanes_;
    std::vector<HoldingConsumer> consumers_;
    recv::Source source_;
    recv::RxAgent agent_;
    std::vector<CopyJob> jobs_;
    std::uint64_t now_offset_ = 0;
    std::uint64_t passes_ = 0;
};

std::vector<Point> points_of(const BenchOptions& o) {
    std::vector<Point> points;
    for (const std::uint64_t set : o.working_sets)
        for (const std::uint64_t heap : o.heap_sizes)
            for (const std::uint32_t payload : o.payload_sizes)
                for (const std::uint32_t streams : o.streams)
                    for (const std::uint32_t live : o.live_heaps)
                        points.push_back({payload, heap == 0 ? payload : heap, set, streams, live});
    return points;
}

std::string size_text(std::uint64_t bytes) {
    if (bytes >= (1U << 20) && bytes % (1U << 20) == 0)
        return fmt::format("{} MiB", bytes >> 20);
    if (bytes >= 1024 && bytes % 1024 == 0)
        return fmt::format("{} KiB", bytes >> 10);
    return fmt::format("{} B", bytes);
}

nlohmann::ordered_json to_json(const Result& r) {
    return {{"payload", r.point.payload},
            {"heap", r.point.heap},
            {"set", r.point.set},
            {"streams", r.point.streams},
            {"live", r.point.live},
            {"packets", r.packets},
            {"frame_memory", r.frame_memory},
            {"heap_memory", r.heap_memory},
            {"heap_pages", memory::name_of(r.heap_pages)},
            {"ns_per_packet", r.ns},
            {"copy_ns_per_packet", r.copy_ns},
            {"ratio_to_copy_limit", r.ratio},
            {"added_ns", r.added_ns},
            {"mpps", 1e3 / r.ns},
            {"gbps", 8.0 * r.point.payload / r.ns},
            {"exact", r.exact}};
}

}  // namespace

std::size_t bench_assemble_memory_mib(const BenchOptions& options) {
    std::size_t most = 0;
    for (const Point& p : points_of(options)) {
        const std::uint32_t room = RTE_PKTMBUF_HEADROOM + (kHeaderBytes + p.payload + 63) / 64 * 64;
        most = std::max(most, port::pool_bytes_of(static_cast<std::uint32_t>(packets_of(p)), room, 0));
    }
    return ((most + most / 16) >> 20) + 64;
}

int bench_assemble(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals) {
    const bool table = json_path != "-";
    if (table)
        tell(stdout,
             "packets in {}; copy: {}; times are medians per packet\n{:>8} {:>9} {:>9} {:>7} {:>5} {:>9} "
             "{:>9} {:>9} {:>8} "
             "{:>7} {:>8}\n",
             runtime::Eal::pages(), memory::payload_copy_name(), "payload", "heap", "set", "streams", "live",
             "Gb/s", "Mpps", "ns", "copy ns", "ratio", "added ns");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    std::set<std::string_view> heap_pages;
    bool exact = true;
    const std::vector<Point> points = points_of(options);
    for (const Point& point : points) {
        if (signals.came())
            break;
        const Result r = Bench(point).run(options.time, options.rounds, signals);
        exact &= r.exact;
        heap_pages.insert(memory::name_of(r.heap_pages));
        rows.push_back(to_json(r));
        if (table) {
            tell(stdout,
                 "{:>8} {:>9} {:>9} {:>7} {:>5} {:>9.2f} {:>9.2f} {:>9.1f} {:>8.1f} {:>7.3f} {:>8.1f}{}\n",
                 r.point.payload, size_text(r.point.heap), size_text(r.point.set), r.point.streams,
                 r.point.live, 8.0 * r.point.payload / r.ns, 1e3 / r.ns, r.ns, r.copy_ns, r.ratio, r.added_ns,
                 r.exact ? "" : "  NOT EXACT");
            std::fflush(stdout);
        }
    }
    if (table)
        tell(stdout, "heaps in {}\n", fmt::join(heap_pages, " and in "));
    const nlohmann::ordered_json document{{"benchmark", "assemble"},
                                          {"copy", memory::payload_copy_name()},
                                          {"packet_pages", runtime::Eal::pages()},
                                          {"rows", rows}};
    if (!json_path.empty())
        observe::write_file(json_path, document.dump(2));
    if (!exact)
        tell(stderr, "bench assemble: packets were not all placed, or heaps not all complete\n");
    if (signals.came())
        tell(stderr, "dpdk-spead: interrupted; {} of {} combinations were measured\n", rows.size(),
             points.size());
    return exact && !signals.came() ? kSuccess : kFailure;
}

}  // namespace spead::app
