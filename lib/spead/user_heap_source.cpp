// SPDX-License-Identifier: BSD-3-Clause
#include "spead/user_heap_source.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <poll.h>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "spead/plan_edits.hpp"

namespace spead::door {

namespace {

/// Limits the wait for heaps that were given up; an lcore that answers completes them in much less.
constexpr std::chrono::seconds kAbandonedPatience{30};
/// Holds the interval between checks for events without a descriptor: an lcore that does not answer.
constexpr std::chrono::milliseconds kLook{200};

SendStatus status_of(const HeapTaker::Done& done) {
    if (done.error != 0)
        return SendStatus::refused;
    switch (done.status) {
        case send::SendStatus::aborted:
            return SendStatus::aborted;
        case send::SendStatus::timed_out:
            return SendStatus::timed_out;
        case send::SendStatus::sent:
            break;
    }
    return SendStatus::sent;
}

}  // namespace

/// Holds the engine's side, on the main thread.
class UserHeapSource::EngineSide final : public runtime::HeapSource {
  public:
    explicit EngineSide(std::shared_ptr<UserHeapSource> user) : user_(std::move(user)) {}
    ~EngineSide() override { user_->take_away(); }
    EngineSide(const EngineSide&) = delete;
    EngineSide& operator=(const EngineSide&) = delete;

    void start(const std::vector<unsigned>&, std::int64_t) override {
        const std::lock_guard lock(user_->mutex_);
        user_->started_ = true;
        user_->stopping_ = false;
    }
    void request_stop() noexcept override {
        {
            const std::lock_guard lock(user_->mutex_);
            user_->stopping_ = true;
        }
        user_->event_->announce();
    }
    void abandon() noexcept override {
        {
            const std::lock_guard lock(user_->mutex_);
            user_->stopping_ = true;
            user_->abandoned_ = Clock::now();
            user_->sender_->request_stop();
        }
        user_->event_->announce();
    }
    void join() override {}
    bool done() const noexcept override { return user_->engine_done(); }
    std::string failure() const override { return {}; }

