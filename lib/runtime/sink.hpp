// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "heap/heap.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// What happens to the heaps of one stream: a consumer thread gives it every heap in turn.
///
/// One thread at a time calls consume() and finish(); the counts may be read by any.
class Sink {
  public:
    virtual ~Sink() = default;

    /// Looks at the heap; it is given back afterwards. Throws Error when the run cannot go on (a full disk).
    virtual void consume(const heap::Heap& heap) = 0;
    /// No more heaps come. Throws Error when what was written cannot be made permanent.
    virtual void finish() {}

    /// Heaps whose content was compared and is right, and is not.
    std::uint64_t verified() const noexcept { return verified_.load(std::memory_order_relaxed); }
    std::uint64_t wrong() const noexcept { return wrong_.load(std::memory_order_relaxed); }

  protected:
    std::atomic<std::uint64_t> verified_{0};
    std::atomic<std::uint64_t> wrong_{0};
};

/// Gives every heap back unseen.
class NullSink : public Sink {
  public:
    void consume(const heap::Heap&) override {}
};

/// Compares complete heaps with the verification sequence (base/verify_sequence.hpp), item by item in the
/// order of their ids. The first wrong heaps are logged with the place of the first wrong byte. Heaps without
/// items from 0x1000 on (descriptors alone) are neither right nor wrong; incomplete ones are counted
/// elsewhere.
class VerifySink : public Sink {
  public:
    explicit VerifySink(std::string stream) : stream_(std::move(stream)) {}
    void consume(const heap::Heap& heap) override;

  private:
    std::string stream_;
};

/// Makes the sink a plan asks for. Throws Error when its directory cannot be made or written.
std::unique_ptr<Sink> make_sink(const SinkPlan& plan, const std::string& stream);

}  // namespace spead::runtime
