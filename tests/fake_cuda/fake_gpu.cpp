// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "tests/fake_cuda/fake_cuda.hpp"

namespace fake_cuda {

namespace {

constexpr std::size_t kMemory = std::size_t{4} << 30;  ///< of which only what is written exists
constexpr std::size_t kAlignment = 256;
/// Holds the size of pages. Allocations of at least one begin with one, as those of NVIDIA's driver do.
constexpr std::size_t kPage = std::size_t{2} << 20;

bool covers(const std::map<std::uintptr_t, std::size_t>& ranges, std::uintptr_t p, std::size_t length) {
    auto after = ranges.upper_bound(p);
    if (after == ranges.begin())
        return false;
    const auto& [base, size] = *--after;
    return p - base <= size && length <= size - (p - base);
}

std::uintptr_t address(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p);
}

/// Holds the wishes of the process: first those of its environment, which is read once, while the library is
/// loaded. Other threads may change it at any time later, and nothing can be read there then.
class Wishes {
  public:
    Wishes() {
        for (const char* const name : {"FAKE_CUDA_FAIL", "FAKE_CUDA_LATE_US", "FAKE_CUDA_STALL",
                                       "FAKE_CUDA_STALL_FILE", "FAKE_CUDA_DEVICES", "FAKE_CUDA_MANAGED"})
            if (const char* const value = std::getenv(name); value != nullptr)
                set(name, value);
    }

    void set(const std::string& name, const std::string& value) {
        const std::lock_guard lock(mutex_);
        values_[name] = value;
        if (name == "FAKE_CUDA_FAIL") {
            const std::size_t colon = value.find(':');
            left_ = value.empty() ? 0 : colon == value.npos ? 1 : std::atoi(value.c_str() + colon + 1);
            failing_ = value.substr(0, colon);
        }
    }
    std::string get(const std::string& name) {
        const std::lock_guard lock(mutex_);
        const auto found = values_.find(name);
        return found == values_.end() ? std::string() : found->second;
    }
    /// Returns whether this call of a function has to fail.
    bool fails(std::string_view symbol) {
        const std::lock_guard lock(mutex_);
        return left_ > 0 && failing_ == symbol && --left_ == 0;
    }

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

  private:
    std::mutex mutex_;
    std::map<std::string, std::string> values_;
    std::string failing_;
    int left_ = 0;
};

// Never destroyed: the worker asks until the process ends.
Wishes& wishes = *new Wishes;

bool stalls() {
    const std::string file = wishes.get("FAKE_CUDA_STALL_FILE");
    return !wishes.get("FAKE_CUDA_STALL").empty() || (!file.empty() && access(file.c_str(), F_OK) == 0);
}

}  // namespace

std::string wish(const char* name) {
    return wishes.get(name);
}

void set_wish(const char* name, const char* value) {
    wishes.set(name, value);
}

