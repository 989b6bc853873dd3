// SPDX-License-Identifier: BSD-3-Clause
#include "stats/chunk_findings.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/endpoint.hpp"
#include "base/outcome.hpp"
#include "base/shared_directory.hpp"
#include "base/shell_word.hpp"
#include "base/units.hpp"
#include "stats/loss_clues.hpp"
#include "stats/path_findings.hpp"
#include "stats/phrases.hpp"
#include "stats/sink_findings.hpp"
#include "stats/stream_cures.hpp"
#include "stats/stream_senders.hpp"

namespace spead::stats {

namespace {

std::uint64_t packets_of(const StreamSnapshot& s, PacketOutcome outcome) {
    return s.packets[static_cast<std::size_t>(outcome)];
}

/// Names what is wrong with a packet that the placement refuses, and the part of the placement to look at.
struct Refusal {
    PacketOutcome outcome;
    const char* what;
    const char* fix;
};
constexpr std::array kRefusals{
    Refusal{PacketOutcome::no_item, "lack an item that the placement needs",
            "compare the item ids of `placement` with those that the sender puts into its packets"},
    Refusal{
        PacketOutcome::bad_length, "are of heaps with another length than the placement says",
        "compare `heap` in `placement` with the sender's heap length. The first heap of a sender is longer "
        "if "
        "descriptors are in it (`send --verify` puts them there): that is no fault, and only that heap has "
        "no place"},
    Refusal{PacketOutcome::bad_step, "have a value between two steps of the placement, or not in its list",
            "compare the divisors and lists of `placement` with the sender's values"},
    Refusal{PacketOutcome::out_of_range, "have a value beyond an axis of the placement",
            "compare the counts of the axes in `placement` with the sender's values"},
    Refusal{PacketOutcome::rejected, "were refused by the place callback, or got an impossible place",
            "look at the callback"},
};

/// Holds the chunks in a row without a place that are worth a word: one may be lost as a whole.
constexpr std::uint64_t kInARow = 2;

/// Returns the chunks in a row, up to the last, that lack a place of the axis; of the place with most.
std::uint64_t longest_silence(const AxisPresence& axis) {
    std::uint64_t longest = 0;
    for (const AxisPresence::Entry& e : axis.entries)
        longest = std::max(longest, e.nothing);
    return longest;
}

/// Joins parts: "1", "1 and 3", "1, 3 and 17".
std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); i++)
        text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return text;
}

/// Returns the place of an axis that most of the missing heaps belong to, as "pol 1"; empty: there is none.
/// On an axis of few places a loss at random seems to prefer one, so more of them are asked for.
std::string place_of_most(const StreamSnapshot& s) {
    for (const AxisPresence& axis : s.axes) {
        std::uint64_t all = 0;
        for (const AxisPresence::Entry& e : axis.entries)
            all += e.missing;
        for (std::size_t i = 0; i < axis.entries.size(); i++)
            if (2 * axis.entries[i].missing * axis.places > all * (axis.places + 1) && axis.width == 1)
                return fmt::format("{} {}", axis.name, i);
    }
    return {};
}

class ChunkFindings {
  public:
    ChunkFindings(const StreamSnapshot& s, std::uint64_t missed, const Advice& advice)
        : s_(s), missed_(missed), advice_(advice), tracked_(s.heaps_started != 0) {}

    std::vector<Finding> all() {
        for (const Refusal& r : kRefusals)
            add(Cause::misplaced, Stage::packet,
                packets_of(s_, r.outcome) - (r.outcome == PacketOutcome::no_item ? all_cut_packets() : 0),
                "packets", r.what, fixes_of(r));
        callback_slow();
        cut_otherwise();
        max_live();
        late();
        future();
        no_chunk();
        // The rest is true of all streams that fill the chunks, and is said once.
        if (!s_.chunks_counted_with.empty())
            return std::move(all_);
        missing();
        for (const AxisPresence& axis : s_.axes)
            silent_places(axis);
        add(Cause::device_error, Stage::memory, s_.chunks.device_error, "chunks",
            "were lost because the engine that moves their payload failed, or stood still at the end of the "
            "run",
            fmt::format("look in the log for what failed, and start the run anew; {} none needs no engine",
                        advice_.named(kGather)));
        std::ranges::move(unwritten_findings(s_, s_.chunks.unwritten, "chunks", advice_),
                          std::back_inserter(all_));
        return std::move(all_);
    }

