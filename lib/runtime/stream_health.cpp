// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_health.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/units.hpp"

namespace spead::runtime {

using stats::StreamEvent;

bool is_bad(StreamEvent e) {
    return e != StreamEvent::back && e != StreamEvent::recovered && e != StreamEvent::unstuck &&
           e != StreamEvent::path_back;
}

std::string sentence_of(const std::string& stream, const stats::LastEvent& event) {
    const char* const what =
        event.kind == StreamEvent::stuck || event.kind == StreamEvent::unstuck ? "send" : "stream";
    // Some have sentences of their own; the others are states of the stream.
    return is_bad(event.kind) && event.kind != StreamEvent::sink_failed &&
                   event.kind != StreamEvent::capture_failed && event.kind != StreamEvent::callback_slow &&
                   event.kind != StreamEvent::resync && event.kind != StreamEvent::path_silent
               ? fmt::format("{} {} is {}: {}", what, stream, name_of(event.kind), event.text)
               : fmt::format("{} {}: {}", what, stream, event.text);
}

StreamHealth::Counts StreamHealth::counts_of(const stats::StreamSnapshot& s) {
    Counts c;
    c.packets = s.received;
    c.bytes = s.bytes;
    c.counted_with = s.chunks_counted_with;
    c.path_ports = s.path_ports;
    for (std::size_t path = 0; path < s.path_ports.size(); path++)
        c.path_packets[path] = s.paths[path].packets;
    // Losses of chunks that several streams fill are reported once.
    if (!s.chunks_counted_with.empty())
        return c;
    c.cut = s.cut_at_start.by_change + s.cut_at_start.by_join;
    if (s.chunks.buffers != 0) {
        c.heaps = s.chunks.heaps_expected - std::min(s.chunks.heaps_expected, s.chunks.heaps_cut) +
                  s.chunks.heaps_skipped;
        c.lost = s.chunks.heaps_missing + s.chunks.heaps_device_error + s.chunks.heaps_skipped;
        return c;
    }
    for (const std::uint64_t n : s.heaps_ended)
        c.heaps += n;
    c.lost = s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] +
             s.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)] + s.heaps_dropped_full +
             s.heaps_device_error;
    return c;
}

void StreamHealth::expect(const HealthLimits& limits) {
    limits_ = limits;
    begun_ = silent_ = losing_ = slow_ = false;
    paths_ = {};
}

std::vector<stats::LastEvent> StreamHealth::update(double now, const Counts& counts) {
    // A stream that gets chunks, or loses them, counts other heaps from then on. One that reports for a group
    // from now on has all losses of the group's past.
    if (!begun_ || counts.packets < packets_ || counts.heaps < interval_counts_.heaps ||
        counts.lost < interval_counts_.lost || counts.counted_with != interval_counts_.counted_with)
        begin(now, counts);
    listen(now, counts);
    listen_to_paths(now, counts);
    judge(now, counts);
    return std::exchange(news_, {});
}

void StreamHealth::begin(double now, const Counts& counts) {
    begun_ = true;
    packets_ = counts.packets;
    last_packet_ = interval_ = now;
    interval_counts_ = counts;
    for (std::size_t path = 0; path < paths_.size(); path++)
        paths_[path] = {counts.path_packets[path], now, {}, false};
}

/// Detects that one path is silent while the other one is not, and the end of that. The time begins with the
/// other one's first packet, and begins anew after a pause of that: a stream that pauses says nothing about
/// its paths.
void StreamHealth::listen_to_paths(double now, const Counts& counts) {
    static_assert(stats::kMaxPaths == 2);
    constexpr double kPause = 0.2;  // several looks
    const double patience = limits_.path_silent_after;
    const std::array<Path, stats::kMaxPaths> before = paths_;
    for (std::size_t i = 0; i < counts.path_ports.size(); i++) {
        Path& path = paths_[i];
        const Path& other = before[1 - i];
        path.packets = counts.path_packets[i];
        if (path.packets != before[i].packets) {
            path.behind_since.reset();
            if (std::exchange(path.silent, false))
                raise(StreamEvent::path_back, now,
                      fmt::format("its path by port {} brings packets again after {:.1f} s",
                                  counts.path_ports[i], now - path.last));
            path.last = now;
            continue;
        }
        if (counts.path_packets[1 - i] == other.packets)
            continue;
        if (!path.behind_since || now - other.last >= std::max(patience, kPause))
            path.behind_since = now;
        if (patience > 0 && !path.silent && now - *path.behind_since >= patience) {
            path.silent = true;
            raise(
                StreamEvent::path_silent, now,
                fmt::format("its path by port {} has brought no packet for {:.1f} s, and the other one has; "
                            "a loss on that one is final now",
                            counts.path_ports[i], now - path.last));
        }
    }
}

