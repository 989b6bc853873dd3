// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report.hpp"

#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "observe/capture_report.hpp"
#include "observe/chunk_report.hpp"
#include "observe/json.hpp"
#include "observe/path_report.hpp"
#include "observe/report_details.hpp"
#include "observe/table.hpp"
#include "stats/diagnosis.hpp"
#include "stats/rates.hpp"

namespace spead::observe {

namespace {

using stats::PortSnapshot;
using stats::SendSnapshot;
using stats::Snapshot;
using stats::StreamSnapshot;

/// Holds the name of the row for removed streams; no stream can have this name.
constexpr const char* kRemoved = "(removed)";

bool any_removed(const Snapshot& snapshot) {
    return snapshot.removed.received != 0 || snapshot.removed.heaps_started != 0;
}

/// Returns the senders, and the removed ones as one more.
std::vector<SendSnapshot> all_sends(const Snapshot& snapshot) {
    std::vector<SendSnapshot> all = snapshot.sends;
    if (snapshot.removed_sends.counters.packets != 0) {
        all.push_back(snapshot.removed_sends);
        all.back().name = kRemoved;
    }
    return all;
}

/// Returns the streams, and the removed ones as one more.
std::vector<StreamSnapshot> all_streams(const Snapshot& snapshot) {
    std::vector<StreamSnapshot> all = snapshot.streams;
    if (any_removed(snapshot)) {
        all.push_back(snapshot.removed);
        all.back().name = kRemoved;
    }
    return all;
}

constexpr std::size_t kStream = static_cast<std::size_t>(PortOutcome::stream);

std::uint64_t of(const StreamSnapshot& s, PacketOutcome o) {
    return s.packets[static_cast<std::size_t>(o)];
}
std::uint64_t of(const StreamSnapshot& s, HeapEnd e) {
    return s.heaps_ended[static_cast<std::size_t>(e)];
}

/// Returns the time from the first packet to the last; none: unknown.
std::optional<double> active_seconds(const stats::ActiveTime& active, const Snapshot& snapshot) {
    if (active.first == 0 || snapshot.ticks_per_second <= 0)
        return std::nullopt;
    return static_cast<double>(active.ticks()) / snapshot.ticks_per_second;
}

Json active_json(const stats::ActiveTime& active, const Snapshot& snapshot) {
    const auto seconds = active_seconds(active, snapshot);
    return seconds ? Json(*seconds) : Json();
}

Json stream_json(const StreamSnapshot& s, const Snapshot& snapshot) {
    Json packets;
    packets["received"] = s.received;
    for (std::size_t i = 0; i < kPacketOutcomes; i++)
        packets[std::string(kPacketOutcomeNames[i])] = s.packets[i];
    Json heaps;
    heaps["started"] = s.heaps_started;
    for (std::size_t i = 0; i < kHeapEnds; i++)
        heaps[std::string(kHeapEndNames[i])] = s.heaps_ended[i];
    heaps["live"] = s.heaps_live;
    heaps["delivered"] = s.heaps_delivered;
    heaps["unwritten"] = s.heaps_unwritten;
    heaps["dropped_full"] = s.heaps_dropped_full;
    heaps["device_error"] = s.heaps_device_error;
    heaps["queued"] = s.heaps_queued;
    Json info;
    info["reordered"] = s.packets_reordered;
    info["missing_packets"] = s.missing_packets;
    info["missing_bytes"] = s.missing_bytes;
    info["interleaved_evictions"] = s.heaps_interleaved_evictions;
    info["stop_items"] = s.stop_items;
    info["held_now"] = s.held_now;
    info["hold_refused"] = s.hold_refused;
    info["rotating_bytes"] = s.rotating_bytes;
    info["streaming_now"] = s.streaming_now;
    info["lent_now"] = s.lent_now;
    info["lend_full"] = s.lend_full;
    info["verified"] = s.heaps_verified;
    info["wrong"] = s.heaps_wrong;
    info["queue_heaps"] = s.queue_heaps;
    info["expected_rate"] = s.expected_rate;
    Json stream;
    stream["name"] = s.name;
    stream["endpoints"] = s.endpoints;
    stream["state"] = s.state;
    stream["bytes"] = s.bytes;
    stream["packets"] = std::move(packets);
    stream["heaps"] = std::move(heaps);
    stream["info"] = std::move(info);
    if (s.chunks.any()) {
        stream["chunks"] = chunks_json(s.chunks);
        stream["chunks"]["way"] = chunk_way(s);
    }
    if (!s.chunks_counted_with.empty())
        stream["chunks"]["counted_with"] = s.chunks_counted_with;
    if (!s.axes.empty())
        stream["axes"] = axes_json(s.axes);
    add_stream_details(stream, s, snapshot);
    return stream;
}

Json send_json(const SendSnapshot& s, double ticks_per_second) {
    const stats::SendCounters& c = s.counters;
    Json send;
    send["name"] = s.name;
    send["state"] = s.state;
    send["heaps"] = c.heaps;
    send["aborted"] = c.aborted;
    send["timed_out"] = c.timed_out;
    send["packets"] = c.packets;
    send["bytes"] = c.bytes;
    send["zero_copy_packets"] = c.zero_copy_packets;
    send["copied_packets"] = c.copied_packets;
    send["endpoints"] = s.endpoints;
    send["info"]["control_heaps"] = s.control_heaps;
    send["info"]["frame_bytes"] = c.frame_bytes;
    send["info"]["dropped"] = c.dropped;
    send["info"]["scheduled"] = c.scheduled;
    send["info"]["dummy_packets"] = c.dummy_packets;
    send["info"]["unregistered_packets"] = c.unregistered_packets;
    send["info"]["tx_full"] = c.tx_full;
    send["info"]["stalls"] = c.stalls;
    add_send_details(send, s, ticks_per_second);
    if (!s.impair.empty())
        send["impaired"] = impaired_json(s.impair, c);
    return send;
}

Json lcore_json(const stats::LcoreSnapshot& l) {
    const auto shares = [](const std::vector<stats::LcoreSnapshot::Received>& all) {
        Json list = Json::array();
        for (const auto& share : all)
            list.push_back({{"name", share.name}, {"received", share.received}});
        return list;
    };
    Json lcore;
    lcore["lcore"] = l.lcore;
    lcore["cpu"] = l.cpu;
    lcore["state"] = l.silent_s > 0 ? "silent" : "running";
    lcore["poll"] = l.poll;
    lcore["streams"] = shares(l.streams);
    lcore["removed"] = l.removed;
    lcore["ports"] = shares(l.ports);
    lcore["sends"] = l.sends;
    return lcore;
}

Json rule_json(const stats::RuleSnapshot& r) {
    Json rule;
    rule["endpoint"] = r.endpoint;
    rule["queues"] = r.queues;
    rule["rule"] = r.text;
    rule["hits"] = r.hits ? Json(*r.hits) : Json();
    return rule;
}

Json port_json(const PortSnapshot& p) {
    Json port;
    port["name"] = p.name;
    port["driver"] = p.driver;
    port["state"] = p.state;
    Json& rx = port["rx"];
    rx["packets"] = p.rx_packets;
    rx["bytes"] = p.rx_bytes;
    for (std::size_t i = 0; i < kPortOutcomes; i++)
        if (i != kStream)  // those packets are counted at the streams
            rx[std::string(kPortOutcomeNames[i])] = p.rx[i];
    Json& tx = port["tx"];
    tx["packets"] = p.tx_packets;
    tx["bytes"] = p.tx_bytes;
    tx["dropped"] = p.tx_dropped;
    Json& nic = port["nic"];
    nic["missed"] = p.nic.missed;
    nic["no_mbuf"] = p.nic.no_mbuf;
    nic["errors"] = p.nic.errors;
    port["info"]["to_streams"] = p.rx[kStream];
    port["info"]["vlan_tagged"] = p.rx_vlan_tagged;
    port["info"]["multi_segment"] = p.rx_multi_segment;
    port["info"]["oversized_frames"] = p.rx_oversized_frames;
    port["info"]["steering"] = p.steering;
    port["info"]["hosts_full"] = p.rx_hosts_full;
    port["info"]["host_frames"] = p.tx_host_frames;
    port["rules"] = Json::array();
    for (const stats::RuleSnapshot& r : p.rules)
        port["rules"].push_back(rule_json(r));
    add_port_details(port, p);
    return port;
}

/// Prints rates since an earlier snapshot, or from the first to the last packet; "-" when no time has passed.
class RateCells {
  public:
    RateCells(const Snapshot& now, const Snapshot* before)
        : now_(now),
          before_(before),
          seconds_(now.duration_s - (before == nullptr ? 0 : before->duration_s)) {}
    std::string bits(std::uint64_t bytes, std::uint64_t before, const stats::ActiveTime& active) const {
        const auto rate = per_second(bytes, before, active);
        return rate ? human_bit_rate(*rate) : "-";
    }
    std::string packets(std::uint64_t count, std::uint64_t before, const stats::ActiveTime& active) const {
        const auto rate = per_second(count, before, active);
        return rate ? human_packet_rate(*rate) : "-";
    }
    std::optional<double> events(std::uint64_t count, std::uint64_t before,
                                 const stats::ActiveTime& active) const {
        return per_second(count, before, active);
    }
    /// Returns the stream's earlier counts; all zero for a new stream.
    StreamSnapshot before(const StreamSnapshot& s) const {
        return s.name == kRemoved ? removed_before(&Snapshot::streams, &Snapshot::removed)
                                  : find(&Snapshot::streams, s);
    }
    SendSnapshot before(const SendSnapshot& s) const {
        return s.name == kRemoved ? removed_before(&Snapshot::sends, &Snapshot::removed_sends)
                                  : find(&Snapshot::sends, s);
    }
    PortSnapshot before(const PortSnapshot& p) const { return find(&Snapshot::ports, p); }
    bool whole_run() const { return before_ == nullptr; }