  private:
    void add(Cause cause, Stage stage, std::uint64_t count, std::string_view unit, std::string what,
             Cures cures) {
        if (count != 0)
            all_.push_back({cause, stage, s_.name, count, unit, std::move(what), std::move(cures)});
    }

    /// Returns the packets without the items of their heaps, whose first ones came before a change.
    std::uint64_t cut_packets() const {
        return std::min(s_.cut_at_start.packets, packets_of(s_, PacketOutcome::no_item));
    }
    /// Returns the same with those whose first ones came before their endpoint was received.
    std::uint64_t all_cut_packets() const {
        return std::min(s_.cut_at_start.packets + s_.cut_at_start.packets_by_join,
                        packets_of(s_, PacketOutcome::no_item));
    }

    Cures fixes_of(const Refusal& r) const {
        Cures cures;
        // The second packet of the first heap tells that only first ones have the items.
        if (r.outcome == PacketOutcome::no_item && tracked_)
            cures.push_back("if they came at the start, let the stream not begin the direct way: " + track());
        cures.push_back(r.fix);
        if (r.outcome == PacketOutcome::rejected || s_.settings.placement.empty())
            return cures;
        if (const std::string look = see_packets(); !look.empty())
            cures.push_back(look);
        cures.push_back("correct the placement: " + advice_.set(s_, kPlacement, "PLACEMENT"));
        return cures;
    }

    /// Returns the action that lets the stream go the tracked way. A program says so in the placement.
    std::string track() const {
        return s_.settings.by_program ? std::string("declare its placement `tracked`")
                                      : advice_.set(s_, kWay, "tracked");
    }

    /// Returns the action that shows what is in the packets; empty: there is none.
    std::string see_packets() const {
        const std::string file = fmt::format("{}/{}.pcap", shared_directory(), s_.name);
        const std::string capture =
            advice_.prompt(fmt::format("capture start {} {} capture.count 20", s_.name, advice_.word(file)));
        return capture.empty() ? capture
                               : fmt::format("see what the packets hold: {}, then run `tcpdump -nXr {}`",
                                             capture, shell_word(file));
    }

    void callback_slow() {
        const std::uint64_t times = s_.events[static_cast<std::size_t>(StreamEvent::callback_slow)];
        const std::uint64_t heaps = s_.chunks.callback_heaps;
        add(Cause::callback_slow, Stage::lcore, times, "times",
            fmt::format("its place callback took over a quarter of an lcore's time ({} cycles for a heap)",
                        heaps == 0 ? 0 : s_.chunks.callback_cycles / heaps),
            "do less in it, or use more lcores");
    }

    void cut_otherwise() {
        const std::uint64_t count = packets_of(s_, PacketOutcome::inconsistent);
        if (tracked_ && s_.odd_packet == 0)
            return add(Cause::contradictions, Stage::packet, count, "packets",
                       "contradict others of their heap", "give each sender heap counts of its own");
        std::string sizes;
        if (s_.usual_packet != 0)
            sizes = s_.odd_packet == s_.usual_packet
                        ? std::string(": one begins inside of another")
                        : fmt::format(": one has {} bytes of payload, and those before it have {}",
                                      s_.odd_packet, s_.usual_packet);
        add(Cause::contradictions, Stage::packet, count, "packets",
            "are cut otherwise than the first ones of the stream" + sizes,
            Cures{"if only the first packet of a heap has its items: " + track(),
                  "otherwise let all senders use packets of the same size, and name it in `placement` "
                  "(`presence "
                  "packet`)",
                  "after a change of the size, " + advice_.begin_anew(s_)});
    }

