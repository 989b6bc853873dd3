// SPDX-License-Identifier: BSD-3-Clause
#include "gather/threaded_engine.hpp"

#include <exception>
#include <utility>

#include "base/short_wait.hpp"
#include "gather/connections.hpp"
#include "gather/engine_thread.hpp"

namespace spead::gather {

struct ThreadedEngine::State {
    struct Served {
        std::shared_ptr<Channel> channel;
    };

    explicit State(std::shared_ptr<Mover> m) : mover(std::move(m)) {}

    void run();
    void serve_all();
    bool serve(Channel& channel);

    const std::shared_ptr<Mover> mover;
    Connections<Served> connections;
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

void ThreadedEngine::State::serve_all() {
    std::vector<std::shared_ptr<Served>> served;
    ShortWait idle;
    unsigned rounds = 0;
    for (;;) {
        const bool last = connections.is_stopping();
        connections.update(served);
        bool any = false;
        for (const auto& one : served)
            any |= serve(*one->channel);
        if (any)
            rounds = 0;
        else if (last)
            return;
        else
            idle.wait(rounds);
    }
}

void ThreadedEngine::State::run() {
    try {
        serve_all();
    } catch (const std::exception& e) {
        connections.fail(e.what());
        ShortWait idle;
        for (unsigned rounds = 0; mover->may_still_write();)
            idle.wait(rounds);
    }
    connections.end();
}

ThreadedEngine::ThreadedEngine(std::shared_ptr<Mover> mover, const std::vector<unsigned>& cpus)
    : state_(std::make_shared<State>(std::move(mover))),
      thread_(start_engine_thread(cpus, [state = state_] { state->run(); })) {}

ThreadedEngine::~ThreadedEngine() {
    state_->connections.leave(thread_);
}

std::shared_ptr<Channel> ThreadedEngine::connect(std::size_t batches) {
    return state_->connections.connect(batches, [](const State::Served&) {});
}

void ThreadedEngine::keep(const std::shared_ptr<const memory::Region>& memory) {
    state_->connections.keep(memory);
}

bool ThreadedEngine::stop(std::chrono::milliseconds patience) {
    return state_->connections.stop(thread_, patience);
}

}  // namespace spead::gather
