// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report_details.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/counted.hpp"
#include "base/endpoint.hpp"
#include "observe/json.hpp"
#include "observe/key_words.hpp"
#include "observe/path_report.hpp"
#include "stats/diagnosis.hpp"
#include "stats/paths.hpp"
#include "stats/stream_senders.hpp"

namespace spead::observe {

namespace {

/// Returns counts by the fewest packets of each size: {"1": n, "2": n, "4": n...}.
Json burst_sizes_json(const stats::BurstSizes& sizes) {
    Json all;
    for (std::size_t i = 0; i < sizes.size(); i++)
        all[std::to_string(1U << i)] = sizes[i];
    return all;
}

/// Returns the health of a stream or a sender.
template <typename Part, typename Names>
Json health_json(const Part& s, const Names& names) {
    Json health;
    health["state"] = s.health;
    for (std::size_t i = 0; i < names.size(); i++)
        health["events"][std::string(names[i])] = s.events[i];
    health["last_event"] = nullptr;
    if (s.last_event)
        health["last_event"] = {{"event", name_of(s.last_event->kind)},
                                {"at_s", s.last_event->at_s},
                                {"text", s.last_event->text}};
    return health;
}

/// Returns the address of the sender with this key (sender_key); null: it is unknown.
Json address_of(std::uint32_t key, const stats::Snapshot& snapshot) {
    const std::string name = key == 0 ? std::string() : stats::name_of_sender(snapshot, key);
    return key == 0 || !stats::is_address(name) ? Json() : Json(name);
}

}  // namespace

Json distribution_json(const stats::Distribution& times) {
    Json d;
    d["count"] = times.count;
    d["min_s"] = times.min_s;
    d["mean_s"] = times.mean_s;
    d["p50_s"] = times.percentile(50);
    d["p90_s"] = times.percentile(90);
    d["p99_s"] = times.percentile(99);
    d["p999_s"] = times.percentile(99.9);
    d["max_s"] = times.max_s;
    d["buckets"] = Json::array();
    for (const stats::Distribution::Bucket& b : times.buckets)
        d["buckets"].push_back({b.up_to_s, b.count});
    return d;
}

void add_stream_details(Json& stream, const stats::StreamSnapshot& s, const stats::Snapshot& snapshot) {
    stream["port"] = s.port;
    Json& info = stream["info"];
    info["handed_over"] = s.heaps_handed_over;
    info["dropped_oldest"] = s.heaps_dropped_oldest;
    info["waiting"] = s.heaps_waiting;
    info["ghosts"] = s.heaps_ghosts;
    info["dropped_ghosts"] = s.heaps_dropped_ghosts;
    info["ghosts_source"] = address_of(s.ghosts_source, snapshot);
    info["at_limit"] = s.packets_at_limit;
    info["control_bytes"] = s.control_bytes;
    info["longest_header"] = s.longest_header;
    if (!s.path_ports.empty())
        info["recovered"] = stats::recovered_packets(s);
    info["carried"] = {
        {"live", s.carried.live}, {"queued", s.carried.queued}, {"waiting", s.carried.waiting}};
    stream["by_endpoint"] = Json::array();
    for (const stats::EndpointSnapshot& e : s.by_endpoint)
        stream["by_endpoint"].push_back({{"endpoint", e.name}, {"packets", e.packets}, {"bytes", e.bytes}});
    if (!s.path_ports.empty())
        stream["paths"] = paths_json(s);
    stream["latency"] = distribution_json(s.latency);
    stream["gap"] = distribution_json(s.gap);
    stream["queue"] = {{"heaps", s.queue_capacity}, {"most", s.queue_most}};
    stream["pool"] = {{"bytes", s.pool_bytes}, {"most", s.pool_most}};
    stream["health"] = health_json(s, stats::kStreamEventNames);
    stream["sink"]["failure"] = s.sink_failure.empty() ? Json() : Json(s.sink_failure);
    std::string loss;
    for (const stats::SinkLoss& one : s.sink_losses)
        loss += (loss.empty() ? "" : "; ") + one.why;
    if (!loss.empty())
        stream["sink"]["loss"] = loss;
}

void add_send_details(Json& send, const stats::SendSnapshot& s, double ticks_per_second) {
    send["info"]["left_out"] = s.left_out;
    send["info"]["outages"] = s.counters.outages;
    send["info"]["outage_s"] =
        ticks_per_second > 0 ? static_cast<double>(s.counters.outage_ticks) / ticks_per_second : 0;
    send["health"] = health_json(s, stats::kSendEventNames);
}

void add_port_details(Json& port, const stats::PortSnapshot& p) {
    Json& info = port["info"];
    info["gather_full"] = p.rx_gather_full;
    info["reassembly"] = nullptr;
    if (const stats::ReassemblyCounts& r = p.reassembly; p.reassembly_places != 0)
        info["reassembly"] = {{"places", p.reassembly_places}, {"datagrams", r.datagrams},
                              {"given_up", r.given_up},        {"too_many", r.too_many},
                              {"conflicting", r.conflicting},  {"crowded_out", r.crowded_out},
                              {"held_now", r.held_now}};
    info["bursts"] = p.rx_bursts;
    info["full_bursts"] = p.rx_full_bursts;
    info["burst_sizes"] = burst_sizes_json(p.rx_burst_sizes);
    info["rx_descriptors"] = p.rx_descriptors;
    info["buffers"] = nullptr;
    if (p.buffers)
        info["buffers"] = {{"size", p.buffers->size}, {"fewest_free", p.buffers->fewest_free}};
    port["talkers"] = Json::array();
    for (const stats::TalkerSnapshot& t : p.talkers)
        port["talkers"].push_back({{"source", t.source},
                                   {"stream", t.stream.empty() ? Json() : Json(t.stream)},
                                   {"packets", t.packets},
                                   {"excess", t.excess}});
    port["other_talkers"] = p.talkers_others;
    port["unattributed_packets"] = p.talkers_unattributed;
}

std::vector<std::string> cures_of(const stats::Finding& finding, const stats::Snapshot& snapshot) {
    // One that has ended holds no longer.
    std::vector<std::string> cures;
    if (finding.until_s == 0)
        for (const std::string& cure : finding.cures)
            cures.push_back(snapshot.by_configuration ? with_keys(cure) : cure);
    return cures;
}

std::string lines_of(const stats::Finding& finding, const stats::Snapshot& snapshot) {
    const std::string loss = finding.loss(snapshot.duration_s + snapshot.cleared_s);
    std::string text = snapshot.by_configuration ? with_keys(loss) : loss;
    for (const std::string& cure : cures_of(finding, snapshot))
        text += "\n    - " + cure;
    return text;
}

std::string sentence_of(const stats::Finding& finding, const stats::Snapshot& snapshot) {
    const std::string sentence = finding.sentence(snapshot.duration_s + snapshot.cleared_s);
    return snapshot.by_configuration ? with_keys(sentence) : sentence;
}

Json findings_json(const stats::Snapshot& snapshot) {
    Json all = Json::array();
    for (const stats::Finding& f : stats::findings_of(snapshot))
        all.push_back({{"cause", stats::name_of(f.cause)},
                       {"kind", stats::name_of(stats::kind_of(f.cause))},
                       {"stage", stats::name_of(f.stage)},
                       {"where", f.where},
                       {"count", f.count},
                       {"unit", f.unit_text()},
                       {"what", snapshot.by_configuration ? with_keys(f.what_text()) : f.what_text()},
                       {"cures", cures_of(f, snapshot)},
                       {"first_s", f.first_s},
                       {"last_s", f.last_s},
                       {"until_s", f.until_s > 0 ? Json(f.until_s) : Json()},
                       {"sentence", sentence_of(f, snapshot)}});
    return all;
}

void add_lcore_details(Json& lcore, const stats::LcoreSnapshot& l, double ticks_per_second) {
    const auto seconds = [&](std::uint64_t cycles) {
        return ticks_per_second > 0 ? static_cast<double>(cycles) / ticks_per_second : 0;
    };
    lcore["silent_s"] = l.silent_s;
    lcore["silences"] = l.silences;
    lcore["activity"] = l.activity.empty() ? Json() : Json(l.activity);
    lcore["bursts"] = l.bursts;
    lcore["full_bursts"] = l.full_bursts;
    lcore["burst_sizes"] = burst_sizes_json(l.burst_sizes);
    lcore["loops"] = l.counters.loops;
    lcore["busy_loops"] = l.counters.busy_loops;
    lcore["busy_s"] = seconds(l.counters.busy_cycles);
    lcore["idle_s"] = seconds(l.counters.idle_cycles);
    lcore["longest_loop_s"] = seconds(l.counters.longest_loop);
    lcore["sleeps"] = l.counters.sleeps;
}

Json shard_json(const stats::ShardSnapshot& shard) {
    return {{"index", shard.index},
            {"count", shard.count},
            {"endpoints", {{"all", shard.endpoints_all}, {"mine", shard.endpoints_mine}}}};
}

std::string shard_clause(const stats::ShardSnapshot& shard) {
    if (shard.count <= 1)
        return {};
    return fmt::format("; shard {}/{}: {} of {} of the plan", shard.index, shard.count, shard.endpoints_mine,
                       counted(shard.endpoints_all, "endpoints"));
}

Json engine_json(const stats::EngineSnapshot& e) {
    Json engine;
    engine["name"] = e.name;
    engine["state"] = e.stalled_s > 0 ? "stalled" : "running";
    engine["streams"] = e.streams;
    engine["stalled_s"] = e.stalled_s;
    engine["stalls"] = e.stalls;
    engine["all_stalled_s"] = e.all_stalled_s;
    return engine;
}

}  // namespace spead::observe