    void max_live() {
        add(Cause::max_live_too_small, Stage::window, s_.heaps_interleaved_evictions, "heaps",
            "were given up while their packets still came: more of them arrive at the same time than are "
            "tracked",
            advice_.raise(s_, kMaxLive));
    }

    /// Returns the packets that were too far behind the open chunks.
    std::uint64_t long_past() const {
        return std::min(s_.chunks.long_past, packets_of(s_, PacketOutcome::late));
    }

    /// Returns how many chunks more than now the machine has no memory for; 0: it has, or nobody knows.
    std::uint64_t too_many(std::uint64_t wanted) const {
        const std::uint64_t now = s_.settings.chunks;
        const std::uint64_t more = std::min(wanted, kChunks.most) - std::min(wanted, now);
        const std::uint64_t free = advice_.snapshot().settings.memory_free;
        const std::uint64_t each = s_.chunks.buffer_bytes;
        // Other programs keep what they need.
        return now != 0 && free != 0 && each != 0 && more > free / 2 / each ? more : 0;
    }

    /// Returns the action that gives the stream so many chunks, or memory for them.
    std::string more_chunks(std::uint64_t wanted) const {
        const std::uint64_t more = too_many(wanted);
        if (more == 0)
            return advice_.raise_to(s_, kChunks, wanted);
        return fmt::format("free memory on this machine: {} more chunks need {}, and {} is free", more,
                           human_size(more * s_.chunks.buffer_bytes),
                           human_size(advice_.snapshot().settings.memory_free));
    }

    /// Returns the actions that keep chunks open for longer. There are more chunks than the window has.
    Cures wider_window() const {
        const std::uint64_t wider = std::min(2 * s_.settings.window, kWindow.most);
        Cures cures;
        const bool needs_chunks = s_.settings.window != 0 && wider >= s_.settings.chunks;
        if (needs_chunks)
            cures.push_back(more_chunks(2 * wider));
        if (std::string wide = advice_.raise(s_, kWindow);
            !wide.empty() && !(needs_chunks && too_many(2 * wider) != 0))
            cures.push_back(std::move(wide));
        cures.push_back("find out why these senders are behind the others");
        return cures;
    }

