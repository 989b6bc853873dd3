// SPDX-License-Identifier: BSD-3-Clause
#include "memory/mapping.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <utility>

#include "base/error.hpp"
#include "memory/poison.hpp"

namespace spead::memory {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kAddressSpace = std::size_t{1} << 57;  // more cannot be mapped, and need not be rounded

std::size_t round_up(std::size_t value, std::size_t to) {
    return (value + to - 1) / to * to;
}

void* map(std::size_t length, int extra_flags) {
    void* p = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

bool transparent_huge_pages_enabled() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string text;
    std::getline(file, text);
    return !text.empty() && text.find("[never]") == std::string::npos;
}

}  // namespace

std::size_t available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    std::size_t kib = 0;
    std::string unit;
    while (file >> key >> kib) {
        std::getline(file, unit);
        if (key == "MemAvailable:")
            return kib * 1024;
    }
    return 0;
}

Mapping::Mapping(std::size_t length) {
    length_ = round_up(std::clamp(length, std::size_t{1}, kAddressSpace), kHugePage);
    if (void* p = map(length_, MAP_HUGETLB | MAP_POPULATE)) {
        base_ = static_cast<std::byte*>(p);
        backing_ = Backing::hugetlb;
        return;
    }
    if (const std::size_t available = available_memory(); available != 0 && length_ > available)
        throw_error("memory",
                    "{} MiB for heaps do not fit: {} MiB are available; lower [memory] heaps or --memory",
                    length_ >> 20, available >> 20);

    // Mapped one huge page longer, so that the part we keep can start at a huge page boundary.
    void* p = map(length_ + kHugePage, MAP_NORESERVE);
    if (p == nullptr)
        throw_error("memory", "cannot map {} MiB for heaps: {}", length_ >> 20, std::strerror(errno));
    auto* start = static_cast<std::byte*>(p);
    const std::size_t skip = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
    if (skip != 0)
        munmap(start, skip);
    munmap(start + skip + length_, kHugePage - skip);
    base_ = start + skip;

    backing_ = transparent_huge_pages_enabled() && madvise(base_, length_, MADV_HUGEPAGE) == 0
                   ? Backing::transparent
                   : Backing::plain;
    if (madvise(base_, length_, MADV_POPULATE_WRITE) != 0) {
        if (errno != EINVAL) {
            const int error = errno;
            munmap(base_, length_);
            base_ = nullptr;
            throw_error("memory", "cannot make {} MiB for heaps resident: {}", length_ >> 20,
                        std::strerror(error));
        }
        // Kernels before 5.14 have no MADV_POPULATE_WRITE.
        for (std::size_t at = 0; at < length_; at += 4096)
            static_cast<volatile std::byte*>(base_)[at] = std::byte{0};
    }
}

Mapping::~Mapping() {
    if (base_ == nullptr)
        return;
    unpoison(base_, length_);  // the addresses may be mapped again, by anybody
    munmap(base_, length_);
}

Mapping::Mapping(Mapping&& other) noexcept {
    *this = std::move(other);
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(length_, other.length_);
    std::swap(backing_, other.backing_);
    return *this;
}

}  // namespace spead::memory
