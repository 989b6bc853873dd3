// SPDX-License-Identifier: BSD-3-Clause
#include "stats/diagnosis.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/endpoint.hpp"
#include "base/heap_limits.hpp"
#include "stats/chunk_findings.hpp"
#include "stats/fragment_findings.hpp"
#include "stats/loss_record.hpp"
#include "stats/path_findings.hpp"
#include "stats/rates.hpp"
#include "stats/since.hpp"
#include "stats/sink_findings.hpp"
#include "stats/stream_ports.hpp"

namespace spead::stats {

namespace {

/// Holds the seconds without packets after which a stream is reported.
constexpr double kPatience = 3;
/// Holds the seconds of absence that other work on the CPU does not explain.
constexpr double kStopped = 0.5;

std::uint64_t of(const StreamSnapshot& s, PacketOutcome o) {
    return s.packets[static_cast<std::size_t>(o)];
}
std::uint64_t of(const StreamSnapshot& s, HeapEnd e) {
    return s.heaps_ended[static_cast<std::size_t>(e)];
}
std::uint64_t of(const PortSnapshot& p, PortOutcome o) {
    return p.rx[static_cast<std::size_t>(o)];
}

std::string duration_text(double seconds) {
    return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1000) : fmt::format("{:.1f} s", seconds);
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", share * 100);
}

class Findings {
  public:
    explicit Findings(const Snapshot& snapshot) : snapshot_(snapshot) {}

    void refused_by_decoder(const StreamSnapshot& s);
    void stream(const StreamSnapshot& s);
    void port(const PortSnapshot& p);
    void send(const SendSnapshot& s);
    void lcore(const LcoreSnapshot& l);
    std::vector<Finding> take() { return std::move(all_); }

  private:
    void add(Cause cause, Stage stage, const std::string& where, std::uint64_t count, std::string_view unit,
             std::string what, std::string fix) {
        if (count != 0)
            all_.push_back({cause, stage, where, count, unit, std::move(what), std::move(fix)});
    }
    void duplicates(const StreamSnapshot& s);
    void incomplete(const StreamSnapshot& s);
    void dropped(const StreamSnapshot& s);
    void ghosts(const StreamSnapshot& s);
    void memory(const StreamSnapshot& s);
    void nothing_came(const StreamSnapshot& s);
    void missed(const PortSnapshot& p);
    void unmatched(const PortSnapshot& p);
    void no_buffers(const PortSnapshot& p);
    void nic_errors(const PortSnapshot& p);
    bool waits_for_packets(const StreamSnapshot& s) const;
    std::uint64_t missed_for(const StreamSnapshot& s) const;
    std::uint64_t missed_for_chunks(const StreamSnapshot& s) const;
    std::vector<std::string> senders_to(const std::string& stream) const;

