// SPDX-License-Identifier: BSD-3-Clause
#include "stats/port_findings.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/outcome.hpp"
#include "base/shell_word.hpp"
#include "stats/chunk_findings.hpp"
#include "stats/fragment_findings.hpp"
#include "stats/loss_record.hpp"
#include "stats/near_loss_findings.hpp"
#include "stats/near_losses.hpp"
#include "stats/nothing_came_finding.hpp"
#include "stats/stream_cures.hpp"
#include "stats/stream_senders.hpp"

namespace spead::stats {

namespace {

std::uint64_t of(const PortSnapshot& p, PortOutcome o) {
    return p.rx[static_cast<std::size_t>(o)];
}

/// Returns whether a stream has packets, but none of a sender that it should have: its rate is too low, or a
/// place of its chunks has never come.
bool lacks_senders(const StreamSnapshot& s) {
    return s.received != 0 && (s.health.find("slow") != s.health.npos || lacks_place(s));
}

/// Counts losses beside short absences of an lcore as those of a short queue, if these are many times more:
/// they come without absences, too.
void blame_the_queue(MissedWhile& why) {
    constexpr std::uint64_t kManyMore = 4;
    if (why.longest_s >= NearLosses::kLongLoop || why.idle / kManyMore < why.interrupted)
        return;
    why.idle += std::exchange(why.interrupted, 0);
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", share * 100);
}

void append(Cures& to, std::string more) {
    if (!more.empty())
        to.push_back(std::move(more));
}

class PortFindings {
  public:
    PortFindings(const PortSnapshot& p, const Advice& advice) : p_(p), advice_(advice) {}

    std::vector<Finding> all() {
        all_ = fragment_findings(p_, advice_);
        checksums();
        oversized();
        missed();
        no_buffers();
        nic_errors();
        unmatched();
        return std::move(all_);
    }

  private:
    void add(Cause cause, Stage stage, std::uint64_t count, std::string_view unit, std::string what,
             Cures cures) {
        if (count != 0)
            all_.push_back({cause, stage, p_.name, count, unit, std::move(what), std::move(cures)});
    }
    Cures for_long_frames() const;
    void checksums();
    void oversized();
    void missed();
    void no_buffers();
    void nic_errors();
    void unmatched();
    std::string sender_of_strays(const TalkerSnapshot& t) const;
    const LcoreSnapshot* lcore_of(unsigned lcore) const;
    Cures for_slow(unsigned lcore) const;
    Cures for_short_ring() const;
    /// Returns what else the kernel counts with packets that found no room; empty: nothing.
    std::string or_wrong() const;
    std::string device_counts() const;