  private:
    /// Holds the least time for a rate.
    static constexpr double kLeastSeconds = 1e-3;

    // Counts of a new part start from 0.
    std::optional<double> per_second(std::uint64_t count, std::uint64_t before,
                                     const stats::ActiveTime& active) const {
        const double seconds =
            before_ == nullptr ? active_seconds(active, now_).value_or(seconds_) : seconds_;
        if (count == 0 && seconds_ > 0)
            return 0;
        if (seconds < kLeastSeconds)
            return std::nullopt;
        return static_cast<double>(count < before ? count : count - before) / seconds;
    }
    template <typename T>
    T find(std::vector<T> Snapshot::*list, const T& now) const {
        const T* const found = before_ == nullptr ? nullptr : stats::find_same(before_->*list, now);
        return found == nullptr ? T{} : *found;
    }
    /// Returns the earlier counts of parts that were removed since.
    template <typename T>
    T removed_before(std::vector<T> Snapshot::*list, T Snapshot::*removed) const {
        if (before_ == nullptr)
            return {};
        T all = before_->*removed;
        for (const T& s : before_->*list)
            if (stats::find_same(now_.*list, s) == nullptr)
                all.add(s);
        return all;
    }

    const Snapshot& now_;
    const Snapshot* before_;
    double seconds_;
};

/// Returns the stream's fault, or that it is well as far as it is watched.
std::string state_of(const StreamSnapshot& s) {
    return s.state.empty() || s.state == "received" ? s.health : s.state;
}

/// Returns an estimate of the packets that never arrived of heaps that were given up; empty: none.
std::string missing(const StreamSnapshot& s) {
    return s.missing_packets == 0 ? ""
                                  : missing_text(fmt::format("{}", s.missing_packets), s.missing_packets,
                                                 of(s, PacketOutcome::placed));
}
std::string missing_bytes(const StreamSnapshot& s) {
    return s.missing_bytes == 0 ? "" : missing_text(human_size(s.missing_bytes), s.missing_bytes, s.bytes);
}

/// Returns the tables of packets, and of heaps and chunks.
std::pair<std::string, std::string> streams_tables(const Snapshot& snapshot, const RateCells& rates) {
    Table packets, heaps, chunks, axes, paths;
    for (const StreamSnapshot& s : all_streams(snapshot)) {
        const StreamSnapshot before = rates.before(s);
        packets.row("stream", s.name);
        packets.word("endpoints", endpoints_text(s.endpoints));
        packets.word_if_any("state", state_of(s));
        packets.number("payload", human_size(s.bytes));
        packets.number("rate", rates.bits(s.bytes, before.bytes, s.active));
        packets.number("packet rate", rates.packets(s.received, before.received, s.active));
        packets.count("received", s.received);
        packets.count("placed", of(s, PacketOutcome::placed));
        for (std::size_t i = 1; i < kPacketOutcomes; i++)
            packets.count_if_any(kPacketOutcomeNames[i], s.packets[i]);
        packets.number_if_any("missing", missing(s));
        packets.number_if_any("missing bytes", missing_bytes(s));
        packets.count_if_any("(reordered)", s.packets_reordered);

        if (s.chunks.any())
            add_chunks_row(chunks, s, rates.events(s.chunks.taken, before.chunks.taken, s.active));
        add_axes_rows(axes, s);
        add_path_rows(paths, s);
        if (s.chunks.any() && s.heaps_started == 0)
            continue;
        heaps.row("heaps", s.name);
        heaps.count("started", s.heaps_started);
        heaps.count("complete", of(s, HeapEnd::complete));
        for (std::size_t i = 1; i < kHeapEnds; i++)
            heaps.count_if_any(kHeapEndNames[i], s.heaps_ended[i]);
        heaps.count_if_any("live", s.heaps_live);
        heaps.count("delivered", s.heaps_delivered);
        heaps.count_if_any("unwritten", s.heaps_unwritten);
        heaps.count_if_any("dropped_full", s.heaps_dropped_full);
        heaps.count_if_any("device_error", s.heaps_device_error);
        heaps.count_if_any("queued", s.heaps_queued);
        heaps.count_if_any("(interleaved evictions)", s.heaps_interleaved_evictions);
        heaps.count_if_any("(verified)", s.heaps_verified);
        heaps.count_if_any("(wrong)", s.heaps_wrong);
        heaps.count_if_any("(stop items)", s.stop_items);
    }
    std::string text = heaps.text();
    for (const Table* const table : {&paths, &chunks, &axes})
        if (!table->empty())
            text += (text.empty() ? "" : "\n") + table->text();
    return {packets.text(), text};
}

std::string sends_table(const Snapshot& snapshot, const RateCells& rates) {
    Table table;
    for (const SendSnapshot& s : all_sends(snapshot)) {
        const stats::SendCounters& c = s.counters;
        const stats::SendCounters before = rates.before(s).counters;
        table.row("sender", s.name);
        table.word("endpoints", endpoints_text(s.endpoints));
        table.word_if_any("state", s.state == "sending" || (rates.whole_run() && s.state == stats::kSendDone)
                                       ? ""
                                       : s.state);
        table.word_if_any("health", s.health == "ok" ? "" : s.health);
        table.number("payload", human_size(c.bytes));
        table.number("rate", rates.bits(c.bytes, before.bytes, c.active));
        table.number("packet rate", rates.packets(c.packets, before.packets, c.active));
        table.count("heaps", c.heaps);
        table.count_if_any("aborted", c.aborted);
        table.count_if_any("timed_out", c.timed_out);
        table.count("packets", c.packets);
        table.count_if_any("zero copy", c.zero_copy_packets);
        table.count_if_any("copied", c.copied_packets);
        table.count_if_any("(unregistered)", c.unregistered_packets);
        table.count_if_any("dropped", c.dropped);
        add_impaired(table, s.impair, c);
    }
    return table.empty() ? std::string{} : table.text() + "\n";
}

std::string ports_table(const Snapshot& snapshot, const RateCells& rates) {
    Table table;
    const bool sends = !snapshot.sends.empty();
    const bool receives = !snapshot.streams.empty();
    for (const PortSnapshot& p : snapshot.ports) {
        const PortSnapshot before = rates.before(p);
        table.row("port", p.name);
        table.word("driver", p.driver);
        table.word_if_any("state", p.state == "running" ? "" : p.state);
        if (receives || p.rx_packets > 0) {
            table.count("rx packets", p.rx_packets);
            table.number("rx rate", rates.bits(p.rx_bytes, before.rx_bytes, p.rx_active));
        }
        for (std::size_t i = 0; i < kPortOutcomes; i++)
            if (i != kStream)
                table.count_if_any(kPortOutcomeNames[i], p.rx[i]);
        table.count_if_any("(datagrams reassembled)", p.reassembly.datagrams);
        table.count_if_any("(oversized frames)", p.rx_oversized_frames);
        table.count_if_any("(gather full)", p.rx_gather_full);
        table.count_if_any("(hosts full)", p.rx_hosts_full);
        if (sends || p.tx_packets > 0) {
            table.count("tx packets", p.tx_packets);
            table.number("tx rate", rates.bits(p.tx_bytes, before.tx_bytes, p.tx_active));
        }
        table.count_if_any("tx dropped", p.tx_dropped);
        table.count_if_any("nic missed", p.nic.missed);
        table.count_if_any("nic no_mbuf", p.nic.no_mbuf);
        table.count_if_any("nic errors", p.nic.errors);
    }
    return table.text();
}

}  // namespace

nlohmann::ordered_json report_document(const Snapshot& snapshot) {
    Json document;
    document["version"] = kReportVersion;
    document["duration_s"] = snapshot.duration_s;
    document["cleared_s"] = snapshot.cleared_s;
    document["capabilities"] = snapshot.capabilities;
    document["shard"] = shard_json(snapshot.shard);
    for (const char* part : {"streams", "sends", "ports", "lcores"})
        document[part] = Json::array();
    for (const StreamSnapshot& s : snapshot.streams)
        document["streams"].push_back(stream_json(s, snapshot));
    for (std::size_t i = 0; i < snapshot.streams.size(); i++)
        document["streams"][i]["info"]["active_s"] = active_json(snapshot.streams[i].active, snapshot);
    if (any_removed(snapshot)) {
        document["removed"] = stream_json(snapshot.removed, snapshot);
        // These members have no meaning for several streams together.
        for (const char* part :
             {"name", "port", "endpoints", "state", "by_endpoint", "latency", "gap", "queue", "pool"})
            document["removed"].erase(part);
    }
    for (const SendSnapshot& s : snapshot.sends)
        document["sends"].push_back(send_json(s, snapshot.ticks_per_second));
    for (std::size_t i = 0; i < snapshot.sends.size(); i++)
        document["sends"][i]["info"]["active_s"] = active_json(snapshot.sends[i].counters.active, snapshot);
    if (snapshot.removed_sends.counters.packets != 0) {
        document["removed_sends"] = send_json(snapshot.removed_sends, snapshot.ticks_per_second);
        for (const char* part : {"name", "endpoints", "state"})
            document["removed_sends"].erase(part);
    }
    for (const PortSnapshot& p : snapshot.ports) {
        document["ports"].push_back(port_json(p));
        Json& info = document["ports"].back()["info"];
        info["rx_active_s"] = active_json(p.rx_active, snapshot);
        info["tx_active_s"] = active_json(p.tx_active, snapshot);
    }
    for (const stats::LcoreSnapshot& l : snapshot.lcores) {
        document["lcores"].push_back(lcore_json(l));
        add_lcore_details(document["lcores"].back(), l, snapshot.ticks_per_second);
    }
    for (const stats::EngineSnapshot& e : snapshot.engines)
        document["engines"].push_back(engine_json(e));
    for (const stats::CaptureSnapshot& c : snapshot.captures)
        document["captures"].push_back(capture_json(c));
    for (const stats::ReplaySnapshot& r : snapshot.replays)
        document["replays"].push_back(replay_json(r));
    document["findings"] = findings_json(snapshot);
    return document;
}

std::string report_json(const Snapshot& snapshot) {
    // A device's name that is not UTF-8 must not cost the report of a whole run.
    return report_document(snapshot).dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string report_table(const Snapshot& snapshot) {
    const RateCells rates(snapshot, nullptr);
    std::string text = fmt::format("after {}", human_duration(snapshot.duration_s));
    if (snapshot.cleared_s > 0)
        text += fmt::format(", since the counters were cleared at {}", human_duration(snapshot.cleared_s));
    text += shard_clause(snapshot.shard) + "\n\n";
    if (const auto [packets, heaps] = streams_tables(snapshot, rates); !packets.empty())
        text += packets + "\n" + heaps + "\n";
    text += sends_table(snapshot, rates);
    text += captures_table(snapshot);
    text += replays_table(snapshot);
    text += ports_table(snapshot, rates);
    if (const std::vector<std::string> advice = report_advice(snapshot); !advice.empty())
        text += fmt::format("\n{}\n", fmt::join(advice, "\n"));
    return text;
}

ReportTables report_tables(const Snapshot& now, const Snapshot* before) {
    const RateCells rates(now, before);
    auto [packets, heaps] = streams_tables(now, rates);
    return {std::move(packets), std::move(heaps), sends_table(now, rates), ports_table(now, rates)};
}

std::vector<std::string> report_advice(const Snapshot& snapshot) {
    std::vector<std::string> advice;
    for (const stats::Finding& f : stats::findings_of(snapshot))
        advice.push_back(lines_of(f, snapshot));
    for (std::string& sentence : capture_advice(snapshot))
        advice.push_back(std::move(sentence));
    return advice;
}

}  // namespace spead::observe
