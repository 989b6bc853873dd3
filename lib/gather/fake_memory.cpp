// SPDX-License-Identifier: BSD-3-Clause
#include "gather/fake_memory.hpp"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "memory/mapping.hpp"
#include "memory/poison.hpp"

namespace spead::gather {

namespace {

constexpr std::size_t kStep = std::size_t{2} << 20;

/// Maps the file at a multiple of kStep, as GPUs have their memory. Returns MAP_FAILED if that fails.
void* map_closed(int file, std::size_t length) {
    void* const room =
        mmap(nullptr, length + kStep, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return room;
    const auto begin = std::bit_cast<std::uintptr_t>(room);
    const std::uintptr_t at = (begin + kStep - 1) / kStep * kStep;
    void* const closed = mmap(std::bit_cast<void*>(at), length, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
    const int error = errno;
    if (closed == MAP_FAILED) {
        munmap(room, length + kStep);
        errno = error;
        return closed;
    }
    if (at != begin)
        munmap(room, at - begin);
    if (at - begin != kStep)
        munmap(std::bit_cast<void*>(at + length), kStep - (at - begin));
    return closed;
}

}  // namespace

FakeMemory::FakeMemory(std::size_t bytes, std::string_view fix) {
    const std::size_t length = (bytes + kStep - 1) / kStep * kStep;
    const auto refuse = [&](const char* what) {
        throw_error("memory of the engine fake", "cannot {} {} MiB: {}; {}", what, length >> 20,
                    std::strerror(errno), fix);
    };
    if (const std::size_t available = memory::available_memory(); available != 0 && length > available)
        throw_error("memory of the engine fake", "{} MiB do not fit: {} MiB are available; {}", length >> 20,
                    available >> 20, fix);
    const FileDescriptor file(memfd_create("spead-fake-device", MFD_CLOEXEC));
    if (file.get() < 0)
        refuse("make");
    if (ftruncate(file.get(), static_cast<off_t>(length)) != 0)
        refuse("size");
    if (fallocate(file.get(), 0, 0, static_cast<off_t>(length)) != 0)
        refuse("reserve");
    void* const view = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (view == MAP_FAILED)
        refuse("map");
    void* const closed = map_closed(file.get(), length);
    if (closed == MAP_FAILED) {
        const int error = errno;
        munmap(view, length);
        errno = error;
        refuse("map");
    }
    view_ = static_cast<std::byte*>(view);
    region_ = {static_cast<std::byte*>(closed), length, memory::MemoryKind::device, -1};
}

FakeMemory::~FakeMemory() {
    memory::unpoison(region_.base, region_.length);  // the addresses may be mapped again
    munmap(region_.base, region_.length);
    munmap(view_, region_.length);
}

}  // namespace spead::gather
