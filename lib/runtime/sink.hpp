// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "heap/heap_handle.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// What happens to the heaps of one stream: a consumer thread gives it every heap in turn.
///
/// One thread at a time calls take() and end(), and by that consume() and finish(); counts and failure may be
/// read by any.
class Sink {
  public:
    virtual ~Sink() = default;

    /// consume(), as long as the sink has not failed. False: it has, now or before, and the heap is lost to
    /// it.
    bool take(const heap::HeapHandle& heap) noexcept;
    /// finish(), also after a failure: what is buffered may still find room.
    void end() noexcept;

    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// What it said when it failed first; empty while it has not.
    std::string failure() const;
    /// The same, once: for the one who tells of it.
    std::optional<std::string> news();

    /// Looks at the heap; it is given back afterwards. Throws Error when the sink can take no more (a full
    /// disk), with how much it has kept.
    virtual void consume(const heap::HeapHandle& heap) = 0;
    /// No more heaps come. Throws Error when what was written cannot be made permanent.
    virtual void finish() {}

    /// Heaps whose content was compared and is right, and is not.
    std::uint64_t verified() const noexcept { return verified_.load(std::memory_order_relaxed); }
    std::uint64_t wrong() const noexcept { return wrong_.load(std::memory_order_relaxed); }

  protected:
    std::atomic<std::uint64_t> verified_{0};
    std::atomic<std::uint64_t> wrong_{0};

  private:
    void fail(const char* what) noexcept;

    mutable std::mutex mutex_;
    std::string failure_;  ///< guarded, as the next
    bool reported_ = false;
    std::atomic<bool> failed_{false};
};

/// Gives every heap back unseen.
class NullSink : public Sink {
  public:
    void consume(const heap::HeapHandle&) override {}
};

/// Compares complete heaps with the verification sequence (base/verify_sequence.hpp), item by item in the
/// order of their ids. The first wrong heaps are logged with the place of the first wrong byte. Heaps without
/// items from 0x1000 on (descriptors alone) are neither right nor wrong; incomplete ones are counted
/// elsewhere.
class VerifySink : public Sink {
  public:
    explicit VerifySink(std::string stream) : stream_(std::move(stream)) {}
    void consume(const heap::HeapHandle& heap) override;

  private:
    std::string stream_;
};

/// Makes the sink a plan asks for. Throws Error when its directory cannot be made or written.
std::unique_ptr<Sink> make_sink(const SinkPlan& plan, const std::string& stream);

}  // namespace spead::runtime
