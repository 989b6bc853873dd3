// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chunk/heap_origin.hpp"
#include "runtime/chunk_list.hpp"
#include "runtime/stored_stream.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

/// Takes the chunks that a sink has written apart into heaps: each lies in its place again when the same
/// placement receives it. Heaps of a chunk follow each other by their time, then by the other axes.
///
/// A chunk keeps the values that its placement reads, and the payload. Where no term reads the heap count,
/// heaps are counted from 1. The payload is one item.
class StoredChunks final : public StoredStream {
  public:
    /// Is the item of the payload, unless a term reads it: the next one then.
    static constexpr std::uint64_t kPayloadItem = 0x1000;

    StoredChunks(std::unique_ptr<ChunkList> chunks, wire::Flavour flavour);

    /// Throws Error for what ChunkList refuses, for chunks of two streams, and for places that no packet
    /// leads to, or only packets that the flavour has no bits for.
    Sum check() override;
    bool next(StoredHeap& heap) override;
    void rewind() override;
    void read(const StoredHeap& heap, std::span<std::byte> to) override;
    std::string left_out(const Sum& sum) const override;

  private:
    void take_placement();
    bool step();
    std::uint64_t number_of_place() const;
    bool is_whole(std::uint64_t place);
    void describe(StoredHeap& heap, std::uint64_t place);
    void check_counts();

    std::unique_ptr<ChunkList> chunks_;
    wire::Flavour flavour_;
    StoredChunk chunk_;
    bool has_chunk_ = false;
    chunk::Layout layout_;
    std::optional<chunk::HeapOrigins> origins_;
    std::vector<std::uint64_t> strides_;  ///< bytes from one place to the next
    std::vector<std::size_t> order_;      ///< axes, the time first
    std::vector<std::uint64_t> places_;   ///< of the next heap, by axis
    std::uint64_t payload_item_ = kPayloadItem;
    std::uint64_t counted_ = 0;     ///< heaps that were given a count
    std::uint64_t incomplete_ = 0;  ///< heaps of which something is missing
    bool checks_ = false;
    std::vector<std::uint64_t> counts_;  ///< heap counts of the chunk, in check()
};

}  // namespace spead::runtime
