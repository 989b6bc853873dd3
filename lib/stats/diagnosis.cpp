// SPDX-License-Identifier: BSD-3-Clause
#include "stats/diagnosis.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/endpoint.hpp"
#include "base/heap_limits.hpp"
#include "base/shell_word.hpp"
#include "base/units.hpp"
#include "stats/advice.hpp"
#include "stats/chunk_findings.hpp"
#include "stats/engine_findings.hpp"
#include "stats/loss_clues.hpp"
#include "stats/loss_record.hpp"
#include "stats/near_loss_findings.hpp"
#include "stats/nothing_came_finding.hpp"
#include "stats/path_findings.hpp"
#include "stats/phrases.hpp"
#include "stats/port_findings.hpp"
#include "stats/rates.hpp"
#include "stats/since.hpp"
#include "stats/sink_findings.hpp"
#include "stats/stream_cures.hpp"
#include "stats/stream_ports.hpp"
#include "stats/stream_senders.hpp"

namespace spead::stats {

namespace {

/// Holds how many times more losses than first heaps make these not worth a word.
constexpr std::uint64_t kManyMore = 8;
/// Holds the number of senders up to which advice names them.
constexpr std::size_t kFewSenders = 4;

std::uint64_t of(const StreamSnapshot& s, PacketOutcome o) {
    return s.packets[static_cast<std::size_t>(o)];
}
std::uint64_t of(const StreamSnapshot& s, HeapEnd e) {
    return s.heaps_ended[static_cast<std::size_t>(e)];
}

class Findings {
  public:
    explicit Findings(const Snapshot& snapshot) : snapshot_(snapshot) {}

    void refused_by_decoder(const StreamSnapshot& s);
    void cut_headers(const StreamSnapshot& s, const PortSnapshot* port);
    void stream(const StreamSnapshot& s);
    void port(const PortSnapshot& p) {
        std::ranges::move(port_findings(p, advice_), std::back_inserter(all_));
    }
    void send(const SendSnapshot& s);
    void lcore(const LcoreSnapshot& l);
    void engine(const EngineSnapshot& e) { std::ranges::move(engine_findings(e), std::back_inserter(all_)); }
    std::vector<Finding> take() { return std::move(all_); }

  private:
    void add(Cause cause, Stage stage, const std::string& where, std::uint64_t count, std::string_view unit,
             std::string what, Cures cures) {
        if (count != 0)
            all_.push_back({cause, stage, where, count, unit, std::move(what), std::move(cures)});
    }
    void duplicates(const StreamSnapshot& s);
    void incomplete(const StreamSnapshot& s);
    void dropped(const StreamSnapshot& s);
    void ghosts(const StreamSnapshot& s);
    void memory(const StreamSnapshot& s);
    void absence(const StreamSnapshot& s);
    Cures against_network_loss(const StreamSnapshot& s, const LossClue& others) const;
    Cures send_sooner(const SendSnapshot& s) const;
    std::uint64_t missed_for(const StreamSnapshot& s) const;
    std::uint64_t missed_for_chunks(const StreamSnapshot& s) const;
    const Snapshot& snapshot_;
    const Advice advice_{snapshot_};
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
    std::ranges::move(near_loss_findings(l, advice_), std::back_inserter(all_));
}

void Findings::duplicates(const StreamSnapshot& s) {
    if (!s.path_ports.empty())
        return;  // path_findings() tells more
    const std::vector<std::string> senders = senders_to(snapshot_, s.name);
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
        with(faster_consumer(s, advice_), advice_.raise_memory(s)));
    add(Cause::pool_too_small, Stage::memory, s.name, why.pool_full, "packets",
        "had no memory left for their heap", with(advice_.raise_memory(s), faster_consumer(s, advice_)));
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
        fmt::format("were thrown away because the consumer{} was slow{}{}", where_it_writes(s), places,
                    how_long_slow(s)),
        longer_queue(s, advice_));
    add(Cause::consumer_holds_pool, Stage::memory, s.name, why.memory_held, "heaps",
        "were thrown away because heaps that wait for the consumer held the memory that new ones need" +
            places,
        lasts(s) ? steadily_faster_consumer(s, advice_)
                 : with(advice_.raise_memory(s), faster_consumer(s, advice_)));
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
            one_source ? fmt::format(", most of them from {}", name_of_sender(snapshot_, s.ghosts_source))
                       : std::string(),
            s.heaps_dropped_ghosts == 0
                ? std::string()
                : fmt::format(" ({} of them were not delivered)", s.heaps_dropped_ghosts)),
        "find out who sends packets with stray heap counts to this endpoint, or name the right source in it "
        "(GROUP:PORT@SOURCE); if nobody does, nearly all packets are lost on the way");
}

