// SPDX-License-Identifier: BSD-3-Clause
#include "memory/untouched.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include "base/error.hpp"
#include "memory/poison.hpp"

namespace spead::memory {

Untouched::Untouched(std::size_t length) {
    if (length == 0)
        return;
    void* const at =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        throw_error("memory", "cannot map {} MiB for heaps: {}; lower the stream's memory", length >> 20,
                    std::strerror(errno));
    bytes_ = {static_cast<std::byte*>(at), length};
    madvise(at, length, MADV_HUGEPAGE);
}

Untouched::~Untouched() {
    if (bytes_.empty())
        return;
    unpoison(bytes_.data(), bytes_.size());  // the addresses may be mapped again, by anybody
    munmap(bytes_.data(), bytes_.size());
}

}  // namespace spead::memory
