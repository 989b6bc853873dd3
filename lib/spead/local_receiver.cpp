// SPDX-License-Identifier: BSD-3-Clause
#include "spead/local_receiver.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <utility>

#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/tick_rate.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/endpoint_places.hpp"
#include "runtime/layout.hpp"
#include "runtime/stream_chunks.hpp"
#include "runtime/stream_set.hpp"
#include "spead/plan_edits.hpp"

namespace spead::door {

namespace {

using namespace std::chrono_literals;

/// Limits a wait for packets: timeouts of heaps and counts of losses are due meanwhile.
constexpr std::chrono::milliseconds kPatience{10};
/// Holds the pause of a lane whose consumer has to take heaps: these tell nobody when they are taken.
constexpr std::chrono::microseconds kPause{200};
/// Holds the time between two looks at timeouts.
constexpr double kHousekeeping = 0.002;  // s

/// Checks the stream as a part of a plan. It may name any CPUs.
void check_stream(const runtime::ReceivePlan& r) {
    runtime::Plan plan = first_plan({}, std::nullopt);
    plan.receives.push_back(r);
    plan.receives.back().lcores.clear();
    plan.receives.back().port = port_for(plan, "net_ring0");
    check(plan);
}

/// Lets the thread run on these CPUs only.
void pin(std::thread& thread, const runtime::ReceivePlan& r) {
    if (r.lcores.empty())
        return;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (const unsigned cpu : r.lcores)
        if (cpu < CPU_SETSIZE)
            CPU_SET(cpu, &cpus);
    if (const int error = pthread_setaffinity_np(thread.native_handle(), sizeof cpus, &cpus); error != 0)
        log_warning(LogType::recv, "receive {}: its thread cannot run on the CPUs of `lcores` alone: {}",
                    r.name, std::strerror(error));
}

}  // namespace

/// Holds the stream from a start to its end.
struct LocalReceiver::Run {
    Run(const runtime::ReceivePlan& plan, const Parts& parts)
        : busy(plan.poll == runtime::PollMode::busy),
          reader(parts.make_reader(plan)),
          chunks(plan.chunk ? std::make_unique<runtime::StreamChunks>(
                                  plan, parts.chunks, std::make_shared<runtime::NullChunkSink>())
                            : nullptr),
          users(parts.queues) {
        const recv::LaneConfig config = runtime::lane_config(plan, plan.endpoints, reader->lossless());
        lane = std::make_shared<recv::DatagramLane>(config, runtime::own_heap_bytes(plan));
        places.keep(plan.endpoints, false);
        if (chunks)
            lane->fill(chunks->make_lane(lane->lane().counters,
                                         config.window.on_full == heap::FullPolicy::block, config.window));
        if (parts.make_filter)
            if (std::unique_ptr<recv::PacketFilter> filter = parts.make_filter())
                lane->lane().filter = std::make_unique<recv::FilterGate>(std::move(filter), 0);
        if (users)
            queue = users->add(std::shared_ptr<heap::HeapQueue>(lane, &lane->queue()));
        // The thread may end at once.
        if (chunks)
            chunks->serve();
        try {
            thread = start_thread("receive " + plan.name, [this] { receive(); });
        } catch (...) {
            if (users) {
                users->remove(*queue);
                users->set_ended(true);
            }
            throw;
        }
        pin(thread, plan);
    }
    ~Run() {
        giving_up = true;
        end();
        thread.join();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// Takes no more packets; returns when the last has been taken, and open chunks have been handed over.
    void end() noexcept {
        stopping = true;
        std::unique_lock lock(mutex);
        if (reader)
            reader->wake();
        fed.wait(lock, [this] { return has_fed; });
    }

    /// Receives these endpoints from now on. Throws Error.
    void change(const std::vector<Endpoint>& endpoints) {
        const std::lock_guard lock(mutex);
        if (!reader)
            return;
        runtime::EndpointPlaces then = places;
        then.keep(endpoints, false);
        std::vector<recv::DatagramLane::Place> all;
        for (const Endpoint& e : endpoints)
            all.push_back({e, static_cast<std::uint16_t>(then.of(e))});
        reader->receive(endpoints);
        lane->receive(all);
        places = std::move(then);
    }

    /// Runs on the stream's thread.
    void receive() noexcept {
        pthread_setname_np(pthread_self(), "spead-recv");
        try {
            while (!stopping && feed()) {
            }
        } catch (const std::exception& error) {
            log_error(LogType::recv, "receive {}: the stream ends: {}", lane->lane().config.name,
                      reason_of(error));
        }
        {
            // Sockets are closed, and groups left.
            const std::lock_guard lock(mutex);
            reader->give_up();
            lost = reader->lost();
            reader.reset();
            // The hand-over of chunks waits for nobody, and belongs to the end.
            has_fed = !chunks;
        }
        fed.notify_all();
        while (!hand_over())
            std::this_thread::sleep_for(kPause);
        over = true;
        if (users) {
            users->set_ended(true);
            return;
        }
        chunks->close();
        {
            const std::lock_guard lock(mutex);
            has_fed = true;
        }
        fed.notify_all();
    }

    /// Gives the lane a burst. Returns false at the end of the stream.
    bool feed() {
        recv::PacketReader::Fed fed_now = recv::PacketReader::Fed::nothing;
        {
            const std::lock_guard lock(mutex);
            const std::uint64_t now = rte_rdtsc();
            fed_now = reader->feed(*lane, now);
            if (fed_now != recv::PacketReader::Fed::packets)
                lane->idle(now);
            if (now - last_look > look_after) {
                lane->housekeep(now);
                last_look = now;
            }
            if (lane->stopped())
                return false;
        }
        if (fed_now == recv::PacketReader::Fed::nothing && !busy)
            reader->wait(kPatience);
        else if (fed_now == recv::PacketReader::Fed::blocked)
            std::this_thread::sleep_for(kPause);
        return fed_now != recv::PacketReader::Fed::end;
    }

    /// Returns whether all heaps were handed over or given up.
    bool hand_over() noexcept {
        const std::lock_guard lock(mutex);
        if (lane->flush())
            return true;
        if (giving_up)
            lane->drop_rest();
        return giving_up;
    }

    Former counts() const {
        const std::lock_guard lock(mutex);
        return {lane->lane().counters, reader ? reader->lost() : lost, queue,
                chunks ? chunks->counts() : stats::ChunkCounts()};
    }

    const bool busy;
    std::unique_ptr<recv::PacketReader>
        reader;  ///< guarded, for other threads; null: the last packet was taken
    const std::unique_ptr<runtime::StreamChunks> chunks;  ///< null: the stream has heaps
    const std::shared_ptr<runtime::UserQueues> users;     ///< null: the stream fills chunks
    std::shared_ptr<recv::DatagramLane> lane;             ///< its heaps keep it, too
    std::shared_ptr<runtime::UserQueues::Queue> queue;
    runtime::EndpointPlaces places;  ///< in the lane's tables
    const std::uint64_t look_after = static_cast<std::uint64_t>(kHousekeeping * ticks_per_second());
    std::uint64_t last_look = 0;
    std::atomic<bool> stopping{false};
    std::atomic<bool> giving_up{false};
    std::atomic<bool> over{false};  ///< all was handed over or given up
    mutable std::mutex mutex;       ///< of the lane, between its bursts
    std::condition_variable fed;
    bool has_fed = false;    ///< guarded: end() may return
    std::uint64_t lost = 0;  ///< guarded; once there is no reader
    std::thread thread;
};

LocalReceiver::LocalReceiver(runtime::ReceivePlan plan, Parts parts)
    : parts_(std::move(parts)), plan_(std::move(plan)) {
    check_stream(plan_);
    if (plan_.enabled)
        start();
}

LocalReceiver::~LocalReceiver() {
    const std::lock_guard lock(mutex_);
    run_.reset();
    if (parts_.queues)
        parts_.queues->drop_if_abandoned();
}

void LocalReceiver::start() {
    const std::lock_guard lock(mutex_);
    if (run_ && !run_->over)
        return;
    retire();
    run_ = std::make_unique<Run>(plan_, parts_);
}

/// Ends a run that has nothing to hand over any more, and keeps its counts.
void LocalReceiver::retire() {
    if (!run_)
        return;
    former_.push_back(run_->counts());
    run_.reset();
    for (const Former& f : former_)
        if (f.queue)
            parts_.queues->remove(*f.queue);
}

void LocalReceiver::stop() noexcept {
    const std::lock_guard lock(mutex_);
    if (run_)
        run_->end();
}

void LocalReceiver::change_endpoints(const std::function<void(runtime::ReceivePlan&)>& edit) {
    const std::lock_guard lock(mutex_);
    runtime::ReceivePlan wanted = plan_;
    edit(wanted);
    check_stream(wanted);
    if (run_)
        run_->change(wanted.endpoints);
    plan_ = std::move(wanted);
}

LocalReceiver::Counts LocalReceiver::counts() const {
    const std::lock_guard lock(mutex_);
    std::vector<Former> all = former_;
    if (run_)
        all.push_back(run_->counts());
    Counts c;
    for (const Former& f : all) {
        runtime::HeapTally::Done done;
        if (f.queue)
            done = f.queue->done();
        else
            done.delivered = f.counters.heaps_pushed;
        c.stream.add(f.counters, done.delivered, done.unwritten);
        c.stream.chunks.add(f.chunks);
        c.lost += f.lost;
    }
    return c;
}

}  // namespace spead::door
