// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gather/engine.hpp"
#include "heap/heap_handle.hpp"
#include "runtime/plan.hpp"
#include "stats/losses.hpp"
#include "wire/items.hpp"

namespace spead::runtime {

/// Takes the heaps of one stream: a consumer thread gives it every heap in turn.
///
/// One thread at a time calls take() and end(), which call consume() and finish(); any thread may read counts
/// and failure.
class Sink {
  public:
    /// Says once what became of a heap or chunk: true when the sink has it for good, false when it is lost.
    using Settled = std::function<void(bool kept)>;

    virtual ~Sink() = default;

    /// Calls consume(), unless the sink has failed. Returns false when it has failed, now or before; then the
    /// heap is lost.
    bool take(const heap::HeapHandle& heap) noexcept;
    /// Takes a heap as take() does, gives it back, and says what became of it: at once, or later on another
    /// thread, at the latest before settle() or end() returns.
    virtual void hand(heap::HeapHandle heap, const Settled& settled) noexcept;
    /// Waits until all heaps are settled. The thread that takes.
    virtual void settle() noexcept {}
    /// Calls finish(), also after a failure: buffered data may still find room.
    void end() noexcept;

    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Returns the first failure; empty: none.
    std::string failure() const;
    /// Returns the failure once, for the caller that reports it.
    std::optional<std::string> news();

    using Lack = stats::SinkLoss::Lack;
    /// Returns the heaps or chunks that the sink lost without having failed, by what was lacking.
    std::vector<stats::SinkLoss> losses() const;
    /// Says why one heap or chunk was lost, though the sink goes on. Any thread.
    void lose(const char* why, Lack lack = Lack::room) noexcept;

    /// Describes a ring of PSRDADA.
    struct Ring {
        std::uint64_t blocks = 0;
        std::uint64_t block_bytes = 0;
        std::uint64_t readers = 0;
    };
    /// Returns the ring that the sink writes to; without blocks: it writes to none. Any thread.
    virtual Ring ring() const noexcept { return {}; }

    /// Uses the heap, which is given back afterwards. Throws Error when the sink can take no more (a full
    /// disk), with how much it has written.
    virtual void consume(const heap::HeapHandle& heap) = 0;
    /// Tells that heaps lie in this engine's memory, which the CPU may not be able to read. Before the first
    /// heap; only for sinks that fetch payload, or read none.
    virtual void read_with(std::shared_ptr<gather::Engine>) {}
    /// Ends the sink: no more heaps come. Throws Error when written data cannot be made permanent.
    virtual void finish() {}

    /// Returns the number of heaps with compared and correct content, as shown; the next: with wrong content.
    std::uint64_t verified() const noexcept { return verified_.load(std::memory_order_acquire); }
    std::uint64_t wrong() const noexcept { return wrong_.load(std::memory_order_acquire); }

    /// Shows the heaps compared so far. The thread that consumes calls it after it counted the heap as
    /// delivered: no reader may find a heap verified that is not delivered yet.
    void show_compared() noexcept {
        verified_.store(compared_right_, std::memory_order_release);
        wrong_.store(compared_wrong_, std::memory_order_release);
    }

  protected:
    /// Counts a heap by its content, until show_compared() out of readers' sight.
    void count_compared(bool right) noexcept { (right ? compared_right_ : compared_wrong_)++; }
    /// Returns the number of wrong heaps, with those that are not shown yet.
    std::uint64_t compared_wrong() const noexcept { return compared_wrong_; }

    /// Calls `use`, unless the sink has failed; if that throws, the sink has failed. A late fetch costs only
    /// what was to be fetched. Returns whether it was done.
    template <typename Use>
    bool attempt(const Use& use) noexcept {
        if (failed())
            return false;
        try {
            use();
            return true;
        } catch (const gather::FetchTimedOut& e) {
            lose(e.what(), Lack::engine);
            return false;
        } catch (const std::exception& e) {
            fail(e.what());
            return false;
        }
    }

    /// Makes the sink fail. Any thread.
    void fail(const char* what) noexcept;

  private:
    std::uint64_t compared_right_ = 0;  ///< of the consuming thread, as the next
    std::uint64_t compared_wrong_ = 0;
    std::atomic<std::uint64_t> verified_{0};
    std::atomic<std::uint64_t> wrong_{0};

    mutable std::mutex mutex_;
    std::array<stats::SinkLoss, 3> losses_;  ///< guarded, as the next two; by Lack
    std::string failure_;
    bool reported_ = false;
    std::atomic<bool> failed_{false};
};

/// Gives every heap back unread.
class NullSink : public Sink {
  public:
    void consume(const heap::HeapHandle&) override {}
};

/// Compares complete heaps with the verification sequence (base/verify_sequence.hpp), item by item in the
/// order of their ids. Heaps of a pattern (base/heap_pattern.hpp) are compared with that instead. Logs the
/// first wrong heaps with the offset of the first wrong byte. Heaps without items from 0x1000 on (descriptors
/// alone) are neither right nor wrong; incomplete ones are counted elsewhere.
class VerifySink : public Sink {
  public:
    explicit VerifySink(std::string stream) : stream_(std::move(stream)) {}
    void consume(const heap::HeapHandle& heap) override;
    void read_with(std::shared_ptr<gather::Engine> engine) override { engine_ = std::move(engine); }

  private:
    std::span<const std::byte> read(const heap::HeapHandle& heap);
    std::optional<bool> verify_pattern(const heap::HeapHandle& heap, std::span<const std::byte> all,
                                       std::span<const wire::ItemView> items) const;

    std::string stream_;
    std::shared_ptr<gather::Engine> engine_;  ///< null: heaps lie in ordinary memory
    std::vector<std::byte> fetched_;
};

/// Makes the sink of a plan. Throws Error when its directory cannot be made or written.
std::unique_ptr<Sink> make_sink(const SinkPlan& plan, const std::string& stream);

}  // namespace spead::runtime
