// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/consumers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <tuple>
#include <unistd.h>

#include "base/error.hpp"
#include "base/start_thread.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kBurst = 32;

}  // namespace

void run_on(const std::vector<unsigned>& cpus) {
    if (cpus.empty())
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus)
        CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

Consumers::Thread::Thread() : wake_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_fd < 0)
        throw_error("runtime", "cannot make an event descriptor: {}", std::strerror(errno));
}

Consumers::Thread::~Thread() {
    close(wake_fd);
}

void Consumers::Thread::wake() const noexcept {
    eventfd_write(wake_fd, 1);
}

Consumers::~Consumers() {
    stop();
    join();
}

Consumers::Feed& Consumers::add(heap::HeapQueue& queue, Sink& sink) {
    Feed& feed = feeds_.emplace_back();
    feed.queue_ = &queue;
    feed.sink_ = &sink;
    if (!threads_.empty())
        give(feed);
    return feed;
}

/// Gives the feed to the thread that has its sink, or to the one with the fewest feeds.
void Consumers::give(Feed& feed) {
    std::vector<std::size_t> feeds(threads_.size());
    const Feed* same = nullptr;
    for (const Feed& other : feeds_) {
        if (&other == &feed || other.gone_)
            continue;
        feeds[other.thread_]++;
        if (other.sink_ == feed.sink_)
            same = &other;
    }
    feed.thread_ =
        same != nullptr
            ? same->thread_
            : static_cast<std::size_t>(std::min_element(feeds.begin(), feeds.end()) - feeds.begin());
    Thread& thread = threads_[feed.thread_];
    const std::lock_guard lock(thread.mutex);
    thread.feeds.push_back(&feed);
    thread.changes.fetch_add(1, std::memory_order_release);
    thread.wake();
}

std::optional<Consumers::Done> Consumers::remove(Feed& feed, bool end_sink) {
    const bool runs = !threads_.empty();
    if (runs && !feed.leaving_) {
        Thread& thread = threads_[feed.thread_];
        const std::lock_guard lock(thread.mutex);
        feed.leaving_ = true;
        feed.finishes_sink_ = end_sink;
        thread.changes.fetch_add(1, std::memory_order_release);
        thread.wake();
    }
    if (runs && !feed.gone_.load(std::memory_order_acquire))
        return std::nullopt;
    if (!runs && end_sink)
        feed.sink_->end();
    const Done done = feed.done();
    feeds_.remove_if([&feed](const Feed& f) { return &f == &feed; });
    return done;
}

void Consumers::start(unsigned threads, const std::vector<unsigned>& cpus, bool all) {
    std::vector<Sink*> sinks;
    for (const Feed& f : feeds_)
        if (std::find(sinks.begin(), sinks.end(), f.sink_) == sinks.end())
            sinks.push_back(f.sink_);
    const std::size_t most = std::max(threads, 1U);
    const std::size_t count = all ? most : std::min(most, sinks.size());
    for (std::size_t t = 0; t < count; t++)
        threads_.emplace_back();
    for (Feed& f : feeds_) {
        f.thread_ =
            static_cast<std::size_t>(std::find(sinks.begin(), sinks.end(), f.sink_) - sinks.begin()) % count;
        threads_[f.thread_].feeds.push_back(&f);
    }
    try {
        for (Thread& t : threads_)
            t.thread = start_thread("consumers", [this, &t, cpus] {
                run_on(cpus);
                run(t);
            });
    } catch (const std::exception& error) {
        // No thread waits for heaps to be taken.
        fail(error.what());
        throw;
    }
}

void Consumers::join() {
    ending_.store(true, std::memory_order_release);
    for (const Thread& t : threads_)
        t.wake();
    for (Thread& t : threads_)
        if (t.thread.joinable())
            t.thread.join();
    threads_.clear();
}

void Consumers::stop() noexcept {
    stop_.store(true, std::memory_order_release);
    for (const Thread& t : threads_)
        t.wake();
}

std::string Consumers::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

void Consumers::fail(const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty())
        failure_ = message;
    failed_.store(true, std::memory_order_release);
}

std::size_t Consumers::claim(std::size_t wanted) noexcept {
    std::uint64_t left = unclaimed_.load(std::memory_order_relaxed);
    std::size_t claimed = 0;
    do {
        claimed = static_cast<std::size_t>(std::min<std::uint64_t>(left, wanted));
    } while (!unclaimed_.compare_exchange_weak(left, left - claimed, std::memory_order_relaxed));
    return claimed;
}

