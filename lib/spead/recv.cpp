// SPDX-License-Identifier: BSD-3-Clause
#include "spead/recv.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/current_reason.hpp"
#include "base/empty.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/user_queues.hpp"
#include "spead/filter_adapter.hpp"
#include "spead/heap_loan.hpp"
#include "spead/local_receiver.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"
#include "spead/reader_source.hpp"
#include "spead/recv_plan.hpp"
#include "spead/session.hpp"

/// Implements streams that a user receives: an edit of the session's plan, and the queues of its heaps.
namespace spead {

using door::add_endpoint_to;
using door::make_user_filter;
using door::plan_of;

namespace {

std::uint64_t of(const stats::StreamSnapshot& s, PacketOutcome o) {
    return s.packets[static_cast<std::size_t>(o)];
}

RecvStats stats_of(const stats::StreamSnapshot& s) {
    using enum PacketOutcome;
    RecvStats r;
    r.packets = s.received;
    r.packets_placed = of(s, placed);
    r.packets_duplicate = of(s, duplicate) + of(s, redundant);
    r.packets_late = of(s, late) + of(s, future);
    r.packets_no_memory = of(s, no_memory) + of(s, no_chunk);
    r.packets_filtered = of(s, filtered);
    r.packets_held = of(s, held);
    r.held_now = s.held_now;
    r.hold_refused = s.hold_refused;
    r.packets_control = of(s, control);
    r.packets_stopped = of(s, stopped);
    r.packets_captured = of(s, captured) + of(s, capture_full);
    r.packets_rejected = of(s, malformed) + of(s, oversize) + of(s, heap_too_big) + of(s, inconsistent) +
                         of(s, out_of_order) + of(s, no_item) + of(s, bad_length) + of(s, bad_step) +
                         of(s, out_of_range) + of(s, rejected) + of(s, invalid) + of(s, header_in_device);
    r.bytes = s.bytes;
    for (std::size_t i = 0; i < kHeapEnds; i++)
        (i == static_cast<std::size_t>(HeapEnd::complete) ? r.heaps : r.heaps_incomplete) += s.heaps_ended[i];
    r.heaps_evicted = s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] +
                      s.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)];
    r.heaps_flushed = s.heaps_ended[static_cast<std::size_t>(HeapEnd::flushed)];
    r.stop_items = s.stop_items;
    r.heaps_live = s.heaps_live;
    r.heaps_taken = s.heaps_delivered;
    r.heaps_waiting = s.heaps_queued;
    r.heaps_lend_full = s.lend_full;
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
    State(const RecvConfig& config, const Reader& reader)
        : queues(std::make_shared<runtime::UserQueues>()), has_destinations(reader.source().needs_endpoints) {
        const runtime::ReceivePlan plan = plan_of(door::complete_local(config, reader));
        name = plan.name;
        door::LocalReceiver::Parts parts = door::local_parts(plan, config, reader);
        parts.queues = queues;
        local = std::make_unique<door::LocalReceiver>(plan, std::move(parts));
    }
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
        // The descriptors are the parent's, too, and the thread is the parent's alone.
        if (!is_own())
            return;
        queues->abandon();
        if (session)
            session->remove(name);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// Throws UsageError for a stream that was moved from, and Error in a child of fork(2), whose calls would
    /// clear the parent's descriptors.
    static State& of(const std::unique_ptr<State>& state) {
        if (!state)
            throw_usage("stream", "it was moved to another variable; use that one");
        door::need_own_process(state->where(), state->is_own());
        return *state;
    }
    bool is_own() const noexcept { return local ? local->is_own() : door::is_own_process(); }
    std::string where() const { return door::where_of("receive", name); }

    void change_endpoints(const std::function<void(runtime::ReceivePlan&)>& edit) const {
        if (session)
            session->change(name, edit);
        else if (!has_destinations)
            throw_usage(where(), "its source has no endpoints: all of its packets are the stream's");
        else
            local->change_endpoints(edit);
    }

    std::shared_ptr<door::Session> session;  ///< null: it has none, and `local` receives
    std::shared_ptr<runtime::UserQueues> queues;
    const bool has_destinations = true;  ///< packets of its source have some
    std::string name;
    std::mutex mutex;
    RecvStats last;  ///< guarded
    std::unique_ptr<door::LocalReceiver> local;
};

RecvStream::RecvStream(const Process& process, const RecvConfig& config)
    : state_(config.backend == Backend::kernel ? std::make_unique<State>(config, Reader::sockets())
                                               : std::make_unique<State>(process.session_, config)) {}
RecvStream::RecvStream(const RecvConfig& config) {
    door::need_kernel_backend(config);
    state_ = std::make_unique<State>(config, Reader::sockets());
}
RecvStream::RecvStream(const RecvConfig& config, const Reader& reader)
    : state_(std::make_unique<State>(config, reader)) {}
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
    return !state_ || !state_->is_own() || state_->queues->ended();
}

int RecvStream::fd() const noexcept {
    return state_ ? state_->queues->fd() : -1;
}

void RecvStream::start() {
    const State& s = State::of(state_);
    if (s.local) {
        s.local->start();
        return;
    }
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
    if (!state_ || !state_->is_own())
        return;
    if (state_->local) {
        state_->local->stop();
        return;
    }
    try {
        state_->session->change(state_->name, [](runtime::ReceivePlan& r) { r.enabled = false; });
    } catch (const door::Ending&) {
        state_->session->wait_for_end();
    } catch (...) {
        log_error(LogType::runtime, "{}: it could not be stopped, and receives on: {}", state_->where(),
                  reason_of_current());
    }
}

void RecvStream::add_reader(const Reader& reader) {
    const State& s = State::of(state_);
    if (!s.local)
        throw_usage(s.where(), "it receives from a port; readers are for streams without one");
    s.local->add_reader(door::one_more(reader, s.where(), s.has_destinations));
}

void RecvStream::add_endpoint(const std::string& endpoint) {
    add_endpoint(endpoint, {});
}

void RecvStream::add_endpoint(const std::string& endpoint, const std::string& twin) {
    const State& s = State::of(state_);
    s.change_endpoints([&](runtime::ReceivePlan& r) { add_endpoint_to(r, endpoint, twin); });
}

void RecvStream::remove_endpoint(const std::string& endpoint) {
    const State& s = State::of(state_);
    s.change_endpoints([&endpoint](runtime::ReceivePlan& r) { door::remove_endpoint_from(r, endpoint); });
}

void RecvStream::move_to(const std::vector<unsigned>& lcores) {
    const State& s = State::of(state_);
    if (!s.session)
        throw_usage(s.where(),
                    "a stream without a session has no lcores, and keeps its thread; make another");
    s.session->change(s.name, [&lcores](runtime::ReceivePlan& r) { r.lcores = lcores; });
}

RecvStats RecvStream::stats() const {
    State& s = State::of(state_);
    std::optional<RecvStats> now;
    if (s.local) {
        const door::LocalReceiver::Counts counts = s.local->counts();
        RecvStats r = stats_of(counts.stream);
        r.packets_lost = counts.lost;
        r.bursts = counts.work.bursts;
        r.largest_burst = counts.work.largest;
        r.blocked = counts.work.blocked;
        r.heaps_held = s.queues->heaps().held;
        return r;
    }
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
