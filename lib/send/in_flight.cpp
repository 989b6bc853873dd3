// SPDX-License-Identifier: BSD-3-Clause
#include "send/in_flight.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include <fmt/core.h>
#include <rte_malloc.h>

#include "base/error.hpp"
#include "base/log.hpp"

namespace spead::send {
namespace {

std::uint64_t slots_for(std::uint32_t heaps) {
    return std::bit_ceil(std::uint64_t{std::max(heaps, 1U)});
}

}  // namespace

std::size_t InFlight::memory(std::uint32_t heaps) noexcept {
    constexpr std::size_t kAllocation = 192;  // rte_malloc's own, and alignment
    return slots_for(heaps) * sizeof(Slot) + kAllocation;
}

InFlight::InFlight(std::uint32_t heaps, int numa, const std::string& where) : mask_(slots_for(heaps) - 1) {
    const std::size_t bytes = (mask_ + 1) * sizeof(Slot);
    slots_ = static_cast<Slot*>(rte_malloc_socket("send_slots", bytes, alignof(Slot), numa));
    if (slots_ == nullptr)
        throw Error(
            where,
            fmt::format("no memory for {} heaps in flight of {} bytes each ({} KiB): give EAL more memory "
                        "(-m) or lower max_heaps",
                        mask_ + 1, sizeof(Slot), bytes / 1024));
    std::uninitialized_default_construct_n(slots_, mask_ + 1);
    for (std::uint64_t i = 0; i <= mask_; ++i)
        slots_[i].refs.initialise();
}

InFlight::~InFlight() {
    const bool drained =
        std::all_of(slots_, slots_ + mask_ + 1, [](const Slot& slot) { return slot.refs.drained(); });
    if (!drained) {
        log_error(LogType::send,
                  "a driver still holds references to memory of heaps that were being sent; their "
                  "counters are kept");
        return;
    }
    std::destroy_n(slots_, mask_ + 1);
    rte_free(slots_);
}

}  // namespace spead::send