Cures Findings::against_network_loss(const StreamSnapshot& s, const LossClue& others) const {
    Cures cures = with_clue(others, where_packets_went(s, advice_));
    const std::vector<std::string> senders = senders_to(snapshot_, s.name);
    cures.push_back(senders.empty() || senders.size() > kFewSenders
                        ? "look at the sender's own losses, and send in smaller bursts " +
                              advice_.burst_size()
                        : fmt::format("at {}, look at the sender's own losses, and send in smaller bursts {}",
                                      fmt::join(senders, ", "), advice_.burst_size()));
    cures.push_back("look for drops in the switches on the way");
    return cures;
}

/// Returns the packets that the stream's port lost.
std::uint64_t Findings::missed_for(const StreamSnapshot& s) const {
    std::uint64_t missed = 0;
    for (const PortSnapshot& p : snapshot_.ports)
        if (s.comes_by(p.name))
            // With reassembly, the fragments that it refuses are in its own counts, or broken.
            missed += p.nic.missed + p.nic.no_mbuf + p.reassembly.crowded_out + p.reassembly.too_many +
                      (p.reassembly_places == 0 ? p.rx[static_cast<std::size_t>(PortOutcome::fragment)] : 0);
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
          PacketOutcome::filtered, PacketOutcome::late, PacketOutcome::header_in_device})
        explained += of(s, o);
    const std::uint64_t incomplete = of(s, HeapEnd::evicted) + of(s, HeapEnd::timed_out);
    if (explained >= incomplete)
        return;
    const std::string_view beyond = beyond_losses_here(explained != s.heaps_interleaved_evictions);
    const std::uint64_t by_change = std::min(incomplete - explained, s.cut_at_start.by_change);
    add(Cause::cut_by_change, Stage::window, s.name, by_change, "heaps",
        fmt::format("stayed incomplete {}: {}", beyond, kUnderWay), std::string(kNothingToDo));
    const std::uint64_t lost = incomplete - explained - by_change;
    // Where the run was followed, those that were cut later have another cause.
    const std::uint64_t first =
        s.cut_at_start.is_known ? std::min(first_heaps(s), s.cut_at_start.heaps) : first_heaps(s);
    const LossClue others = clue_of_others(snapshot_, s);
    const std::string_view begun =
        joins_groups(snapshot_, s) ? "their group was joined" : "their endpoint was received";
    if (lost <= first)
        add(Cause::cut_by_join, Stage::network, s.name, lost, "heaps",
            fmt::format("stayed incomplete {}: they may have begun before {}", beyond, begun),
            "no action is needed unless their number grows");
    else
        add(Cause::network_loss, Stage::network, s.name, lost, "heaps",
            fmt::format(
                "stayed incomplete {}: their packets did not arrive{}{}", beyond,
                first == 0 || lost > kManyMore * first
                    ? ""
                    : fmt::format(" (of the first {} perhaps because they began before {})", first, begun),
                others.clause()),
            against_network_loss(s, others));
}

void Findings::absence(const StreamSnapshot& s) {
    if (std::optional<Finding> nothing = nothing_came_finding(s, advice_))
        all_.push_back(std::move(*nothing));
}

