// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/consumers.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <poll.h>
#include <sched.h>

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

Consumers::~Consumers() {
    stop();
    join();
}

std::size_t Consumers::add(heap::HeapQueue& queue, Sink& sink) {
    Feed& feed = feeds_.emplace_back();
    feed.queue = &queue;
    feed.sink = &sink;
    return feeds_.size() - 1;
}

void Consumers::start(unsigned threads, const std::vector<unsigned>& cpus) {
    std::vector<Sink*> sinks;
    for (const Feed& f : feeds_)
        if (std::find(sinks.begin(), sinks.end(), f.sink) == sinks.end())
            sinks.push_back(f.sink);
    const std::size_t count = std::min<std::size_t>(std::max(threads, 1U), sinks.size());
    for (std::size_t t = 0; t < count; t++) {
        std::vector<Feed*> mine;
        for (Feed& f : feeds_) {
            const auto sink =
                static_cast<std::size_t>(std::find(sinks.begin(), sinks.end(), f.sink) - sinks.begin());
            if (sink % count == t)
                mine.push_back(&f);
        }
        threads_.emplace_back([this, mine = std::move(mine), cpus] {
            run_on(cpus);
            run(mine);
        });
    }
}

void Consumers::join() {
    for (std::thread& t : threads_)
        t.join();
    threads_.clear();
}

void Consumers::stop() noexcept {
    stop_.store(true, std::memory_order_release);
    for (const Feed& f : feeds_)
        f.queue->wake_consumers();
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
std::size_t Consumers::take(heap::HeapQueue& queue, std::span<heap::Heap> out) {
    if (budget_ == 0)
        return queue.pop_burst(out);
    const std::size_t claimed = claim(std::min(out.size(), queue.size()));
    const std::size_t n = queue.pop_burst(out.first(claimed));
    unclaimed_.fetch_add(claimed - n, std::memory_order_relaxed);
    taken_.fetch_add(n, std::memory_order_release);
    return n;
}

/// True when anything was taken.
bool Consumers::drain(Feed& feed) {
    std::array<heap::Heap, kBurst> heaps;
    const std::size_t n = take(*feed.queue, heaps);
    for (std::size_t i = 0; i < n; i++) {
        feed.sink->consume(heaps[i]);
        heaps[i].reset();
        feed.finished.fetch_add(1, std::memory_order_release);
    }
    return n != 0;
}

void Consumers::take_heaps(const std::vector<Feed*>& feeds) {
    std::vector<pollfd> descriptors;
    for (const Feed* const f : feeds)
        descriptors.push_back({f->queue->event_fd(), POLLIN, 0});
    const auto over = [&] {
        return stop_.load(std::memory_order_acquire) || failed() || budget_used_up() ||
               std::all_of(feeds.begin(), feeds.end(),
                           [](const Feed* f) { return f->queue->closed() && f->queue->empty(); });
    };
    while (!over()) {
        bool any = false;
        for (Feed* const f : feeds)
            any |= drain(*f);
        if (any)
            continue;
        bool sleep = true;
        for (const Feed* const f : feeds)
            sleep &= f->queue->arm();
        if (sleep && !over())
            poll(descriptors.data(), static_cast<nfds_t>(descriptors.size()), 100);
        for (const Feed* const f : feeds)
            f->queue->disarm();
    }
}

void Consumers::run(const std::vector<Feed*>& feeds) {
    try {
        take_heaps(feeds);
    } catch (const std::exception& e) {
        fail(e.what());
    }
    std::vector<Sink*> finished;
    for (const Feed* const f : feeds) {
        if (std::find(finished.begin(), finished.end(), f->sink) != finished.end())
            continue;
        finished.push_back(f->sink);
        try {
            f->sink->finish();
        } catch (const std::exception& e) {
            fail(e.what());
        }
    }
}

}  // namespace spead::runtime
