// SPDX-License-Identifier: BSD-3-Clause
#include "spead/local_run.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <utility>

#include <fmt/core.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/units.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/layout.hpp"
#include "runtime/stream_set.hpp"

namespace spead::door {

namespace {

using namespace std::chrono_literals;

/// Limits a wait for packets: timeouts of heaps and counts of losses are due meanwhile.
constexpr std::chrono::milliseconds kRest{10};
/// Holds the pause of a lane whose consumer has to give heaps back: these tell nobody.
constexpr std::chrono::microseconds kPause{200};
/// Limits the pause of a lane whose consumer has to take heaps.
constexpr std::chrono::milliseconds kFull{1};
/// Holds the time between two looks at timeouts.
constexpr double kHousekeeping = 0.002;  // s

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

/// Locks what a group shares; nothing if the stream is alone.
std::unique_lock<std::mutex> alone_in(const std::shared_ptr<std::mutex>& group) {
    return group ? std::unique_lock(*group) : std::unique_lock<std::mutex>();
}

runtime::StreamChunks* make_chunks(const runtime::ReceivePlan& plan, const LocalReceiver::Parts& parts) {
    if (!plan.chunk)
        return nullptr;
    const auto alone = alone_in(parts.of_group);
    return new runtime::StreamChunks(plan, parts.chunks, std::make_shared<runtime::NullChunkSink>());
}

}  // namespace

std::shared_ptr<runtime::UserQueues::Queue> LocalEnd::begin(std::shared_ptr<heap::HeapQueue> queue) {
    const std::lock_guard lock(mutex_);
    auto added = queues_->add(std::move(queue));
    runs_++;
    return added;
}

void LocalEnd::end() noexcept {
    const std::lock_guard lock(mutex_);
    if (--runs_ == 0)
        queues_->set_ended(true);
}

void LocalEnd::end_if_idle() noexcept {
    const std::lock_guard lock(mutex_);
    if (runs_ == 0)
        queues_->set_ended(true);
}

void LocalEnd::cancel(const runtime::UserQueues::Queue& queue) noexcept {
    queues_->remove(queue);
    end();
}

void LocalRun::EndChunks::operator()(runtime::StreamChunks* chunks) const noexcept {
    const auto alone = alone_in(of_group);
    delete chunks;
}

LocalRun::LocalRun(const runtime::ReceivePlan& plan, const LocalReceiver::Parts& parts,
                   std::unique_ptr<recv::SeveralReaders> readers, LocalEnd* end)
    : name_(plan.name),
      busy_(plan.poll == runtime::PollMode::busy),
      end_(end),
      reader_(std::move(readers)),
      chunks_(make_chunks(plan, parts), EndChunks{parts.of_group}),
      look_after_(static_cast<std::uint64_t>(kHousekeeping * ticks_per_second())) {
    const recv::LaneConfig config =
        runtime::lane_config(plan, runtime::of_one_path(plan.endpoints), reader_->lossless());
    lane_ = std::make_shared<recv::DatagramLane>(config, runtime::own_heap_bytes(plan), parts.resident);
    places_.keep(runtime::of_one_path(plan.endpoints), false);
    if (chunks_) {
        const auto alone = alone_in(parts.of_group);
        lane_->fill(chunks_->make_lane(lane_->lane().counters,
                                       config.window.on_full == heap::FullPolicy::block, config.window));
    }
    if (parts.make_filter)
        if (std::unique_ptr<recv::PacketFilter> filter = parts.make_filter())
            lane_->lane().filter = std::make_unique<recv::FilterGate>(std::move(filter), 0);
    // The last that may fail.
    if (end_ != nullptr)
        queue_ = end_->begin(std::shared_ptr<heap::HeapQueue>(lane_, &lane_->queue()));
}

void LocalRun::begin(const runtime::ReceivePlan& plan) {
    // The thread may end at once.
    if (chunks_) {
        const auto alone = alone_in(chunks_.get_deleter().of_group);
        chunks_->serve();
    }
    thread_ = start_thread("receive " + name_, [this] { receive(); });
    pin(thread_, plan);
}

LocalRun::~LocalRun() {
    giving_up_ = true;
    if (!thread_.joinable()) {
        // It never began.
        if (end_ != nullptr)
            end_->cancel(*queue_);
        return;
    }
    end();
    if (!wait_for(left_, kPatience))
        log_warning(LogType::recv, "receive {}: {}; it is destroyed as soon as that returns", name_,
                    silence());
    thread_.join();
}

std::string LocalRun::silence() {
    return fmt::format(
        "its thread has not answered for {} s, because a place callback or a filter has not returned",
        kPatience.count());
}

/// Waits for a flag that is guarded by told_.
bool LocalRun::wait_for(const bool& what, std::chrono::nanoseconds patience) const {
    std::unique_lock lock(told_);
    return change_.wait_for(lock, patience, [&what] { return what; });
}

bool LocalRun::end() noexcept {
    receives_ = false;
    {
        const std::lock_guard lock(told_);
        if (reader_)
            reader_->wake();
    }
    return !thread_.joinable() || wait_for(has_fed_, kPatience);
}

void LocalRun::add(std::unique_ptr<recv::PacketReader> reader) {
    const BurstMutex::Lock lock = turn_.ask(kPatience);
    if (!lock)
        throw_error("receive " + name_, "{}; the reader is not added", silence());
    if (reader_)
        reader_->add(std::move(reader));
}

void LocalRun::change(const std::vector<Endpoint>& endpoints) {
    const BurstMutex::Lock lock = turn_.ask(kPatience);
    if (!lock)
        throw_error("receive " + name_, "{}; its endpoints stay as they are", silence());
    if (!reader_)
        return;
    runtime::EndpointPlaces then = places_;
    then.keep(runtime::of_one_path(endpoints), false);
    std::vector<recv::DatagramLane::Place> all;
    for (const Endpoint& e : endpoints)
        all.push_back({e, static_cast<std::uint16_t>(then.of({e, 0}))});
    reader_->receive(endpoints);
    lane_->receive(all);
    places_ = std::move(then);
}

/// Runs on the stream's thread.
void LocalRun::receive() noexcept {
    pthread_setname_np(pthread_self(), "spead-recv");
    try {
        while (receives_ && feed()) {
        }
    } catch (const std::exception& error) {
        log_error(LogType::recv, "receive {}: the stream ends: {}", name_, reason_of(error));
    }
    receives_ = false;
    end_reading();
    // The hand-over of chunks waits for nobody, and belongs to the end.
    if (!chunks_)
        set_fed();
    while (!hand_over())
        wait_for_consumer();
    if (chunks_) {
        end_chunks();
        set_fed();
    }
    over_ = true;
    if (end_ != nullptr)
        end_->end();
    // The lock is held until the end: the waiting thread destroys what this one uses.
    const std::lock_guard lock(told_);
    left_ = true;
    change_.notify_all();
}

void LocalRun::set_fed() noexcept {
    const std::lock_guard lock(told_);
    has_fed_ = true;
    change_.notify_all();
}

/// Gives the lane a burst. Returns false at the end of the stream.
bool LocalRun::feed() {
    recv::PacketReader::Fed fed = recv::PacketReader::Fed::nothing;
    {
        const BurstMutex::Lock lock = turn_.burst();
        const std::uint64_t now = rte_rdtsc();
        const std::uint64_t before = lane_->counters()[PortOutcome::stream];
        fed = reader_->feed(*lane_, now);
        note_work(before);
        if (fed != recv::PacketReader::Fed::packets)
            lane_->idle(now);
        if (now - last_look_ > look_after_) {
            lane_->housekeep(now);
            note(false);
            tell_shortage();
            last_look_ = now;
        }
        if (lane_->stopped())
            return false;
        if (fed == recv::PacketReader::Fed::nothing && !busy_)
            lane_->rest();
        // Heaps that wait for room go on when there is some, whether or not packets come.
        if (fed == recv::PacketReader::Fed::nothing && lane_->blocked())
            fed = recv::PacketReader::Fed::blocked;
        note_wait(fed == recv::PacketReader::Fed::blocked);
    }
    if (fed == recv::PacketReader::Fed::nothing && !busy_)
        reader_->wait(kRest);
    else if (fed == recv::PacketReader::Fed::blocked)
        wait_for_consumer();
    return fed != recv::PacketReader::Fed::end;
}

/// Counts a burst. `before`: packets that had come. In a burst.
void LocalRun::note_work(std::uint64_t before) noexcept {
    const std::uint64_t packets = lane_->counters()[PortOutcome::stream] - before;
    work_.bursts += packets != 0;
    work_.largest = std::max(work_.largest, packets);
}

/// Counts the beginnings of waits for the consumer. In a burst, after all heaps were handed over that can be.
void LocalRun::note_wait(bool waits) noexcept {
    work_.blocked += waits && !is_blocked_;
    is_blocked_ = waits;
}

/// Says once that heaps end, or packets are lost, for lack of memory. In a burst.
void LocalRun::tell_shortage() {
    const heap::Window& window = lane_->lane().window;
    const bool is_short =
        window.evicted_for_room() != 0 || lane_->lane().counters[PacketOutcome::no_memory] != 0;
    if (has_told_shortage_ || !is_short || chunks_)
        return;
    has_told_shortage_ = true;
    log_warning(
        LogType::recv,
        "receive {}: its {} of memory have no room for the heaps that begin, so that heaps end early; "
        "raise `memory`, or `upper` or `max_free` of a MemoryPool",
        name_, human_size(window.placer().quota()));
}

/// Waits until the consumer may have made room. Between bursts.
void LocalRun::wait_for_consumer() const {
    if (!queue_ || !queue_->wait_for_room(kFull))
        std::this_thread::sleep_for(kPause);
}

/// Closes sockets, and leaves groups.
void LocalRun::end_reading() noexcept {
    const BurstMutex::Lock turn = turn_.burst();
    reader_->give_up();
    note(true);
    std::unique_ptr<recv::SeveralReaders> gone;
    const std::lock_guard lock(told_);
    gone = std::move(reader_);
}

/// Returns whether all heaps were handed over or given up.
bool LocalRun::hand_over() noexcept {
    const BurstMutex::Lock lock = turn_.burst();
    if (lane_->flush())
        return true;
    note_wait(true);
    if (giving_up_)
        lane_->drop_rest();
    return giving_up_;
}

void LocalRun::end_chunks() noexcept {
    const auto alone = alone_in(chunks_.get_deleter().of_group);
    chunks_->close();
}

/// Keeps the counts of the lane for those who ask while it is busy. In a burst, or instead of one.
void LocalRun::note(bool with_lost) const {
    const std::uint64_t lost = with_lost && reader_ ? reader_->lost() : 0;
    // Before the counters: so no more heaps have left the queue than came into it.
    const runtime::HeapTally::Done heaps = queue_ ? queue_->done() : runtime::HeapTally::Done{};
    const std::lock_guard lock(told_);
    last_.counters = lane_->lane().counters;
    last_.work = work_;
    last_.heaps = heaps;
    if (!queue_)
        last_.heaps.delivered = last_.counters.heaps_pushed;
    if (with_lost && reader_)
        last_.lost = lost;
}

LocalRun::Counts LocalRun::counts() const {
    {
        const BurstMutex::Lock lock = turn_.ask(kPatience);
        if (lock)
            note(true);
    }
    Counts c;
    {
        const std::lock_guard lock(told_);
        c = last_;
    }
    if (chunks_)
        c.chunks = chunks_->counts();
    return c;
}

}  // namespace spead::door
