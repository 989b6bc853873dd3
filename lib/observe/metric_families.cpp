// SPDX-License-Identifier: BSD-3-Clause
#include "observe/metric_families.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "observe/chunk_families.hpp"
#include "observe/part_families.hpp"
#include "observe/path_families.hpp"
#include "stats/rates.hpp"

namespace spead::observe {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using stats::LcoreSnapshot;
using stats::PortSnapshot;
using stats::SendSnapshot;
using stats::Snapshot;
using stats::StreamSnapshot;
using View = stats::LatestSnapshot::View;

std::optional<double> level(std::uint64_t count) {
    return static_cast<double>(count);
}

/// Computes the rates of parts that are in both snapshots.
class PartRates {
  public:
    explicit PartRates(const View& view)
        : then_(view.earlier.snapshot.get()),
          seconds_(then_ == nullptr
                       ? 0
                       : std::chrono::duration<double>(view.latest.time - view.earlier.time).count()) {}

    template <typename Part, typename Count>
    auto of(std::vector<Part> Snapshot::*parts, const Count& count) const {
        return [this, parts, count](const Part& now) -> std::optional<double> {
            const Part* const before = then_ == nullptr ? nullptr : stats::find_same(then_->*parts, now);
            return before == nullptr ? std::nullopt : stats::rate(count(*before), count(now), seconds_);
        };
    }

