// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/uploader.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"

namespace spead::gpu {

namespace {

/// Says how often a completion word is looked at. A chunk of 8 MiB takes 150 us at 55 GB/s.
constexpr std::chrono::microseconds kLook{20};
/// Limits a wait for work, so that a lost wake-up costs little.
constexpr std::chrono::milliseconds kWait{100};

}  // namespace

Uploader::Uploader(ContextPointer context, unsigned in_flight, std::function<void()> at_start)
    : context_(std::move(context)),
      words_(sizeof(std::atomic<std::uint32_t>)),
      registered_(context_, words_.base(), words_.length()),
      done_(new (words_.base()) std::atomic<std::uint32_t>(0)),
      stream_(context_),
      in_flight_(std::max(1u, in_flight)),
      at_start_(std::move(at_start)),
      thread_(start_thread("GPU uploads", [this] { run(); })) {}

Uploader::~Uploader() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

Uploader::Ticket Uploader::submit(const Upload& upload) {
    const std::lock_guard lock(mutex_);
    if (error_ || stopping_ || waiting_.size() >= kMostWaiting)
        return 0;
    waiting_.push_back(upload);
    changed_.notify_one();
    // 0 is no ticket.
    submitted_ = submitted_ == UINT32_MAX ? 1 : submitted_ + 1;
    return submitted_;
}

bool Uploader::wait(Ticket ticket, std::chrono::milliseconds patience) const {
    const auto last = std::chrono::steady_clock::now() + patience;
    while (!done(ticket)) {
        if (error() || std::chrono::steady_clock::now() >= last)
            return done(ticket);
        std::this_thread::sleep_for(kLook);
    }
    return true;
}

std::optional<std::string> Uploader::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

void Uploader::run() noexcept {
    try {
        if (at_start_)
            at_start_();
        context_->use();
        upload_all();
        stream_.finish(kPatience);
    } catch (const std::exception& e) {
        log_error(LogType::memory, "uploads to the GPU end: {}", reason_of(e));
        // The owner of the memory of earlier uploads uses it again when it hears of the failure.
        if (!wait_until_quiet([this] { return stream_.idle(); }, kPatience))
            log_error(LogType::memory, "the GPU may still read from memory that uploads were made from");
        const std::lock_guard lock(mutex_);
        error_ = reason_of(e);
        waiting_.clear();
    }
}

void Uploader::upload_all() {
    while (const std::optional<Upload> upload = next()) {
        stream_.upload(upload->to, upload->from, upload->length);
        begun_ = begun_ == UINT32_MAX ? 1 : begun_ + 1;
        stream_.write(registered_.address_of(done_), begun_);
    }
}

bool Uploader::driver_has_room() const noexcept {
    return begun_ - last_done() < in_flight_;
}

std::optional<Uploader::Upload> Uploader::next() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (stopping_)
            return std::nullopt;
        if (waiting_.empty()) {
            changed_.wait_for(lock, kWait);
            continue;
        }
        if (driver_has_room()) {
            const Upload upload = waiting_.front();
            waiting_.pop_front();
            return upload;
        }
        lock.unlock();
        // Finds failures of the GPU, too: then the word never changes.
        (void)stream_.idle();
        std::this_thread::sleep_for(kLook);
        lock.lock();
    }
}

}  // namespace spead::gpu
