// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "chunk/chunk_ring.hpp"
#include "chunk/placement.hpp"

/// Makes chunks as a stream hands them over, without packets.
namespace spead::runtime::unit_test {

/// Holds a ring with one chunk of a placement.
class ChunkRig {
  public:
    explicit ChunkRig(const std::string& placement)
        : layout_(chunk::Placement::parse(placement).check()),
          data_(layout_.bytes),
          present_(layout_.present_bytes()),
          extra_(layout_.heaps * layout_.extra_bytes),
          ring_(1) {
        ring_.add(layout_, data_, present_, extra_);
    }

    const chunk::Layout& layout() const { return layout_; }
    /// Returns the chunk with this id as a user takes it, with the heaps named. `fill` writes its payload.
    template <typename Fill>
    chunk::Chunk& chunk(std::int64_t id, const std::vector<std::size_t>& heaps, const Fill& fill) {
        if (taken_ != nullptr)
            ring_.give_back(*taken_);
        chunk::Chunk& opened = *ring_.open();
        opened.id = id;
        opened.parts_per_heap = 1;
        for (const std::size_t heap : heaps) {
            opened.parts[heap] = 1;
            opened.shares[0].parts++;
            opened.shares[0].packets++;
        }
        fill(opened);
        ring_.hand_over(opened);
        taken_ = ring_.take();
        return *taken_;
    }

  private:
    chunk::Layout layout_;
    std::vector<std::byte> data_;
    std::vector<std::uint8_t> present_;
    std::vector<std::byte> extra_;
    chunk::ChunkRing ring_;
    chunk::Chunk* taken_ = nullptr;
};

}  // namespace spead::runtime::unit_test
