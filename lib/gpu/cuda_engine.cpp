// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/short_wait.hpp"
#include "gather/engine_thread.hpp"
#include "gpu/objects.hpp"
#include "gpu/registered_packets.hpp"
#include "memory/mapping.hpp"

namespace spead::gpu {

namespace {

using Clock = std::chrono::steady_clock;
using gather::Batch;
using gather::Channel;

constexpr const char* kWhere = "engine cuda";
constexpr std::uintptr_t kPage = 4096;
/// Limits the wait of the destructor.
constexpr std::chrono::milliseconds kPatience{2000};
/// Says how often the driver is asked about a batch whose word stays away: it may have failed.
constexpr std::chrono::milliseconds kAsk{1};
/// Keeps the words of streams in lines of their own.
constexpr std::size_t kLine = 64;
/// Holds the words, and what is fetched, piece by piece.
constexpr std::size_t kHostBytes = std::size_t{2} << 20;

using Word = std::atomic<std::uint32_t>;

/// Holds memory for heaps, from a page's beginning on.
struct HeapMemory {
    HeapMemory(const ContextPointer& context, std::size_t bytes) : memory(context, bytes + kPage) {
        const cuda::DevicePointer base = (memory.address() + kPage - 1) / kPage * kPage;
        region = {std::bit_cast<std::byte*>(base), bytes, memory::MemoryKind::device, -1};
    }

    DeviceMemory memory;
    memory::Region region;
};

/// Holds a channel whose batches the GPU reads.
struct Served {
    std::shared_ptr<Channel> channel;
    std::optional<Registered> batches;  ///< none: the engine had failed before
};

/// Holds a batch that the driver has.
struct Flight {
    std::shared_ptr<Served> of;
    std::uint64_t number;  ///< of the batch
    std::size_t lane;
    std::uint32_t ticket;  ///< the value of the lane's word when it is done
};

/// Holds a stream, whose word says how many of its batches are done, modulo 2^32.
struct Lane {
    Lane(const ContextPointer& context, Word& w, cuda::DevicePointer at)
        : stream(context), word(w), address(at) {}

    bool has_done(std::uint32_t ticket) const noexcept {
        return static_cast<std::int32_t>(word.load(std::memory_order_acquire) - ticket) >= 0;
    }

