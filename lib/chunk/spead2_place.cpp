// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/spead2_place.hpp"

#include <limits>
#include <utility>

namespace spead::chunk {

Spead2Place::Spead2Place(Function function, std::vector<StatKind> stats, std::uint32_t packets_per_heap)
    : function_(function),
      packets_per_heap_(packets_per_heap),
      kinds_(std::move(stats)),
      batch_(kinds_.size()),
      totals_(kinds_.size()) {}

Spead2Place::Spead2Place(FunctionWithUser function, void* user, std::vector<StatKind> stats,
                         std::uint32_t packets_per_heap)
    : with_user_(function),
      user_(user),
      packets_per_heap_(packets_per_heap),
      kinds_(std::move(stats)),
      batch_(kinds_.size()),
      totals_(kinds_.size()) {}

void Spead2Place::call(void* user, std::span<const HeapStart> starts, std::span<ChunkPlace> places) noexcept {
    auto& self = *static_cast<Spead2Place*>(user);
    for (std::size_t i = 0; i < starts.size(); i++) {
        Spead2PlaceData data{.packet = nullptr,
                             .packet_size = 0,
                             .items = starts[i].values,
                             .chunk_id = -1,
                             .heap_index = 0,
                             .heap_offset = 0,
                             .batch_stats = self.batch_.data(),
                             .extra = reinterpret_cast<std::uint8_t*>(places[i].extra),
                             .extra_offset = 0,
                             .extra_size = 0};
        if (self.with_user_ != nullptr)
            self.with_user_(&data, sizeof(data), self.user_);
        else
            self.function_(&data, sizeof(data));
        // An index within a heap is none of a heap.
        const bool whole = data.heap_index % self.packets_per_heap_ == 0;
        places[i].chunk = data.chunk_id;
        places[i].heap =
            whole ? data.heap_index / self.packets_per_heap_ : std::numeric_limits<std::uint64_t>::max();
        places[i].offset = data.heap_offset;
        places[i].extra_at = data.extra_offset;
        places[i].extra_size = data.extra_size;
    }
    // Most callbacks count nothing in most batches. 0 changes neither a sum nor a maximum.
    for (std::size_t i = 0; i < self.batch_.size(); i++)
        if (self.batch_[i] != 0) [[unlikely]]
            self.totals_[i].store(join(self.kinds_[i], self.stat(i), std::exchange(self.batch_[i], 0)),
                                  std::memory_order_relaxed);
}

}  // namespace spead::chunk
