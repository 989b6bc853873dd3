// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "gather/engine.hpp"

namespace spead::gather {

/// Moves the pieces of batches, on the thread of a ThreadedEngine.
class Mover {
  public:
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;
    virtual ~Mover() = default;

    /// Moves all pieces; they are in their heaps when it returns. Throws Error when the engine has failed: no
    /// further batch will be moved.
    virtual void move(const Batch& batch) = 0;
    /// Returns whether an engine that has failed may still be writing.
    virtual bool may_still_write() const noexcept { return false; }

  protected:
    Mover() = default;
};

/// Serves the channels of an engine on one thread that moves a batch at a time, in the order of arrival.
///
/// The thread shares the mover and the channels. If it stands still when the engine is stopped, it is left
/// alone, and they stay with it.
class ThreadedEngine : public Engine {
  public:
    ~ThreadedEngine() override;

    std::shared_ptr<Channel> connect(std::size_t batches) override;
    bool stop(std::chrono::milliseconds patience) override;

  protected:
    /// Starts the thread, on one of the CPUs; none: on any. Throws Error.
    ThreadedEngine(std::shared_ptr<Mover> mover, const std::vector<unsigned>& cpus);
    /// Keeps memory allocated until the engine ends: for good, if it cannot be stopped.
    void keep(const std::shared_ptr<const memory::Region>& memory);

  private:
    struct State;

    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace spead::gather
