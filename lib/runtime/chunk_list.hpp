// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chunk/placement.hpp"

namespace spead::runtime {

/// Describes a chunk that a sink has written. Its payload stays in its file.
struct StoredChunk {
    std::uint64_t id = 0;
    std::string stream{};
    std::vector<std::byte> presence{};
    std::vector<std::byte> extra{};  ///< extra values of all heaps, if the placement has any
    chunk::Placement placement{};    ///< checked
    bool same_placement = false;     ///< as that of the chunk before
    std::uint64_t endpoint = 0;      ///< of the stream, that the placement calls 0
};

/// Reads the chunks that a sink has written, one after another. What it reads is hostile. One thread at a
/// time.
class ChunkList {
  public:
    virtual ~ChunkList() = default;

    /// Returns whether there is a next chunk, and which. Its parts have the sizes of its placement. Throws
    /// Error.
    virtual bool next(StoredChunk& chunk) = 0;
    /// Goes back to the beginning.
    virtual void rewind() = 0;
    /// Reads bytes of the payload of the chunk that next() found last. Throws Error.
    virtual void read(std::uint64_t offset, std::span<std::byte> to) = 0;
    /// Throws Error for that chunk.
    [[noreturn]] virtual void fail(const std::string& what) const = 0;
    /// Names all of them, for errors.
    virtual const std::string& path() const noexcept = 0;
};

}  // namespace spead::runtime