/// Returns the action for packets of another format than the stream's, which they fit; empty if none is
/// known.
std::string other_format(const StreamSnapshot& s, const Advice& advice) {
    if (s.fits_format.empty())
        return {};
    if (s.fits_format == "spead")
        return s.has_format ? fmt::format(
                                  "a sample of these packets begins as packets of SPEAD do: leave out "
                                  "{} to receive SPEAD",
                                  advice.named(kFormat))
                            : std::string();
    if (!s.has_format)
        return fmt::format("a sample of these packets fits the format `{}`: {}", s.fits_format,
                           advice.set(s, kFormat, s.fits_format));
    return fmt::format(
        "a sample of these packets fits the format `{}`: compare the declaration with that one, which "
        "`dpdk-spead info --formats` shows",
        s.fits_format);
}

/// Finds packets that the decoder refuses.
void Findings::refused_by_decoder(const StreamSnapshot& s) {
    const PortSnapshot* const port = find(snapshot_.ports, s.port);
    const std::uint64_t malformed = of(s, PacketOutcome::malformed);
    const std::string known = other_format(s, advice_);
    Cures cures;
    if (!known.empty())
        cures.push_back(known);
    cures.push_back(s.has_format ? "look for other senders to this endpoint, and compare the declaration "
                                   "with a captured packet"
                                 : "look for other senders to this endpoint, and check the sender's flavour");
    if (!s.has_format && s.fits_format.empty())
        cures.push_back(
            fmt::format("if the sender speaks another format, name it with {} (docs/formats.md lists "
                        "the known ones)",
                        advice_.named(kFormat)));
    if (s.has_format)
        add(Cause::not_in_format, Stage::packet, s.name, malformed, "packets",
            "break a rule of the stream's `format`", std::move(cures));
    else
        add(Cause::not_spead, Stage::packet, s.name, malformed, "packets", "break a rule of SPEAD",
            std::move(cures));
    add(Cause::marked_invalid, Stage::packet, s.name, of(s, PacketOutcome::invalid), "packets",
        "were marked as invalid by their sender",
        "ask there; or declare the format without `invalid` to take them (docs/formats.md)");
    cut_headers(s, port);
}

void Findings::cut_headers(const StreamSnapshot& s, const PortSnapshot* port) {
    const std::uint64_t cut = of(s, PacketOutcome::header_in_device);
    const std::string sources = sources_text(snapshot_, s.cut_sources, cut);
    Cures cures{port == nullptr ? fmt::format("raise `split` of the port to {}", s.longest_header)
                                : advice_.set_at_start(*port, "split", "--split", s.longest_header, ""),
                "or send fewer item pointers in a packet"};
    // A forged header costs its own packet alone.
    if (!sources.empty() && 2 * cut < s.received) {
        cures.front() = "if they are right: " + cures.front();
        cures.insert(
            cures.begin(),
            "find out what is sent from there: most packets have shorter headers, so these may be stray "
            "or forged");
    }
    add(Cause::header_in_device, Stage::packet, s.name, cut, "packets",
        fmt::format("have headers of up to {} bytes{}, and their port cuts before that: the rest lies in "
                    "memory that the CPU cannot read",
                    s.longest_header, sources),
        std::move(cures));
}

