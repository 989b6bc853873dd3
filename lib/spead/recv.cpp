// SPDX-License-Identifier: BSD-3-Clause
#include "spead/recv.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "base/current_reason.hpp"
#include "base/empty.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/user_queues.hpp"
#include "spead/filter_adapter.hpp"
#include "spead/heap_loan.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"
#include "spead/session.hpp"

/// Implements streams that a user receives: an edit of the session's plan, and the queues of its heaps.
namespace spead {

namespace {

double seconds(std::chrono::nanoseconds d) {
    return std::chrono::duration<double>(d).count();
}

runtime::PollMode poll_mode(Poll poll, const std::string& where) {
    switch (poll) {
        case Poll::busy:
            return runtime::PollMode::busy;
        case Poll::interrupt:
            return runtime::PollMode::interrupt;
        case Poll::adaptive:
            return runtime::PollMode::adaptive;
    }
    throw_usage(where, "`poll` is {}, which is none of Poll's values", static_cast<unsigned>(poll));
}

runtime::OnFullSetting on_full(OnFull policy, const std::string& where) {
    switch (policy) {
        case OnFull::drop_newest:
            return runtime::OnFullSetting::drop_newest;
        case OnFull::drop_oldest:
            return runtime::OnFullSetting::drop_oldest;
        case OnFull::block:
            return runtime::OnFullSetting::block;
        case OnFull::automatic:
            return runtime::OnFullSetting::automatic;
    }
    throw_usage(where, "`on_full` is {}, which is none of OnFull's values", static_cast<unsigned>(policy));
}

void add_endpoint_to(runtime::ReceivePlan& plan, const std::string& text) {
    const std::string where = door::where_of("receive", plan.name);
    for (const Endpoint& e : door::about(where, [&text] { return parse_endpoints(text); })) {
        if (std::find(plan.endpoints.begin(), plan.endpoints.end(), e) != plan.endpoints.end())
            throw UsageError(where,
                             fmt::format("`{}`: {} is one of its endpoints already", text, to_string(e)));
        plan.endpoints.push_back(e);
    }
    plan.endpoint_texts.push_back(text);
}

runtime::ReceivePlan plan_of(const RecvConfig& c) {
    const std::string where = door::where_of("receive", c.name);
    if (c.endpoints.empty())
        throw UsageError(where, "it has no endpoint; give one, as \"239.10.10.0+15:7148\"");
    if (c.memory == 0)
        throw UsageError(where, "`memory` is 0; give room for some heaps, as 128 MiB");
    door::need_room(where, "memory", c.memory);
    door::need_room(where, "buffer_size", c.buffer_size);
    if (!c.filter.empty() && c.packet_filter)
        throw UsageError(where, "`filter` and `packet_filter` exclude each other; leave one out");
    if (c.heap_timeout.count() < 0)
        throw UsageError(where, "`heap_timeout` is negative; give a time, or 0 for none");
    runtime::ReceivePlan r;
    r.name = c.name;
    for (const std::string& text : c.endpoints)
        add_endpoint_to(r, text);
    r.lcores = c.lcores;
    r.poll = poll_mode(c.poll, where);
    r.max_packet_size = c.max_packet_size;
    r.buffer_size = c.buffer_size;
    r.substreams = c.substreams;
    r.in_order = c.in_order;
    r.stop_on_stop_item = c.stop_on_stop_item;
    r.filter = c.filter;
    r.max_live = c.max_heaps;
    r.queue_depth = c.queue_depth;
    r.max_bytes = c.max_heap_bytes;
    r.memory = c.memory;
    r.timeout = seconds(c.heap_timeout);
    r.on_full = on_full(c.on_full, where);
    r.sink.kind = runtime::SinkKind::user;
    r.enabled = c.start;
    return r;
}

std::unique_ptr<recv::PacketFilter> make_user_filter(
    const std::string& stream, const std::function<std::unique_ptr<PacketFilter>()>& make) {
    std::unique_ptr<PacketFilter> filter = make();
    if (!filter)
        throw_error(fmt::format("receive {}", stream), "`packet_filter` made no filter");
    return std::make_unique<door::UserFilter>(std::move(filter));
}

std::uint64_t of(const stats::StreamSnapshot& s, PacketOutcome o) {
    return s.packets[static_cast<std::size_t>(o)];
}

RecvStats stats_of(const stats::StreamSnapshot& s) {
    using enum PacketOutcome;
    RecvStats r;
    r.packets = s.received;
    r.packets_placed = of(s, placed);
    r.packets_duplicate = of(s, duplicate);
    r.packets_late = of(s, late);
    r.packets_no_memory = of(s, no_memory);
    r.packets_filtered = of(s, filtered);
    r.packets_control = of(s, control);
    r.packets_stopped = of(s, stopped);
    r.packets_captured = of(s, captured) + of(s, capture_full) + of(s, held);
    r.packets_rejected =
        of(s, malformed) + of(s, oversize) + of(s, heap_too_big) + of(s, inconsistent) + of(s, out_of_order);
    r.bytes = s.bytes;
    for (std::size_t i = 0; i < kHeapEnds; i++)
        (i == static_cast<std::size_t>(HeapEnd::complete) ? r.heaps : r.heaps_incomplete) += s.heaps_ended[i];
    r.heaps_live = s.heaps_live;
    r.heaps_taken = s.heaps_delivered;
    r.heaps_waiting = s.heaps_queued;
    r.heaps_dropped = s.heaps_dropped_full;
    r.heaps_abandoned = s.heaps_unwritten;
    return r;
}

/// Returns the counts of a stream that the session knows; nothing if another call has removed it.
std::optional<RecvStats> stats_in(const stats::Snapshot& snap, const std::string& name) {
    const auto stream =
        std::find_if(snap.streams.begin(), snap.streams.end(), [&](const auto& s) { return s.name == name; });
    if (stream == snap.streams.end())
        return std::nullopt;
    RecvStats r = stats_of(*stream);
    const auto port = std::find_if(snap.ports.begin(), snap.ports.end(),
                                   [&](const auto& p) { return p.name == stream->port; });
    if (port != snap.ports.end())
        r.packets_lost = port->nic.missed;
    return r;
}

}  // namespace

struct RecvStream::State {
    State(std::shared_ptr<door::Session> s, const RecvConfig& config)
        : session(std::move(s)), queues(std::make_shared<runtime::UserQueues>()) {
        runtime::ReceivePlan plan = plan_of(config);
        door::StreamHooks hooks;
        hooks.user_queues = queues;
        if (config.packet_filter)
            hooks.make_filter = [make = config.packet_filter](const runtime::ReceivePlan& r) {
                return make_user_filter(r.name, make);
            };
        name = session->add(std::move(plan), config.interface, std::move(hooks));
    }
    ~State() {
        // The descriptors are the parent's, too.
        if (!door::is_own_process())
            return;
        queues->abandon();
        session->remove(name);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// Throws UsageError for a stream that was moved from, and Error in a child of fork(2), whose calls would
    /// clear the parent's descriptors.
    static State& of(const std::unique_ptr<State>& state) {
        if (!state)
            throw_usage("stream", "it was moved to another variable; use that one");
        door::need_own_process(state->where());
        return *state;
    }
    std::string where() const { return door::where_of("receive", name); }

    std::shared_ptr<door::Session> session;
    std::shared_ptr<runtime::UserQueues> queues;
    std::string name;
    std::mutex mutex;
    RecvStats last;  ///< guarded
};

RecvStream::RecvStream(const Process& process, const RecvConfig& config)
    : state_(std::make_unique<State>(process.session_, config)) {}
RecvStream::RecvStream(RecvStream&&) noexcept = default;
RecvStream& RecvStream::operator=(RecvStream&&) noexcept = default;
RecvStream::~RecvStream() = default;

const std::string& RecvStream::name() const noexcept {
    return state_ ? state_->name : empty_of<std::string>();
}

std::optional<Heap> RecvStream::get() {
    return get_for(std::chrono::nanoseconds::max());
}

std::optional<Heap> RecvStream::get_for(std::chrono::nanoseconds patience) {
    State& s = State::of(state_);
    const bool for_ever = patience == std::chrono::nanoseconds::max();
    std::optional<runtime::HeapLoan> loan =
        s.queues->take(for_ever ? -1 : std::max<std::int64_t>(patience.count(), 0));
    if (!loan)
        return std::nullopt;
    return door::HeapAccess::make(std::move(*loan));
}

std::optional<Heap> RecvStream::try_get() {
    std::optional<runtime::HeapLoan> loan = State::of(state_).queues->try_take();
    if (!loan)
        return std::nullopt;
    return door::HeapAccess::make(std::move(*loan));
}

bool RecvStream::ended() const noexcept {
    return !state_ || !door::is_own_process() || state_->queues->ended();
}

int RecvStream::fd() const noexcept {
    return state_ ? state_->queues->fd() : -1;
}

void RecvStream::start() {
    const State& s = State::of(state_);
    const bool over = s.queues->no_more();
    const auto enable = [&s](bool yes) {
        s.session->change(s.name, [yes](runtime::ReceivePlan& r) { r.enabled = yes; });
    };
    // One that a stop item or the end of its source has ended gets new windows.
    if (over)
        enable(false);
    enable(true);
}

void RecvStream::stop() noexcept {
    if (!state_ || !door::is_own_process())
        return;
    try {
        state_->session->change(state_->name, [](runtime::ReceivePlan& r) { r.enabled = false; });
    } catch (const door::Ending&) {
        state_->session->wait_for_end();
    } catch (...) {
        log_error(LogType::runtime, "{}: it could not be stopped, and receives on: {}", state_->where(),
                  reason_of_current());
    }
}

void RecvStream::add_endpoint(const std::string& endpoint) {
    const State& s = State::of(state_);
    s.session->change(s.name, [&endpoint](runtime::ReceivePlan& r) { add_endpoint_to(r, endpoint); });
}

void RecvStream::remove_endpoint(const std::string& endpoint) {
    const State& s = State::of(state_);
    const std::vector<Endpoint> gone =
        door::about(s.where(), [&endpoint] { return parse_endpoints(endpoint); });
    s.session->change(s.name, [&](runtime::ReceivePlan& r) {
        const std::string where = fmt::format("receive {}", r.name);
        for (const Endpoint& e : gone)
            if (std::erase(r.endpoints, e) == 0)
                throw UsageError(where,
                                 fmt::format("`{}`: {} is not one of its endpoints", endpoint, to_string(e)));
        if (r.endpoints.empty())
            throw UsageError(where,
                             fmt::format("`{}` is its last endpoint; stop the stream instead", endpoint));
        // A range that has lost some addresses is listed address by address.
        std::vector<std::string> texts;
        for (const std::string& text : r.endpoint_texts) {
            const std::vector<Endpoint> meant = parse_endpoints(text);
            const auto left = [&r](const Endpoint& e) {
                return std::find(r.endpoints.begin(), r.endpoints.end(), e) != r.endpoints.end();
            };
            if (std::all_of(meant.begin(), meant.end(), left)) {
                texts.push_back(text);
                continue;
            }
            for (const Endpoint& e : meant)
                if (left(e))
                    texts.push_back(to_string(e));
        }
        r.endpoint_texts = std::move(texts);
    });
}

void RecvStream::move_to(const std::vector<unsigned>& lcores) {
    const State& s = State::of(state_);
    s.session->change(s.name, [&lcores](runtime::ReceivePlan& r) { r.lcores = lcores; });
}

RecvStats RecvStream::stats() const {
    State& s = State::of(state_);
    std::optional<RecvStats> now;
    try {
        now = s.session->on_engine(
            [&s](runtime::Engine& engine) { return stats_in(engine.snapshot(), s.name); });
    } catch (const door::Ending&) {
        if (!s.session->wait_for_end())
            throw;
        now = stats_in(s.session->last_snapshot(), s.name);
    }
    const std::lock_guard lock(s.mutex);
    if (now)
        s.last = *now;
    s.last.heaps_held = s.queues->heaps().held;
    return s.last;
}

}  // namespace spead
