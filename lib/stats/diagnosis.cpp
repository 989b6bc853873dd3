// SPDX-License-Identifier: BSD-3-Clause
#include "stats/diagnosis.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stats/since.hpp"

namespace spead::stats {

namespace {

/// Of bursts that are full, or of time that is busy: from here on an lcore hardly keeps up.
constexpr double kBusy = 0.9;
constexpr double kFullBursts = 0.5;
/// An lcore that was away for so long has most likely been interrupted: rings hold a few milliseconds.
constexpr double kAway = 0.002;

std::uint64_t of(const StreamSnapshot& s, PacketOutcome o) {
    return s.packets[static_cast<std::size_t>(o)];
}
std::uint64_t of(const StreamSnapshot& s, HeapEnd e) {
    return s.heaps_ended[static_cast<std::size_t>(e)];
}
std::uint64_t of(const PortSnapshot& p, PortOutcome o) {
    return p.rx[static_cast<std::size_t>(o)];
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", share * 100);
}

class Findings {
  public:
    explicit Findings(const Snapshot& snapshot) : snapshot_(snapshot) {
        for (const PortSnapshot& p : snapshot.ports)
            lost_at_ports_ += p.nic.missed + p.nic.no_mbuf;
    }

    void stream(const StreamSnapshot& s);
    void port(const PortSnapshot& p);
    void send(const SendSnapshot& s);
    std::vector<Finding> take() { return std::move(all_); }

  private:
    void add(Cause cause, Stage stage, const std::string& where, std::uint64_t count, std::string_view unit,
             std::string what, std::string cure) {
        if (count != 0)
            all_.push_back({cause, stage, where, count, unit, std::move(what), std::move(cure)});
    }
    void duplicates(const StreamSnapshot& s);
    void incomplete(const StreamSnapshot& s);
    void memory(const StreamSnapshot& s);
    void missed(const PortSnapshot& p);
    void unmatched(const PortSnapshot& p);
    std::vector<std::string> senders_to(const std::string& stream) const;

    const Snapshot& snapshot_;
    std::uint64_t lost_at_ports_ = 0;
    std::vector<Finding> all_;
};

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
            "look for a sender that repeats itself, a second path through the network, or a loop");
}

void Findings::memory(const StreamSnapshot& s) {
    const std::uint64_t count = of(s, PacketOutcome::no_memory);
    if (s.ring_heaps != 0 && s.ring_most * 2 >= s.ring_heaps)
        add(Cause::consumer_holds_pool, Stage::memory, s.name, count, "packets",
            fmt::format("had no memory left for their heap while up to {} heaps waited for the consumer",
                        s.ring_most),
            "do less per heap, or raise --memory");
    else
        add(Cause::pool_too_small, Stage::memory, s.name, count, "packets",
            "had no memory left for their heap", "raise --memory, or take heaps faster");
}

/// Heaps that can have begun before their packets were listened for, at most: one to each endpoint to which
/// something came, if that began in this time.
std::uint64_t first_heaps(const StreamSnapshot& s) {
    return static_cast<std::uint64_t>(
        std::count_if(s.by_endpoint.begin(), s.by_endpoint.end(),
                      [](const EndpointSnapshot& e) { return e.packets != 0 && !e.not_new; }));
}

/// Heaps that lack packets, if nothing here explains it.
void Findings::incomplete(const StreamSnapshot& s) {
    const std::uint64_t incomplete = of(s, HeapEnd::evicted) + of(s, HeapEnd::timed_out);
    std::uint64_t refused = lost_at_ports_;
    for (const PacketOutcome o :
         {PacketOutcome::no_memory, PacketOutcome::oversize, PacketOutcome::heap_too_big,
          PacketOutcome::malformed, PacketOutcome::inconsistent, PacketOutcome::out_of_order,
          PacketOutcome::filtered, PacketOutcome::late})
        refused += of(s, o);
    if (refused != 0 || s.heaps_interleaved_evictions >= incomplete)
        return;
    const std::uint64_t lost = incomplete - s.heaps_interleaved_evictions;
    const std::uint64_t first = first_heaps(s);
    if (lost <= first)
        add(Cause::cut_by_join, Stage::network, s.name, lost, "heaps",
            "stayed incomplete although nothing was lost here: they may have begun before their group was "
            "joined",
            "nothing need be done unless they become more");
    else
        add(Cause::network_loss, Stage::network, s.name, lost, "heaps",
            fmt::format("stayed incomplete although nothing was lost here: their packets did not arrive{}",
                        first == 0 ? ""
                                   : fmt::format(" (of the first {} perhaps because they began before their "
                                                 "group was joined)",
                                                 first)),
            "look at the sender's own losses, send in smaller bursts (--burst-size), and look for drops in "
            "the switches");
}

