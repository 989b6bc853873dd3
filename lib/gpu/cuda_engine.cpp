// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/short_wait.hpp"
#include "gather/connections.hpp"
#include "gather/engine_thread.hpp"
#include "gpu/objects.hpp"
#include "gpu/peer_memory.hpp"
#include "gpu/registered_packets.hpp"
#include "memory/mapping.hpp"

namespace spead::gpu {

namespace {

using Clock = std::chrono::steady_clock;
using gather::Batch;
using gather::Channel;

constexpr const char* kEngine = "engine cuda";
/// Says that the GPU's own kernels see the writes of a card in their order (cuda::kRdmaWritesOrdering).
constexpr int kOrderedForOwner = 100;
/// Says how often the driver is asked about a batch whose word stays away: it may have failed.
constexpr std::chrono::milliseconds kAsk{1};
/// Limits the wait of a fetch for one that was given up.
constexpr std::chrono::milliseconds kNext{100};
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

/// Holds memory that a card writes packets into.
struct PacketMemory {
    PacketMemory(const Context& context, std::size_t bytes)
        : memory(PeerMemory::allocate(context.shared_driver(), bytes)), region(memory.region()) {}

    PeerMemory memory;
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
    void end_fetches() noexcept { ending_.store(true, std::memory_order_relaxed); }
    std::shared_ptr<const memory::Region> allocate(const std::shared_ptr<Work>& self, std::size_t bytes);
    std::shared_ptr<Channel> connect(std::size_t batches);
    void release();

    const ContextPointer context;
    RegisteredPackets packets;
    gather::Connections<Served> connections;

  private:
    void serve_all();
    bool begin_next(const std::shared_ptr<Served>& served);
    void check(const Batch& batch);
    [[noreturn]] static void throw_late(const char* what);
    bool finish_done();
    void ask_driver();
    bool is_quiet() const;
    void let_go(std::shared_ptr<const HeapMemory> memory) noexcept;
    void free_memory();
    void wait_for_memory() const;

    memory::Mapping host_;
    Registered registered_;
    Gatherer gatherer_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::timed_mutex fetching_;  ///< for what follows
    Stream down_;
    bool late_ = false;  ///< the last fetch was given up
    std::atomic<bool> ending_{false};

