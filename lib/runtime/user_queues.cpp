// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/user_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <span>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::runtime {

namespace {

void watch_descriptor(int epoll_fd, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        throw_error("runtime",
                    "a queue's event descriptor cannot be watched: {}; raise "
                    "fs.epoll.max_user_watches or the limit of descriptors (ulimit -n)",
                    std::strerror(errno));
}

}  // namespace

UserQueues::UserQueues()
    : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    try {
        if (epoll_fd_ < 0 || wake_fd_ < 0)
            throw_error("runtime",
                        "cannot make an event descriptor: {}; raise the limit of descriptors (ulimit -n)",
                        std::strerror(errno));
        watch_descriptor(epoll_fd_, wake_fd_);
    } catch (...) {
        close_fds();
        throw;
    }
}

UserQueues::~UserQueues() {
    close_fds();
}

void UserQueues::close_fds() const noexcept {
    if (epoll_fd_ >= 0)
        close(epoll_fd_);
    if (wake_fd_ >= 0)
        close(wake_fd_);
}

std::shared_ptr<UserQueues::Queue> UserQueues::add(std::shared_ptr<heap::HeapQueue> queue) {
    auto added = std::make_shared<Queue>(std::move(queue));
    const std::lock_guard lock(mutex_);
    queues_.reserve(queues_.size() + 1);
    watch_descriptor(epoll_fd_, added->queue_->event_fd());
    queues_.push_back(added);
    ended_ = false;
    wake();
    return added;
}

std::optional<HeapTally::Done> UserQueues::remove(const Queue& queue) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(queues_.begin(), queues_.end(), [&](const auto& q) { return q.get() == &queue; });
    if (found != queues_.end()) {
        const bool fetched = first_ != last_ && fetched_from_.get() == &queue;
        if (fetched || !queue.queue_->empty())
            return std::nullopt;
        epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, queue.queue_->event_fd(), nullptr);
        if (fetched_from_.get() == &queue)
            fetched_from_.reset();
        queues_.erase(found);
        next_ = 0;
    }
    return queue.done();
}

void UserQueues::set_ended(bool ended) noexcept {
    const std::lock_guard lock(mutex_);
    if (ended == ended_)
        return;
    ended_ = ended;
    wake();
}

UserQueues::Heaps UserQueues::heaps() const noexcept {
    const std::lock_guard lock(mutex_);
    Heaps all;
    for (const auto& q : queues_) {
        all.held += q->queue_->held();
        all.waiting += q->queue_->size();
    }
    if (fetched_from_) {
        all.held -= std::min(all.held, last_ - first_);
        all.waiting += last_ - first_;
    }
    return all;
}

/// Wakes waiting threads, which look at the queues again.
void UserQueues::wake() noexcept {
    woken_ = true;
    eventfd_write(wake_fd_, 1);
}

std::optional<HeapLoan> UserQueues::try_take() noexcept {
    const std::lock_guard lock(mutex_);
    // A heap that comes between a look and arm() is seen by arm().
    while (first_ == last_)
        if (!fetch() && arm())
            return std::nullopt;
    Queue& from = *fetched_from_;
    from.delivered_.store(from.delivered_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return std::optional<HeapLoan>(std::in_place, from.queue_, std::move(fetched_[first_++]));
}

std::optional<HeapLoan> UserQueues::take(std::int64_t timeout_ns) {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> until;
    for (;;) {
        if (std::optional<HeapLoan> loan = try_take(); loan || ended())
            return loan;
        timespec left{};
        if (timeout_ns >= 0) {
            const Clock::time_point now = Clock::now();
            if (!until)
                until = timeout_ns < (Clock::time_point::max() - now).count()
                            ? now + std::chrono::nanoseconds(timeout_ns)
                            : Clock::time_point::max();
            if (now >= *until)
                return std::nullopt;
            const std::int64_t ns = (*until - now).count();
            left = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
        }
        pollfd p{epoll_fd_, POLLIN, 0};
        ppoll(&p, 1, timeout_ns < 0 ? nullptr : &left, nullptr);
    }
}

bool UserQueues::ended() const noexcept {
    const std::lock_guard lock(mutex_);
    return ended_ && first_ == last_ &&
           std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q->queue_->empty(); });
}

bool UserQueues::no_more() const noexcept {
    const std::lock_guard lock(mutex_);
    return ended_;
}

bool UserQueues::Queue::wait_for_room(std::chrono::nanoseconds patience) {
    std::unique_lock lock(room_mutex_);
    wants_room_.store(true);
    // Either a user sees that, or this sees what it has taken.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool full = queue_->size() >= queue_->capacity();
    if (full)
        room_.wait_for(lock, patience, [this] { return !wants_room_.load(); });
    wants_room_.store(false);
    return full;
}

void UserQueues::Queue::tell_room() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!wants_room_.load())
        return;
    {
        const std::lock_guard lock(room_mutex_);
        wants_room_.store(false);
    }
    room_.notify_one();
}

/// Takes several heaps from the next queue at once, since one ring access costs more than a heap. Returns
/// whether there were any.
bool UserQueues::fetch() noexcept {
    for (std::size_t i = 0; i < queues_.size(); i++) {
        const std::size_t at = (next_ + i) % queues_.size();
        if (const std::size_t n = queues_[at]->queue_->pop_burst(fetched_); n != 0) {
            first_ = 0;
            last_ = n;
            if (fetched_from_ != queues_[at])
                fetched_from_ = queues_[at];
            next_ = at + 1;
            queues_[at]->tell_room();
            return true;
        }
    }
    return false;
}

/// Arms the descriptor. Returns false when a heap has come meanwhile. Afterwards the descriptor is not
/// readable, unless the stream has ended. An lcore that was about to signal may make it readable once without
/// a heap; so it is cleared at every turn.
bool UserQueues::arm() noexcept {
    if (woken_ && !ended_) {
        eventfd_t count = 0;
        eventfd_read(wake_fd_, &count);
        woken_ = false;
    }
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& q) {
        q->queue_->disarm();
        return q->queue_->arm();
    });
}

void UserQueues::abandon() noexcept {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    drop_all();
}

void UserQueues::drop_if_abandoned() noexcept {
    const std::lock_guard lock(mutex_);
    if (abandoned_)
        drop_all();
}

/// Drops heaps, with a limit: an lcore may be as fast.
void UserQueues::drop_all() noexcept {
    constexpr int kRounds = 4096;
    const auto drop = [](Queue& from, std::span<heap::HeapHandle> heaps) {
        for (heap::HeapHandle& heap : heaps)
            heap.reset();
        from.unwritten_.fetch_add(heaps.size(), std::memory_order_release);
    };
    for (int i = 0; i == 0 || (i < kRounds && fetch()); i++) {
        if (fetched_from_)
            drop(*fetched_from_, std::span(fetched_).subspan(first_, last_ - first_));
        first_ = last_ = 0;
    }
}

}  // namespace spead::runtime