/// Pops within the budget.
std::size_t Consumers::take(heap::HeapQueue& queue, std::span<heap::HeapHandle> out) {
    if (budget_ == 0)
        return queue.pop_burst(out);
    const std::size_t claimed = claim(std::min(out.size(), queue.size()));
    const std::size_t n = queue.pop_burst(out.first(claimed));
    unclaimed_.fetch_add(claimed - n, std::memory_order_relaxed);
    taken_.fetch_add(n, std::memory_order_release);
    return n;
}

/// Returns true when anything was taken.
bool Consumers::drain(Feed& feed) {
    std::array<heap::HeapHandle, kBurst> heaps;
    const std::size_t n = feed.sink_->failed() ? feed.queue_->pop_burst(heaps) : take(*feed.queue_, heaps);
    for (std::size_t i = 0; i < n; i++) {
        feed.sink_->hand(std::move(heaps[i]), [&feed](bool kept) {
            (kept ? feed.delivered_ : feed.unwritten_).fetch_add(1, std::memory_order_release);
        });
        feed.sink_->show_compared();
    }
    return n != 0;
}

/// Returns this thread's feeds as they are now, and whether some of them are leaving. Removes those that are
/// leaving and have nothing left.
std::pair<std::vector<Consumers::Feed*>, bool> Consumers::look_at_feeds(Thread& me) {
    std::vector<Feed*> leave;
    std::vector<Feed*> rest;
    {
        const std::lock_guard lock(me.mutex);
        std::erase_if(me.feeds, [&leave](Feed* f) {
            const bool over = f->leaving_ && f->queue_->closed() && f->queue_->empty();
            if (over)
                leave.push_back(f);
            return over;
        });
        rest = me.feeds;
    }
    for (std::size_t i = 0; i < leave.size(); i++) {
        Feed* const f = leave[i];
        // All queues of a sink are this thread's: the last one to leave finishes it.
        const auto same = [f](const Feed* other) { return other->sink_ == f->sink_; };
        const auto next = leave.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        if (f->finishes_sink_ && std::none_of(rest.begin(), rest.end(), same) &&
            std::none_of(next, leave.end(), same))
            f->sink_->end();
        else
            f->sink_->settle();
        f->gone_.store(true, std::memory_order_release);
    }
    const std::lock_guard lock(me.mutex);
    return {me.feeds,
            std::any_of(me.feeds.begin(), me.feeds.end(), [](const Feed* f) { return f->leaving_; })};
}

void Consumers::take_heaps(Thread& me) {
    std::uint64_t seen = 0;
    std::vector<Feed*> feeds;
    bool leaving = false;
    std::vector<pollfd> descriptors;
    const auto look = [&] {
        seen = me.changes.load(std::memory_order_acquire);
        std::tie(feeds, leaving) = look_at_feeds(me);
        descriptors.assign({{me.wake_fd, POLLIN, 0}});
        for (const Feed* const f : feeds)
            descriptors.push_back({f->queue_->event_fd(), POLLIN, 0});
    };
    const auto over = [&] {
        return stop_.load(std::memory_order_acquire) || failed() || budget_used_up() ||
               (ending_.load(std::memory_order_acquire) &&
                std::all_of(feeds.begin(), feeds.end(),
                            [](const Feed* f) { return f->queue_->closed() && f->queue_->empty(); }));
    };
    for (look(); !over();) {
        bool any = false;
        for (Feed* const f : feeds)
            any |= drain(*f);
        if (leaving || me.changes.load(std::memory_order_acquire) != seen)
            look();
        if (any)
            continue;
        bool sleep = true;
        for (const Feed* const f : feeds)
            sleep &= f->queue_->arm();
        if (sleep && !over())
            poll(descriptors.data(), static_cast<nfds_t>(descriptors.size()), 100);
        for (const Feed* const f : feeds)
            f->queue_->disarm();
        eventfd_t count = 0;
        eventfd_read(me.wake_fd, &count);
    }
}

void Consumers::run(Thread& me) {
    try {
        take_heaps(me);
    } catch (const std::exception& e) {
        fail(e.what());
    }
    std::vector<Sink*> finished;
    for (const Feed* const f : look_at_feeds(me).first)
        if (std::find(finished.begin(), finished.end(), f->sink_) == finished.end()) {
            finished.push_back(f->sink_);
            f->sink_->end();
        }
}

}  // namespace spead::runtime
