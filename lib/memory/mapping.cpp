// SPDX-License-Identifier: BSD-3-Clause
#include "memory/mapping.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <linux/mman.h>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <utility>

#include "base/error.hpp"
#include "memory/huge_turn.hpp"
#include "memory/poison.hpp"
#include "memory/populate.hpp"

namespace spead::memory {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kGiantPage = std::size_t{1} << 30;
constexpr std::size_t kAddressSpace = std::size_t{1} << 57;  // more cannot be mapped, and need not be rounded

std::size_t round_up(std::size_t value, std::size_t to) {
    return (value + to - 1) / to * to;
}

void* map(std::size_t length, int extra_flags) {
    void* p = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

/// Maps resident memory from hugetlbfs. Returns null when pages of this size are too few, or a control group
/// forbids them; without that check the first touch would be a SIGBUS.
void* map_huge(std::size_t length, std::size_t page) {
    const int flags = MAP_HUGETLB | std::countr_zero(page) << MAP_HUGE_SHIFT;
    void* p = nullptr;
    {
        const HugePageTurn turn;
        p = map(length, flags);
    }
    if (p == nullptr)
        return nullptr;
    const Populated populated = populate(p, length);
    if (populated == Populated::yes)
        return p;
    munmap(p, length);
    return populated == Populated::unknown ? map(length, flags | MAP_POPULATE) : nullptr;
}

bool transparent_huge_pages_enabled() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string text;
    std::getline(file, text);
    return !text.empty() && text.find("[never]") == std::string::npos;
}

/// Reads a file that holds one number; nothing when it is missing or holds a word ("max").
std::optional<std::size_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::size_t number = 0;
    return file >> number ? std::optional(number) : std::nullopt;
}

/// Returns MemAvailable; 0 when unknown.
std::size_t available_on_machine(const std::string& meminfo) {
    std::ifstream file(meminfo);
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

/// Returns the process's group in the unified hierarchy, from a line "0::/a/b"; empty when it has none.
std::string unified_group(const std::string& membership) {
    std::ifstream file(membership);
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("0::/"))
            return line.substr(3);
    return {};
}

/// Returns the group's cache of files without recent use, which the kernel frees before it refuses memory.
std::size_t idle_cache(const std::string& directory) {
    std::ifstream file(directory + "/memory.stat");
    std::string key;
    std::size_t bytes = 0;
    while (file >> key >> bytes)
        if (key == "inactive_file")
            return bytes;
    return 0;
}

/// Returns the memory that the limits of a group and of all above it leave.
std::size_t left_by_groups(const std::string& root, std::string group) {
    std::size_t left = SIZE_MAX;
    for (;;) {
        const std::string directory = root + group;
        const auto limit = number_in(directory + "/memory.max");
        const auto charged = number_in(directory + "/memory.current");
        if (limit && charged) {
            const std::size_t used = *charged - std::min(*charged, idle_cache(directory));
            left = std::min(left, *limit - std::min(*limit, used));
        }
        const std::size_t slash = group.rfind('/');
        if (group.empty() || slash == std::string::npos)
            return left;
        group.resize(slash);
    }
}

}  // namespace

std::size_t available_memory(const MemorySources& sources) {
    const std::size_t machine = available_on_machine(sources.meminfo);
    const std::size_t groups = left_by_groups(sources.groups, unified_group(sources.membership));
    if (machine == 0)
        return groups == SIZE_MAX ? 0 : std::max<std::size_t>(groups, 1);
    return std::max<std::size_t>(std::min(machine, groups), 1);
}

Mapping::Mapping(std::size_t length) {
    length_ = round_up(std::clamp(length, std::size_t{1}, kAddressSpace), kHugePage);
    mapped_ = length_;
    void* huge = map_huge(mapped_, kHugePage);
    // Half a page may stay unused, not more.
    if (huge == nullptr && length_ >= kGiantPage / 2) {
        mapped_ = round_up(length_, kGiantPage);
        huge = map_huge(mapped_, kGiantPage);
    }
    if (huge != nullptr) {
        base_ = static_cast<std::byte*>(huge);
        backing_ = Backing::hugetlb;
        return;
    }
    mapped_ = length_;
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
    if (!make_resident(base_, length_)) {
        const int error = errno;
        munmap(base_, length_);
        base_ = nullptr;
        throw_error("memory", "cannot make {} MiB for heaps resident: {}", length_ >> 20,
                    std::strerror(error));
    }
}

int Mapping::lock() noexcept {
    if (base_ != nullptr && backing_ != Backing::hugetlb && mlock(base_, length_) != 0)
        return errno;
    kind_ = MemoryKind::pinned;
    return 0;
}

Mapping::~Mapping() {
    if (base_ == nullptr)
        return;
    unpoison(base_, length_);  // the addresses may be mapped again, by anybody
    munmap(base_, mapped_);
}

Mapping::Mapping(Mapping&& other) noexcept {
    *this = std::move(other);
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(length_, other.length_);
    std::swap(mapped_, other.mapped_);
    std::swap(backing_, other.backing_);
    std::swap(kind_, other.kind_);
    return *this;
}

}  // namespace spead::memory