void wait_while_stalled() {
    for (const std::string file = wishes.get("FAKE_CUDA_STALL_FILE"); !file.empty() && stalls();)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool fails(const char* symbol) {
    return wishes.fails(symbol);
}

Gpu& Gpu::get() {
    // Never destroyed: the worker runs until the process ends.
    static Gpu& gpu = *new Gpu;
    return gpu;
}

Gpu::Gpu() {
    const int file = memfd_create("fake GPU", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(kMemory)) != 0)
        std::abort();
    // Addresses of their own, of which the first page's multiple is taken.
    void* const room =
        mmap(nullptr, kMemory + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* const begin = reinterpret_cast<void*>((address(room) + kPage - 1) / kPage * kPage);
    void* const seen = mmap(begin, kMemory, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
    void* const worked = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (room == MAP_FAILED || seen == MAP_FAILED || worked == MAP_FAILED)
        std::abort();
    seen_ = static_cast<std::byte*>(seen);
    worked_ = static_cast<std::byte*>(worked);
    // A child of fork(2) has no worker, which would give back what it holds. There calls are still counted.
    pthread_atfork(
        [] {
            get().mutex_.lock();
            wishes.lock();
        },
        &Gpu::unlock_all, &Gpu::unlock_all);
    std::thread([this] { work(); }).detach();
}

void Gpu::unlock_all() {
    wishes.unlock();
    get().mutex_.unlock();
}

Result Gpu::allocate(DevicePointer& out, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes == 0)
        return kInvalidValue;
    const std::size_t length = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::size_t alignment = bytes >= kPage ? kPage : kAlignment;
    std::uintptr_t at = address(seen_);
    for (const auto& [base, size] : allocated_) {
        if (base >= at && base - at >= length)
            break;
        at = (base + size + alignment - 1) / alignment * alignment;
    }
    if (at + length > address(seen_) + kMemory)
        return kOutOfMemory;
    allocated_[at] = bytes;
    out = at;
    return kSuccess;
}

Result Gpu::free(DevicePointer p) {
    settle();
    const std::lock_guard lock(mutex_);
    return allocated_.erase(p) == 1 ? kSuccess : kInvalidValue;
}

Result Gpu::register_host(std::byte* base, std::size_t length) {
    const std::lock_guard lock(mutex_);
    if (base == nullptr || length == 0)
        return kInvalidValue;
    for (const auto& [other, size] : registered_)
        if (address(base) < other + size && other < address(base) + length)
            return kHostMemoryAlreadyRegistered;
    registered_[address(base)] = length;
    return kSuccess;
}

Result Gpu::unregister_host(std::byte* base) {
    settle();
    const std::lock_guard lock(mutex_);
    return registered_.erase(address(base)) == 1 ? kSuccess : kHostMemoryNotRegistered;
}

bool Gpu::registered(const void* p, std::size_t length) {
    const std::lock_guard lock(mutex_);
    return covers(registered_, address(p), length);
}

bool Gpu::allocation_of(DevicePointer p, DevicePointer& base, std::size_t& size) {
    const std::lock_guard lock(mutex_);
    if (!covers(allocated_, p, 1))
        return false;
    const auto found = --allocated_.upper_bound(p);
    base = found->first;
    size = found->second;
    return true;
}

std::byte* Gpu::reach(DevicePointer p, std::size_t length) {
    const std::lock_guard lock(mutex_);
    if (covers(allocated_, p, length))
        return worked_ + (p - address(seen_));
    if (covers(registered_, p, length))
        return reinterpret_cast<std::byte*>(p);
    return nullptr;
}

Result Gpu::submit(Stream stream, std::function<bool()> work) {
    auto* const s = reinterpret_cast<FakeStream*>(stream);
    const std::lock_guard lock(mutex_);
    if (lost_ != kSuccess)
        return lost_;
    if (s == nullptr)
        return kInvalidValue;
    s->submitted++;
    pending_++;
    queue_.push_back({s, std::move(work)});
    came_.notify_one();
    return kSuccess;
}

Result Gpu::query(Stream stream) {
    const auto* const s = reinterpret_cast<FakeStream*>(stream);
    const std::lock_guard lock(mutex_);
    if (lost_ != kSuccess)
        return lost_;
    return s->done == s->submitted ? kSuccess : kNotReady;
}

Result Gpu::query(const FakeEvent& event) {
    const std::lock_guard lock(mutex_);
    if (lost_ != kSuccess)
        return lost_;
    return event.stream == nullptr || event.stream->done >= event.at ? kSuccess : kNotReady;
}

void Gpu::settle() {
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (std::unique_lock lock(mutex_); pending_ != 0 && std::chrono::steady_clock::now() < last;
         lock.lock()) {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

int Gpu::live() {
    const std::lock_guard lock(mutex_);
    return owned_ + static_cast<int>(allocated_.size() + registered_.size());
}

int Gpu::pending() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(pending_);
}

void Gpu::own(int count) {
    const std::lock_guard lock(mutex_);
    owned_ += count;
}

void Gpu::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        came_.wait_for(lock, std::chrono::milliseconds(10));
        while (!queue_.empty() && !stalls()) {
            const Work next = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            if (const int late = std::atoi(wish("FAKE_CUDA_LATE_US").c_str()); late > 0)
                std::this_thread::sleep_for(std::chrono::microseconds(late));
            const bool reached = next.function();
            lock.lock();
            next.stream->done++;
            pending_--;
            if (!reached)
                lost_ = kIllegalAddress;
        }
    }
}

}  // namespace fake_cuda
