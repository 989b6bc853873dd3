// SPDX-License-Identifier: BSD-3-Clause
#include "recv/datagram_queue.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>

#include "base/error.hpp"

namespace spead::recv {

DatagramQueue::Pushed DatagramQueue::push(std::span<const std::uint8_t> payload,
                                          std::chrono::nanoseconds patience) {
    std::vector<std::uint8_t> copy(payload.begin(), payload.end());
    std::unique_lock lock(mutex_);
    const auto may_go_on = [&] { return stopped_ || has_room(payload.size()); };
    if (patience == std::chrono::nanoseconds::max())
        has_room_.wait(lock, may_go_on);
    else
        has_room_.wait_for(lock, patience, may_go_on);
    if (stopped_)
        return Pushed::stopped;
    if (!has_room(payload.size()))
        return Pushed::full;
    bytes_ += payload.size();
    queue_.push_back(std::move(copy));
    tell_all();
    lock.unlock();
    has_some_.notify_one();
    return Pushed::yes;
}

/// Returns whether a datagram of so many bytes gets in. Guarded.
bool DatagramQueue::has_room(std::size_t bytes) const noexcept {
    return queue_.empty() ||
           (queue_.size() < most_ && bytes_ <= most_bytes_ && bytes <= most_bytes_ - bytes_);
}

void DatagramQueue::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        tell_all();
    }
    has_room_.notify_all();
    has_some_.notify_all();
}

std::size_t DatagramQueue::size() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
}

bool DatagramQueue::stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
}

bool DatagramQueue::take(Batch& out, std::size_t most) {
    bool more = false;
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < most && !queue_.empty(); i++) {
            bytes_ -= queue_.front().size();
            out.push_back(std::move(queue_.front()));
            queue_.pop_front();
        }
        more = !stopped_ || !queue_.empty();
    }
    has_room_.notify_all();
    return more;
}

void DatagramQueue::put_back(Batch& taken, std::size_t first) {
    const std::lock_guard lock(mutex_);
    for (; taken.size() > first; taken.pop_back()) {
        bytes_ += taken.back().size();
        queue_.push_front(std::move(taken.back()));
    }
}

void DatagramQueue::wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    has_some_.wait_for(lock, patience, [this] { return woken_ || stopped_ || !queue_.empty(); });
    woken_ = false;
}

void DatagramQueue::wake_taker() noexcept {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
        tell_all();
    }
    has_some_.notify_all();
}

bool DatagramQueue::tell(int event_fd) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || !queue_.empty())
        return false;
    if (std::find(told_.begin(), told_.end(), event_fd) == told_.end())
        told_.push_back(event_fd);
    return true;
}

void DatagramQueue::tell_no_more(int event_fd) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(told_, event_fd);
}

/// Writes to the descriptors that wait. Guarded.
void DatagramQueue::tell_all() noexcept {
    for (const int fd : told_)
        ::eventfd_write(fd, 1);
    told_.clear();
}

QueueReader::~QueueReader() {
    if (event_)
        queue_->tell_no_more(event_.get());
}

int QueueReader::fd() {
    if (!event_)
        event_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event_)
        throw_error("queue",
                    "cannot make an event descriptor: {}; raise the limit of descriptors (ulimit -n)",
                    std::strerror(errno));
    return event_.get();
}

bool QueueReader::arm() noexcept {
    if (!event_)
        return true;
    eventfd_t count = 0;
    ::eventfd_read(event_.get(), &count);
    try {
        return queue_->tell(event_.get());
    } catch (const std::exception&) {
        // There is no memory to wait with; so it looks again.
        return false;
    }
}

void QueueReader::give_up() noexcept {
    queue_->put_back(batch_, first_);
}

PacketReader::Fed QueueReader::feed(DatagramLane& lane, std::uint64_t now) {
    bool more = true;
    if (first_ == batch_.size()) {
        batch_.clear();
        first_ = 0;
        more = queue_->take(batch_, RxAgent::kBurst);
    }
    if (batch_.empty())
        return more ? Fed::nothing : Fed::end;
    std::array<Datagram, RxAgent::kBurst> burst;
    std::size_t count = 0;
    for (std::size_t i = first_; i < batch_.size(); i++)
        burst[count++] = {way_, batch_[i], false};
    const std::size_t taken = lane.take(std::span(burst).first(count), now);
    first_ += taken;
    return taken == 0 ? Fed::blocked : Fed::packets;
}

}  // namespace spead::recv
