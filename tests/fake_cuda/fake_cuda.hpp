// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "gpu/cuda_api.hpp"

/// Plays NVIDIA's driver where there is no GPU: a shared library with its functions, so that the code which
/// calls the driver runs as it is. The GPU's memory is a file in memory that is mapped twice: once where the
/// GPU's addresses are, so that a CPU which touches them dies, and once for the worker thread that plays the
/// GPU.
///
/// Wishes, by environment variables, which are read when the library is loaded, and by fake_cuda_wish()
/// later:
///   FAKE_CUDA_FAIL=SYMBOL     the next call of that function fails with CUDA_ERROR_OUT_OF_MEMORY, and only
///                             that; SYMBOL:N, the N-th from now on
///   FAKE_CUDA_LATE_US=N       the GPU rests so long before each piece of work
///   FAKE_CUDA_STALL=1         it does no work
///   FAKE_CUDA_STALL_FILE=FILE it does no work, and frees no memory, while there is such a file
///   FAKE_CUDA_DEVICES=0       there is no GPU
///   FAKE_CUDA_MANAGED=1       its memory is managed memory, which may move to the host
namespace fake_cuda {

using namespace spead::gpu::cuda;

/// Holds a stream's place, by the numbers of the pieces of work that it has submitted.
struct FakeStream {
    std::uint64_t submitted = 0;
    std::uint64_t done = 0;
};

struct FakeEvent {
    FakeStream* stream = nullptr;
    std::uint64_t at = 0;
};

/// Is the one GPU.
class Gpu {
  public:
    static Gpu& get();

    Result allocate(DevicePointer& out, std::size_t bytes);
    Result free(DevicePointer p);
    Result register_host(std::byte* base, std::size_t length);
    Result unregister_host(std::byte* base);
    bool registered(const void* p, std::size_t length);
    /// Finds the allocation with an address. Returns false when there is none.
    bool allocation_of(DevicePointer p, DevicePointer& base, std::size_t& size);

    /// Returns where the worker reaches [p, p + length); null: nowhere.
    std::byte* reach(DevicePointer p, std::size_t length);
    /// Queues work; the result of a failure stays.
    Result submit(Stream stream, std::function<bool()> work);
    Result query(Stream stream);
    Result query(const FakeEvent& event);

    /// Counts what is owned by the caller: memory, registrations, streams, events, modules, contexts.
    int live();
    /// Counts the pieces of work that are not done.
    int pending();
    void own(int count);

  private:
    Gpu();
    void work();
    static void unlock_all();
    /// Waits until all work is done, as the driver does before it frees memory; at most 2 s.
    void settle();

    struct Work {
        FakeStream* stream;
        std::function<bool()> function;
    };

    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<Work> queue_;
    std::byte* seen_ = nullptr;    ///< the GPU's addresses: PROT_NONE
    std::byte* worked_ = nullptr;  ///< the same memory, writable
    std::map<std::uintptr_t, std::size_t> allocated_;
    std::map<std::uintptr_t, std::size_t> registered_;
    Result lost_ = kSuccess;
    int owned_ = 0;
    std::size_t pending_ = 0;
};

/// Waits while there is the file of FAKE_CUDA_STALL_FILE, as drivers do that free memory.
void wait_while_stalled();

/// Returns whether this call has to fail.
bool fails(const char* symbol);
/// Returns a wish; empty: there is none. Any thread.
std::string wish(const char* name);
void set_wish(const char* name, const char* value);

}  // namespace fake_cuda
