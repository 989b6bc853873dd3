// SPDX-License-Identifier: BSD-3-Clause
#include "gather/fake_engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "gather/fake_memory.hpp"

namespace spead::gather {

namespace {

constexpr std::chrono::microseconds kLook{50};

}  // namespace

class FakeEngine::FakeMover final : public Mover {
  public:
    void move(const Batch& batch) override {
        while (faults.stalls.load(std::memory_order_acquire))
            std::this_thread::sleep_for(kLook);
        if (const std::uint32_t most = faults.delay_us.load(std::memory_order_relaxed); most != 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % (most + 1)));
        if (moved.load(std::memory_order_relaxed) >= faults.fails_after.load(std::memory_order_acquire))
            throw_error("engine fake", "batch {} failed: `fails_after` says so", batch.number);
        for (std::uint32_t i = 0; i < batch.piece_count; i++) {
            const Piece& piece = batch.pieces[i];
            std::memcpy(find(piece.to, piece.length), readable(piece.from, piece.length), piece.length);
        }
        moved.fetch_add(1, std::memory_order_relaxed);
    }
    bool may_still_write() const noexcept override { return faults.lingers.load(std::memory_order_acquire); }

    void add(const std::shared_ptr<const FakeMemory>& memory) {
        const std::lock_guard lock(mutex_);
        std::erase_if(memories_, [](const auto& m) { return m.expired(); });
        memories_.push_back(memory);
    }
    /// Returns the engine's address of bytes that lie in one region. Throws Error where there is none.
    std::byte* find(const std::byte* at, std::size_t length) {
        if (const auto last = last_.lock(); last && last->contains(at, length))
            return last->engine_address(at);
        const std::lock_guard lock(mutex_);
        for (const auto& memory : memories_)
            if (const auto m = memory.lock(); m && m->contains(at, length)) {
                last_ = m;
                return m->engine_address(at);
            }
        throw_error("engine fake", "{} bytes at {} are not in its memory", length,
                    static_cast<const void*>(at));
    }
    /// Returns where the engine reads a packet's bytes: ports may receive into its memory, too.
    const std::byte* readable(const std::byte* at, std::size_t length) {
        if (const auto last = packets_.lock(); last && last->contains(at, length))
            return last->engine_address(at);
        auto memory = memory_of(at, length);
        if (!memory)
            return at;
        packets_ = memory;
        return memory->engine_address(at);
    }
    /// Does find() for other threads.
    std::shared_ptr<const FakeMemory> memory_of(const std::byte* at, std::size_t length) {
        const std::lock_guard lock(mutex_);
        for (const auto& memory : memories_)
            if (auto m = memory.lock(); m && m->contains(at, length))
                return m;
        return nullptr;
    }

    FakeEngineFaults faults;
    std::atomic<std::uint64_t> moved{0};

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<const FakeMemory>> memories_;
    std::weak_ptr<const FakeMemory> last_;     ///< the engine's
    std::weak_ptr<const FakeMemory> packets_;  ///< the engine's
    std::minstd_rand random_;
};

FakeEngine::FakeEngine(const std::vector<unsigned>& cpus) : FakeEngine(std::make_shared<FakeMover>(), cpus) {}

FakeEngine::FakeEngine(std::shared_ptr<FakeMover> mover, const std::vector<unsigned>& cpus)
    : ThreadedEngine(mover, cpus), mover_(std::move(mover)) {}

FakeEngine::~FakeEngine() = default;

std::shared_ptr<const memory::Region> FakeEngine::allocate(std::size_t bytes) {
    return add(std::make_shared<const FakeMemory>(bytes));
}

std::shared_ptr<const memory::Region> FakeEngine::allocate_packets(std::size_t bytes) {
    return add(std::make_shared<const FakeMemory>(
        bytes, "lower `buffer_size` (--buffer-size) or `max_packet_size` of the port's streams"));
}

std::byte* FakeEngine::writable(const memory::Region& packets) noexcept {
    const auto memory = mover_->memory_of(packets.base, packets.length);
    return memory ? memory->engine_address(packets.base) : nullptr;
}

std::shared_ptr<const memory::Region> FakeEngine::add(const std::shared_ptr<const FakeMemory>& made) {
    const std::shared_ptr<const memory::Region> region(made, &made->region());
    mover_->add(made);
    keep(region);
    return region;
}

void FakeEngine::fetch(const std::byte* from, std::span<std::byte> to) {
    if (to.empty())
        return;
    const auto memory = mover_->memory_of(from, to.size());
    if (!memory)
        throw_error("engine fake", "{} bytes at {} are not in its memory", to.size(),
                    static_cast<const void*>(from));
    std::copy_n(memory->engine_address(from), to.size(), to.begin());
}

void FakeEngine::store(const std::byte* to, std::span<const std::byte> from) {
    if (from.empty())
        return;
    const auto memory = mover_->memory_of(to, from.size());
    if (!memory)
        throw_error("engine fake", "{} bytes at {} are not in its memory", from.size(),
                    static_cast<const void*>(to));
    std::copy(from.begin(), from.end(), memory->engine_address(to));
}

FakeEngineFaults& FakeEngine::faults() noexcept {
    return mover_->faults;
}

std::uint64_t FakeEngine::moved() const noexcept {
    return mover_->moved.load(std::memory_order_relaxed);
}

}  // namespace spead::gather