void Findings::stream(const StreamSnapshot& s) {
    add(Cause::packets_too_large, Stage::packet, s.name, of(s, PacketOutcome::oversize), "packets",
        "were larger than --max-packet-size", "raise it");
    add(Cause::not_spead, Stage::packet, s.name, of(s, PacketOutcome::malformed), "packets",
        "break a rule of SPEAD", "look who else sends to this endpoint, and at the sender's flavour");
    add(Cause::heaps_too_large, Stage::packet, s.name, of(s, PacketOutcome::heap_too_big), "packets",
        "were of heaps larger than --max-heap-bytes", "raise it");
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
            "came after their heap had been given up", "raise --max-heaps, or --heap-timeout if it is set");
    memory(s);
    add(Cause::consumer_too_slow, Stage::consumer, s.name, s.heaps_dropped_full, "heaps",
        s.ring_heaps == 0
            ? "were thrown away because the consumer was slow"
            : fmt::format("were thrown away because the consumer was slow: up to {} of {} places of "
                          "the hand-over queue were taken",
                          s.ring_most, s.ring_heaps),
        "raise --ring-heaps or do less per heap");
    add(Cause::sink_failed, Stage::consumer, s.name, s.heaps_unwritten, "heaps",
        "were not written: the sink had failed",
        "make room, then `stream stop` and `stream start` it at the prompt, or start the run anew");
}

/// Packets that were lost before they could be fetched: why nobody fetched them.
void Findings::missed(const PortSnapshot& p) {
    double busy = 0;
    double longest = 0;
    for (const LcoreSnapshot& l : snapshot_.lcores) {
        if (std::none_of(l.ports.begin(), l.ports.end(),
                         [&](const auto& share) { return share.name == p.name; }))
            continue;
        busy = std::max(busy, share(l.counters.busy_cycles, l.counters.cycles));
        if (snapshot_.ticks_per_second > 0)
            longest =
                std::max(longest, static_cast<double>(l.counters.longest_loop) / snapshot_.ticks_per_second);
    }
    const double full = share(p.rx_full_bursts, p.rx_bursts);
    if (full >= kFullBursts || busy >= kBusy)
        add(Cause::lcore_too_slow, Stage::lcore, p.name, p.nic.missed, "packets",
            fmt::format(
                "were lost before they could be fetched: the lcore did not keep up (busy {} of the time, "
                "{} of its bursts were full)",
                percent(busy), percent(full)),
            "use more --lcores, a CPU of its own, or a sink that needs less; a larger --buffer-size helps "
            "with "
            "bursts only");
    else if (longest >= kAway)
        add(Cause::lcore_interrupted, Stage::lcore, p.name, p.nic.missed, "packets",
            fmt::format("were lost before they could be fetched: the lcore was away for up to {:.3g} ms",
                        longest * 1000),
            "give it a CPU of its own (isolcpus, no other work there), use --poll busy, or raise "
            "--buffer-size");
    else
        add(Cause::receive_ring_short, Stage::port, p.name, p.nic.missed, "packets",
            p.rx_descriptors == 0
                ? std::string("were lost before they could be fetched")
                : fmt::format(
                      "were lost before they could be fetched: bursts of the sender were longer than the "
                      "{} packets that the port lets wait",
                      p.rx_descriptors),
            "raise --buffer-size, use --poll busy or more --lcores");
}

/// Other traffic is normal on a port; it is told when a stream gets nothing, or less than nobody.
void Findings::unmatched(const PortSnapshot& p) {
    const std::uint64_t count = of(p, PortOutcome::unmatched);
    std::vector<std::string> without;
    for (const StreamSnapshot& s : snapshot_.streams)
        if (s.received == 0)
            without.push_back(s.name);
    if (without.empty() && count <= of(p, PortOutcome::stream))
        return;
    std::string from;
    for (const TalkerSnapshot& t : p.talkers)
        if (t.stream.empty() && from.empty())
            from = fmt::format(", most of them from {}", t.source);
    add(Cause::unmatched, Stage::classify, p.name, count, "packets",
        fmt::format("were for groups, ports or sources that no stream names{}{}", from,
                    without.empty() ? std::string()
                                    : fmt::format(", while {} received nothing", fmt::join(without, ", "))),
        "compare the endpoints with what the sender sends to");
}