  private:
    std::shared_ptr<UserHeapSource> user_;
};

UserHeapSource::UserHeapSource(std::string where, std::uint32_t max_heaps)
    : where_(std::move(where)), event_(std::make_shared<ArmedEvent>(where_)), flights_(max_heaps) {
    free_.reserve(max_heaps);
    for (Flight& flight : flights_)
        free_.push_back(&flight);
}

std::unique_ptr<runtime::HeapSource> UserHeapSource::engine_side(send::Sender& sender) {
    auto side = std::make_unique<EngineSide>(shared_from_this());
    attach(std::make_unique<PortTaker>(sender));
    return side;
}

void UserHeapSource::attach(std::shared_ptr<HeapTaker> sender) {
    sender->announce_by(event_);
    const std::lock_guard lock(mutex_);
    sender_ = std::move(sender);
}

/// Returns whether this process has made it, and not its parent.
bool UserHeapSource::is_own() const noexcept {
    return mark_.is_own();
}

void UserHeapSource::need_open() const {
    if (ended_ || (sender_ == nullptr && stopping_))
        throw_error(where_, "the stream has ended with its session or its port; make a new one");
    if (stopped_)
        throw_error(where_, "the stream was stopped; make a new one");
    if (sender_ == nullptr || stopping_)
        throw_error(where_, "the stream takes no heaps: it was stopped from outside, or its session ends");
}

bool UserHeapSource::try_submit(const std::shared_ptr<SendHeap::State>& heap, const SendOptions& options,
                                Kind kind, const Done& done) {
    heap->need_idle();
    if (heap->heap.items() == 0 && !heap->may_be_empty)
        throw_error(where_, "the heap is empty; add an item");
    // Before the lock: the last handle of a memory asks the engine.
    UserMemory::Handles memory;
    UserMemory::instance().hold(heap->memory, session_, memory);
    const std::lock_guard lock(mutex_);
    need_open();
    collect();
    if (free_.empty())
        return false;
    Flight& flight = *free_.back();
    send::Submission s;
    s.heap = &heap->heap;
    s.substream = options.substream;
    s.cnt = options.cnt;
    s.rate = options.rate;
    s.user = &flight;
    s.control = kind == Kind::control;
    flight.done = done;
    if (!about(where_, [this, &s] { return sender_->submit(std::span(&s, 1), send::Interleave::serial); })) {
        flight.done = nullptr;
        return false;
    }
    free_.pop_back();
    flight.heap = heap;
    flight.memory = std::move(memory);
    heap->sender = weak_from_this();
    heap->in_flight.store(true, std::memory_order_relaxed);
    return true;
}

void UserHeapSource::submit(const std::shared_ptr<SendHeap::State>& heap, const SendOptions& options,
                            Kind kind, const Done& done) {
    if (try_submit(heap, options, kind, done))
        return;
    if (!wait([&] { return try_submit(heap, options, kind, done); }))
        throw_error(where_, "its lcore does not answer; the heaps in flight stay so");
}

bool UserHeapSource::try_submit_group(std::span<const Member> group, send::Interleave mode) {
    if (group.empty())
        throw_usage(where_, "the group is empty; give at least one heap");
    // Before the lock, as in try_submit().
    std::vector<UserMemory::Handles> memory(group.size());
    std::vector<const SendHeap::State*> heaps;
    for (std::size_t i = 0; i < group.size(); i++) {
        const SendHeap::State& heap = *group[i].heap;
        heap.need_idle();
        if (heap.heap.items() == 0 && !heap.may_be_empty)
            throw_error(where_, "heap {} of the group is empty; add an item", i);
        UserMemory::instance().hold(heap.memory, session_, memory[i]);
        heaps.push_back(&heap);
    }
    std::sort(heaps.begin(), heaps.end());
    if (std::adjacent_find(heaps.begin(), heaps.end()) != heaps.end())
        throw_usage(where_, "a heap stands twice in the group; make a heap for each place");
    const std::lock_guard lock(mutex_);
    return begin(group, mode, memory);
}

/// Hands the group to the sender; false when there is no room.
bool UserHeapSource::begin(std::span<const Member> group, send::Interleave mode,
                           std::span<UserMemory::Handles> memory) {
    need_open();
    collect();
    if (group.size() > flights_.size())
        throw_usage(where_, "a group of {} heaps is never in flight at once: max_heaps is {}; raise it",
                    group.size(), flights_.size());
    if (free_.size() < group.size())
        return false;
    const std::span<Flight*> places = std::span(free_).last(group.size());
    std::vector<send::Submission> submissions;
    /// Forgets the functions, unless the sender has the heaps.
    struct Undo {
        std::span<Flight*> places;
        ~Undo() {
            for (Flight* const place : places)
                place->done = nullptr;
        }
    } undo{places};
    for (std::size_t i = 0; i < group.size(); i++) {
        send::Submission& s = submissions.emplace_back();
        s.heap = &group[i].heap->heap;
        s.substream = group[i].options.substream;
        s.cnt = group[i].options.cnt;
        s.rate = group[i].options.rate;
        s.user = places[i];
        // It may throw, and nothing may once the lcore has the heaps.
        places[i]->done = group[i].done;
    }
    if (!sender_->submit(submissions, mode))
        return false;
    undo.places = {};
    for (std::size_t i = 0; i < group.size(); i++) {
        Flight& flight = *places[i];
        flight.heap = group[i].heap;
        flight.memory = std::move(memory[i]);
        flight.heap->sender = weak_from_this();
        flight.heap->in_flight.store(true, std::memory_order_relaxed);
    }
    free_.resize(free_.size() - group.size());
    return true;
}

void UserHeapSource::complete(Flight& flight, const SendResult& result) {
    flight.result = result;
    completed_.push_back(&flight);
}

/// Takes the lcore's completions.
void UserHeapSource::collect() {
    if (sender_ == nullptr)
        return;
    std::array<HeapTaker::Done, 32> completions;
    for (;;) {
        const std::size_t n = sender_->poll_completions(completions);
        for (std::size_t i = 0; i < n; i++)
            complete(*static_cast<Flight*>(completions[i].user),
                     {status_of(completions[i]), completions[i].cnt, 0, completions[i].error});
        if (n < completions.size())
            return;
    }
}

std::size_t UserHeapSource::dispatch() {
    std::size_t taken = 0;
    if (armed_.exchange(false))
        event_->clear();
    for (;;) {
        Flight over;
        {
            const std::lock_guard lock(mutex_);
            collect();
            if (!completed_.empty()) {
                Flight& flight = *completed_.front();
                completed_.pop_front();
                over = std::exchange(flight, {});
                free_.push_back(&flight);
            }
        }
        if (!over.heap && !arm_for_user())
            return taken;
        if (!over.heap)
            continue;
        taken++;
        if (over.result->status == SendStatus::sent)
            over.result->bytes = over.heap->heap.packet_bytes();
        over.heap->last = *over.result;
        over.heap->in_flight.store(false, std::memory_order_release);
        over.memory.clear();
        if (!over.done)
            continue;
        try {
            over.done(*over.result);
        } catch (...) {
            leave_armed();
            throw;
        }
    }
}

/// Makes the next completion signal the descriptor, if the user has it. Returns true when there is one
/// already.
bool UserHeapSource::arm_for_user() {
    {
        const std::lock_guard lock(mutex_);
        if (!fd_used_)
            return false;
    }
    event_->arm();
    armed_ = true;
    if (!anything_new())
        return false;
    event_->clear();
    armed_ = false;
    return true;
}

/// Arms the descriptor, if the user has it, or makes it readable for what there is.
void UserHeapSource::leave_armed() noexcept {
    if (!arm_for_user())
        return;
    event_->wake();
    armed_ = true;  // the next dispatch() clears it
}

/// Returns whether dispatch() would find something.
bool UserHeapSource::anything_new() {
    const std::lock_guard lock(mutex_);
    return !completed_.empty() || (sender_ != nullptr && sender_->any_completed());
}

/// Returns whether the heaps in flight will not complete any more.
bool UserHeapSource::is_given_up() const {
    const std::lock_guard lock(mutex_);
    return sender_ != nullptr && abandoned_ && Clock::now() - *abandoned_ > kAbandonedPatience;
}

bool UserHeapSource::wait(const std::function<bool()>& over, std::optional<Clock::duration> patience) {
    const Clock::time_point begin = Clock::now();
    /// Keeps the descriptor from staying readable, however the wait ends.
    struct Armed {
        explicit Armed(ArmedEvent& e) : event(e) { event.arm(); }
        ~Armed() { event.clear(); }
        Armed(const Armed&) = delete;
        Armed& operator=(const Armed&) = delete;
        ArmedEvent& event;
    };
    /// Leaves the descriptor to the user, however the wait ends.
    struct Leave {
        UserHeapSource& source;
        ~Leave() { source.leave_armed(); }
    };
    const Leave leave{*this};
    bool result = false;
    for (bool waiting = true; waiting;) {
        dispatch();
        // Armed before the look: every event that ends the wait is announced.
        const Armed armed(*event_);
        if (over()) {
            result = true;
            waiting = false;
        } else if (!anything_new()) {
            waiting = is_own() && !is_given_up() && !(patience && Clock::now() - begin > *patience);
            pollfd p{event_->fd(), POLLIN, 0};
            if (waiting)
                ::poll(&p, 1, static_cast<int>(kLook.count()));
        }
    }
    return result;
}

void UserHeapSource::wait_for_end_of(const SendHeap::State& heap) noexcept {
    const Clock::time_point begin = Clock::now();
    bool reported = false;
    const auto completed = [&] {
        const std::lock_guard lock(mutex_);
        collect();
        return std::none_of(flights_.begin(), flights_.end(),
                            [&](const Flight& f) { return f.heap.get() == &heap && !f.result; });
    };
    while (is_own() && !completed()) {
        if (!reported && Clock::now() - begin > kHeapPatience) {
            reported = true;
            log_warning(LogType::send, "{}: a heap was destroyed in flight; the stream is stopped", where_);
            stop();
        }
        if (Clock::now() - begin > 2 * kHeapPatience) {
            log_error(LogType::send, "{}: a heap was destroyed in flight, and its memory may still be read",
                      where_);
            return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

std::size_t UserHeapSource::in_flight() const {
    const std::lock_guard lock(mutex_);
    return flights_.size() - free_.size();
}

void UserHeapSource::set_cnt_sequence(std::uint64_t next, std::uint64_t step) {
    const std::lock_guard lock(mutex_);
    need_open();
    sender_->set_cnt_sequence(next, step);
}

void UserHeapSource::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        if (sender_ != nullptr)
            sender_->request_stop();
    }
    event_->announce();
}

void UserHeapSource::keep_for_ever() noexcept {
    // Nothing gives this reference back. Making it needs no memory: there may be none left.
    using Reference = std::shared_ptr<UserHeapSource>;
    alignas(Reference) std::array<std::byte, sizeof(Reference)> place;
    new (place.data()) Reference(shared_from_this());
}

int UserHeapSource::fd() noexcept {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = !std::exchange(fd_used_, true);
    }
    // A completion may come before the next dispatch().
    if (first)
        leave_armed();
    return event_->fd();
}

std::optional<stats::SendCounters> UserHeapSource::last_counters() const {
    const std::lock_guard lock(mutex_);
    return last_;
}

bool UserHeapSource::engine_done() {
    const std::lock_guard lock(mutex_);
    if (!stopping_)
        return !started_;
    collect();
    return sender_->in_flight() == 0;
}

void UserHeapSource::take_away() noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (sender_ != nullptr) {
            collect();
            last_ = sender_->counters();
        }
        for (Flight& flight : flights_)
            if (flight.heap && !flight.result) {
                send::Sender::disown(flight.heap->heap);
                complete(flight, {SendStatus::aborted, 0, 0, 0});
            }
        sender_.reset();
        ended_ = true;
    }
    event_->announce();
}

}  // namespace spead::door
