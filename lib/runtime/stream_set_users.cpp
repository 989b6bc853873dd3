// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/stream_set.hpp"

/// Handles streams whose heaps a user takes: their end, and their limits.
namespace spead::runtime {

namespace {

/// Limits the lanes of a stream whose heaps the user has not taken, before it gets new ones.
constexpr std::size_t kMostUntaken = 8;
/// Limits how long a stream waits for heaps that its users keep, before that is reported.
constexpr auto kHeldPatience = std::chrono::seconds(2);

/// Returns whether the lcores have delivered all heaps of the lanes.
bool has_handed_over(const Stream& stream) {
    return std::all_of(stream.lanes.begin(), stream.lanes.end(), [](const auto& p) { return p->over; }) &&
           std::all_of(stream.leaving.begin(), stream.leaving.end(),
                       [](const Leaving& l) { return l.step != Leaving::Step::flush; });
}

}  // namespace

StreamSet::~StreamSet() {
    end_users();
}

std::shared_ptr<UserQueues> StreamSet::users_of(const ReceivePlan& r) const {
    const std::string where = fmt::format("receive {}", r.name);
    if (r.memory == 0)
        throw UsageError(where,
                         "its heaps would outlive the lcore's memory; give the stream memory of its own");
    std::shared_ptr<UserQueues> users = makers_.users ? makers_.users(r.name) : nullptr;
    if (!users)
        throw_error(where, "no user takes its heaps; make the stream as a RecvStream");
    return users;
}

void StreamSet::check_users(std::size_t stream) const {
    const Stream& s = *current_[stream];
    const auto untaken = static_cast<std::size_t>(
        std::count_if(s.leaving.begin(), s.leaving.end(), [](const Leaving& l) { return l.waits_for_user; }));
    if (untaken >= kMostUntaken)
        throw_error(fmt::format("receive {}", s.name),
                    "heaps from before {} earlier changes still wait for the user; take them first", untaken);
}

void StreamSet::serve_users(const std::vector<ReceivePlan>& plans, bool on_their_way) {
    for (std::size_t i = 0; i < current_.size(); i++) {
        Stream& s = *current_[i];
        if (s.chunks && s.chunks->has_user())
            serve_chunks(s, plans[i], on_their_way);
        if (!s.users)
            continue;
        s.users->drop_if_abandoned();
        watch_held(s);
        if (plans[i].enabled && !s.source_ended && !on_their_way && !s.lanes.empty() &&
            is_exhausted(ports_, plans[i]))
            end_source(s);
        s.users->set_ended(has_handed_over(s) && (!plans[i].enabled || !s.lanes.empty()));
    }
    for (const auto& gone : removed_) {
        const auto has = [&gone](const auto& s) { return s->users == gone->users; };
        if (gone->users && has_handed_over(*gone) && std::none_of(current_.begin(), current_.end(), has))
            gone->users->set_ended(true);
    }
}

bool StreamSet::has_ended(std::size_t stream) const {
    const Stream& s = *current_[stream];
    return !s.lanes.empty() && has_handed_over(s);
}

/// Reports a source that waits for the memory of heaps that its users keep.
void StreamSet::watch_held(Stream& stream) {
    const bool waits = std::any_of(stream.lanes.begin(), stream.lanes.end(),
                                   [](const auto& p) { return p->waits_for_memory; });
    const UserQueues::Heaps heaps = waits ? stream.users->heaps() : UserQueues::Heaps();
    if (heaps.held == 0 || heaps.waiting != 0) {
        stream.held_up = {};
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!stream.held_up.since)
        stream.held_up.since = now;
    if (stream.held_up.told || now - *stream.held_up.since < kHeldPatience)
        return;
    stream.held_up.told = true;
    log_error(LogType::runtime,
              "receive {}: its source waits: {} in the user's hands {} the memory that the next one "
              "needs; destroy some, raise `memory`, or let heaps be dropped (`on_full`)",
              stream.name, counted(heaps.held, "heaps"), word_for(heaps.held, "has", "have"));
}

/// Ends the chunks of a user when a stop item or the end of its source has ended the stream.
void StreamSet::serve_chunks(Stream& stream, const ReceivePlan& plan, bool on_their_way) {
    if (stream.lanes.empty())
        return;
    if (!stream.source_ended && !on_their_way && is_exhausted(ports_, plan))
        end_source(stream);
    if (has_handed_over(stream))
        stream.chunks->close();
}

/// Ends a source whose packets the lcores have all had. Its packets that wait for room first become heaps;
/// those of other sources may wait for this end.
void StreamSet::end_source(Stream& stream) {
    const auto stop = [](const recv::RxAgent* receiver, recv::SpeadLane* rx, std::uint16_t slot) {
        for (const recv::Source* const s : receiver->sources())
            if (s->waits_for(slot))
                return false;
        rx->window.stop();
        if (rx->chunks) {
            rx->chunks->stop();
            if (!rx->chunks->settled())
                return false;
            rx->chunks->leave();
        }
        return true;
    };
    bool all = true;
    for (const auto& lane : stream.lanes)
        all &= !is_silent(*lane->worker) &&
               lcores_
                   .try_ask(*lane->worker, stop, &std::as_const(lane->worker->loop->receiver()),
                            lane->rx.get(), lane->slot)
                   .value_or(false);
    stream.source_ended = all;
}

void StreamSet::end_users() noexcept {
    for (const auto* const list : {&current_, &removed_})
        for (const auto& s : *list)
            if (s && s->users)
                s->users->set_ended(true);
}

}  // namespace spead::runtime
