// SPDX-License-Identifier: BSD-3-Clause
#include "stats/finding.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"

namespace spead::stats {

namespace {

struct Forms {
    std::string_view several;
    std::string_view one;
};

/// Lists the verbs that `what` begins with, or that follow "they", and that have another form for one.
constexpr std::array kVerbs{Forms{"were", "was"},     Forms{"are", "is"},
                            Forms{"have", "has"},     Forms{"lack", "lacks"},
                            Forms{"break", "breaks"}, Forms{"contradict", "contradicts"}};
/// Lists the other words in it that stand for the counted things.
constexpr std::array kPronouns{Forms{"they", "it"}, Forms{"their", "its"}};

/// Returns what is said of several, as it is said of one.
std::string said_of_one(std::string_view what) {
    std::string text;
    bool is_verb = true;
    for (std::size_t at = 0; at < what.size();) {
        const std::size_t end = std::min(what.find(' ', at), what.size());
        std::string_view word = what.substr(at, end - at);
        const auto put = [&](const auto& forms) {
            const auto found =
                std::ranges::find_if(forms, [&word](const Forms& f) { return f.several == word; });
            if (found != forms.end())
                word = found->one;
        };
        if (is_verb)
            put(kVerbs);
        is_verb = word == "they";
        put(kPronouns);
        text += word;
        at = end;
        for (; at < what.size() && what[at] == ' '; at++)
            text += ' ';
    }
    return text;
}

}  // namespace

std::string_view name_of(Stage stage) {
    static constexpr std::array<std::string_view, 9> kNames{
        "network", "port", "lcore", "classify", "packet", "window", "memory", "consumer", "transmit"};
    static_assert(kNames.size() == static_cast<std::size_t>(Stage::transmit) + 1);
    return kNames[static_cast<std::size_t>(stage)];
}

std::string_view name_of(Cause cause) {
    static constexpr std::array<std::string_view, 55> kNames{"network_loss",
                                                             "cut_by_join",
                                                             "cut_by_change",
                                                             "nothing_came",
                                                             "path_silent",
                                                             "path_loss",
                                                             "path_behind",
                                                             "duplicates",
                                                             "fragments",
                                                             "datagrams_incomplete",
                                                             "too_many_fragments",
                                                             "reassembly_full",
                                                             "bad_checksums",
                                                             "gso_frames",
                                                             "receive_ring_short",
                                                             "missed_at_start",
                                                             "no_buffers",
                                                             "buffers_nearly_out",
                                                             "nic_errors",
                                                             "lcore_too_slow",
                                                             "lcore_silent",
                                                             "lcore_held_up",
                                                             "engine_stalled",
                                                             "engine_too_slow",
                                                             "lcore_interrupted",
                                                             "unmatched",
                                                             "not_spead",
                                                             "not_in_format",
                                                             "marked_invalid",
                                                             "header_in_device",
                                                             "packets_too_large",
                                                             "heaps_too_large",
                                                             "contradictions",
                                                             "out_of_order",
                                                             "max_live_too_small",
                                                             "late",
                                                             "ghosts",
                                                             "heap_limits",
                                                             "pool_too_small",
                                                             "pool_nearly_full",
                                                             "consumer_holds_pool",
                                                             "device_error",
                                                             "consumer_too_slow",
                                                             "queue_nearly_full",
                                                             "callback_slow",
                                                             "misplaced",
                                                             "future",
                                                             "place_silent",
                                                             "no_chunk",
                                                             "sink_failed",
                                                             "sink_full",
                                                             "sink_no_place",
                                                             "send_timeout",
                                                             "port_takes_nothing",
                                                             "impaired"};
    static_assert(kNames.size() == static_cast<std::size_t>(Cause::impaired) + 1);
    return kNames[static_cast<std::size_t>(cause)];
}

std::string_view name_of(Kind kind) {
    static constexpr std::array<std::string_view, 3> kNames{"loss", "warning", "note"};
    return kNames[static_cast<std::size_t>(kind)];
}

Kind kind_of(Cause cause) {
    switch (cause) {
        case Cause::lcore_held_up:
        case Cause::buffers_nearly_out:
        case Cause::pool_nearly_full:
        case Cause::queue_nearly_full:
            return Kind::warning;
        case Cause::cut_by_join:
        case Cause::cut_by_change:
        case Cause::missed_at_start:
        case Cause::impaired:
            return Kind::note;
        default:
            return Kind::loss;
    }
}

std::string_view Finding::unit_text() const noexcept {
    return noun_for(count, unit);
}

std::string Finding::what_text() const {
    return count == 1 ? said_of_one(what) : what;
}

std::string Finding::sentence() const {
    return loss(0) + joined_cures();
}

std::string Finding::sentence(double now) const {
    return loss(0) + joined_cures() + last_clause(now);
}

std::string Finding::loss(double now) const {
    std::string text = fmt::format("{}: {} {} {}", where, count, unit_text(), what_text());
    if (until_s > 0)
        text += fmt::format(" (until {} was changed after {:.1f} s of the run)", where, until_s);
    return text + last_clause(now);
}

std::string Finding::joined_cures() const {
    return until_s > 0 || cures.empty() ? std::string() : fmt::format("; {}", fmt::join(cures, "; "));
}

std::string Finding::last_clause(double now) const {
    return until_s == 0 && last_s > 0 && now - last_s > kLately
               ? fmt::format(" (last after {:.1f} s of the run)", last_s)
               : std::string();
}

}  // namespace spead::stats