    /// Holds memory that nobody uses any more. The driver may free it only when the GPU has nothing to do,
    /// and waits for that: so the thread frees it.
    std::mutex freeing_;
    std::vector<std::shared_ptr<const HeapMemory>> to_free_;
    std::atomic<std::size_t> unfreed_{0};  ///< of these, and those that it frees now
    bool thread_over_ = false;

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
    return connections.connect(batches, [this](Served& served) {
        const std::span<const Batch> memory = served.channel->batches();
        served.batches.emplace(context, const_cast<Batch*>(memory.data()), memory.size_bytes());
    });
}

/// Makes memory for heaps, whose last user leaves it to the thread.
std::shared_ptr<const memory::Region> CudaEngine::Work::allocate(const std::shared_ptr<Work>& self,
                                                                 std::size_t bytes) {
    wait_for_memory();
    auto made = std::make_shared<const HeapMemory>(context, bytes);
    const memory::Region* const region = &made->region;
    return {region, [work = std::weak_ptr(self), made = std::move(made)](const memory::Region*) mutable {
                // Without the engine, the GPU has nothing of it to do, and the memory is freed here. This
                // function may stay for long.
                std::shared_ptr<const HeapMemory> going = std::move(made);
                if (const std::shared_ptr<Work> alive = work.lock())
                    alive->let_go(std::move(going));
            }};
}

void CudaEngine::Work::let_go(std::shared_ptr<const HeapMemory> memory) noexcept {
    try {
        const std::lock_guard lock(freeing_);
        if (thread_over_)
            return;
        to_free_.push_back(std::move(memory));
        unfreed_.fetch_add(1, std::memory_order_release);
    } catch (const std::bad_alloc&) {
        // Then it is freed here.
    }
}

void CudaEngine::Work::free_memory() {
    std::vector<std::shared_ptr<const HeapMemory>> going;
    {
        const std::lock_guard lock(freeing_);
        going.swap(to_free_);
    }
    const std::size_t freed = going.size();
    going.clear();
    unfreed_.fetch_sub(freed, std::memory_order_release);
}

/// Gives the thread a moment to free memory before new one is asked for.
void CudaEngine::Work::wait_for_memory() const {
    const Clock::time_point last = Clock::now() + kNext;
    ShortWait pause;
    for (unsigned rounds = 0; unfreed_.load(std::memory_order_acquire) != 0 && Clock::now() < last;)
        pause.wait(rounds);
}

/// Lets go of what the GPU does not touch any more. The thread has ended.
void CudaEngine::Work::release() {
    served_.clear();
    flying_.clear();
    packets.clear();
}

void CudaEngine::Work::run() noexcept {
    try {
        context->use();
        serve_all();
    } catch (const std::exception& e) {
        connections.fail(fmt::format("{}: {}", kEngine, reason_of(e)));
        wait_until_quiet([this] { return is_quiet(); });
    }
    {
        const std::lock_guard lock(freeing_);
        thread_over_ = true;
    }
    free_memory();
    connections.end();
}

void CudaEngine::Work::serve_all() {
    ShortWait idle;
    unsigned rounds = 0;
    for (;;) {
        const bool last = connections.is_stopping();
        connections.update(served_);
        bool any = false;
        for (const auto& one : served_)
            any |= begin_next(one);
        const bool moved = finish_done();
        // The GPU does not stand still.
        if (unfreed_.load(std::memory_order_acquire) != 0 && (moved || flying_.empty()) && down_.idle())
            free_memory();
        any |= moved;
        if (any) {
            rounds = 0;
            continue;
        }
        // A fetch that was given up may still write.
        if (last && flying_.empty() && down_.idle())
            return;
        ask_driver();
        idle.wait(rounds);
    }
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

bool CudaEngine::Work::is_quiet() const {
    return down_.idle() && std::ranges::all_of(lanes_, [](const auto& lane) { return lane->stream.idle(); });
}

void CudaEngine::Work::throw_late(const char* what) {
    throw gather::FetchTimedOut(kEngine, fmt::format("{} within {} s: the GPU is too slow, or stands still",
                                                     what, gather::Engine::kLongestFetch.count()));
}

void CudaEngine::Work::fetch(const std::byte* from, std::span<std::byte> to) {
    const Clock::time_point last = Clock::now() + kLongestFetch;
    const std::unique_lock lock(fetching_, last);
    if (!lock)
        throw_late("heaps of others have been fetched");
    context->use();
    // Consumers share threads: those of other streams do not wait for each heap of a GPU that stands still.
    const bool ending = ending_.load(std::memory_order_relaxed);
    if (late_ && !down_.is_done_within(ending ? std::chrono::milliseconds(0) : kNext))
        throw gather::FetchTimedOut(kEngine, "the heap before it is not fetched yet: the GPU stands still");
    std::byte* const between = host_.base() + kPage;
    const auto address = std::bit_cast<cuda::DevicePointer>(from);
    for (std::size_t at = 0; at < to.size();) {
        const std::size_t n = std::min(to.size() - at, kHostBytes - kPage);
        down_.download(between, address + at, n);
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(last - Clock::now());
        late_ = !down_.is_done_within(std::max(left, std::chrono::milliseconds(0)));
        if (late_)
            throw_late("it was not fetched");
        std::memcpy(to.data() + at, between, n);
        at += n;
    }
}

CudaEngine::CudaEngine(const ContextPointer& context, const std::vector<unsigned>& cpus, Gatherer::Way way) {
    if (!context->facts().same_host_pointer)
        throw_error(kEngine,
                    "{} has addresses of its own for host memory, and packets are listed by the CPU's; use "
                    "another GPU (CUDA_VISIBLE_DEVICES), or chunks",
                    context->facts().name);
    work_ = std::make_shared<Work>(context, way);
    thread_ = gather::start_engine_thread(cpus, [work = work_] { work->run(); });
}

CudaEngine::~CudaEngine() {
    work_->connections.leave(thread_);
}

std::shared_ptr<const memory::Region> CudaEngine::allocate(std::size_t bytes) {
    const std::shared_ptr<const memory::Region> region = work_->allocate(work_, bytes);
    work_->connections.keep(region);
    return region;
}

std::shared_ptr<const memory::Region> CudaEngine::allocate_packets(std::size_t bytes) {
    const DeviceFacts& gpu = work_->context->facts();
    if (!gpu.rdma)
        throw_error(kEngine,
                    "{} does not let cards write its memory (GPUDirect RDMA): use a GPU that does, or leave "
                    "out `split` of the port (--split)",
                    gpu.name);
    // A batch is begun after the card has told of its packets, and nothing flushes writes before.
    if (gpu.writes_ordering < kOrderedForOwner)
        throw_error(
            kEngine,
            "{} may show the writes of a card later than the card tells of them; leave out `split` of "
            "the port (--split)",
            gpu.name);
    const auto made = std::make_shared<const PacketMemory>(*work_->context, bytes);
    const std::shared_ptr<const memory::Region> region(made, &made->region);
    work_->packets.add_of_gpu(region->bytes());
    work_->connections.keep(region);
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

void CudaEngine::end_fetches() noexcept {
    work_->end_fetches();
}

bool CudaEngine::stop(std::chrono::milliseconds patience) {
    if (!work_->connections.stop(thread_, patience))
        return false;
    work_->release();
    return true;
}

}  // namespace spead::gpu
