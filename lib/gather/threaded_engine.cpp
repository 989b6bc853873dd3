// SPDX-License-Identifier: BSD-3-Clause
#include "gather/threaded_engine.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/short_wait.hpp"
#include "gather/engine_thread.hpp"

namespace spead::gather {

struct ThreadedEngine::State {
    explicit State(std::shared_ptr<Mover> m) : mover(std::move(m)) {}

    void run();
    bool serve(Channel& channel);
    void fail(const std::string& what);
    void end();

    const std::shared_ptr<Mover> mover;
    std::atomic<bool> stopping{false};
    std::atomic<bool> changed{false};  ///< there are channels that the thread has not seen

    std::mutex mutex;  ///< for what follows
    std::condition_variable ending;
    std::vector<std::shared_ptr<Channel>> channels;
    std::vector<std::weak_ptr<const memory::Region>> memory;
    std::vector<std::shared_ptr<const memory::Region>> kept;  ///< by an engine that cannot be stopped
    std::string failure;
    bool ended = false;

    std::vector<std::shared_ptr<Channel>> served;  ///< the thread's; those that only the engine holds go
};

/// Returns whether there was a batch.
bool ThreadedEngine::State::serve(Channel& channel) {
    const Batch* const batch = channel.take();
    if (batch == nullptr)
        return false;
    mover->move(*batch);
    channel.finish(batch->number);
    return true;
}

void ThreadedEngine::State::fail(const std::string& what) {
    log_error(LogType::memory, "{}; heaps without all of their payload are lost from now on", what);
    const std::lock_guard lock(mutex);
    failure = what;
    for (const auto& channel : channels)
        channel->fail(what);
}

void ThreadedEngine::State::end() {
    const std::lock_guard lock(mutex);
    for (const auto& channel : channels)
        channel->end();
    ended = true;
    ending.notify_all();
}

void ThreadedEngine::State::run() {
    ShortWait idle;
    unsigned rounds = 0;
    try {
        for (;;) {
            const bool last = stopping.load(std::memory_order_acquire);
            if (changed.exchange(false, std::memory_order_acq_rel)) {
                const std::lock_guard lock(mutex);
                served.clear();
                std::erase_if(channels, [](const auto& c) { return c.use_count() == 1; });
                served = channels;
            }
            bool any = false;
            for (const auto& channel : served)
                any |= serve(*channel);
            if (any)
                rounds = 0;
            else if (last)
                break;
            else
                idle.wait(rounds);
        }
    } catch (const std::exception& e) {
        fail(e.what());
        while (mover->may_still_write())
            idle.wait(rounds);
    }
    end();
}

ThreadedEngine::ThreadedEngine(std::shared_ptr<Mover> mover, const std::vector<unsigned>& cpus)
    : state_(std::make_shared<State>(std::move(mover))),
      thread_(start_engine_thread(cpus, [state = state_] { state->run(); })) {}

ThreadedEngine::~ThreadedEngine() {
    // A thread that stands still keeps what it may touch.
    if (!ThreadedEngine::stop(stands_still_ ? std::chrono::milliseconds(0) : kPatience))
        thread_.detach();
}

std::shared_ptr<Channel> ThreadedEngine::connect(std::size_t batches) {
    auto channel = std::make_shared<Channel>(batches);
    const std::lock_guard lock(state_->mutex);
    if (state_->ended) {
        channel->fail(state_->failure.empty() ? "the engine has been stopped" : state_->failure);
        channel->end();
        return channel;
    }
    if (!state_->failure.empty())
        channel->fail(state_->failure);
    state_->channels.push_back(channel);
    state_->changed.store(true, std::memory_order_release);
    return channel;
}

void ThreadedEngine::keep(const std::shared_ptr<const memory::Region>& memory) {
    const std::lock_guard lock(state_->mutex);
    std::erase_if(state_->memory, [](const auto& m) { return m.expired(); });
    state_->memory.push_back(memory);
}

bool ThreadedEngine::stop(std::chrono::milliseconds patience) {
    if (!thread_.joinable())
        return true;
    state_->stopping.store(true, std::memory_order_release);
    {
        std::unique_lock lock(state_->mutex);
        if (!state_->ending.wait_for(lock, patience, [this] { return state_->ended; })) {
            std::vector<std::shared_ptr<const memory::Region>> all;
            for (const auto& memory : state_->memory)
                if (auto alive = memory.lock())
                    all.push_back(std::move(alive));
            state_->kept = std::move(all);
            stands_still_ = true;
            return false;
        }
        state_->kept.clear();
    }
    thread_.join();
    return true;
}

}  // namespace spead::gather