    Stream stream;
    Word& word;  ///< written by the GPU
    cuda::DevicePointer address;
    std::uint32_t begun = 0;
};

}  // namespace

/// Holds all that the thread and the GPU may touch. The last owner destroys it: the engine, or
/// its thread.
class CudaEngine::Work {
  public:
    Work(const ContextPointer& c, Gatherer::Way way);
    ~Work() { context->try_use(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void run() noexcept;
    void fetch(const std::byte* from, std::span<std::byte> to);
    std::shared_ptr<Channel> connect(std::size_t batches);
    void keep(const std::shared_ptr<const memory::Region>& region);
    void ask_to_stop() noexcept { stopping_.store(true, std::memory_order_release); }
    bool wait_for_end(std::chrono::milliseconds patience);
    void release();

    const ContextPointer context;
    RegisteredPackets packets;

  private:
    void serve_all();
    void look_for_channels();
    bool begin_next(const std::shared_ptr<Served>& served);
    void check(const Batch& batch);
    bool finish_done();
    void ask_driver();
    void fail(const std::string& what);
    void wait_until_quiet();
    bool is_quiet() const;
    void end();

    memory::Mapping host_;
    Registered registered_;
    Gatherer gatherer_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> changed_{false};  ///< there are channels that the thread has not seen

    std::mutex mutex_;  ///< for what follows
    std::condition_variable ending_;
    std::vector<std::shared_ptr<Served>> all_;
    std::vector<std::weak_ptr<const memory::Region>> memory_;
    std::vector<std::shared_ptr<const memory::Region>> kept_;  ///< by an engine that stands still
    std::string failure_;
    bool ended_ = false;

    std::timed_mutex fetching_;  ///< for what follows
    Stream down_;

    // The thread's.
    std::vector<std::shared_ptr<Served>> served_;
    std::deque<Flight> flying_;  ///< in the order in which they were given out
    std::size_t next_lane_ = 0;
    Clock::time_point asked_{};
};

CudaEngine::Work::Work(const ContextPointer& c, Gatherer::Way way)
    : context(c), host_(kHostBytes), registered_(c, host_.base(), kHostBytes), gatherer_(c, way), down_(c) {
    static_assert(kStreams * kLine <= kPage);
    for (std::size_t i = 0; i < kStreams; i++) {
        Word& word = *new (host_.base() + i * kLine) Word(0);
        lanes_.push_back(std::make_unique<Lane>(c, word, registered_.address_of(&word)));
    }
}

std::shared_ptr<Channel> CudaEngine::Work::connect(std::size_t batches) {
    const auto served = std::make_shared<Served>();
    served->channel = std::make_shared<Channel>(batches);
    const std::lock_guard lock(mutex_);
    Channel& channel = *served->channel;
    if (ended_) {
        channel.fail(failure_.empty() ? "the engine has been stopped" : failure_);
        channel.end();
        return served->channel;
    }
    if (failure_.empty()) {
        const std::span<const Batch> memory = channel.batches();
        served->batches.emplace(context, const_cast<Batch*>(memory.data()), memory.size_bytes());
    } else {
        channel.fail(failure_);
    }
    all_.push_back(served);
    changed_.store(true, std::memory_order_release);
    return served->channel;
}

void CudaEngine::Work::keep(const std::shared_ptr<const memory::Region>& region) {
    const std::lock_guard lock(mutex_);
    std::erase_if(memory_, [](const auto& m) { return m.expired(); });
    memory_.push_back(region);
}

bool CudaEngine::Work::wait_for_end(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (ending_.wait_for(lock, patience, [this] { return ended_; }))
        return true;
    std::vector<std::shared_ptr<const memory::Region>> all;
    for (const auto& region : memory_)
        if (auto alive = region.lock())
            all.push_back(std::move(alive));
    kept_ = std::move(all);
    return false;
}

/// Lets go of what the GPU does not touch any more. The thread has ended.
void CudaEngine::Work::release() {
    served_.clear();
    flying_.clear();
    packets.clear();
    const std::lock_guard lock(mutex_);
    all_.clear();
    kept_.clear();
}

void CudaEngine::Work::run() noexcept {
    try {
        context->use();
        serve_all();
    } catch (const std::exception& e) {
        fail(fmt::format("{}: {}", kWhere, reason_of(e)));
        wait_until_quiet();
    }
    end();
}

void CudaEngine::Work::serve_all() {
    ShortWait idle;
    unsigned rounds = 0;
    for (;;) {
        const bool last = stopping_.load(std::memory_order_acquire);
        if (changed_.exchange(false, std::memory_order_acq_rel))
            look_for_channels();
        bool any = false;
        for (const auto& one : served_)
            any |= begin_next(one);
        any |= finish_done();
        if (any) {
            rounds = 0;
            continue;
        }
        if (last && flying_.empty())
            return;
        ask_driver();
        idle.wait(rounds);
    }
}

/// Serves new channels, and those no longer that only the engine has.
void CudaEngine::Work::look_for_channels() {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& one) { return one->channel.use_count() == 1; });
    served_ = all_;
}

/// Gives the next batch to the driver. Returns whether there was one.
bool CudaEngine::Work::begin_next(const std::shared_ptr<Served>& served) {
    if (flying_.size() >= kMostInFlight || !served->batches)
        return false;
    const Batch* const batch = served->channel->take();
    if (batch == nullptr)
        return false;
    check(*batch);
    const std::size_t number = next_lane_++ % kStreams;
    Lane& lane = *lanes_[number];
    flying_.push_back({served, batch->number, number, ++lane.begun});
    gatherer_.gather(lane.stream, {batch->pieces.data(), batch->piece_count},
                     served->batches->address_of(batch->pieces.data()));
    lane.stream.write(lane.address, lane.begun);
    return true;
}

/// Throws Error if a packet lies where the GPU reads nothing: it would lose its context there.
void CudaEngine::Work::check(const Batch& batch) {
    for (std::uint32_t i = 0; i < batch.piece_count; i++) {
        const gather::Piece& piece = batch.pieces[i];
        if (!packets.has(piece.from, piece.length)) [[unlikely]]
            throw_error(
                "GPU",
                "{} bytes of a packet at {} lie in memory that was not registered with the driver; only "
                "ports, senders and regions from before the stream's start can be used",
                piece.length, static_cast<const void*>(piece.from));
    }
}

/// Finishes the batches that are done. Returns whether there were any.
bool CudaEngine::Work::finish_done() {
    const std::size_t before = flying_.size();
    while (!flying_.empty()) {
        const Flight& first = flying_.front();
        if (!lanes_[first.lane]->has_done(first.ticket))
            break;
        first.of->channel->finish(first.number);
        flying_.pop_front();
    }
    return flying_.size() != before;
}

/// Finds failures of the GPU: then no word changes any more.
void CudaEngine::Work::ask_driver() {
    const Clock::time_point now = Clock::now();
    if (flying_.empty() || now - asked_ < kAsk)
        return;
    asked_ = now;
    (void)lanes_[flying_.front().lane]->stream.idle();
}

void CudaEngine::Work::fail(const std::string& what) {
    log_error(LogType::memory, "{}; heaps without all of their payload are lost from now on", what);
    const std::lock_guard lock(mutex_);
    failure_ = what;
    for (const auto& one : all_)
        one->channel->fail(what);
}

/// Waits until the GPU reads and writes nothing any more.
void CudaEngine::Work::wait_until_quiet() {
    Clock::time_point answered = Clock::now();
    ShortWait idle;
    unsigned rounds = 0;
    for (;; idle.wait(rounds)) {
        try {
            if (is_quiet())
                return;
            answered = Clock::now();
        } catch (const std::exception&) {
            if (Clock::now() - answered >= kLost)
                return;
        }
    }
}

bool CudaEngine::Work::is_quiet() const {
    return std::ranges::all_of(lanes_, [](const auto& lane) { return lane->stream.idle(); });
}

void CudaEngine::Work::end() {
    const std::lock_guard lock(mutex_);
    for (const auto& one : all_)
        one->channel->end();
    ended_ = true;
    ending_.notify_all();
}

void CudaEngine::Work::fetch(const std::byte* from, std::span<std::byte> to) {
    const Clock::time_point last = Clock::now() + kLongestFetch;
    const std::unique_lock lock(fetching_, last);
    if (!lock)
        throw_error(kWhere,
                    "heaps of others have been fetched for {} s; the GPU is too slow, or stands still",
                    kLongestFetch.count());
    context->use();
    std::byte* const between = host_.base() + kPage;
    const auto address = std::bit_cast<cuda::DevicePointer>(from);
    for (std::size_t at = 0; at < to.size();) {
        const std::size_t n = std::min(to.size() - at, kHostBytes - kPage);
        down_.download(between, address + at, n);
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(last - Clock::now());
        down_.finish(std::max(left, std::chrono::milliseconds(0)));
        std::memcpy(to.data() + at, between, n);
        at += n;
    }
}

CudaEngine::CudaEngine(const ContextPointer& context, const std::vector<unsigned>& cpus, Gatherer::Way way) {
    if (!context->facts().same_host_pointer)
        throw_error(kWhere,
                    "{} has addresses of its own for host memory, and packets are listed by the CPU's; use "
                    "another GPU (CUDA_VISIBLE_DEVICES), or chunks",
                    context->facts().name);
    work_ = std::make_shared<Work>(context, way);
    thread_ = gather::start_engine_thread(cpus, [work = work_] { work->run(); });
}

CudaEngine::~CudaEngine() {
    // A thread that stands still keeps what the GPU may touch.
    if (!CudaEngine::stop(stands_still_ ? std::chrono::milliseconds(0) : kPatience))
        thread_.detach();
}

std::shared_ptr<const memory::Region> CudaEngine::allocate(std::size_t bytes) {
    const auto made = std::make_shared<const HeapMemory>(work_->context, bytes);
    const std::shared_ptr<const memory::Region> region(made, &made->region);
    work_->keep(region);
    return region;
}

void CudaEngine::register_packets(std::span<std::byte> memory) {
    work_->packets.add(work_->context, memory);
}

std::shared_ptr<Channel> CudaEngine::connect(std::size_t batches) {
    return work_->connect(batches);
}

void CudaEngine::fetch(const std::byte* from, std::span<std::byte> to) {
    if (!to.empty())
        work_->fetch(from, to);
}

bool CudaEngine::stop(std::chrono::milliseconds patience) {
    if (!thread_.joinable())
        return true;
    work_->ask_to_stop();
    if (!work_->wait_for_end(patience)) {
        stands_still_ = true;
        return false;
    }
    thread_.join();
    work_->release();
    return true;
}

}  // namespace spead::gpu
