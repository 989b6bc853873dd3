// SPDX-License-Identifier: BSD-3-Clause
#include "memory/untouched.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include "base/error.hpp"
#include "memory/mapping.hpp"
#include "memory/poison.hpp"
#include "memory/populate.hpp"

namespace spead::memory {

Untouched::Untouched(std::size_t length, std::size_t resident) {
    if (length == 0)
        return;
    resident = std::min(resident, length);
    if (const std::size_t available = resident == 0 ? 0 : available_memory();
        available != 0 && resident > available)
        throw_error("memory",
                    "{} MiB for heaps are to be resident, and {} MiB are available; lower that number",
                    resident >> 20, available >> 20);
    void* const at =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        throw_error("memory", "cannot map {} MiB for heaps: {}; lower the stream's memory", length >> 20,
                    std::strerror(errno));
    bytes_ = {static_cast<std::byte*>(at), length};
    madvise(at, length, MADV_HUGEPAGE);
    if (!make_resident(at, resident)) {
        const int error = errno;
        munmap(at, length);
        throw_error("memory", "cannot make {} MiB for heaps resident: {}", resident >> 20,
                    std::strerror(error));
    }
}

Untouched::~Untouched() {
    if (bytes_.empty())
        return;
    unpoison(bytes_.data(), bytes_.size());  // the addresses may be mapped again, by anybody
    munmap(bytes_.data(), bytes_.size());
}

}  // namespace spead::memory
