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

#include "app/bench/bare_loop.hpp"
#include "app/bench/median.hpp"
#include "app/exit_status.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
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

/// Holds the payload memory that is sent in turn: more than caches hold, as in a correlator or digitiser.
constexpr std::size_t kPayloadSet = std::size_t{256} << 20;
/// Holds the length of one turn of the sender or the bare loop; short, so that the median is of undisturbed
/// ones.
constexpr double kSlice = 0.0005;
constexpr double kPatience = 3.0;  ///< seconds without a packet after which a port is given up
constexpr std::uint32_t kSpecialBytes = 40;
constexpr std::uint32_t kItemBytes = 8;
const char* const kWhere = "bench transmit";

struct Point {
    std::uint32_t payload = 0;
    std::uint64_t heap = 0;  ///< bytes; = payload: one packet per heap
};

struct Result {
    Point point;
    double ns = 0;  ///< per packet, median
    double bare_ns = 0;
    double ratio = 0;  ///< bare loop's time / ours, median of pairs
    double bytes = 0;  ///< payload per packet, on average
    stats::SendCounters counters;
    bool exact = true;
};

/// Returns the packet size for packets with that payload. The item pointer of a heap's first packet takes 8
/// bytes of it unless the heap is that one packet.
std::uint32_t packet_size(const Point& point) {
    const std::uint32_t item = point.heap == point.payload ? kItemBytes : 0;
    return (kSpecialBytes + item + point.payload + 7) / 8 * 8;
}

std::uint32_t heaps_in_flight(const Point& point) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((std::uint64_t{1} << 20) / point.heap, 8, 64));
}

send::SenderConfig sender_config(const BenchOptions& options, const Point& point) {
    send::SenderConfig c;
    c.name = kWhere;
    c.destinations = {{Endpoint{Ipv4{0xEF0A0A00}, 7148, {}}, {}}};
    c.source_port = 50000;
    c.max_packet_size = packet_size(point);
    c.pacing.rate = options.rate;
    c.max_heaps = heaps_in_flight(point);
    switch (options.zero_copy) {
        case runtime::ZeroCopySetting::automatic:
            c.zero_copy = send::ZeroCopy::automatic;
            break;
        case runtime::ZeroCopySetting::always:
            c.zero_copy = send::ZeroCopy::always;
            break;
        case runtime::ZeroCopySetting::never:
            c.zero_copy = send::ZeroCopy::never;
            break;
    }
    return c;
}

std::vector<Point> points_of(const BenchOptions& options) {
    std::vector<Point> points;
    for (const std::uint64_t heap : options.heap_sizes)
        for (const std::uint32_t payload : options.payload_sizes)
            points.push_back({payload, heap == 0 ? payload : heap});
    return points;
}

/// Makes the request for the port, with a receive queue if sent packets come back on it.
port::PlannedPort planned_port(const BenchOptions& options) {
    port::PortRequest request;
    request.name = "bench";
    request.device = options.device;
    request.rx_queues = 0;
    request.tx_queues = 1;
    for (const Point& point : points_of(options))
        request.max_tx_packet = std::max(request.max_tx_packet, packet_size(point));
    request.max_rx_packet = request.max_tx_packet;
    auto planned = port::plan_ports({&request, 1}, drivers::table()).front();
    if (planned.device.capabilities.receives_own) {
        request.rx_queues = 1;
        planned = port::plan_ports({&request, 1}, drivers::table()).front();
    }
    return planned;
}

class Bench {
  public:
    explicit Bench(const BenchOptions& options) : options_(options), memory_(kPayloadSet) {
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

    Result run(const Point& point, const process::StopSignals& signals) {
        send::SenderConfig config = sender_config(options_, point);
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
        std::vector<double> ours, bare, ratio;
        send_slice(sender, 10 * slice);  // pools and caches settle
        while (ours.empty() || ((ours.size() < options_.rounds || rte_rdtsc() < until) && !signals.came())) {
            ours.push_back(send_slice(sender, slice));
            if (bare_possible_) {
                bare.push_back(bare_slice(point.payload, slice));
                ratio.push_back(bare.back() / ours.back());
            }
        }
        Result r;
        r.point = point;
        r.ns = median_of(ours);
        if (bare_possible_) {
            r.bare_ns = median_of(bare);
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
    /// Makes heaps to be sent in turn: those in flight and as many that wait, as in a program that fills one
    /// buffer while the other is sent. Their memory is scattered over the payload set.
    void make_heaps(send::Sender& sender, const Point& point) {
        heaps_.clear();
        submitted_ = completed_ = 0;
        const std::size_t n = std::size_t{2} * heaps_in_flight(point);
        const std::size_t step = std::max(point.heap, memory_.length() / n) / 64 * 64;
        heaps_.reserve(n);
        std::size_t at = 0;
        for (std::size_t i = 0; i < n; ++i) {
            heaps_.emplace_back(wire::Flavour(48));
            heaps_.back().add_item(wire::item::kFirstUser, {memory_.base() + at, point.heap});
            sender.prepare(heaps_.back());
            at = at + step + point.heap > memory_.length() ? 0 : at + step;
        }
        packets_per_heap_ = heaps_.back().layout(packet_size(point), &regions_).packets;
        next_ = 0;
    }

    void feed(send::Sender& sender) {
        std::array<send::Submission, 16> group;
        for (;;) {
            std::size_t n = 0, next = next_;
            const std::size_t room = std::min<std::size_t>(group.size(), sender.free_heaps());
            while (n < room && !heaps_[next].in_flight()) {
                group[n++].heap = &heaps_[next];
                next = next + 1 == heaps_.size() ? 0 : next + 1;
            }
            if (n == 0 || !sender.submit(std::span(group).first(n)))
                return;
            submitted_ += n;
            next_ = next;
        }
    }
    void collect(send::Sender& sender) {
        std::array<send::Completion, 64> done;
        while (const std::size_t n = sender.poll_completions(done))
            completed_ += n;
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
    double bare_slice(std::uint32_t payload, std::uint64_t ticks) {
        return timed(ticks, [&] {
            std::uint64_t n = 0;
            for (int i = 0; i < 4; ++i)
                n += bare_->burst(payload);
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
    std::size_t next_ = 0;
    std::uint64_t packets_per_heap_ = 0;
    std::uint64_t submitted_ = 0, completed_ = 0;
};

nlohmann::ordered_json to_json(const Result& r) {
    nlohmann::ordered_json row{{"payload", r.point.payload},
                               {"heap", r.point.heap},
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
        row["ratio_to_bare_loop"] = r.ratio;
    }
    return row;
}

void print(const Result& r) {
    const double share =
        100.0 * static_cast<double>(r.counters.zero_copy_packets) / static_cast<double>(r.counters.packets);
    tell(stdout, "{:>8} {:>9} {:>9.2f} {:>9.2f} {:>9.1f} {:>10.0f}", r.point.payload, size_text(r.point.heap),
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
    for (const Point& point : points_of(options)) {
        send::SenderConfig config = sender_config(options, point);
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
             "into {}; packets in {}, payload in {}; times are medians per packet; the bare loop allocates, "
             "attaches and sends two mbufs\n"
             "{:>8} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:>8} {:>7}\n",
             options.device, runtime::Eal::pages(), bench.payload_pages(), "payload", "heap", "Gb/s", "Mpps",
             "ns", "% no copy", "bare Mpps", "bare ns", "ratio");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    bool exact = true;
    const std::vector<Point> points = points_of(options);
    for (const Point& point : points) {
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
