// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/pool_pages.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gpu/registered.hpp"

namespace spead::gpu {

namespace {

/// Holds whole pages.
struct Stretch {
    std::uintptr_t begin;
    std::uintptr_t end;
};

void note(rte_mempool*, void* stretches, rte_mempool_memhdr* memory, unsigned) {
    const auto begin = std::bit_cast<std::uintptr_t>(memory->addr);
    static_cast<std::vector<Stretch>*>(stretches)->push_back(
        {begin / kPage * kPage, (begin + memory->len + kPage - 1) / kPage * kPage});
}

}  // namespace

std::vector<std::span<std::byte>> pages_of(std::span<rte_mempool* const> pools) {
    std::vector<Stretch> stretches;
    for (rte_mempool* const pool : pools)
        rte_mempool_mem_iter(pool, note, &stretches);
    std::ranges::sort(stretches, {}, &Stretch::begin);
    std::vector<std::span<std::byte>> pages;
    for (std::size_t i = 0; i < stretches.size();) {
        Stretch whole = stretches[i++];
        for (; i < stretches.size() && stretches[i].begin <= whole.end; i++)
            whole.end = std::max(whole.end, stretches[i].end);
        pages.emplace_back(std::bit_cast<std::byte*>(whole.begin), whole.end - whole.begin);
    }
    return pages;
}

}  // namespace spead::gpu
