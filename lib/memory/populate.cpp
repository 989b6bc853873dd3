// SPDX-License-Identifier: BSD-3-Clause
#include "memory/populate.hpp"

#include <cerrno>
#include <linux/mman.h>
#include <sys/mman.h>

namespace spead::memory {

namespace {

constexpr std::size_t kSmallestPage = 4096;

}  // namespace

Populated populate(void* at, std::size_t length) noexcept {
    if (length == 0 || madvise(at, length, MADV_POPULATE_WRITE) == 0)
        return Populated::yes;
    return errno == EINVAL ? Populated::unknown : Populated::no;
}

bool make_resident(void* at, std::size_t length) noexcept {
    const Populated populated = populate(at, length);
    if (populated == Populated::unknown)
        for (std::size_t i = 0; i < length; i += kSmallestPage)
            static_cast<volatile std::byte*>(at)[i] = std::byte{0};
    return populated != Populated::no;
}

}  // namespace spead::memory
