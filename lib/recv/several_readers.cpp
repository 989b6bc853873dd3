// SPDX-License-Identifier: BSD-3-Clause
#include "recv/several_readers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <utility>

#include "base/error.hpp"

namespace spead::recv {

namespace {

void watch(int epoll, int fd, const std::string& where) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        throw_error(where, "a reader cannot be watched: {}; raise fs.epoll.max_user_watches",
                    std::strerror(errno));
}

}  // namespace

SeveralReaders::SeveralReaders(std::string where)
    : where_(std::move(where)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      added_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_ || !wake_ || !added_)
        throw_error(where_, "cannot make an event descriptor: {}; raise the limit of descriptors (ulimit -n)",
                    std::strerror(errno));
    watch(epoll_.get(), wake_.get(), where_);
    watch(epoll_.get(), added_.get(), where_);
}

void SeveralReaders::add(std::unique_ptr<PacketReader> reader) {
    const std::lock_guard lock(mutex_);
    readers_.reserve(readers_.size() + 1);
    if (const int fd = reader->fd(); fd >= 0)
        watch(epoll_.get(), fd, where_);
    readers_.push_back(std::move(reader));
    ::eventfd_write(added_.get(), 1);
}

PacketReader::Fed SeveralReaders::feed(DatagramLane& lane, std::uint64_t now) {
    bool any = false;
    const std::size_t count = readers_.size();
    for (std::size_t i = 0; i < count; i++) {
        const std::size_t at = (next_ + i) % count;
        switch (readers_[at]->feed(lane, now)) {
            case Fed::packets:
                any = true;
                break;
            case Fed::nothing:
                break;
            case Fed::blocked:
                // The lane has no room for others either.
                next_ = at;
                return any ? Fed::packets : Fed::blocked;
            case Fed::end:
                return Fed::end;
        }
    }
    if (count != 0)
        next_ = (next_ + 1) % count;
    return any ? Fed::packets : Fed::nothing;
}

void SeveralReaders::wait(std::chrono::milliseconds patience) {
    if (!arm())
        return;
    epoll_event event{};
    ::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(patience.count()));
    eventfd_t count = 0;
    ::eventfd_read(added_.get(), &count);
}

bool SeveralReaders::arm() noexcept {
    const std::lock_guard lock(mutex_);
    bool quiet = true;
    for (const auto& reader : readers_)
        quiet &= reader->arm();
    return quiet;
}

void SeveralReaders::wake() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& reader : readers_)
        reader->wake();
    ::eventfd_write(wake_.get(), 1);
}

bool SeveralReaders::lossless() const noexcept {
    const std::lock_guard lock(mutex_);
    return std::all_of(readers_.begin(), readers_.end(), [](const auto& r) { return r->lossless(); });
}

std::uint64_t SeveralReaders::lost() const noexcept {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const auto& reader : readers_)
        sum += reader->lost();
    return sum;
}

void SeveralReaders::receive(const std::vector<Endpoint>& endpoints) {
    for (const auto& reader : readers_)
        reader->receive(endpoints);
}

void SeveralReaders::give_up() noexcept {
    for (const auto& reader : readers_)
        reader->give_up();
}

}  // namespace spead::recv
