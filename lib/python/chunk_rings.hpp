// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <spead/chunk_queue.hpp>
#include <string>

#include "base/process_mark.hpp"
#include "python/bytes.hpp"

/// Binds chunks that users bring, and their rings: object identity is kept through them.
namespace spead::python {

/// Is a chunk of Python's, perhaps of a derived class. Its buffers are pinned from the moment they are set.
class UserChunk {
  public:
    UserChunk() = default;
    UserChunk(const UserChunk&) = delete;
    UserChunk& operator=(const UserChunk&) = delete;

    enum Part : std::uint8_t { data, present, extra };
    static const char* name(Part part);
    pybind11::object get(Part part) const { return parts_[part].object; }
    /// Pins a buffer, or lets it go (None). Throws ValueError while a ring or a stream has the chunk, and
    /// ValueError for buffers that cannot be written.
    void set(Part part, const pybind11::object& buffer);

    /// Gives the chunk its memory before it goes into a ring. Throws ValueError: it has no `data`, or no
    /// `present`.
    void arm();
    /// Zeroes `present`. Throws ValueError while a ring or a stream has the chunk.
    void zero();
    /// Throws ValueError while a ring or a stream has the chunk.
    void need_mine() const;
    LooseChunk& loose() noexcept { return loose_; }
    const LooseChunk& loose() const noexcept { return loose_; }

    pybind11::handle self{};  ///< its object, in a ring

  private:
    struct Buffer {
        pybind11::object object = pybind11::none();
        std::optional<Bytes> pinned{};
    };
    Buffer parts_[3];
    LooseChunk loose_{this};
};

/// Holds chunks of Python's, and a reference to each. All functions need the GIL. In a child of fork(2),
/// those that put and take throw Error.
class UserChunkRing {
  public:
    explicit UserChunkRing(std::size_t most) : queue_(most) {}
    /// Drops the chunks in it. Those that a stream has not given up are leaked.
    ~UserChunkRing();
    UserChunkRing(const UserChunkRing&) = delete;
    UserChunkRing& operator=(const UserChunkRing&) = delete;

    /// Puts a chunk in. Throws Full and Stopped.
    void put_nowait(const pybind11::object& chunk);
    /// Takes a chunk. Throws Empty and Stopped.
    pybind11::object get_nowait();
    /// Does the same, and waits.
    void put(const pybind11::object& chunk);
    pybind11::object get();
    ChunkQueue& queue() noexcept { return queue_; }

  private:
    void need_own() const;
    pybind11::object take();
    ChunkQueue::Put try_put(const pybind11::object& chunk);

    ChunkQueue queue_;
    const ProcessMark mark_;
};

void define_chunk_rings(pybind11::module_& m);

}  // namespace spead::python