    const Snapshot& snapshot_;
    std::vector<Finding> all_;
};

void Findings::lcore(const LcoreSnapshot& l) {
    if (l.silent_s > 0)
        add(Cause::lcore_silent, Stage::lcore, l.where(), static_cast<std::uint64_t>(l.silent_s), "seconds",
            fmt::format("have passed without an answer{}{}", l.activity.empty() ? "" : ": ", l.activity),
            "counts of its streams and senders do not change until it answers");
    else
        add(Cause::lcore_silent, Stage::lcore, l.where(), l.silences, "times",
            "it did not answer for a second or longer",
            "keep other programs off its CPU (isolcpus, a cpuset), and debuggers off the process");
}

std::vector<std::string> Findings::senders_to(const std::string& stream) const {
    std::vector<std::string> senders;
    for (const PortSnapshot& p : snapshot_.ports)
        for (const TalkerSnapshot& t : p.talkers)
            if (t.stream == stream && t.packets > t.excess &&
                std::find(senders.begin(), senders.end(), t.source) == senders.end())
                senders.push_back(t.source);
    return senders;
}

void Findings::duplicates(const StreamSnapshot& s) {
    if (!s.path_ports.empty())
        return;  // path_findings() tells more
    const std::vector<std::string> senders = senders_to(s.name);
    if (senders.size() > 1)
        add(Cause::duplicates, Stage::network, s.name, of(s, PacketOutcome::duplicate), "packets",
            fmt::format("had come already; {} sources send to this stream ({})", senders.size(),
                        fmt::join(senders.begin(),
                                  senders.begin() + std::min<std::ptrdiff_t>(
                                                        4, static_cast<std::ptrdiff_t>(senders.size())),
                                  ", ")),
            "name one of them in the endpoint (GROUP:PORT@SOURCE), or give each heap counts of its own");
    else
        add(Cause::duplicates, Stage::network, s.name, of(s, PacketOutcome::duplicate), "packets",
            "had come already",
            s.has_format
                ? "look for packets that the `count` of the stream's `format` does not tell apart, for a "
                  "sender "
                  "that repeats packets, a second path through the network, or a loop"
                : "look for a sender that restarted with the same heap counts or repeats heaps, for a second "
                  "path through the network, or a loop");
}

void Findings::memory(const StreamSnapshot& s) {
    add(Cause::heap_limits, Stage::window, s.name, s.packets_at_limit, "packets",
        fmt::format(
            "brought more than a heap may have: {} different item pointers, descriptors included, and {} "
            "holes",
            kMaxHeapItems, kMaxHeapRanges),
        "send fewer items in a heap, and descriptors in a heap of their own; more memory does not help");
    const std::uint64_t count = s.packets_without_memory();
    NoMemoryWhile why = s.no_memory_while;
    explain_no_memory(why, count - std::min(count, why.explained()), s.queue_capacity, s.queue_most);
    add(Cause::consumer_holds_pool, Stage::memory, s.name, why.consumer_held, "packets",
        fmt::format("had no memory left for their heap while up to {} waited for the consumer",
                    counted(why.queue_most, "heaps")),
        "do less per heap, or raise --memory");
    add(Cause::pool_too_small, Stage::memory, s.name, why.pool_full, "packets",
        "had no memory left for their heap", "raise --memory, or take heaps faster");
}

/// Finds heaps that the hand-over queue had no place for, or that would have held memory that others need.
void Findings::dropped(const StreamSnapshot& s) {
    DroppedWhile why = s.dropped_while;
    explain_dropped(why, s.heaps_without_place() - std::min(s.heaps_without_place(), why.explained()),
                    s.queue_capacity, s.queue_most);
    const std::string places =
        why.queue_capacity == 0
            ? std::string()
            : fmt::format(": up to {} of {} of the hand-over queue {} taken", why.queue_most,
                          counted(why.queue_capacity, "places"), word_for(why.queue_most, "was", "were"));
    add(Cause::consumer_too_slow, Stage::consumer, s.name, why.queue_full, "heaps",
        "were thrown away because the consumer was slow" + places, "raise --ring-heaps or do less per heap");
    add(Cause::consumer_holds_pool, Stage::memory, s.name, why.memory_held, "heaps",
        "were thrown away because heaps that wait for the consumer held the memory that new ones need" +
            places,
        "raise --memory, or do less per heap");
}

/// Returns an upper limit of the heaps that can have begun before their groups were joined: one for each
/// endpoint with packets, if that began in this time.
std::uint64_t first_heaps(const StreamSnapshot& s) {
    return static_cast<std::uint64_t>(
        std::count_if(s.by_endpoint.begin(), s.by_endpoint.end(),
                      [](const EndpointSnapshot& e) { return e.packets != 0 && !e.not_new; }));
}

/// Returns whether ghosts are too many to be heaps with nearly all packets lost, on a network that mostly
/// works.
bool haunted(const StreamSnapshot& s) {
    constexpr std::uint64_t kFew = 8;
    return s.heaps_ghosts > kFew && s.heaps_ghosts > s.heaps_started / 64;
}

void Findings::ghosts(const StreamSnapshot& s) {
    if (!haunted(s))
        return;
    const bool one_source = s.ghosts_source != 0 && s.ghosts_of_source > s.heaps_ghosts / 2;
    add(Cause::ghosts, Stage::window, s.name, s.heaps_ghosts, "heaps",
        fmt::format(
            "were ghosts: a packet or two came with their heap counts, and nothing more{}{}; others went "
            "before them",
            one_source ? fmt::format(", most of them from {}", sender_text(s.ghosts_source)) : std::string(),
            s.heaps_dropped_ghosts == 0
                ? std::string()
                : fmt::format(" ({} of them were not delivered)", s.heaps_dropped_ghosts)),
        "find out who sends packets with stray heap counts to this endpoint, or name the right source in it "
        "(GROUP:PORT@SOURCE); if nobody does, nearly all packets are lost on the way");
}

/// Returns the packets that the stream's port lost.
std::uint64_t Findings::missed_for(const StreamSnapshot& s) const {
    std::uint64_t missed = 0;
    for (const PortSnapshot& p : snapshot_.ports)
        if (s.comes_by(p.name))
            missed += p.nic.missed + p.nic.no_mbuf + p.reassembly.crowded_out + p.reassembly.too_many;
    return missed;
}

/// Returns the packets of its chunks that the stream's port lost, and that streams lost which fill them, too.
std::uint64_t Findings::missed_for_chunks(const StreamSnapshot& s) const {
    std::uint64_t missed = missed_for(s);
    for (const StreamSnapshot& other : snapshot_.streams)
        if (other.chunks_counted_with == s.name)
            missed += missed_for(other) + lost_packets_of_chunks(other);
    return missed;
}

/// Finds incomplete heaps that losses on this machine do not explain: a packet that was lost leaves at most
/// one heap incomplete.
void Findings::incomplete(const StreamSnapshot& s) {
    std::uint64_t explained = s.heaps_interleaved_evictions + (haunted(s) ? s.heaps_ghosts : 0);
    explained += missed_for(s);
    for (const PacketOutcome o :
         {PacketOutcome::no_memory, PacketOutcome::oversize, PacketOutcome::heap_too_big,
          PacketOutcome::malformed, PacketOutcome::inconsistent, PacketOutcome::out_of_order,
          PacketOutcome::filtered, PacketOutcome::late})
        explained += of(s, o);
    const std::uint64_t incomplete = of(s, HeapEnd::evicted) + of(s, HeapEnd::timed_out);
    if (explained >= incomplete)
        return;
    const std::uint64_t lost = incomplete - explained;
    const std::uint64_t first = first_heaps(s);
    const std::string beyond = explained == s.heaps_interleaved_evictions
                                   ? "although nothing was lost here"
                                   : "beyond what was lost or refused here";
    if (lost <= first)
        add(Cause::cut_by_join, Stage::network, s.name, lost, "heaps",
            fmt::format("stayed incomplete {}: they may have begun before their group was joined", beyond),
            "no action is needed unless their number grows");
    else
        add(Cause::network_loss, Stage::network, s.name, lost, "heaps",
            fmt::format("stayed incomplete {}: their packets did not arrive{}", beyond,
                        first == 0 ? ""
                                   : fmt::format(" (of the first {} perhaps because they began before their "
                                                 "group was joined)",
                                                 first)),
            "look at the sender's own losses, send in smaller bursts (--burst-size), and look for drops in "
            "the switches");
}

/// Returns whether the stream is received, and without a packet so far.
bool Findings::waits_for_packets(const StreamSnapshot& s) const {
    return s.received == 0 && (s.state.empty() || s.state == "received");
}

/// Finds why nothing came at all.
void Findings::nothing_came(const StreamSnapshot& s) {
    const std::optional<PortSnapshot> port = ports_of(snapshot_, s);
    const double seconds = snapshot_.duration_s - s.changed_s;
    if (!waits_for_packets(s) || seconds < kPatience || !port || of(*port, PortOutcome::unmatched) != 0)
        return;
    const auto say = [&](std::string what, std::string fix) {
        add(Cause::nothing_came, Stage::network, s.name, static_cast<std::uint64_t>(seconds), "seconds",
            std::move(what), std::move(fix));
    };
    if (port->link_down)
        return say(
            fmt::format("without a packet: {} {} no link", port->name, s.path_ports.empty() ? "has" : "have"),
            "look at the cable and at the other end");
    if (!s.unowned.empty())
        return say(fmt::format("without a packet: no network interface here has the address {}, so nobody "
                               "answers who asks for it (ARP, NDP)",
                               fmt::join(s.unowned, ", ")),
                   "give it to the interface (`ip addr add`), or send to one of its addresses");
    if (!port->passed.empty()) {
        const PassedSnapshot& most = port->passed.front();
        return say(fmt::format("without a packet, while {} left UDP packets to the kernel, most of them "
                               "({}) for {} from {}",
                               port->name, most.packets, most.endpoint, most.source),
                   "compare the endpoints with the sender's destinations");
    }
    say(of(*port, PortOutcome::stream) != 0
            ? fmt::format("without a packet, while other streams of {} had some", port->name)
        : port->rx_packets != 0
            ? fmt::format("without a packet, while {} had other packets than UDP", port->name)
            : fmt::format("without a packet, and {} had none at all", port->name),
        port->joins_groups
            ? fmt::format("check whether the sender sends on this network, and whether the switches forward "
                          "the group ({} snooping needs a querier)",
                          membership_protocol(s))
            : "check whether the sender sends to these endpoints");
}

/// Finds packets that the decoder refuses.
void Findings::refused_by_decoder(const StreamSnapshot& s) {
    const std::uint64_t malformed = of(s, PacketOutcome::malformed);
    if (s.has_format)
        add(Cause::not_in_format, Stage::packet, s.name, malformed, "packets",
            "break a rule of the stream's `format`",
            "look for other senders to this endpoint, and compare the declaration with a captured packet");
    else
        add(Cause::not_spead, Stage::packet, s.name, malformed, "packets", "break a rule of SPEAD",
            "look for other senders to this endpoint, and check the sender's flavour");
    add(Cause::marked_invalid, Stage::packet, s.name, of(s, PacketOutcome::invalid), "packets",
        "were marked as invalid by their sender",
        "ask there; or declare the format without `invalid` to take them (docs/formats.md)");
}

void Findings::stream(const StreamSnapshot& s) {
    // Packets that a sender leaves to its interface to segment are reported with the port.
    const PortSnapshot* const port = find(snapshot_.ports, s.port);
    if (port == nullptr || port->rx_oversized_frames < of(s, PacketOutcome::oversize))
        add(Cause::packets_too_large, Stage::packet, s.name, of(s, PacketOutcome::oversize), "packets",
            "were larger than --max-packet-size", "raise it");
    refused_by_decoder(s);
    std::ranges::move(path_findings(s, snapshot_.duration_s - s.changed_s), std::back_inserter(all_));
    add(Cause::heaps_too_large, Stage::packet, s.name, of(s, PacketOutcome::heap_too_big), "packets",
        "were of heaps larger than --max-heap-bytes", "raise it");
    if (s.chunks.any()) {
        std::ranges::move(chunk_findings(s, missed_for_chunks(s)), std::back_inserter(all_));
        duplicates(s);
        // Tracked heaps only.
        ghosts(s);
        memory(s);
        nothing_came(s);
        return;
    }
    add(Cause::contradictions, Stage::packet, s.name, of(s, PacketOutcome::inconsistent), "packets",
        "contradict others of their heap",
        "give each sender heap counts of its own, or a substream (--substreams)");
    add(Cause::out_of_order, Stage::packet, s.name, of(s, PacketOutcome::out_of_order), "packets",
        "were not the next of their heap", "leave out --in-order to take them");
    duplicates(s);
    incomplete(s);
    add(Cause::max_live_too_small, Stage::window, s.name, s.heaps_interleaved_evictions, "heaps",
        "were given up while their packets still came: senders interleave",
        "raise --max-heaps, or give each sender a substream (--substreams)");
    if (s.heaps_interleaved_evictions == 0)
        add(Cause::late, Stage::window, s.name, of(s, PacketOutcome::late), "packets",
            "came after their heap had been given up" + late_path(s),
            "raise --max-heaps, or --heap-timeout if it is set");
    ghosts(s);
    memory(s);
    dropped(s);
    add(Cause::device_error, Stage::memory, s.name, s.heaps_device_error, "heaps",
        "were lost because the engine that moves their payload failed, or stood still at the end of the run",
        "look in the log for what failed, and start the run anew; --heap-memory none needs no engine");
    if (std::optional<Finding> unwritten = unwritten_finding(s, s.heaps_unwritten, "heaps"))
        all_.push_back(std::move(*unwritten));
    nothing_came(s);
}

/// Finds why packets were lost before an lcore fetched them. Nobody misses those of a port without a stream.
void Findings::missed(const PortSnapshot& p) {
    if (std::ranges::none_of(snapshot_.streams, [&p](const auto& s) { return s.comes_by(p.name); }))
        return;
    // The kernel counts them with the others.
    const std::string_view or_wrong =
        p.driver == "net_kernel" ? "; or senders' UDP checksums are wrong (compare UdpInCsumErrors of nstat)"
                                 : "";
    MissedWhile why = p.missed_while;
    explain_missed(why, p.nic.missed - std::min(p.nic.missed, why.explained()), p, snapshot_.lcores,
                   snapshot_.ticks_per_second);
    add(Cause::lcore_too_slow, Stage::lcore, p.name, why.busy, "packets",
        fmt::format("were lost before they could be fetched: lcore {} did not keep up (busy {} of the time, "
                    "{} of its bursts were full)",
                    why.busy_lcore, percent(why.most_busy), percent(why.most_full)),
        fmt::format(
            "use more --lcores, a CPU of its own, or a sink that needs less; a larger --buffer-size helps "
            "with bursts only{}",
            or_wrong));
    add(Cause::lcore_interrupted, Stage::lcore, p.name, why.interrupted, "packets",
        fmt::format("were lost before they could be fetched: lcore {} was off its CPU for up to {}",
                    why.interrupted_lcore, duration_text(why.longest_s)),
        fmt::format(
            "{}{}",
            why.longest_s >= kStopped
                ? "was the program stopped (SIGSTOP, a debugger), or the machine suspended? If not, give "
                  "the lcore a CPU of its own (isolcpus, no other work there)"
                : "give it a CPU of its own (isolcpus, no other work there), use --poll busy, or raise "
                  "--buffer-size",
            or_wrong));
    add(Cause::engine_too_slow, Stage::memory, p.name, why.engine_behind, "packets",
        fmt::format("were lost before they could be fetched: an engine had not moved enough payload to take "
                    "more ({} left packets in the queue)",
                    counted(p.rx_gather_full, "polls")),
        "send less to this engine or in larger packets, or receive a stream of it without one (--heap-memory "
        "none)");
    add(Cause::receive_ring_short, Stage::port, p.name, why.idle, "packets",
        p.rx_descriptors == 0
            ? std::string("were lost before they could be fetched, although the lcore had time")
            : fmt::format("were lost before they could be fetched, although the lcore had time: more came at "
                          "once than the {} packets that the port can queue",
                          p.rx_descriptors),
        fmt::format("raise --buffer-size, use --poll busy, or send in smaller bursts{}", or_wrong));
}

/// Finds other traffic. It is normal on a port, so it is reported only if a stream gets nothing, or hardly
/// anything.
void Findings::unmatched(const PortSnapshot& p) {
    const std::uint64_t count = of(p, PortOutcome::unmatched);
    std::vector<std::string> without;
    for (const StreamSnapshot& s : snapshot_.streams)
        if (waits_for_packets(s) && s.comes_by(p.name))
            without.push_back(s.name);
    if (without.empty() && count <= of(p, PortOutcome::stream))
        return;
    std::string from;
    for (const TalkerSnapshot& t : p.talkers)
        if (t.stream.empty() && from.empty())
            from = fmt::format(", {}from {}", count == 1 ? "" : "most of them ", t.source);
    add(Cause::unmatched, Stage::classify, p.name, count, "packets",
        fmt::format("were for groups, ports or sources that no stream names{}{}", from,
                    without.empty() ? std::string()
                                    : fmt::format(", while {} received nothing", fmt::join(without, ", "))),
        "compare the endpoints with the sender's destinations");
}

void Findings::no_buffers(const PortSnapshot& p) {
    std::uint64_t held = 0;
    for (const StreamSnapshot& s : snapshot_.streams)
        if (s.comes_by(p.name))
            held += s.held_now;
    std::string what = "the port had no buffer to receive into";
    if (p.buffers)
        what += fmt::format(": down to {} of {} were free", p.buffers->fewest_free, p.buffers->size);
    if (held != 0)
        what += fmt::format(", and filters hold {}", held);
    add(Cause::no_buffers, Stage::port, p.name, p.nic.no_mbuf, "times", std::move(what),
        held == 0 ? "raise --buffer-size" : "give held packets back sooner, or raise `held_buffers`");
}

void Findings::nic_errors(const PortSnapshot& p) {
    const std::uint64_t sending = std::min(p.nic.send_errors, p.nic.errors);
    add(Cause::nic_errors, Stage::port, p.name, p.nic.errors - sending, "errors",
        "were counted by the device, in receiving",
        "look at its own counters (ethtool -S, or xstats), cables and transceivers");
    add(Cause::nic_errors, Stage::transmit, p.name, sending, "errors",
        "were counted by the device, in sending",
        "look at its own counters (ethtool -S, or xstats), and whether the packets fit its MTU");
}

void Findings::port(const PortSnapshot& p) {
    std::ranges::move(fragment_findings(p), std::back_inserter(all_));
    add(Cause::bad_checksums, Stage::network, p.name, of(p, PortOutcome::bad_checksum), "packets",
        "had a wrong checksum", "look at cables, transceivers and the sender");
    add(Cause::gso_frames, Stage::network, p.name, p.rx_oversized_frames, "frames",
        "were longer than the link or --max-packet-size allows",
        "a sender on this machine must cut its packets itself: `ethtool -K INTERFACE tx-udp-segmentation "
        "off` on its interface; packets that are so long on the wire need a larger --max-packet-size");
    missed(p);
    no_buffers(p);
    nic_errors(p);
    unmatched(p);
}

void Findings::send(const SendSnapshot& s) {
    add(Cause::send_timeout, Stage::transmit, s.name, s.counters.timed_out, "heaps",
        "could not be sent within the time-out",
        "submit less, raise `rate`, or find out why the port takes no packets");
    const double seconds = snapshot_.ticks_per_second > 0
                               ? static_cast<double>(s.counters.outage_ticks) / snapshot_.ticks_per_second
                               : 0;
    // One that goes on since before the counters were cleared counts, too.
    add(Cause::port_takes_nothing, Stage::transmit, s.name,
        std::max<std::uint64_t>(s.counters.outages, seconds > 0 ? 1 : 0), "times",
        fmt::format("port {} took nothing for a second or longer, {:.1f} s in all", s.port, seconds),
        s.suspects);
    const SendCounters& c = s.counters;
    add(Cause::impaired, Stage::transmit, s.name,
        c.impaired_lost + c.impaired_duplicated + c.impaired_corrupted + c.impaired_reordered +
            c.impaired_delayed,
        "packets",
        fmt::format(
            "were impaired here on purpose: {} lost, {} duplicated, {} corrupted, {} reordered, {} delayed",
            c.impaired_lost, c.impaired_duplicated, c.impaired_corrupted, c.impaired_reordered,
            c.impaired_delayed),
        "send without --impair");
}

}  // namespace

std::vector<Finding> diagnose(const Snapshot& snapshot) {
    Findings findings(snapshot);
    for (const StreamSnapshot& s : snapshot.streams)
        findings.stream(s);
    for (const PortSnapshot& p : snapshot.ports)
        findings.port(p);
    for (const SendSnapshot& s : snapshot.sends)
        findings.send(s);
    for (const LcoreSnapshot& l : snapshot.lcores)
        findings.lcore(l);
    return findings.take();
}

std::vector<Finding> diagnose(const Snapshot& now, const Snapshot& earlier) {
    return diagnose(since(now, earlier));
}

std::vector<Finding> findings_of(const Snapshot& snapshot) {
    return snapshot.findings ? *snapshot.findings : diagnose(snapshot);
}

}  // namespace spead::stats
