// SPDX-License-Identifier: BSD-3-Clause
#include "spead/send.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mac.hpp"
#include "spead/main_thread.hpp"
#include "spead/send_heap.hpp"
#include "spead/session.hpp"
#include "spead/user_heap_source.hpp"
#include "stats/snapshot.hpp"

namespace spead {

namespace {

using Kind = door::UserHeapSource::Kind;

/// What is left of the heaps in flight is given up then.
constexpr std::chrono::seconds kFinishPatience{5};
/// Given up heaps complete as soon as the port gives their memory back.
constexpr std::chrono::seconds kStopPatience{5};

runtime::SendPlan plan_of(const SendConfig& config) {
    runtime::SendPlan plan;
    plan.name = config.name;
    for (const std::string& text : config.endpoints)
        for (const Endpoint& endpoint : parse_endpoints(text))
            plan.endpoints.push_back(endpoint);
    plan.endpoint_texts = config.endpoints;
    plan.lcore = config.lcore;
    if (!config.dst_mac.empty())
        plan.dst_mac = parse_mac(config.dst_mac, "dst_mac");
    plan.rate = config.rate;
    plan.burst_size = config.burst_size;
    plan.burst_rate_ratio = config.burst_rate_ratio;
    plan.ttl = config.ttl;
    plan.dscp = config.dscp;
    plan.max_packet_size = config.max_packet_size;
    plan.max_heaps = config.max_heaps;
    plan.timeout = std::chrono::duration<double>(config.timeout).count();
    plan.first_count = config.first_cnt;
    plan.count_step = config.cnt_step;
    plan.udp_checksum = config.udp_checksum;
    // Of the heaps that the engine would make by itself. The user's have whatever size they have.
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
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void send_stops() const;
    bool finish(std::chrono::seconds patience) const noexcept;

    std::shared_ptr<door::Session> session;
    std::string name;
    std::string where;
    std::size_t substreams = 0;
    unsigned address_bits = 48;  ///< of the last heap: stop heaps are of its flavour
    std::shared_ptr<door::UserHeapSource> heap_source;
};

SendStream::State::State(std::shared_ptr<door::Session> of, const SendConfig& config)
    : session(std::move(of)), where(fmt::format("send {}", config.name)) {
    runtime::SendPlan plan = plan_of(config);
    substreams = plan.endpoints.size();
    heap_source = std::make_shared<door::UserHeapSource>(where, std::clamp(config.max_heaps, 1U, 1U << 20));
    door::StreamHooks hooks;
    hooks.make_heap_source = [user = heap_source](const runtime::SendPlan&, send::Sender& sender,
                                                  memory::RegionTable&) { return user->engine_side(sender); };
    name = session->add(std::move(plan), config.interface, std::move(hooks));
    where = fmt::format("send {}", name);
    heap_source->set_where(where);
}

SendStream::State::~State() {
    if (!finish(kFinishPatience)) {
        heap_source->stop();
        if (!finish(kStopPatience) && door::is_own_process()) {
            log_error(LogType::send,
                      "{}: the port keeps heaps that were given up; their memory may still be read", where);
            heap_source->keep_for_ever();
        }
    }
    heap_source->stop();
    session->remove_sender(name);
}

/// Whether no heap is in flight any more.
bool SendStream::State::finish(std::chrono::seconds patience) const noexcept {
    for (;;)
        try {
            return heap_source->wait([this] { return heap_source->in_flight() == 0; }, patience);
        } catch (const std::exception& error) {
            // Each has taken a completion, so there is an end.
            log_error(LogType::send, "{}: the function of a completion has failed: {}", where,
                      reason_of(error));
        }
}

SendStream::SendStream(const Process& process, const SendConfig& config)
    : state_(std::make_unique<State>(process.session_, config)) {}
SendStream::SendStream(SendStream&&) noexcept = default;
SendStream& SendStream::operator=(SendStream&&) noexcept = default;
SendStream::~SendStream() = default;

const std::string& SendStream::name() const noexcept {
    return state_->name;
}
std::size_t SendStream::substreams() const noexcept {
    return state_->substreams;
}

bool SendStream::try_send(SendHeap& heap, const SendOptions& options) {
    return submit(heap, options, {}, false);
}

void SendStream::send(SendHeap& heap, const SendOptions& options) {
    submit(heap, options, {}, true);
}

bool SendStream::submit(SendHeap& heap, const SendOptions& options,
                        std::function<void(const SendResult&)> done, bool wait) {
    if (!heap.state_)
        throw_usage("heap", "it was moved to another variable; make a new one");
    State& s = *state_;
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

void SendStream::wait_for(const SendHeap& heap) {
    if (!heap.state_)
        return;
    State& s = *state_;
    const SendHeap::State& h = *heap.state_;
    const auto idle = [&h] { return !h.in_flight.load(std::memory_order_acquire); };
    if (!idle() && h.sender.lock() != s.heap_source)
        throw_usage(s.where, "the heap is in flight in another stream; wait for it there");
    if (!s.heap_source->wait(idle))
        throw_error(s.where, "its lcore does not answer; the heap stays in flight");
    if (h.last.status != SendStatus::sent)
        throw_error(s.where, "heap {} was not sent to its end: {}", h.last.cnt,
                    h.last.status == SendStatus::timed_out ? "its time was over" : "the stream was stopped");
}

void SendStream::flush() {
    if (!state_->heap_source->wait([this] { return state_->heap_source->in_flight() == 0; }))
        throw_error(state_->where, "its lcore does not answer; heaps stay in flight");
}

std::size_t SendStream::poll() {
    return state_->heap_source->dispatch();
}

int SendStream::fd() const noexcept {
    return state_->heap_source->fd();
}

std::size_t SendStream::in_flight() const noexcept {
    return state_->heap_source->in_flight();
}

void SendStream::State::send_stops() const {
    std::size_t left = substreams, failed = 0;
    for (std::size_t i = 0; i < substreams; i++) {
        auto heap = std::make_shared<SendHeap::State>(address_bits);
        heap->heap.add_stop();
        SendOptions options;
        options.substream = static_cast<std::uint32_t>(i);
        options.rate = 0;  // it need not wait for the time of data
        heap_source->submit(heap, options, Kind::control, [&](const SendResult& result) {
            left--;
            failed += result.status == SendStatus::sent ? 0 : 1;
        });
    }
    if (!heap_source->wait([&left] { return left == 0; }))
        throw_error(where, "its lcore does not answer; stop items stay in flight");
    if (failed != 0)
        throw_error(where, "{} of {} stop items were not sent: the stream was stopped", failed, substreams);
}

void SendStream::end() {
    state_->send_stops();
}

void SendStream::stop() noexcept {
    state_->heap_source->stop();
}

void SendStream::set_rate(double bytes_per_second) {
    state_->session->change_sender(state_->name,
                                   [=](runtime::SendPlan& plan) { plan.rate = bytes_per_second; });
}

void SendStream::set_ttl(std::uint8_t ttl) {
    state_->session->change_sender(state_->name, [=](runtime::SendPlan& plan) { plan.ttl = ttl; });
}

SendStats SendStream::stats() const {
    if (const auto last = state_->heap_source->last_counters())
        return stats_of(*last);
    const stats::Snapshot now =
        state_->session->on_engine([](runtime::Engine& engine) { return engine.totals(); });
    for (const stats::SendSnapshot& one : now.sends)
        if (one.name == state_->name)
            return stats_of(one.counters);
    throw_error(state_->where, "the stream has ended with its session or its port");
}

}  // namespace spead
