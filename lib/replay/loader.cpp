// SPDX-License-Identifier: BSD-3-Clause
#include "replay/loader.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "wire/net.hpp"

namespace spead::replay {

namespace {
/// Limits a frame: mbufs count their bytes in 16 bits.
constexpr std::uint32_t kLongestFrame = 65535;
/// Holds the alignment of frames. Rounding up costs less than a record's header, so frames take no more
/// memory than their files.
constexpr std::size_t kAlignment = 16;
}  // namespace

Loader::Loader(const std::vector<std::string>& files, Order order, RewriteRules rules,
               std::uint32_t longest_frame, const std::string& where)
    : where_(where),
      order_(order),
      rules_(std::move(rules)),
      longest_(std::min(longest_frame == 0 ? kLongestFrame : longest_frame, kLongestFrame)) {
    for (const std::string& file : files)
        sources_.push_back({capture::PcapReader(file, where)});
}

std::uint64_t Loader::size() const noexcept {
    std::uint64_t sum = 0;
    for (const Source& s : sources_)
        sum += s.reader.size();
    return sum;
}

void Loader::advance(Source& source) {
    using Next = capture::PcapReader::Next;
    const Next next = source.reader.next(source.record);
    source.there = next == Next::record;
    if (source.there)
        follow_clock(source);
    if (next != Next::truncated && next != Next::damaged)
        return;
    const std::string warning =
        fmt::format("{} is {} in record {} at byte {}: the {} before it {} sent", source.reader.path(),
                    next == Next::damaged ? "damaged" : "truncated", source.reader.records() + 1,
                    source.reader.position(), counted(source.reader.records(), "whole records"),
                    word_for(source.reader.records(), "is", "are"));
    if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
        warnings_.push_back(warning);
}

void Loader::follow_clock(Source& source) {
    std::uint64_t time = 0;
    // Files may say anything: times beyond all bounds are as if the clock stood still.
    if (__builtin_add_overflow(source.record.time_ns, source.shift, &time))
        time = source.time;
    if (source.time > time && source.time - time > kClockStep) {
        source.shift += source.time - time;
        time = source.time;
    }
    source.time = std::max(source.time, time);
}

void Loader::rewind() {
    for (Source& s : sources_) {
        s.reader.rewind();
        s.there = false;
        s.time = s.shift = 0;
    }
    clock_.pass += clock_.period;
    begun_ = false;
    counts_ = {};
}

/// Returns the source of the next record; null at the end of the pass.
Loader::Source* Loader::next_source() {
    if (!begun_) {
        for (Source& s : sources_)
            advance(s);
        begun_ = true;
        clock_.last = nullptr;
    }
    Source* next = nullptr;
    for (Source& s : sources_) {
        if (!s.there)
            continue;
        if (order_ == Order::sequence)
            return &s;
        if (next == nullptr || s.time < next->time)
            next = &s;
    }
    return next;
}

/// Returns the record's time in the run; never before that of the last one.
std::uint64_t Loader::time_of(const Source& source) {
    const bool first = clock_.last == nullptr;
    if (first || (order_ == Order::sequence && &source != clock_.last)) {
        // The next file goes on at the pace of the last one.
        clock_.origin = source.time;
        clock_.base = first ? clock_.pass : clock_.latest + clock_.gap;
    }
    clock_.last = &source;
    const std::uint64_t now = clock_.base + (source.time - clock_.origin);
    if (first) {
        clock_.latest = now;
        clock_.gap = 0;
    } else if (now > clock_.latest) {
        clock_.gap = now - clock_.latest;
        clock_.latest = now;
    }
    return now;
}

bool Loader::wanted(const capture::PcapReader::Record& record) {
    std::uint64_t* const refused = record.length < wire::kEthernetHeader ? &counts_.runts
                                   : record.cut()                        ? &counts_.cut
                                   : record.length > longest_            ? &counts_.too_long
                                                                         : nullptr;
    if (refused != nullptr)
        ++*refused;
    return refused == nullptr;
}

std::optional<std::string> Loader::unmatched() const {
    std::optional<Endpoint> first;
    std::size_t others = 0;
    if (whole_)
        for (const auto& [old, to] : rules_.map) {
            if (matched_.contains(&to))
                continue;
            if (first)
                ++others;
            else
                first = Endpoint{old.first, old.second, {}};
        }
    if (!first)
        return std::nullopt;
    return fmt::format("no packet went to {}{}, so nothing of it was redirected; correct `--map`",
                       to_string(*first),
                       others == 0 ? "" : fmt::format(" or {}", counted(others, "other destinations")));
}

bool Loader::fill(CaptureWindow& window) {
    window.used = 0;
    window.frames.clear();
    const std::uint64_t before = clock_.pass;
    bool more = true;
    for (;;) {
        Source* const source = next_source();
        if (stop_ != nullptr && stop_->load(std::memory_order_relaxed))
            return false;
        if (source == nullptr) {
            const std::uint64_t span = clock_.latest > before ? clock_.latest - before : 0;
            clock_.period =
                counts_.records == 0 ? 0 : span + (counts_.records > 1 ? span / (counts_.records - 1) : 0);
            more = false;
            whole_ = true;
            break;
        }
        const capture::PcapReader::Record& record = source->record;
        const std::size_t at = (window.used + kAlignment - 1) / kAlignment * kAlignment;
        // Every frame that is sent fits an empty window.
        if (at + record.length > window.capacity && !window.frames.empty())
            break;
        ++counts_.records;
        const std::uint64_t time = time_of(*source);
        if (wanted(record)) {
            auto* const to = reinterpret_cast<std::uint8_t*>(window.base + at);
            std::memcpy(to, record.data, record.length);
            const Rewritten result = rewrite({to, record.length}, rules_);
            if (result.mapped != nullptr)
                matched_.insert(result.mapped);
            if (result.good) {
                ++counts_.frames;
                window.frames.push_back(
                    {time, static_cast<std::uint32_t>(at + result.skip), record.length - result.skip});
                window.used = at + record.length;
            } else {
                ++counts_.not_udp;
            }
        }
        advance(*source);
    }
    return more;
}

}  // namespace spead::replay
