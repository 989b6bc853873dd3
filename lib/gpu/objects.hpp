// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "gpu/context.hpp"
#include "memory/region.hpp"

/// Owns objects of a context: each is made by its constructor, which throws Error, and destroyed with a log
/// line at worst. Objects are moved, not copied, and hold the context. A thread that uses them has called
/// Context::use().
namespace spead::gpu {

/// Holds memory of the GPU, which the CPU must not touch. 256 bytes aligned.
class DeviceMemory {
  public:
    DeviceMemory() = default;
    DeviceMemory(ContextPointer context, std::size_t length);
    ~DeviceMemory();
    DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
    DeviceMemory& operator=(DeviceMemory&& other) noexcept {
        swap(other);
        return *this;
    }

    cuda::DevicePointer address() const noexcept { return address_; }
    std::size_t length() const noexcept { return length_; }
    /// Returns it as memory that only devices may touch.
    memory::Region region() const noexcept;

  private:
    void swap(DeviceMemory& other) noexcept;

    ContextPointer context_;
    cuda::DevicePointer address_ = 0;
    std::size_t length_ = 0;
};

/// Holds a stream: calls of one stream are done in order, those of several streams side by side. It does not
/// wait for the legacy default stream.
class Stream {
  public:
    explicit Stream(ContextPointer context);
    /// Destroys it; the work that is under way is done all the same.
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    cuda::Stream handle() const noexcept { return stream_; }
    const Context& context() const noexcept { return *context_; }

    /// Copies by the copy engine. `from` of upload() is pinned memory, and stays unchanged until it is done.
    void upload(cuda::DevicePointer to, const void* from, std::size_t length) const;
    void download(void* to, cuda::DevicePointer from, std::size_t length) const;
    /// Copies between any memory that the GPU reaches.
    void copy(cuda::DevicePointer to, cuda::DevicePointer from, std::size_t length) const;
    void fill(cuda::DevicePointer to, std::byte value, std::size_t length) const;
    /// Has the GPU write `value` to `word`, which lies in registered memory, when all before it is done.
    void write(cuda::DevicePointer word, std::uint32_t value) const;
    /// Has later work wait for an event of this or of another stream.
    void wait(cuda::Event event) const;

    /// Returns whether all work is done.
    bool idle() const;
    /// Waits until it is, and looks every 20 us. Returns false when it is not done within `patience`.
    bool is_done_within(std::chrono::milliseconds patience) const;
    /// Does the same, and throws Error when it is not done within `patience`.
    void finish(std::chrono::milliseconds patience = std::chrono::seconds(10)) const;

  private:
    ContextPointer context_;
    cuda::Stream stream_ = nullptr;
};

/// Says for how long a driver answers nothing but failures until the GPU's context counts as gone.
inline constexpr std::chrono::milliseconds kLost{500};

/// Waits, after a failure, until the GPU reads and writes nothing any more: `idle` returns true, or has
/// thrown for kLost, since a lost context runs nothing. Returns false when it does so still after `patience`.
/// For engine threads.
bool wait_until_quiet(const std::function<bool()>& idle,
                      std::chrono::milliseconds patience = std::chrono::hours(24 * 365));

/// Marks a place in a stream.
class Event {
  public:
    explicit Event(ContextPointer context);
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    cuda::Event handle() const noexcept { return event_; }
    void record(const Stream& stream) const;
    /// Returns whether all work before the place of the last record() is done.
    bool reached() const;

  private:
    ContextPointer context_;
    cuda::Event event_ = nullptr;
};

/// Holds kernels that the driver has compiled for the GPU.
class Module {
  public:
    /// Compiles `ptx`, a text with a zero at its end.
    Module(ContextPointer context, const char* ptx);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    cuda::Function function(const char* name) const;
    const ContextPointer& context() const noexcept { return context_; }

  private:
    ContextPointer context_;
    cuda::Module module_ = nullptr;
};

}  // namespace spead::gpu