void Findings::port(const PortSnapshot& p) {
    add(Cause::fragments, Stage::network, p.name, of(p, PortOutcome::fragment), "packets",
        "were IP fragments, which are not put together", "let the sender's packets fit every MTU on the way");
    add(Cause::bad_checksums, Stage::network, p.name, of(p, PortOutcome::bad_checksum), "packets",
        "had a wrong checksum", "look at cables, transceivers and the sender");
    add(Cause::gso_frames, Stage::network, p.name, p.rx_oversized_frames, "frames",
        "were longer than the link or --max-packet-size allows",
        "a sender on this machine must cut its packets itself: `ethtool -K INTERFACE tx-udp-segmentation "
        "off` on "
        "its interface");
    missed(p);
    add(Cause::no_buffers, Stage::port, p.name, p.nic.no_mbuf, "times",
        p.buffers ? fmt::format("the port had no buffer to receive into: down to {} of {} were free",
                                p.buffers->fewest_free, p.buffers->size)
                  : std::string("the port had no buffer to receive into"),
        "raise --buffer-size");
    add(Cause::nic_errors, Stage::port, p.name, p.nic.errors, "errors", "were counted by the device",
        "look at its own counters (ethtool -S, or xstats), cables and transceivers");
    unmatched(p);
}

void Findings::send(const SendSnapshot& s) {
    add(Cause::send_timeout, Stage::transmit, s.name, s.counters.timed_out, "heaps",
        "could not be sent within the time-out",
        "lower the rate of what is submitted, raise `rate`, or look why the port takes no packets");
    const double seconds = snapshot_.ticks_per_second > 0
                               ? static_cast<double>(s.counters.outage_ticks) / snapshot_.ticks_per_second
                               : 0;
    // One that goes on since before the counters were cleared counts, too.
    add(Cause::port_takes_nothing, Stage::transmit, s.name,
        std::max<std::uint64_t>(s.counters.outages, seconds > 0 ? 1 : 0), "times",
        fmt::format("port {} took nothing for a second or longer, {:.1f} s in all", s.port, seconds),
        s.suspects);
}

}  // namespace

std::string_view name_of(Stage stage) {
    switch (stage) {
        case Stage::network:
            return "network";
        case Stage::port:
            return "port";
        case Stage::lcore:
            return "lcore";
        case Stage::classify:
            return "classify";
        case Stage::packet:
            return "packet";
        case Stage::window:
            return "window";
        case Stage::memory:
            return "memory";
        case Stage::consumer:
            return "consumer";
        case Stage::transmit:
            break;
    }
    return "transmit";
}

std::string_view name_of(Cause cause) {
    constexpr std::array<std::string_view, 25> kNames{"network_loss",
                                                      "cut_by_join",
                                                      "duplicates",
                                                      "fragments",
                                                      "bad_checksums",
                                                      "gso_frames",
                                                      "receive_ring_short",
                                                      "no_buffers",
                                                      "nic_errors",
                                                      "lcore_too_slow",
                                                      "lcore_interrupted",
                                                      "unmatched",
                                                      "not_spead",
                                                      "packets_too_large",
                                                      "heaps_too_large",
                                                      "contradictions",
                                                      "out_of_order",
                                                      "max_live_too_small",
                                                      "late",
                                                      "pool_too_small",
                                                      "consumer_holds_pool",
                                                      "consumer_too_slow",
                                                      "sink_failed",
                                                      "send_timeout",
                                                      "port_takes_nothing"};
    static_assert(kNames.size() == static_cast<std::size_t>(Cause::port_takes_nothing) + 1);
    return kNames[static_cast<std::size_t>(cause)];
}

std::string Finding::sentence() const {
    return fmt::format("{}: {} {} {}; {}", where, count, unit, what, cure);
}

std::vector<Finding> diagnose(const Snapshot& snapshot) {
    Findings findings(snapshot);
    for (const StreamSnapshot& s : snapshot.streams)
        findings.stream(s);
    for (const PortSnapshot& p : snapshot.ports)
        findings.port(p);
    for (const SendSnapshot& s : snapshot.sends)
        findings.send(s);
    return findings.take();
}

std::vector<Finding> diagnose(const Snapshot& now, const Snapshot& earlier) {
    return diagnose(since(now, earlier));
}

}  // namespace spead::stats