  private:
    const Snapshot* then_;
    double seconds_;
};

std::uint64_t bytes_of(const StreamSnapshot& s) {
    return s.bytes;
}
std::uint64_t received_of(const StreamSnapshot& s) {
    return s.received;
}

void add_stream_counts(std::vector<MetricFamily>& out, const Snapshot& now, const RisingCounts& rising) {
    PartFamilies f(out, now.streams, "stream");
    f.counter("spead_stream_received_packets_total",
              "Packets that matched an endpoint of the stream: the sum of their outcomes.", received_of);
    f.counters("spead_stream_packets_total", "Packets by outcome.", "outcome", kPacketOutcomeNames,
               [&rising](const StreamSnapshot& s, std::size_t i) {
                   return i == static_cast<std::size_t>(PacketOutcome::placed) ? rising.of(s).placed
                                                                               : s.packets[i];
               });
    f.counter("spead_stream_heap_bytes_total", "Payload placed into heaps.",
              [&rising](const StreamSnapshot& s) { return rising.of(s).bytes; });
    f.counter("spead_stream_missing_packets_total", "Packets of given-up heaps that never came; an estimate.",
              [](const StreamSnapshot& s) { return s.missing_packets; });
    f.counter("spead_stream_missing_bytes_total", "Bytes that given-up heaps lack.",
              [](const StreamSnapshot& s) { return s.missing_bytes; });
    f.counter("spead_stream_reordered_packets_total",
              "Placed packets that were not the next byte of their heap.",
              [](const StreamSnapshot& s) { return s.packets_reordered; });
    f.counter("spead_stream_heaps_started_total", "Heaps that got memory.",
              [&rising](const StreamSnapshot& s) { return rising.of(s).heaps_started; });
    f.counters("spead_stream_heaps_total", "Heaps that ended, by their end.", "end", kHeapEndNames,
               [](const StreamSnapshot& s, std::size_t i) { return s.heaps_ended[i]; });
    f.counter("spead_stream_heaps_delivered_total", "Heaps that the sink has taken.",
              [](const StreamSnapshot& s) { return s.heaps_delivered; });
    f.counter("spead_stream_heaps_unwritten_total",
              "Heaps that were lost because the sink had failed, or had no room.",
              [](const StreamSnapshot& s) { return s.heaps_unwritten; });
    f.gauge("spead_stream_sink_failed", "1: the sink takes no more heaps (a full disk).",
            [](const StreamSnapshot& s) { return std::optional<double>(s.sink_failure.empty() ? 0 : 1); });
    f.counter("spead_stream_heaps_dropped_full_total",
              "Heaps thrown away because the hand-over queue was full.",
              [](const StreamSnapshot& s) { return s.heaps_dropped_full; });
    f.counter("spead_stream_heaps_device_error_total",
              "Heaps lost because the engine that moves their payload failed.",
              [](const StreamSnapshot& s) { return s.heaps_device_error; });
    f.counter("spead_stream_interleaved_evictions_total", "Heaps given up while their packets still came.",
              [](const StreamSnapshot& s) { return s.heaps_interleaved_evictions; });
    f.counter("spead_stream_heaps_verified_total", "Heaps that a verifying sink found right.",
              [](const StreamSnapshot& s) { return s.heaps_verified; });
    f.counter("spead_stream_heaps_wrong_total", "Heaps that a verifying sink found wrong.",
              [](const StreamSnapshot& s) { return s.heaps_wrong; });
    f.counter("spead_stream_stop_items_total", "Stop items received.",
              [](const StreamSnapshot& s) { return s.stop_items; });
    f.counter("spead_stream_heaps_handed_over_total", "Heaps put into the hand-over queue.",
              [](const StreamSnapshot& s) { return s.heaps_handed_over; });
    f.counter("spead_stream_heaps_dropped_oldest_total", "Heaps thrown away after they were queued.",
              [](const StreamSnapshot& s) { return s.heaps_dropped_oldest; });
    f.counter("spead_stream_at_limit_packets_total",
              "Packets without memory because their heap had the most item pointers or holes.",
              [](const StreamSnapshot& s) { return s.packets_at_limit; });
    f.counter("spead_stream_control_bytes_total", "Payload of heaps that carried stream control only.",
              [](const StreamSnapshot& s) { return s.control_bytes; });
    f.counters("spead_stream_events_total", "Events of the stream.", "event", stats::kStreamEventNames,
               [](const StreamSnapshot& s, std::size_t i) { return s.events[i]; });
}

void add_stream_levels(std::vector<MetricFamily>& out, const Snapshot& now, const PartRates& rates) {
    PartFamilies f(out, now.streams, "stream");
    f.gauge("spead_stream_up", "1: the stream is received; 0: it is stopped, or its port is.",
            [](const StreamSnapshot& s) { return level(s.state == "received" ? 1 : 0); });
    f.gauge("spead_stream_longest_header_bytes",
            "Bytes of the longest header that lies in memory of a device, because its port cuts before that.",
            [](const StreamSnapshot& s) { return level(s.longest_header); });
    f.gauge("spead_stream_healthy", "1: the stream is healthy; only of watched streams.",
            [](const StreamSnapshot& s) {
                return s.health.empty() ? std::nullopt : std::optional<double>(s.health == "ok" ? 1 : 0);
            });
    f.histogram("spead_stream_heap_latency_seconds", "From a heap's first packet to its hand-over.",
                [](const StreamSnapshot& s) -> const stats::Distribution& { return s.latency; });
    f.histogram("spead_stream_heap_gap_seconds", "Between the beginnings of heaps.",
                [](const StreamSnapshot& s) -> const stats::Distribution& { return s.gap; });
    f.gauge("spead_heap_queue_most_heaps",
            "Most heaps that waited at once, on the lcore that came closest to its limit.",
            [](const StreamSnapshot& s) { return level(s.queue_most); });
    f.gauge("spead_heap_queue_most_minute_heaps", "Most heaps that waited at once in the last minute.",
            [](const StreamSnapshot& s) { return level(s.queue_most_minute); });
    f.gauge("spead_heap_queue_lcore_capacity_heaps", "Heaps that may wait on that lcore.",
            [](const StreamSnapshot& s) { return level(s.queue_capacity); });
    f.gauge("spead_heap_memory_bytes", "Heap memory reserved for the stream, on one lcore.",
            [](const StreamSnapshot& s) { return level(s.pool_bytes); });
    f.gauge("spead_heap_memory_most_bytes", "Most heap memory that it used at once, on one lcore.",
            [](const StreamSnapshot& s) { return level(s.pool_most); });
    f.gauge("spead_heap_memory_most_minute_bytes", "Most heap memory that it used in the last minute.",
            [](const StreamSnapshot& s) { return level(s.pool_most_minute); });
    f.gauge("spead_stream_live_heaps", "Heaps open now.",
            [](const StreamSnapshot& s) { return level(s.heaps_live); });
    f.gauge("spead_heap_queue_heaps", "Heaps that wait for the consumer.",
            [](const StreamSnapshot& s) { return level(s.heaps_queued); });
    f.gauge("spead_heap_queue_capacity_heaps", "Heaps that may wait for the consumer.",
            [](const StreamSnapshot& s) { return level(s.queue_heaps); });
    f.gauge("spead_stream_bytes_per_second", "Payload placed into heaps, over about the last second.",
            rates.of(&Snapshot::streams, bytes_of));
    f.gauge("spead_stream_packets_per_second", "Packets received, over about the last second.",
            rates.of(&Snapshot::streams, received_of));
    f.gauge("spead_stream_expected_bytes_per_second", "Expected payload (expected_rate).",
            [](const StreamSnapshot& s) {
                return s.expected_rate > 0 ? std::optional(s.expected_rate) : std::nullopt;
            });
}

void add_sends(std::vector<MetricFamily>& out, const Snapshot& now, const PartRates& rates) {
    static constexpr std::array<std::string_view, 2> kWays{"zero_copy", "copied"};
    PartFamilies f(out, now.sends, "send");
    const auto bytes = [](const SendSnapshot& s) { return s.counters.bytes; };
    const auto packets = [](const SendSnapshot& s) { return s.counters.packets; };

    f.counter("spead_send_heaps_total", "Heaps with data that were sent.",
              [](const SendSnapshot& s) { return s.counters.heaps; });
    f.counter("spead_send_control_heaps_total", "Heaps without data that were sent (stop items).",
              [](const SendSnapshot& s) { return s.control_heaps; });
    f.counter("spead_send_aborted_heaps_total", "Heaps given back unsent or partly sent.",
              [](const SendSnapshot& s) { return s.counters.aborted; });
    f.counter("spead_send_timed_out_heaps_total", "Heaps given back because they could not be sent in time.",
              [](const SendSnapshot& s) { return s.counters.timed_out; });
    f.counters("spead_send_packets_total", "Packets sent, by the place of their payload.", "payload", kWays,
               [](const SendSnapshot& s, std::size_t i) {
                   return i == 0 ? s.counters.zero_copy_packets : s.counters.copied_packets;
               });
    f.counter("spead_send_bytes_total", "UDP payload sent.", bytes);
    f.counter("spead_send_frame_bytes_total", "Frames sent, without the FCS.",
              [](const SendSnapshot& s) { return s.counters.frame_bytes; });
    f.counter("spead_send_dropped_packets_total", "Packets built, then freed because the send was abandoned.",
              [](const SendSnapshot& s) { return s.counters.dropped; });
    f.counter("spead_send_unregistered_packets_total",
              "Packets copied because their memory lies outside every region.",
              [](const SendSnapshot& s) { return s.counters.unregistered_packets; });
    f.counter("spead_send_full_bursts_total", "Bursts that the driver did not take whole.",
              [](const SendSnapshot& s) { return s.counters.tx_full; });
    f.counter("spead_send_stalls_total", "Polls without a free packet buffer.",
              [](const SendSnapshot& s) { return s.counters.stalls; });
    f.counter("spead_send_outages_total", "Times that the port took nothing for a second or longer.",
              [](const SendSnapshot& s) { return s.counters.outages; });
    f.counter("spead_send_left_out_heaps_total",
              "Heaps that were not made, to be in step with the sender of the other path.",
              [](const SendSnapshot& s) { return s.left_out; });
    f.counters("spead_send_events_total", "Events of the sender.", "event", stats::kSendEventNames,
               [](const SendSnapshot& s, std::size_t i) { return s.events[i]; });
    f.gauge("spead_send_healthy",
            "1: the port takes the sender's packets; 0: it has taken none for a second.",
            [](const SendSnapshot& s) {
                return s.health.empty() ? std::nullopt : std::optional<double>(s.health == "ok" ? 1 : 0);
            });
    f.gauge("spead_send_bytes_per_second", "UDP payload sent, over about the last second.",
            rates.of(&Snapshot::sends, bytes));
    f.gauge("spead_send_packets_per_second", "Packets sent, over about the last second.",
            rates.of(&Snapshot::sends, packets));
}

void add_ports(std::vector<MetricFamily>& out, const Snapshot& now) {
    // Streams count the delivered packets, and what fragments became.
    static constexpr auto kRefusals = [] {
        auto names = kPortOutcomeNames;
        names[static_cast<std::size_t>(PortOutcome::stream)] = {};
        names[static_cast<std::size_t>(PortOutcome::reassembled)] = {};
        return names;
    }();
    PartFamilies f(out, now.ports, "port");
    f.gauge("spead_port_up", "1: the port runs; 0: it is stopped, or its network interface is gone.",
            [](const PortSnapshot& p) { return level(p.state == "running" ? 1 : 0); });
    f.gauge("spead_port_detached", "1: the port's network interface is gone, without a command.",
            [](const PortSnapshot& p) { return level(p.state == "detached" ? 1 : 0); });
    f.counter("spead_port_rx_packets_total", "Packets taken from the receive queues.",
              [](const PortSnapshot& p) { return p.rx_packets; });
    f.counter("spead_port_rx_bytes_total", "Frames received, without the FCS.",
              [](const PortSnapshot& p) { return p.rx_bytes; });
    f.counters("spead_port_rx_refused_packets_total", "Packets that belong to no stream, by reason.",
               "reason", kRefusals, [](const PortSnapshot& p, std::size_t i) { return p.rx[i]; });
    f.counter("spead_port_rx_stream_packets_total", "Packets handed to streams.",
              [](const PortSnapshot& p) { return p.rx[static_cast<std::size_t>(PortOutcome::stream)]; });
    f.counter("spead_port_rx_reassembled_packets_total", "Fragments that became part of another's datagram.",
              [](const PortSnapshot& p) { return p.rx[static_cast<std::size_t>(PortOutcome::reassembled)]; });
    f.counter("spead_port_rx_reassembled_datagrams_total", "Datagrams made whole from fragments.",
              [](const PortSnapshot& p) { return p.reassembly.datagrams; });
    f.counter("spead_port_rx_given_up_datagrams_total", "Datagrams of which fragments were missing.",
              [](const PortSnapshot& p) { return p.reassembly.given_up; });
    f.counter("spead_port_rx_vlan_tagged_packets_total", "Packets with a VLAN tag.",
              [](const PortSnapshot& p) { return p.rx_vlan_tagged; });
    f.counter("spead_port_rx_multi_segment_packets_total", "Packets in more than one buffer.",
              [](const PortSnapshot& p) { return p.rx_multi_segment; });
    f.counter("spead_port_rx_oversized_frames_total", "Frames longer than the link allows.",
              [](const PortSnapshot& p) { return p.rx_oversized_frames; });
    f.counter("spead_port_rx_gather_full_polls_total",
              "Polls that left a queue alone, because engines that move payload were behind.",
              [](const PortSnapshot& p) { return p.rx_gather_full; });
    f.counter("spead_port_rx_hosts_full_packets_total",
              "IGMP, ARP, MLD and NDP packets that came faster than they could be processed.",
              [](const PortSnapshot& p) { return p.rx_hosts_full; });
    f.counter("spead_port_rx_bursts_total", "Bursts that brought a packet.",
              [](const PortSnapshot& p) { return p.rx_bursts; });
    f.counter("spead_port_rx_full_bursts_total", "Bursts that brought as many packets as they may.",
              [](const PortSnapshot& p) { return p.rx_full_bursts; });
    f.gauge("spead_port_rx_descriptors", "Descriptors of a receive queue.",
            [](const PortSnapshot& p) { return level(p.rx_descriptors); });
    f.gauge("spead_port_rx_buffers", "Packet buffers of the receive queue that had the fewest free.",
            [](const PortSnapshot& p) { return p.buffers ? level(p.buffers->size) : std::nullopt; });
    f.gauge("spead_port_rx_fewest_free_buffers", "Fewest of them that were free.",
            [](const PortSnapshot& p) { return p.buffers ? level(p.buffers->fewest_free) : std::nullopt; });
    f.gauge("spead_port_rx_fewest_free_minute_buffers", "Fewest that were free in the last minute.",
            [](const PortSnapshot& p) {
                return p.buffers ? level(p.buffers->fewest_free_minute) : std::nullopt;
            });
    f.counter("spead_port_tx_packets_total", "Packets given to the driver by senders.",
              [](const PortSnapshot& p) { return p.tx_packets; });
    f.counter("spead_port_tx_bytes_total", "Frames given to the driver by senders, without the FCS.",
              [](const PortSnapshot& p) { return p.tx_bytes; });
    f.counter("spead_port_tx_dropped_packets_total",
              "Packets built, then freed because the send was abandoned.",
              [](const PortSnapshot& p) { return p.tx_dropped; });
    f.counter("spead_port_tx_host_packets_total", "IGMP, ARP, MLD and NDP packets of the program's own.",
              [](const PortSnapshot& p) { return p.tx_host_frames; });
    f.counter("spead_port_nic_missed_packets_total", "Packets lost before they could be fetched (imissed).",
              [](const PortSnapshot& p) { return p.nic.missed; });
    f.counter("spead_port_nic_no_mbuf_total", "Times there was no buffer to receive into (rx_nombuf).",
              [](const PortSnapshot& p) { return p.nic.no_mbuf; });
    f.counter("spead_port_nic_errors_total", "Errors that the driver counted, both ways.",
              [](const PortSnapshot& p) { return p.nic.errors; });
}

/// Sums all captures of one stream, with those that have ended: the counts never decrease.
struct CapturesOf {
    std::string name;
    stats::CaptureSnapshot sum;
    std::uint64_t files = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t running = 0;
};

std::vector<CapturesOf> captures_by_stream(const Snapshot& now) {
    std::vector<CapturesOf> all;
    for (const stats::CaptureSnapshot& c : now.captures) {
        auto of =
            std::find_if(all.begin(), all.end(), [&](const CapturesOf& o) { return o.name == c.stream; });
        if (of == all.end())
            of = all.insert(of, CapturesOf{c.stream, {}});
        for (std::uint64_t stats::CaptureSnapshot::*count :
             {&stats::CaptureSnapshot::taken, &stats::CaptureSnapshot::taken_bytes,
              &stats::CaptureSnapshot::dropped_full, &stats::CaptureSnapshot::written,
              &stats::CaptureSnapshot::unwritten, &stats::CaptureSnapshot::cut})
            of->sum.*count += c.*count;
        for (const stats::CaptureSnapshot::File& file : c.files) {
            of->files += file.files;
            of->file_bytes += file.bytes;
        }
        of->running += c.finished || c.ending || c.over ? 0 : 1;
    }
    return all;
}

void add_captures(std::vector<MetricFamily>& out, const Snapshot& now) {
    const std::vector<CapturesOf> captures = captures_by_stream(now);
    PartFamilies f(out, captures, "stream");
    f.counter("spead_capture_taken_packets_total", "Packets put into the buffers of the stream's captures.",
              [](const CapturesOf& c) { return c.sum.taken; });
    f.counter("spead_capture_taken_bytes_total", "Bytes kept of these packets.",
              [](const CapturesOf& c) { return c.sum.taken_bytes; });
    f.counter("spead_capture_written_packets_total", "Packets in files.",
              [](const CapturesOf& c) { return c.sum.written; });
    f.counter("spead_capture_unwritten_packets_total",
              "Packets taken, and lost because a file could not be written.",
              [](const CapturesOf& c) { return c.sum.unwritten; });
    f.counter("spead_capture_dropped_full_packets_total", "Packets for which a buffer had no room.",
              [](const CapturesOf& c) { return c.sum.dropped_full; });
    f.counter("spead_capture_cut_packets_total", "Packets taken that were longer than the snap length.",
              [](const CapturesOf& c) { return c.sum.cut; });
    f.counter("spead_capture_files_total", "Files that were begun.",
              [](const CapturesOf& c) { return c.files; });
    f.counter("spead_capture_file_bytes_total", "Bytes in these files, with headers.",
              [](const CapturesOf& c) { return c.file_bytes; });
    f.gauge("spead_capture_buffered_packets", "Packets on their way to the files.",
            [](const CapturesOf& c) { return level(c.sum.buffered()); });
    f.gauge("spead_captures_running", "Captures of the stream that take packets now.",
            [](const CapturesOf& c) { return level(c.running); });
}

std::vector<ClientMetric::Label> place_of(const LcoreSnapshot& l) {
    return {{"lcore", std::to_string(l.lcore)}, {"cpu", std::to_string(l.cpu)}};
}

/// Adds one series per lcore and lane; values of a whole lcore have no lane.
template <typename Each>
void add_counter(std::vector<MetricFamily>& out, const Snapshot& now, const char* name, const char* help,
                 const Each& each) {
    MetricFamily family{name, help, MetricType::Counter, {}};
    for (const LcoreSnapshot& l : now.lcores)
        each(l, [&](double value, std::optional<ClientMetric::Label> part) {
            ClientMetric& metric = family.metric.emplace_back();
            metric.label = place_of(l);
            if (part)
                metric.label.push_back(std::move(*part));
            metric.counter.value = value;
        });
    if (!family.metric.empty())
        out.push_back(std::move(family));
}

void add_endpoints(std::vector<MetricFamily>& out, const Snapshot& now) {
    MetricFamily packets{"spead_stream_endpoint_packets_total",
                         "Packets to an endpoint of a stream.",
                         MetricType::Counter,
                         {}};
    MetricFamily bytes{"spead_stream_endpoint_heap_bytes_total",
                       "Payload of an endpoint placed into heaps.",
                       MetricType::Counter,
                       {}};
    for (const StreamSnapshot& s : now.streams)
        for (const stats::EndpointSnapshot& e : s.by_endpoint) {
            ClientMetric metric;
            metric.label = {{"stream", s.name}, {"endpoint", e.name}};
            metric.counter.value = static_cast<double>(e.packets);
            packets.metric.push_back(metric);
            metric.counter.value = static_cast<double>(e.bytes);
            bytes.metric.push_back(std::move(metric));
        }
    for (MetricFamily* const family : {&packets, &bytes})
        if (!family->metric.empty())
            out.push_back(std::move(*family));
}

void add_lcores(std::vector<MetricFamily>& out, const Snapshot& now) {
    const auto counter = [&](const char* name, const char* help, const auto& value) {
        add_counter(out, now, name, help, [&](const LcoreSnapshot& l, const auto& put) {
            put(static_cast<double>(value(l)), std::nullopt);
        });
    };
    const auto seconds = [&](std::uint64_t cycles) {
        return now.ticks_per_second > 0 ? static_cast<double>(cycles) / now.ticks_per_second : 0;
    };
    add_counter(out, now, "spead_lcore_stream_packets_total", "Packets of a stream received on an lcore.",
                [](const LcoreSnapshot& l, const auto& put) {
                    for (const LcoreSnapshot::Received& s : l.streams)
                        put(static_cast<double>(s.received), ClientMetric::Label{"stream", s.name});
                });
    add_counter(out, now, "spead_lcore_port_packets_total", "Packets of a port received on an lcore.",
                [](const LcoreSnapshot& l, const auto& put) {
                    for (const LcoreSnapshot::Received& s : l.ports)
                        put(static_cast<double>(s.received), ClientMetric::Label{"port", s.name});
                });
    counter("spead_lcore_busy_seconds_total", "Time in loops with work.",
            [&](const LcoreSnapshot& l) { return seconds(l.counters.busy_cycles); });
    counter("spead_lcore_idle_seconds_total", "Time in loops without work, with pauses.",
            [&](const LcoreSnapshot& l) { return seconds(l.counters.idle_cycles); });
    counter("spead_lcore_loops_total", "Rounds over all queues.",
            [](const LcoreSnapshot& l) { return l.counters.loops; });
    counter("spead_lcore_busy_loops_total", "Rounds with work.",
            [](const LcoreSnapshot& l) { return l.counters.busy_loops; });
    counter("spead_lcore_sleeps_total", "Pauses in which the kernel had the CPU.",
            [](const LcoreSnapshot& l) { return l.counters.sleeps; });
    counter("spead_lcore_bursts_total", "Bursts that brought a packet.",
            [](const LcoreSnapshot& l) { return l.bursts; });
    counter("spead_lcore_full_bursts_total", "Bursts that brought as many packets as they may.",
            [](const LcoreSnapshot& l) { return l.full_bursts; });
    counter("spead_lcore_silences_total", "Times that the lcore did not answer for a second or longer.",
            [](const LcoreSnapshot& l) { return l.silences; });
    const auto gauge = [&](const char* name, const char* help, const auto& value) {
        MetricFamily family{name, help, MetricType::Gauge, {}};
        for (const LcoreSnapshot& l : now.lcores) {
            ClientMetric& metric = family.metric.emplace_back();
            metric.label = place_of(l);
            metric.gauge.value = value(l);
        }
        if (!family.metric.empty())
            out.push_back(std::move(family));
    };
    gauge("spead_lcore_up", "1: the lcore answers; 0: it has not for a second.",
          [](const LcoreSnapshot& l) { return l.silent_s > 0 ? 0 : 1; });
    gauge("spead_lcore_longest_loop_seconds", "Longest round, without its pause.",
          [&](const LcoreSnapshot& l) { return seconds(l.counters.longest_loop); });
    gauge("spead_lcore_longest_loop_minute_seconds", "Longest round of the last minute, without its pause.",
          [&](const LcoreSnapshot& l) { return seconds(l.longest_loop_minute); });
}

void add_gauge(std::vector<MetricFamily>& out, const char* name, const char* help, double value) {
    ClientMetric metric;
    metric.gauge.value = value;
    out.push_back({name, help, MetricType::Gauge, {metric}});
}

}  // namespace

std::vector<MetricFamily> metric_families(const View& view, RisingCounts& rising) {
    std::vector<MetricFamily> out;
    if (!view)
        return out;
    const Snapshot& now = *view.latest.snapshot;
    const PartRates rates(view);
    add_gauge(out, "spead_run_duration_seconds", "Since the run began.", now.duration_s);
    add_gauge(out, "spead_snapshot_age_seconds", "Age of the numbers.",
              std::chrono::duration<double>(view.age).count());
    rising.update(now);
    add_stream_counts(out, now, rising);
    add_stream_levels(out, now, rates);
    add_chunk_families(out, now);
    add_endpoints(out, now);
    add_path_families(out, now);
    add_sends(out, now, rates);
    add_ports(out, now);
    add_captures(out, now);
    add_lcores(out, now);
    PartFamilies(out, now.engines, "engine")
        .gauge("spead_engine_up", "1: the engine moves payload; 0: it has not for a second.",
               [](const stats::EngineSnapshot& e) { return e.stalled_s > 0 ? 0.0 : 1.0; });
    return out;
}

}  // namespace spead::observe