    void late() {
        const std::uint64_t count = packets_of(s_, PacketOutcome::late) - long_past();
        const bool timed_out = tracked_ && s_.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)] != 0;
        const Cures cures = s_.heaps_interleaved_evictions != 0 ? Cures(advice_.raise(s_, kMaxLive))
                            : timed_out                         ? Cures(advice_.lengthen(s_, kHeapTimeout))
                            : s_.chunks.timed_out != 0          ? Cures(advice_.lengthen(s_, kChunkTimeout))
                            : s_.chunks.out_waited != 0         ? Cures{advice_.lengthen(s_, kChunkPatience),
                                                                "give each lcore a CPU of its own"}
                                                                : wider_window();
        add(Cause::late, Stage::window, count, "packets",
            fmt::format("came after their chunk had been handed over{}{}{}",
                        tracked_ ? ", or their heap given up" : "", late_path(s_, "chunks"),
                        sources_text(advice_.snapshot(), s_.late_sources, count)),
            cures);
    }

    void future() {
        const std::uint64_t ahead = packets_of(s_, PacketOutcome::future);
        const std::uint64_t behind = long_past();
        FewSources sources = s_.future_sources;
        if (ahead == 0)
            sources = s_.late_sources;
        add(Cause::future, Stage::window, ahead + behind, "packets",
            fmt::format("were too far {} the open chunks to be believed{}",
                        ahead == 0    ? "behind"
                        : behind == 0 ? "ahead of"
                                      : fmt::format("from ({} ahead of, {} behind)", ahead, behind),
                        sources_text(advice_.snapshot(), sources, ahead + behind)),
            follow_jump(sources));
    }

    Cures follow_jump(const FewSources& sources) const {
        std::vector<std::string> hosts;
        for (const FewSources::Source& s : sources.sorted())
            if (s.count != 0)
                hosts.push_back(name_of_sender(advice_.snapshot(), s.address));
        return {hosts.empty()
                    ? std::string("look for a wrong clock at the senders: `chronyc tracking` shows it there")
                    : fmt::format("look for a wrong clock at {}: `chronyc tracking` shows it there",
                                  joined(hosts)),
                "if their time is right, wait: the window follows when half of the sources jump",
                "or let it follow any packet: " + advice_.set(s_, kMaxJump, "0")};
    }

    void no_chunk() {
        const std::uint64_t count = packets_of(s_, PacketOutcome::no_chunk);
        if (s_.chunks.short_of == 0)
            return add(Cause::no_chunk, Stage::window, count, "packets",
                       "came while another lcore was opening their chunk",
                       "give each lcore a CPU of its own");
        const double load = s_.chunks.consumer_load();
        const std::string what = "came when free chunks had run out";
        if (load <= 1)
            return add(Cause::no_chunk, Stage::consumer, count, "packets", what,
                       more_chunks(2 * s_.settings.chunks));
        add(Cause::no_chunk, Stage::consumer, count, "packets",
            fmt::format("{}: the consumer takes {:.1f} times as long as a chunk lasts", what, load),
            faster_chunks());
    }

    /// Returns the actions for a consumer that is always too slow: more chunks would only help if it paused.
    Cures faster_chunks() const {
        return s_.settings.directory.empty() && s_.settings.ring.empty() ? Cures("do less per chunk")
                                                                         : faster_consumer(s_, advice_);
    }

    /// Finds missing heaps that losses on this machine do not explain: a packet that was lost or refused
    /// leaves at most one heap incomplete.
    void missing() {
        // Heaps that a change has cut are not among the explained ones, and those of a join are not missing:
        // the first chunks count as cut.
        const std::uint64_t explained = missed_ + lost_packets_of_chunks(s_) - all_cut_packets();
        const std::uint64_t unexplained =
            s_.chunks.heaps_missing - std::min(explained, s_.chunks.heaps_missing);
        const std::string_view beyond = beyond_losses_here(explained != 0);
        const std::uint64_t by_change =
            std::min(unexplained, std::max(s_.cut_at_start.by_change, cut_packets()));
        add(Cause::cut_by_change, Stage::window, by_change + s_.cut_at_start.in_chunks, "heaps",
            fmt::format("are missing in chunks {}: {}", beyond, kUnderWay), std::string(kNothingToDo));
        const std::uint64_t by_join = std::min(unexplained - by_change, s_.cut_at_start.by_join);
        add(Cause::cut_by_join, Stage::network, by_join, "heaps",
            fmt::format("are missing in chunks {}: the chunks had begun before all of their streams had",
                        beyond),
            "no action is needed unless their number grows");
        if (unexplained == 0)
            return;
        const std::string most = place_of_most(s_);
        const LossClue others = clue_of_others(advice_.snapshot(), s_);
        const std::uint64_t lost = unexplained - by_change - by_join;
        add(Cause::network_loss, Stage::network, lost, "heaps",
            fmt::format("are missing in chunks {}: their packets did not arrive{}{}{}", beyond,
                        most.empty() ? ""
                        : lost == 1  ? ", of "
                                     : ", most of them of ",
                        most, most.empty() ? others.clause() : std::string()),
            against_loss(most, others));
    }

    Cures against_loss(const std::string& most, const LossClue& others) const {
        if (!most.empty())
            return with(sent_beside(), fmt::format("look at the sender of {}, and at its way here", most));
        Cures cures = with_clue(others, where_packets_went(s_, advice_));
        cures.push_back("look at the senders' own losses, and send in smaller bursts " +
                        advice_.burst_size());
        cures.push_back("look for drops in the switches on the way");
        return cures;
    }

    /// Names places of which the last chunks had nothing.
    void silent_places(const AxisPresence& axis) {
        const std::uint64_t longest = longest_silence(axis);
        if (longest < kInARow)
            return;
        const std::string where =
            places_text(axis, [&](std::size_t i) { return axis.entries[i].nothing >= kInARow; });
        const bool always = longest >= axis.all_chunks;
        add(Cause::place_silent, Stage::network, longest, "chunks",
            fmt::format("in a row, up to the last one, had {} of {}{}",
                        tracked_ ? "no whole heap" : "nothing", where, always ? ": it has never come" : ""),
            with(
                sent_beside(),
                always
                    ? "compare the axis in `placement` with the senders, and look at the sender of that place"
                    : "look at the sender of that place, and at its way here"));
    }

    /// Returns the action for places whose packets may have another destination, which a port has a finding
    /// of; empty: there is none.
    std::string sent_beside() const {
        if (lacks_place(s_))
            for (const PortSnapshot& p : advice_.snapshot().ports)
                if (const std::string there = Advice::destination_beside(s_, p);
                    s_.comes_by(p.name) && !there.empty())
                    return fmt::format(
                        "see the finding of {} first: packets for {} come to it, and no stream takes them",
                        p.name, there);
        return {};
    }

    const StreamSnapshot& s_;
    std::uint64_t missed_;
    const Advice& advice_;
    bool tracked_;  ///< its heaps were followed, for a while at least
    std::vector<Finding> all_;
};

}  // namespace