void Findings::stream(const StreamSnapshot& s) {
    // Packets that a sender leaves to its interface to segment are reported with the port.
    const PortSnapshot* const port = find(snapshot_.ports, s.port);
    if (port == nullptr || port->rx_oversized_frames < of(s, PacketOutcome::oversize))
        add(Cause::packets_too_large, Stage::packet, s.name, of(s, PacketOutcome::oversize), "packets",
            "were larger than " + advice_.called(kMaxPacketSize),
            s.longest_packet == 0 ? advice_.raise(s, kMaxPacketSize)
                                  : advice_.raise_to(s, kMaxPacketSize, s.longest_packet));
    refused_by_decoder(s);
    std::ranges::move(path_findings(s, snapshot_.duration_s - s.changed_s, advice_),
                      std::back_inserter(all_));
    add(Cause::heaps_too_large, Stage::packet, s.name, of(s, PacketOutcome::heap_too_big), "packets",
        "were of heaps larger than " + advice_.called(kMaxBytes), larger_heaps(s, advice_));
    if (s.chunks.any()) {
        std::ranges::move(chunk_findings(s, missed_for_chunks(s), advice_), std::back_inserter(all_));
        duplicates(s);
        // Tracked heaps only.
        ghosts(s);
        memory(s);
        absence(s);
        return;
    }
    const std::string substreams = advice_.named(kSubstreams);
    add(Cause::contradictions, Stage::packet, s.name, of(s, PacketOutcome::inconsistent), "packets",
        "contradict others of their heap",
        fmt::format("give each sender heap counts of its own, or a substream ({})", substreams));
    add(Cause::out_of_order, Stage::packet, s.name, of(s, PacketOutcome::out_of_order), "packets",
        "were not the next of their heap", fmt::format("leave out {} to take them", advice_.named(kInOrder)));
    duplicates(s);
    incomplete(s);
    add(Cause::max_live_too_small, Stage::window, s.name, s.heaps_interleaved_evictions, "heaps",
        "were given up while their packets still came: senders interleave",
        more_live(s, advice_, fmt::format("give each sender a substream ({})", substreams)));
    if (s.heaps_interleaved_evictions == 0)
        add(Cause::late, Stage::window, s.name, of(s, PacketOutcome::late), "packets",
            "came after their heap had been given up" + late_path(s, "heaps"),
            more_live(s, advice_, s.settings.heap_timeout == 0 ? "" : advice_.lengthen(s, kHeapTimeout)));
    ghosts(s);
    memory(s);
    dropped(s);
    add(Cause::device_error, Stage::memory, s.name, s.heaps_device_error, "heaps",
        "were lost because the engine that moves their payload failed, or stood still at the end of the run",
        fmt::format("look in the log for what failed, and start the run anew; {} none needs no engine",
                    advice_.named(kGather)));
    std::ranges::move(unwritten_findings(s, s.heaps_unwritten, "heaps", advice_), std::back_inserter(all_));
    std::ranges::move(near_loss_findings(s, advice_), std::back_inserter(all_));
    absence(s);
}

Cures Findings::send_sooner(const SendSnapshot& s) const {
    Cures cures;
    const SendSettings& set = s.settings;
    if (set.rate > 0) {
        const std::string live =
            advice_.prompt(fmt::format("send set {} rate {}", s.name, rate_text(2 * set.rate)));
        cures.push_back(live.empty() ? advice_.set_at_start(s, "rate", "--rate", rate_text(2 * set.rate),
                                                            rate_text(set.rate))
                                     : fmt::format("{} (now {})", live, rate_text(set.rate)));
    }
    if (set.timeout > 0)
        cures.push_back(advice_.set_at_start(s, "timeout", "", duration_text(2 * set.timeout),
                                             duration_text(set.timeout)));
    const PortSnapshot* const port = find(snapshot_.ports, s.port);
    if (port != nullptr && !port->settings.interface.empty())
        cures.push_back(fmt::format("see whether port {} takes packets: `ip -s link show {}`", s.port,
                                    shell_word(port->settings.interface)));
    else
        cures.push_back("find out why the port takes no packets");
    cures.push_back("submit less");
    return cures;
}

void Findings::send(const SendSnapshot& s) {
    add(Cause::send_timeout, Stage::transmit, s.name, s.counters.timed_out, "heaps",
        "could not be sent within the time-out", send_sooner(s));
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
            c.impaired_delayed + c.impaired_dropped,
        "packets",
        fmt::format("were impaired here on purpose: {} lost, {} duplicated, {} corrupted, {} reordered, "
                    "{} delayed, {} dropped when the port stopped",
                    c.impaired_lost, c.impaired_duplicated, c.impaired_corrupted, c.impaired_reordered,
                    c.impaired_delayed, c.impaired_dropped),
        "send without " + advice_.named("--impair", "impair"));
}

}  // namespace

std::vector<Finding> diagnose(const Snapshot& snapshot) {
    Findings findings(snapshot);
    for (const EngineSnapshot& e : snapshot.engines)
        findings.engine(e);
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