    const PortSnapshot& p_;
    const Advice& advice_;
    std::vector<Finding> all_;
};

void PortFindings::checksums() {
    const auto is_v6 = [](const std::string& endpoint) { return endpoint.starts_with('['); };
    const auto has_v6 = [&](const StreamSnapshot& s) {
        return s.comes_by(p_.name) && (std::ranges::any_of(s.endpoints, is_v6) ||
                                       std::ranges::any_of(s.path_endpoints, [&](const auto& of_path) {
                                           return std::ranges::any_of(of_path, is_v6);
                                       }));
    };
    Cures cures = "look at cables, transceivers and the sender";
    if (std::ranges::any_of(advice_.snapshot().streams, has_v6))
        cures.push_back(
            "over IPv6, let the sender write the UDP checksum: 0 is a wrong one there (RFC 8200)");
    add(Cause::bad_checksums, Stage::network, of(p_, PortOutcome::bad_checksum), "packets",
        "had a wrong checksum", std::move(cures));
}

Cures PortFindings::for_long_frames() const {
    const std::string interface =
        p_.settings.interface.empty() ? "INTERFACE" : shell_word(p_.settings.interface);
    const std::string off = fmt::format("`ethtool -K {} tx-udp-segmentation off`", interface);
    Cures cures =
        p_.settings.interface.empty()
            ? fmt::format("a sender on this machine must cut its packets itself: {} on its interface", off)
            : fmt::format(
                  "a sender on this machine must cut its packets itself: {}; if it sends by another "
                  "interface, name that one",
                  off);
    const StreamSnapshot* shortest = nullptr;
    for (const StreamSnapshot& s : advice_.snapshot().streams)
        if (s.comes_by(p_.name) &&
            (shortest == nullptr || s.settings.max_packet_size < shortest->settings.max_packet_size))
            shortest = &s;
    if (shortest == nullptr || shortest->settings.max_packet_size == 0)
        append(cures, "packets that are so long on the wire need a larger " + advice_.named(kMaxPacketSize));
    else if (const std::string longer =
                 p_.rx_longest_payload > shortest->settings.max_packet_size
                     ? advice_.raise_to(*shortest, kMaxPacketSize, p_.rx_longest_payload)
                     : advice_.raise(*shortest, kMaxPacketSize);
             !longer.empty())
        append(cures, "if packets are so long on the wire: " + longer);
    return cures;
}

void PortFindings::oversized() {
    Cures cures = for_long_frames();
    // There the kernel puts fragments of IPv4 together.
    if (p_.driver == "net_af_packet" && p_.reassembly_places == 0 && p_.rx_oversized_frames != 0)
        for (std::string& cure : advice_.reassemble(p_, Advice::FragmentsAre::here))
            cures.push_back("if they come as IP fragments, " + std::move(cure));
    add(Cause::gso_frames, Stage::network, p_.rx_oversized_frames, "frames",
        fmt::format("were longer than the link or {} allows", advice_.called(kMaxPacketSize)),
        std::move(cures));
}

std::string PortFindings::or_wrong() const {
    return p_.driver == "net_kernel"
               ? "if that does not help, see whether senders' UDP checksums are wrong: `nstat -az "
                 "UdpInCsumErrors Udp6InCsumErrors`"
               : "";
}

const LcoreSnapshot* PortFindings::lcore_of(unsigned lcore) const {
    const auto& all = advice_.snapshot().lcores;
    const auto found = std::ranges::find(all, lcore, &LcoreSnapshot::lcore);
    return found == all.end() ? nullptr : &*found;
}

Cures PortFindings::for_slow(unsigned lcore) const {
    Cures cures;
    const LcoreSnapshot* const l = lcore_of(lcore);
    const std::string other = l == nullptr ? std::string() : advice_.other_cpu(*l, p_, true);
    append(cures, other.empty()
                      ? fmt::format("use more {}, or a CPU of its own", advice_.named("--lcores", "lcores"))
                      : other);
    append(cures, "use a sink that needs less");
    append(cures, or_wrong());
    return cures;
}

Cures PortFindings::for_short_ring() const {
    Cures cures = advice_.raise_buffer(p_);
    if (std::ranges::any_of(advice_.snapshot().lcores, [this](const LcoreSnapshot& l) {
            return l.poll != "busy" &&
                   std::ranges::any_of(l.ports, [this](const auto& r) { return r.name == p_.name; });
        })) {
        const auto stream = std::ranges::find_if(advice_.snapshot().streams,
                                                 [this](const auto& s) { return s.comes_by(p_.name); });
        append(cures, stream == advice_.snapshot().streams.end() || stream->settings.poll.empty()
                          ? fmt::format("set {} to busy", advice_.named(kPoll))
                          : advice_.set(*stream, kPoll, "busy"));
    }
    append(cures, "let the sender send in smaller bursts");
    append(cures, or_wrong());
    return cures;
}

/// Finds why packets were lost before an lcore fetched them. Nobody misses those of a port without a stream.
void PortFindings::missed() {
    const Snapshot& snapshot = advice_.snapshot();
    if (std::ranges::none_of(snapshot.streams, [this](const auto& s) { return s.comes_by(p_.name); }))
        return;
    MissedWhile why = p_.missed_while;
    why.at_start = std::max(why.at_start, std::min(p_.missed_at_start, p_.nic.missed));
    explain_missed(why, p_.nic.missed - std::min(p_.nic.missed, why.explained()), p_, snapshot.lcores,
                   snapshot.ticks_per_second);
    blame_the_queue(why);
    add(Cause::lcore_too_slow, Stage::lcore, why.busy, "packets",
        fmt::format("were lost before they could be fetched: lcore {} did not keep up (busy {} of the time, "
                    "{} of its bursts were full)",
                    why.busy_lcore, percent(why.most_busy), percent(why.most_full)),
        for_slow(why.busy_lcore));
    add(Cause::lcore_interrupted, Stage::lcore, why.interrupted, "packets",
        fmt::format("were lost before they could be fetched: lcore {} was off its CPU for up to {}{}",
                    why.interrupted_lcore, time_off(why.longest_s),
                    why.longest_s < kStopped ? ", because other work had it" : ""),
        with(keep_on_cpu(lcore_of(why.interrupted_lcore), p_, why.longest_s, advice_), or_wrong()));
    add(Cause::engine_too_slow, Stage::memory, why.engine_behind, "packets",
        fmt::format("were lost before they could be fetched: an engine had not moved enough payload to take "
                    "more ({} left packets in the queue)",
                    counted(p_.rx_gather_full, "polls")),
        Cures{"send less to this engine, or in larger packets",
              fmt::format("receive a stream of it without one ({} none)", advice_.named(kGather))});
    add(Cause::missed_at_start, Stage::port, why.at_start, "packets",
        "came when the port had started and no lcore fetched yet, and found its queue full",
        "no action is needed unless their number grows without a start of the port; for none, let the sender "
        "begin later");
    add(Cause::receive_ring_short, Stage::port, why.idle, "packets",
        p_.settings.socket_buffer != 0
            ? fmt::format("were lost before they could be fetched, although the lcore had time: more came at "
                          "once than its sockets hold, {} bytes each",
                          p_.settings.socket_buffer)
        : p_.rx_descriptors == 0
            ? std::string("were lost before they could be fetched, although the lcore had time")
            : fmt::format("were lost before they could be fetched, although the lcore had time: more came at "
                          "once than the {} packets that the port can queue",
                          p_.rx_descriptors),
        for_short_ring());
}

void PortFindings::no_buffers() {
    const StreamSnapshot* holder = nullptr;
    std::uint64_t held = 0;
    for (const StreamSnapshot& s : advice_.snapshot().streams)
        if (s.comes_by(p_.name) && s.held_now != 0) {
            held += s.held_now;
            if (holder == nullptr || s.held_now > holder->held_now)
                holder = &s;
        }
    std::string what = "the port had no buffer to receive into";
    if (p_.buffers)
        what += fmt::format(": down to {} of {} were free", p_.buffers->fewest_free, p_.buffers->size);
    if (held != 0)
        what += fmt::format(", and filters hold {}", held);
    Cures cures = holder == nullptr ? advice_.raise_buffer(p_) : Cures("give held packets back sooner");
    if (holder != nullptr)
        append(cures,
               holder->settings.held_buffers == 0
                   ? std::string("raise `held_buffers`")
                   : advice_.set_at_start(*holder, kHeldBuffers,
                                          value_text(kHeldBuffers, std::min(2 * holder->settings.held_buffers,
                                                                            kHeldBuffers.most))));
    if (p_.buffers && p_.buffers_near.times != 0)
        add(Cause::buffers_nearly_out, Stage::port, p_.buffers_near.times, "times",
            fmt::format("only {} of {} packet buffers were free{}: nothing was lost yet",
                        p_.buffers_near.of - p_.buffers_near.most, p_.buffers_near.of,
                        held == 0 ? std::string() : fmt::format(", and filters hold {}", held)),
            cures);
    add(Cause::no_buffers, Stage::port, p_.nic.no_mbuf, "times", std::move(what), std::move(cures));
}

std::string PortFindings::device_counts() const {
    return p_.settings.interface.empty()
               ? std::string("look at its own counters (ethtool -S, or xstats)")
               : fmt::format("look at its own counters: `ethtool -S {}`", shell_word(p_.settings.interface));
}

void PortFindings::nic_errors() {
    const std::uint64_t sending = std::min(p_.nic.send_errors, p_.nic.errors);
    add(Cause::nic_errors, Stage::port, p_.nic.errors - sending, "errors",
        "were counted by the device, in receiving",
        Cures{device_counts(), "look at cables and transceivers"});
    add(Cause::nic_errors, Stage::transmit, sending, "errors", "were counted by the device, in sending",
        Cures{device_counts(), "see whether the packets fit its MTU"});
}

/// Returns the address of a sender, as far as it is known.
std::string PortFindings::sender_of_strays(const TalkerSnapshot& t) const {
    return is_address(t.source) || p_.strays.empty() || 2 * p_.strays.front().packets <= t.packets
               ? t.source
               : p_.strays.front().source;
}

/// Finds other traffic. It is normal on a port, so it is reported only if a stream gets nothing, or hardly
/// anything; or if a stream lacks senders, and packets go to a destination beside its endpoints.
void PortFindings::unmatched() {
    const std::uint64_t count = of(p_, PortOutcome::unmatched);
    if (count == 0)
        return;
    std::vector<std::string> without;
    std::vector<std::string> lacking;
    const StreamSnapshot* waiting = nullptr;
    const StreamSnapshot* beside = nullptr;
    const StreamSnapshot* any = nullptr;
    for (const StreamSnapshot& s : advice_.snapshot().streams) {
        if (!s.comes_by(p_.name))
            continue;
        any = any == nullptr ? &s : any;
        if (lacks_senders(s) && !Advice::destination_beside(s, p_).empty()) {
            beside = beside == nullptr ? &s : beside;
            lacking.push_back(s.name);
        }
        if (!waits_for_packets(s))
            continue;
        waiting = waiting == nullptr ? &s : waiting;
        without.push_back(s.name);
    }
    if (without.empty() && lacking.empty() && count <= of(p_, PortOutcome::stream))
        return;
    std::string from;
    for (const TalkerSnapshot& t : p_.talkers)
        if (t.stream.empty() && from.empty())
            from = fmt::format(", {}from {}", count == 1 ? "" : "most of them ", sender_of_strays(t));
    // In the order of the names, so that the sentence stays while two of them take turns.
    std::vector<std::string> seen;
    for (const PassedSnapshot& s : p_.strays)
        if (s.packets > count / kMostNamed)
            seen.push_back(s.endpoint);
    std::ranges::sort(seen);
    const StreamSnapshot* const stream = waiting != nullptr ? waiting : beside != nullptr ? beside : any;
    std::string meanwhile;
    if (!without.empty())
        meanwhile = fmt::format(", while {} received nothing", fmt::join(without, ", "));
    if (!lacking.empty())
        meanwhile += fmt::format("{} {} {} packets", without.empty() ? ", while" : ", and",
                                 fmt::join(lacking, ", "), word_for(lacking.size(), "lacks", "lack"));
    add(Cause::unmatched, Stage::classify, count, "packets",
        fmt::format("were for groups, ports or sources that no stream names{}{}{}", from,
                    seen.empty() ? std::string() : fmt::format(" to {}", fmt::join(seen, ", ")), meanwhile),
        stream == nullptr ? Cures("compare the endpoints with the sender's destinations")
                          : advice_.receive_strays(*stream, p_));
}

}  // namespace

std::vector<Finding> port_findings(const PortSnapshot& p, const Advice& advice) {
    return PortFindings(p, advice).all();
}

}  // namespace spead::stats
