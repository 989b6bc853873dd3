// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_transmit.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "app/bench/bare_copies.hpp"
#include "app/bench/bare_loop.hpp"
#include "app/bench/median.hpp"
#include "app/bench/transmit_point.hpp"
#include "app/exit_status.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "config/names.hpp"
#include "drivers/table.hpp"
#include "memory/mapping.hpp"
#include "memory/region.hpp"
#include "observe/report_file.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"
#include "runtime/eal.hpp"
#include "send/sender.hpp"

namespace spead::app {

namespace {

/// Holds the length of one turn of the sender or the bare loop; short, so that the median is of undisturbed
/// ones.
constexpr double kSlice = 0.0005;
constexpr double kPatience = 3.0;  ///< seconds without a packet after which a port is given up
const char* const kWhere = "bench transmit";

struct Result {
    TransmitPoint point;
    double ns = 0;           ///< per packet, median
    double bare_ns = 0;      ///< of the better bare loop
    double attached_ns = 0;  ///< of the loop that attaches the payload; the next: of that which copies it
    double copied_ns = 0;
    double ratio = 0;  ///< bare loop's time / ours, median of pairs
    double bytes = 0;  ///< payload per packet, on average
    stats::SendCounters counters;
    bool exact = true;
};

/// Makes the request for the port, with a receive queue if sent packets come back on it.
port::PlannedPort planned_port(const BenchOptions& options) {
    port::PortRequest request;
    request.name = "bench";
    request.device = options.device;
    request.rx_queues = 0;
    request.tx_queues = 1;
    for (const TransmitPoint& point : transmit_points(options))
        request.max_tx_packet = std::max(request.max_tx_packet, point.packet_size());
    request.max_rx_packet = request.max_tx_packet;
    auto planned = port::plan_ports({&request, 1}, drivers::table()).front();
    if (planned.device.capabilities.receives_own) {
        request.rx_queues = 1;
        planned = port::plan_ports({&request, 1}, drivers::table()).front();
    }
    return planned;
}

std::size_t most_memory(const BenchOptions& options) {
    std::size_t most = 0;
    for (const TransmitPoint& point : transmit_points(options))
        most = std::max(most, point.memory());
    return most;
}

class Bench {
  public:
    explicit Bench(const BenchOptions& options) : options_(options), memory_(most_memory(options)) {
        port_ = port::Port::open(planned_port(options));
        registration_ = std::make_unique<port::RegionRegistration>(memory_.base(), memory_.length());
        registration_->map(*port_);
        regions_.add({memory_.base(), memory_.length(), memory::MemoryKind::host, -1});
        port_->start();
        bare_ = std::make_unique<BareLoop>(port_->tx_queue(0), std::span(memory_.base(), memory_.length()));
        const auto& c = port_->capabilities();
        bare_possible_ = c.tx_multi_segment && c.tx_external_buffer && c.late_free_segments == 0;
        drains_ = c.receives_own;
    }
    ~Bench() {
        port_->stop();
        bare_.reset();
        registration_.reset();
        port_->close();
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    std::string_view payload_pages() const { return memory::name_of(memory_.backing()); }

    Result run(const TransmitPoint& point, const process::StopSignals& signals) {
        send::SenderConfig config = transmit_config(options_, point);
        config.source_mac = port_->mac();
        config.source_ip = port_->source_address();
        config.queue = port_->tx_queue(0);
        config.capabilities = port_->capabilities();
        config.tx_descriptors = port_->tx_sizes().descriptors;
        config.regions = &regions_;
        send::Sender sender(config);
        make_heaps(sender, point);

        const auto slice = static_cast<std::uint64_t>(kSlice * static_cast<double>(rte_get_tsc_hz()));
        const std::uint64_t until =
            rte_rdtsc() + static_cast<std::uint64_t>(options_.time * static_cast<double>(rte_get_tsc_hz()));
        std::vector<double> ours, bare, attached, copied, ratio;
        send_slice(sender, 10 * slice);  // pools and caches settle
        while (ours.empty() || ((ours.size() < options_.rounds || rte_rdtsc() < until) && !signals.came())) {
            ours.push_back(time_after(1, [&] { return send_slice(sender, slice); }));
            if (bare_possible_) {
                attached.push_back(time_after(1, [&] { return bare_slice(point, slice, false); }));
                bare.push_back(attached.back());
                if (BareLoop::copies(point.payload)) {
                    copied.push_back(time_after(1, [&] { return bare_slice(point, slice, true); }));
                    bare.back() = std::min(bare.back(), copied.back());
                }
                ratio.push_back(bare.back() / ours.back());
            }
        }
        Result r;
        r.point = point;
        r.ns = median_of(ours);
        if (bare_possible_) {
            r.bare_ns = median_of(bare);
            r.attached_ns = median_of(attached);
            r.copied_ns = copied.empty() ? 0 : median_of(copied);
            r.ratio = median_of(ratio);
        }
        finish(sender);
        r.counters = sender.counters();
        r.bytes = static_cast<double>(completed_ * point.heap) / static_cast<double>(r.counters.packets);
        r.exact = r.counters.heaps == submitted_ && completed_ == submitted_ &&
                  r.counters.packets == submitted_ * packets_per_heap_ &&
                  r.counters.packets == r.counters.zero_copy_packets + r.counters.copied_packets &&
                  sender.mbufs_out() == 0;
        return r;
    }

  private:
    /// Makes the heaps, in the order of their memory.
    void make_heaps(send::Sender& sender, const TransmitPoint& point) {
        heaps_.clear();
        submitted_ = completed_ = 0;
        heaps_.reserve(point.heaps());
        std::size_t at = 0;
        for (std::size_t i = 0; i < point.heaps(); ++i) {
            heaps_.emplace_back(wire::Flavour(48));
            heaps_.back().add_item(wire::item::kFirstUser, {memory_.base() + at, point.heap});
            sender.prepare(heaps_.back());
            at += point.step();
            if (at + point.heap > point.memory())
                at = 0;
        }
        packets_per_heap_ = heaps_.back().layout(point.packet_size(), &regions_).packets;
        next_ = 0;
        group_ = point.group;
        free_.clear();
        last_first_ = point.reuse == Reuse::lifo;
        if (last_first_)
            for (std::size_t i = heaps_.size(); i-- != 0;)
                free_.push_back(&heaps_[i]);
    }

    /// Takes the next free heap: the one that completed last, or the one whose turn it is. Null: none is
    /// free.
    send::OutgoingHeap* take_heap() {
        if (last_first_) {
            if (free_.empty())
                return nullptr;
            send::OutgoingHeap* const heap = free_.back();
            free_.pop_back();
            return heap;
        }
        send::OutgoingHeap* const heap = &heaps_[next_];
        if (heap->in_flight())
            return nullptr;
        next_ = next_ + 1 == heaps_.size() ? 0 : next_ + 1;
        return heap;
    }
    void feed(send::Sender& sender) {
        // Half of the heaps always wait, so a whole group is free whenever it fits.
        while (sender.free_heaps() >= group_) {
            const std::size_t room = group_ != 1 ? group_ : std::min<std::size_t>(16, sender.free_heaps());
            std::size_t n = 0;
            for (; n < room; ++n) {
                batch_[n].heap = take_heap();
                if (batch_[n].heap == nullptr)
                    break;
            }
            if (n == 0 ||
                !sender.submit(std::span(batch_).first(n),
                               group_ == 1 ? send::Interleave::serial : send::Interleave::round_robin))
                return;
            submitted_ += n;
        }
    }
    void collect(send::Sender& sender) {
        std::array<send::Completion, 64> done;
        while (const std::size_t n = sender.poll_completions(done)) {
            completed_ += n;
            if (last_first_)
                for (const send::Completion& one : std::span(done).first(n))
                    free_.push_back(one.heap);
        }
    }
    void drain() {
        if (!drains_)
            return;
        std::array<rte_mbuf*, 64> mbufs;
        while (const std::uint16_t n = port_->rx_queue(0).rx_burst(mbufs.data(), mbufs.size()))
            rte_pktmbuf_free_bulk(mbufs.data(), n);
    }

    /// Returns ns per packet.
    double send_slice(send::Sender& sender, std::uint64_t ticks) {
        return timed(ticks, [&] {
            const std::uint64_t before = sender.counters().packets;
            feed(sender);
            sender.poll(rte_rdtsc());
            collect(sender);
            drain();
            return sender.counters().packets - before;
        });
    }
    double bare_slice(const TransmitPoint& point, std::uint64_t ticks, bool copied) {
        bare_->use(point.bare_memory());
        return timed(ticks, [&] {
            std::uint64_t n = 0;
            for (int i = 0; i < 4; ++i)
                n += copied ? bare_->burst_copied(point.payload) : bare_->burst(point.payload);
            drain();
            return n;
        });
    }
    template <typename Step>
    double timed(std::uint64_t ticks, Step&& step) const {
        const double hz = static_cast<double>(rte_get_tsc_hz());
        const auto patience = static_cast<std::uint64_t>(kPatience * hz);
        std::uint64_t packets = 0;
        const std::uint64_t begin = rte_rdtsc_precise();
        std::uint64_t end = begin;
        while (end - begin < ticks || packets == 0) {
            packets += step();
            end = rte_rdtsc();
            if (packets == 0 && end - begin > patience)
                throw Error(
                    kWhere,
                    fmt::format("{} takes no packets: nothing is connected to it, or the rate is too low",
                                port_->device_name()));
        }
        return static_cast<double>(end - begin) * 1e9 / hz / static_cast<double>(packets);
    }
    void finish(send::Sender& sender) {
        const std::uint64_t deadline =
            rte_rdtsc() + static_cast<std::uint64_t>(10 * kPatience * static_cast<double>(rte_get_tsc_hz()));
        while ((!sender.idle() || sender.mbufs_out() != 0) && rte_rdtsc() < deadline) {
            sender.poll(rte_rdtsc());
            drain();
        }
        collect(sender);
    }

    const BenchOptions& options_;
    memory::Mapping memory_;
    std::unique_ptr<port::RegionRegistration> registration_;
    memory::RegionTable regions_;
    std::unique_ptr<port::Port> port_;
    std::unique_ptr<BareLoop> bare_;
    bool bare_possible_ = false;
    bool drains_ = false;
    std::vector<send::OutgoingHeap> heaps_;
    std::vector<send::OutgoingHeap*> free_;  ///< with last_first_: the last one is used next
    std::size_t next_ = 0;                   ///< else
    std::vector<send::Submission> batch_ = std::vector<send::Submission>(kMostGroup);
    std::uint32_t group_ = 1;
    bool last_first_ = false;
    std::uint64_t packets_per_heap_ = 0;
    std::uint64_t submitted_ = 0, completed_ = 0;
};

nlohmann::ordered_json to_json(const Result& r) {
    nlohmann::ordered_json row{{"payload", r.point.payload},
                               {"heap", r.point.heap},
                               {"heap_set", r.point.heap_set},
                               {"group", r.point.group},
                               {"reuse", config::name_in(kBenchReuse, r.point.reuse)},
                               {"ns_per_packet", r.ns},
                               {"mpps", 1e3 / r.ns},
                               {"gbps", 8.0 * r.bytes / r.ns},
                               {"zero_copy_packets", r.counters.zero_copy_packets},
                               {"copied_packets", r.counters.copied_packets},
                               {"stalls", r.counters.stalls},
                               {"tx_full", r.counters.tx_full},
                               {"exact", r.exact}};
    if (r.bare_ns != 0) {
        row["bare_ns_per_packet"] = r.bare_ns;
        row["bare_mpps"] = 1e3 / r.bare_ns;
        row["attached_ns_per_packet"] = r.attached_ns;
        if (r.copied_ns != 0)
            row["copied_ns_per_packet"] = r.copied_ns;
        row["ratio_to_bare_loop"] = r.ratio;
    }
    return row;
}

void print(const Result& r) {
    const double share =
        100.0 * static_cast<double>(r.counters.zero_copy_packets) / static_cast<double>(r.counters.packets);
    tell(stdout, "{:>8} {:>9} {:>9} {:>6} {:>9.2f} {:>9.2f} {:>9.1f} {:>10.0f}", r.point.payload,
         size_text(r.point.heap), r.point.heap_set == 0 ? "-" : size_text(r.point.heap_set), r.point.group,
         8.0 * r.bytes / r.ns, 1e3 / r.ns, r.ns, share);
    if (r.bare_ns != 0)
        tell(stdout, " {:>9.2f} {:>8.1f} {:>7.3f}", 1e3 / r.bare_ns, r.bare_ns, r.ratio);
    else
        tell(stdout, " {:>9} {:>8} {:>7}", "-", "-", "-");
    tell(stdout, "{}\n", r.exact ? "" : "  NOT EXACT");
    std::fflush(stdout);
}

}  // namespace

std::size_t bench_transmit_memory_mib(const BenchOptions& options) {
    constexpr std::uint16_t kMostDescriptors = 4096;
    std::size_t most = 0;
    for (const TransmitPoint& point : transmit_points(options)) {
        send::SenderConfig config = transmit_config(options, point);
        config.tx_descriptors = kMostDescriptors;
        most = std::max(most, send::Sender::memory_need(config).bytes);
    }
    const port::PlannedPort planned = planned_port(options);
    return ((most + planned.device.eal_bytes() + BareLoop::memory()) >> 20) + 32;
}

runtime::BusNeeds bench_transmit_bus(const BenchOptions& options) {
    const port::PlannedPort planned = planned_port(options);
    return runtime::BusNeeds::of({&planned, 1});
}

int bench_transmit(const BenchOptions& options, const std::string& json_path,
                   const process::StopSignals& signals) {
    const bool table = json_path != "-";
    Bench bench(options);
    if (table)
        tell(stdout,
             "into {}; packets in {}, payload in {}; times are medians per packet; the bare loop is the "
             "better "
             "of two: it sends two mbufs, of which one refers to the payload, or one with a copy of it\n"
             "{:>8} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>10} {:>9} {:>8} {:>7}\n",
             options.device, runtime::Eal::pages(), bench.payload_pages(), "payload", "heap", "heaps",
             "group", "Gb/s", "Mpps", "ns", "% no copy", "bare Mpps", "bare ns", "ratio");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    bool exact = true;
    const std::vector<TransmitPoint> points = transmit_points(options);
    for (const TransmitPoint& point : points) {
        if (signals.came())
            break;
        const Result r = bench.run(point, signals);
        exact &= r.exact;
        rows.push_back(to_json(r));
        if (table)
            print(r);
    }
    const nlohmann::ordered_json document{{"benchmark", "transmit"},
                                          {"device", options.device},
                                          {"packet_pages", runtime::Eal::pages()},
                                          {"payload_pages", bench.payload_pages()},
                                          {"rows", rows}};
    if (!json_path.empty())
        observe::write_file(json_path, document.dump(2));
    if (!exact)
        tell(stderr, "bench transmit: heaps or packets are missing from the count\n");
    if (signals.came())
        tell(stderr, "dpdk-spead: interrupted; {} of {} combinations were measured\n", rows.size(),
             points.size());
    return exact && !signals.came() ? kSuccess : kFailure;
}

}  // namespace spead::app
