// SPDX-License-Identifier: BSD-3-Clause
#include "spead/send.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/current_reason.hpp"
#include "base/empty.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mac.hpp"
#include "spead/local_sender.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"
#include "spead/send_heap.hpp"
#include "spead/session.hpp"
#include "spead/user_heap_source.hpp"
#include "spead/writer_target.hpp"
#include "stats/snapshot.hpp"

namespace spead {

namespace {

using Kind = door::UserHeapSource::Kind;

/// Limits the wait for heaps in flight; then the rest is given up.
constexpr std::chrono::seconds kFinishPatience{5};
/// Limits the wait for heaps that were given up. They complete as soon as the port gives their memory back.
constexpr std::chrono::seconds kStopPatience{5};

std::string reason_of(const SendResult& result) {
    return result.status == SendStatus::timed_out ? "it timed out"
           : result.status == SendStatus::refused ? std::strerror(result.error)
                                                  : "the stream was stopped";
}

/// Counts the heaps of one end(). Shared with their completions, which may come after end() has thrown.
struct StopHeaps {
    std::size_t left = 0;
    std::size_t failed = 0;
};

/// Returns the plan of a stream. `writer`: its destination, which may stand in place of endpoints.
runtime::SendPlan plan_of(const SendConfig& given, const Writer::Target* writer = nullptr) {
    SendConfig config = given;
    if (writer != nullptr && writer->substreams != 0)
        config.endpoints = {writer->to_ipv6 ? "[::1]:7148" : "127.0.0.1:7148"};
    runtime::SendPlan plan;
    plan.name = config.name;
    const std::string where = door::where_of("send", config.name);
    if (config.endpoints.empty())
        throw_usage(where, "it has no endpoint; give one, as \"239.20.0.0+63:7148\"");
    for (const std::string& text : config.endpoints)
        for (const Endpoint& endpoint : door::about(where, [&text] { return parse_endpoints(text); }))
            plan.endpoints.push_back(endpoint);
    plan.endpoint_texts = config.endpoints;
    plan.lcore = config.lcore;
    if (!config.dst_mac.empty())
        plan.dst_mac = door::about(where, [&config] { return parse_mac(config.dst_mac, "dst_mac"); });
    plan.rate = config.rate;
    plan.burst_size = config.burst_size;
    plan.burst_rate_ratio = config.burst_rate_ratio;
    plan.ttl = config.ttl;
    plan.dscp = config.dscp;
    if (config.max_packet_size != 0)
        plan.max_packet_size = config.max_packet_size;
    plan.max_heaps = config.max_heaps;
    plan.timeout = std::chrono::duration<double>(config.timeout).count();
    plan.first_count = config.first_cnt;
    plan.count_step = config.cnt_step;
    plan.udp_checksum = config.udp_checksum;
    // The generated heaps of the engine. The user's have any size.
    plan.heap_size = 64;
    plan.address_bits = 48;
    return plan;
}

SendStats stats_of(const stats::SendCounters& c) {
    SendStats s;
    s.heaps = c.heaps;
    s.packets = c.packets;
    s.bytes = c.bytes;
    s.heaps_aborted = c.aborted;
    s.heaps_timed_out = c.timed_out;
    s.packets_dropped = c.dropped;
    return s;
}

}  // namespace

struct SendStream::State {
    State(std::shared_ptr<door::Session> session, const SendConfig& config);
    State(const SendConfig& config, const Writer& writer);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// Throws UsageError for a stream that was moved from, and Error in a child of fork(2).
    static State& of(const std::unique_ptr<State>& state) {
        if (!state)
            throw_usage("stream", "it was moved to another variable; use that one");
        door::need_own_process(state->where, state->is_own());
        return *state;
    }
    bool is_own() const noexcept { return local ? local->is_own() : door::is_own_process(); }
    std::shared_ptr<SendHeap::State> stop_heap() const;
    static SendOptions stop_options(std::size_t substream);
    void send_stops() const;
    bool finish(std::chrono::seconds patience) const noexcept;