/// Detects silence and its end.
void StreamHealth::listen(double now, const Counts& counts) {
    if (counts.packets != packets_) {
        packets_ = counts.packets;
        if (silent_) {
            silent_ = false;
            raise(StreamEvent::back, now,
                  fmt::format("packets come again after {:.1f} s", now - last_packet_));
            // The evaluation begins with them.
            interval_ = now;
            interval_counts_ = counts;
        }
        last_packet_ = now;
    } else if (limits_.silent_after > 0 && !silent_ && now - last_packet_ >= limits_.silent_after) {
        silent_ = true;
        raise(StreamEvent::silent, now, fmt::format("no packet for {:.1f} s", now - last_packet_));
    }
}

/// Evaluates an interval when it is over.
void StreamHealth::judge(double now, const Counts& counts) {
    const double seconds = now - interval_;
    if (seconds < kInterval)
        return;
    const std::uint64_t heaps = counts.heaps - interval_counts_.heaps;
    const std::uint64_t incomplete = counts.lost - interval_counts_.lost;
    const std::uint64_t cut = std::min(incomplete, counts.cut - std::min(counts.cut, interval_counts_.cut));
    const std::uint64_t lost = incomplete - cut;
    // A heap that ends without payload takes its bytes back (heap/window_stop.cpp).
    const std::uint64_t bytes = counts.bytes - std::min(counts.bytes, interval_counts_.bytes);
    const double rate = static_cast<double>(bytes) / seconds;
    const bool had_begun = interval_counts_.packets != 0;
    interval_ = now;
    interval_counts_ = counts;
    if (silent_)
        return;
    const bool was_bad = losing_ || slow_;
    if (limits_.loss_threshold > 0 && heaps != 0) {
        const double part = static_cast<double>(lost) / static_cast<double>(heaps);
        if (!losing_ && part > limits_.loss_threshold) {
            losing_ = true;
            raise(StreamEvent::losing, now,
                  fmt::format(
                      "{} of {} {} lost within {:.1f} s, more than {:g} %{}", lost, counted(heaps, "heaps"),
                      word_for(lost, "was", "were"), seconds, limits_.loss_threshold * 100,
                      cut == 0 ? std::string()
                               : fmt::format("; the join of a group, or a change, cut {} more", cut)));
        } else if (losing_ && part <= limits_.loss_threshold / 2) {
            losing_ = false;
        }
    }
    // Nothing is slow before the first packet, nor in the second that it comes in.
    if (limits_.expected_rate > 0 && had_begun) {
        if (!slow_ && rate < kSlow * limits_.expected_rate) {
            slow_ = true;
            raise(StreamEvent::slow, now,
                  fmt::format("{} come, and {} are expected", human_bit_rate(rate),
                              human_bit_rate(limits_.expected_rate)));
        } else if (slow_ && rate >= kFast * limits_.expected_rate) {
            slow_ = false;
        }
    }
    if (was_bad && !losing_ && !slow_)
        raise(StreamEvent::recovered, now, fmt::format("recovered: {} come", human_bit_rate(rate)));
}

void StreamHealth::raise(StreamEvent kind, double now, std::string text) {
    events_[static_cast<std::size_t>(kind)]++;
    last_ = stats::LastEvent{kind, now, std::move(text)};
    news_.push_back(*last_);
}

std::string StreamHealth::state() const {
    if (!limits_.any())
        return {};
    if (silent_)
        return "silent";
    std::vector<std::string_view> all;
    if (losing_)
        all.push_back("losing");
    if (slow_)
        all.push_back("slow");
    if (std::any_of(paths_.begin(), paths_.end(), [](const Path& path) { return path.silent; }))
        all.push_back("path_silent");
    return all.empty() ? "ok" : fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace spead::runtime