std::string sources_text(const Snapshot& snapshot, const FewSources& sources, std::uint64_t packets) {
    std::vector<std::string> parts;
    for (const FewSources::Source& s : sources.sorted())
        if (s.count != 0)
            parts.push_back(name_of_sender(snapshot, s.address));
    if (parts.empty())
        return {};
    return (packets == 1 ? ", from " : ", most of them from ") + joined(parts);
}

std::string places_text(const AxisPresence& axis, const std::function<bool(std::size_t)>& is_wanted) {
    constexpr std::size_t kMost = 4;
    std::vector<std::string> parts;
    std::uint64_t more = 0;
    for (std::size_t i = 0; i < axis.entries.size(); i++) {
        if (!is_wanted(i))
            continue;
        const std::uint64_t first = axis.first(i);
        while (i + 1 < axis.entries.size() && is_wanted(i + 1))
            i++;
        const std::uint64_t last = axis.past(i) - 1;
        if (parts.size() == kMost)
            more += last - first + 1;
        else
            parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    }
    if (more != 0)
        parts.push_back(fmt::format("{} more", more));
    return axis.name + ' ' + joined(parts);
}

std::uint64_t lost_packets_of_chunks(const StreamSnapshot& s) {
    std::uint64_t lost = s.heaps_interleaved_evictions;
    for (const PacketOutcome o : {PacketOutcome::no_memory,    PacketOutcome::oversize,
                                  PacketOutcome::heap_too_big, PacketOutcome::malformed,
                                  PacketOutcome::inconsistent, PacketOutcome::out_of_order,
                                  PacketOutcome::filtered,     PacketOutcome::late,
                                  PacketOutcome::no_item,      PacketOutcome::bad_length,
                                  PacketOutcome::bad_step,     PacketOutcome::out_of_range,
                                  PacketOutcome::rejected,     PacketOutcome::no_chunk,
                                  PacketOutcome::future,       PacketOutcome::held,
                                  PacketOutcome::captured,     PacketOutcome::capture_full,
                                  PacketOutcome::invalid,      PacketOutcome::header_in_device})
        lost += packets_of(s, o);
    return lost;
}

bool lacks_place(const StreamSnapshot& s) {
    return std::ranges::any_of(s.axes, [](const AxisPresence& axis) {
        const std::uint64_t longest = longest_silence(axis);
        return longest >= kInARow && longest >= axis.all_chunks;
    });
}

std::vector<Finding> chunk_findings(const StreamSnapshot& s, std::uint64_t missed, const Advice& advice) {
    return ChunkFindings(s, missed, advice).all();
}

}  // namespace spead::stats