    std::shared_ptr<door::Session> session;  ///< null: a stream without one
    /// Is null for a stream of a session. Completions may ask for counts until the stream is destroyed.
    std::shared_ptr<door::LocalSender> local{};
    std::string name;
    std::string where;
    std::size_t substreams = 0;
    unsigned address_bits = 48;  ///< of the last heap: stop heaps are of its flavour
    std::shared_ptr<door::UserHeapSource> heap_source;
};

SendStream::State::State(std::shared_ptr<door::Session> of, const SendConfig& config)
    : session(std::move(of)), where(door::where_of("send", config.name)) {
    runtime::SendPlan plan = plan_of(config);
    substreams = plan.endpoints.size();
    heap_source = std::make_shared<door::UserHeapSource>(where, std::clamp(config.max_heaps, 1U, 1U << 20));
    heap_source->set_session(session.get());
    door::StreamHooks hooks;
    hooks.make_heap_source = [user = heap_source](const runtime::SendPlan&, send::Sender& sender,
                                                  memory::RegionTable&) { return user->engine_side(sender); };
    name = session->add(std::move(plan), config.interface, std::move(hooks));
    where = fmt::format("send {}", name);
    heap_source->set_where(where);
}

SendStream::State::State(const SendConfig& config, const Writer& writer) {
    runtime::SendPlan plan = plan_of(config, &writer.target());
    local = door::make_local_sender(plan, config, writer);
    substreams = writer.target().substreams != 0 ? writer.target().substreams : plan.endpoints.size();
    name = plan.name;
    where = door::where_of("send", name);
    heap_source = std::make_shared<door::UserHeapSource>(where, plan.max_heaps);
    heap_source->attach(local);
    local->begin(config.lcore);
}

SendStream::State::~State() {
    if (!is_own()) {
        // The threads are the parent's.
        heap_source->keep_for_ever();
        return;
    }
    if (local != nullptr) {
        if (!finish(kFinishPatience))
            heap_source->stop();
        // Nothing reads the heaps once its thread has ended.
        local->end();
        heap_source->take_away();
        finish(kFinishPatience);
        return;
    }
    if (!finish(kFinishPatience)) {
        heap_source->stop();
        if (!finish(kStopPatience)) {
            log_error(LogType::send,
                      "{}: the port keeps heaps that were given up; their memory may still be read", where);
            heap_source->keep_for_ever();
        }
    }
    heap_source->stop();
    session->remove_sender(name);
}

/// Returns whether no heap is in flight any more.
bool SendStream::State::finish(std::chrono::seconds patience) const noexcept {
    for (;;)
        try {
            return heap_source->wait([this] { return heap_source->in_flight() == 0; }, patience);
        } catch (...) {
            // Each has taken a completion, so there is an end.
            log_error(LogType::send, "{}: the function of a completion has failed: {}", where,
                      reason_of_current());
        }
}

SendStream::SendStream(const Process& process, const SendConfig& config)
    : state_(std::make_unique<State>(process.session_, config)) {}
SendStream::SendStream(const SendConfig& config, const Writer& writer)
    : state_(std::make_unique<State>(config, writer)) {}
SendStream::SendStream(const SendConfig& config) : SendStream(config, Writer::sockets()) {}
SendStream::SendStream(SendStream&&) noexcept = default;
SendStream& SendStream::operator=(SendStream&&) noexcept = default;
SendStream::~SendStream() = default;

const std::string& SendStream::name() const noexcept {
    return state_ ? state_->name : empty_of<std::string>();
}
std::size_t SendStream::substreams() const noexcept {
    return state_ ? state_->substreams : 0;
}

bool SendStream::try_send(SendHeap& heap, const SendOptions& options) {
    return submit(heap, options, {}, false);
}

bool SendStream::try_send(SendHeap& heap, const SendOptions& options,
                          std::function<void(const SendResult&)> done) {
    return submit(heap, options, std::move(done), false);
}

void SendStream::send(SendHeap& heap, const SendOptions& options) {
    submit(heap, options, {}, true);
}

bool SendStream::submit(SendHeap& heap, const SendOptions& options,
                        std::function<void(const SendResult&)> done, bool wait) {
    if (!heap.state_)
        throw_usage("heap", "the heap was moved to another variable; make a new one");
    State& s = State::of(state_);
    s.address_bits = heap.state_->heap.flavour().address_bits();
    if (s.heap_source->try_submit(heap.state_, options, Kind::data, done))
        return true;
    // Completions that were not taken yet have their places, too.
    if (s.heap_source->dispatch() != 0 && s.heap_source->try_submit(heap.state_, options, Kind::data, done))
        return true;
    if (wait)
        s.heap_source->submit(heap.state_, options, Kind::data, done);
    return wait;
}

std::future<SendResult> SendStream::async_send(SendHeap& heap, const SendOptions& options) {
    auto promise = std::make_shared<std::promise<SendResult>>();
    std::future<SendResult> result = promise->get_future();
    submit(
        heap, options, [promise](const SendResult& r) { promise->set_value(r); }, true);
    return result;
}

void SendStream::async_send(SendHeap& heap, std::function<void(const SendResult&)> done,
                            const SendOptions& options) {
    submit(heap, options, std::move(done), true);
}

bool SendStream::submit_group(std::span<const GroupHeap> group, GroupMode mode,
                              std::function<void(std::span<const SendResult>)> done, bool wait) {
    State& s = State::of(state_);
    struct Results {
        std::vector<SendResult> of;
        std::size_t left = 0;
    };
    const auto results = std::make_shared<Results>();
    results->of.resize(group.size());
    results->left = group.size();
    std::vector<door::UserHeapSource::Member> members;
    for (const GroupHeap& one : group) {
        if (!one.heap.state_)
            throw_usage("heap", "it was moved to another variable; make a new one");
        s.address_bits = one.heap.state_->heap.flavour().address_bits();
        members.push_back({one.heap.state_, one.options, [results, done, i = members.size()](const auto& r) {
                               results->of[i] = r;
                               if (--results->left == 0 && done)
                                   done(results->of);
                           }});
    }
    const send::Interleave order =
        mode == GroupMode::serial ? send::Interleave::serial : send::Interleave::round_robin;
    const auto try_now = [&] { return s.heap_source->try_submit_group(members, order); };
    // Completions that were not taken yet have their places, too.
    if (try_now() || (s.heap_source->dispatch() != 0 && try_now()))
        return true;
    if (wait && !s.heap_source->wait(try_now))
        throw_error(s.where, "its lcore does not answer; the heaps in flight stay so");
    return wait;
}

void SendStream::send_heaps(std::span<const GroupHeap> group, GroupMode mode) {
    submit_group(group, mode, {}, true);
}

bool SendStream::try_send_heaps(std::span<const GroupHeap> group, GroupMode mode) {
    return submit_group(group, mode, {}, false);
}

bool SendStream::try_send_heaps(std::span<const GroupHeap> group, GroupMode mode,
                                std::function<void(std::span<const SendResult>)> done) {
    return submit_group(group, mode, std::move(done), false);
}

std::future<std::vector<SendResult>> SendStream::async_send_heaps(std::span<const GroupHeap> group,
                                                                  GroupMode mode) {
    auto promise = std::make_shared<std::promise<std::vector<SendResult>>>();
    std::future<std::vector<SendResult>> result = promise->get_future();
    submit_group(
        group, mode,
        [promise](std::span<const SendResult> r) {
            promise->set_value({r.begin(), r.end()});
        },
        true);
    return result;
}

void SendStream::async_send_heaps(std::span<const GroupHeap> group, GroupMode mode,
                                  std::function<void(std::span<const SendResult>)> done) {
    submit_group(group, mode, std::move(done), true);
}

void SendStream::wait_for(const SendHeap& heap) {
    State& s = State::of(state_);
    if (!heap.state_)
        return;
    const SendHeap::State& h = *heap.state_;
    const auto idle = [&h] { return !h.in_flight.load(std::memory_order_acquire); };
    if (!idle() && h.sender.lock() != s.heap_source)
        throw_usage(s.where, "the heap is in flight in another stream; wait for it there");
    if (!s.heap_source->wait(idle))
        throw_error(s.where, "its lcore does not answer; the heap stays in flight");
    if (h.last.status != SendStatus::sent)
        throw_error(s.where, "heap {} was not sent completely: {}", h.last.cnt, reason_of(h.last));
}

void SendStream::flush() {
    const State& s = State::of(state_);
    if (!s.heap_source->wait([&s] { return s.heap_source->in_flight() == 0; }))
        throw_error(s.where, "its lcore does not answer; heaps stay in flight");
}

std::size_t SendStream::poll() {
    return State::of(state_).heap_source->dispatch();
}

int SendStream::fd() const noexcept {
    return state_ ? state_->heap_source->fd() : -1;
}

std::size_t SendStream::in_flight() const noexcept {
    return state_ && state_->is_own() ? state_->heap_source->in_flight() : 0;
}

std::shared_ptr<SendHeap::State> SendStream::State::stop_heap() const {
    auto heap = std::make_shared<SendHeap::State>(address_bits);
    heap->heap.add_stop();
    return heap;
}

/// Returns how a stop heap is sent: it need not wait for the time of data.
SendOptions SendStream::State::stop_options(std::size_t substream) {
    SendOptions options;
    options.substream = static_cast<std::uint32_t>(substream);
    options.rate = 0;
    return options;
}

void SendStream::State::send_stops() const {
    const auto stops = std::make_shared<StopHeaps>();
    for (std::size_t i = 0; i < substreams; i++) {
        stops->left++;
        heap_source->submit(stop_heap(), stop_options(i), Kind::control, [stops](const SendResult& result) {
            stops->left--;
            stops->failed += result.status == SendStatus::sent ? 0 : 1;
        });
    }
    if (!heap_source->wait([&stops] { return stops->left == 0; }))
        throw_error(where, "its lcore does not answer; stop items stay in flight");
    if (stops->failed != 0)
        throw_error(where, "{} of {} {} not sent: the stream was stopped, or {} refused", stops->failed,
                    counted(substreams, "stop items"), word_for(stops->failed, "was", "were"),
                    word_for(stops->failed, "it was", "they were"));
}

void SendStream::end() {
    State::of(state_).send_stops();
}

bool SendStream::try_end(std::uint32_t substream, std::function<void(const SendResult&)> done) {
    const State& s = State::of(state_);
    const auto heap = s.stop_heap();
    const auto try_now = [&] {
        return s.heap_source->try_submit(heap, State::stop_options(substream), Kind::control, done);
    };
    // Completions that were not taken yet have their places, too.
    return try_now() || (s.heap_source->dispatch() != 0 && try_now());
}

void SendStream::stop() noexcept {
    if (state_ && state_->is_own())
        state_->heap_source->stop();
}

void SendStream::set_rate(double bytes_per_second) {
    const State& s = State::of(state_);
    if (s.local != nullptr)
        s.local->set_rate(bytes_per_second);
    else
        s.session->change_sender(s.name, [=](runtime::SendPlan& plan) { plan.rate = bytes_per_second; });
}

void SendStream::set_ttl(std::uint8_t ttl) {
    const State& s = State::of(state_);
    if (s.local != nullptr)
        s.local->set_ttl(ttl);
    else
        s.session->change_sender(s.name, [=](runtime::SendPlan& plan) { plan.ttl = ttl; });
}

void SendStream::set_cnt_sequence(std::uint64_t next, std::uint64_t step) {
    State::of(state_).heap_source->set_cnt_sequence(next, step);
}

SendStats SendStream::stats() const {
    const State& s = State::of(state_);
    if (s.local != nullptr) {
        const send::DatagramSender::Counters c = s.local->counts();
        SendStats all = stats_of(c.send);
        all.heaps_refused = c.refused;
        return all;
    }
    if (const auto last = s.heap_source->last_counters())
        return stats_of(*last);
    try {
        const stats::Snapshot now =
            s.session->on_engine([](runtime::Engine& engine) { return engine.totals(); });
        for (const stats::SendSnapshot& one : now.sends)
            if (one.name == s.name)
                return stats_of(one.counters);
    } catch (const door::Ending&) {
        s.session->wait_for_end();
        if (const auto last = s.heap_source->last_counters())
            return stats_of(*last);
        throw;
    }
    throw_error(s.where, "the stream has ended with its session or its port");
}

}  // namespace spead
