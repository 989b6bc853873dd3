// SPDX-License-Identifier: BSD-3-Clause
#include "stats/finding.hpp"

#include <array>

#include <fmt/core.h>

namespace spead::stats {

std::string_view name_of(Stage stage) {
    static constexpr std::array<std::string_view, 9> kNames{
        "network", "port", "lcore", "classify", "packet", "window", "memory", "consumer", "transmit"};
    static_assert(kNames.size() == static_cast<std::size_t>(Stage::transmit) + 1);
    return kNames[static_cast<std::size_t>(stage)];
}

std::string_view name_of(Cause cause) {
    static constexpr std::array<std::string_view, 41> kNames{
        "network_loss",    "cut_by_join",       "nothing_came",       "duplicates",
        "fragments",       "bad_checksums",     "gso_frames",         "receive_ring_short",
        "no_buffers",      "nic_errors",        "lcore_too_slow",     "lcore_silent",
        "engine_too_slow", "lcore_interrupted", "unmatched",          "not_spead",
        "not_in_format",   "marked_invalid",    "packets_too_large",  "heaps_too_large",
        "contradictions",  "out_of_order",      "max_live_too_small", "late",
        "ghosts",          "heap_limits",       "pool_too_small",     "consumer_holds_pool",
        "device_error",    "consumer_too_slow", "callback_slow",      "misplaced",
        "future",          "place_silent",      "no_chunk",           "sink_failed",
        "sink_full",       "sink_no_place",     "send_timeout",       "port_takes_nothing",
        "impaired"};
    static_assert(kNames.size() == static_cast<std::size_t>(Cause::impaired) + 1);
    return kNames[static_cast<std::size_t>(cause)];
}

std::string Finding::sentence() const {
    if (until_s > 0)
        return fmt::format("{}: {} {} {} (until {} was changed after {:.1f} s of the run)", where, count,
                           unit, what, where, until_s);
    return fmt::format("{}: {} {} {}; {}", where, count, unit, what, fix);
}

std::string Finding::sentence(double now) const {
    std::string text = sentence();
    if (until_s == 0 && last_s > 0 && now - last_s > kLately)
        text += fmt::format(" (last after {:.1f} s of the run)", last_s);
    return text;
}

}  // namespace spead::stats
