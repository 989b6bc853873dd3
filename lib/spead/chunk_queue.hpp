// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <spead/error.hpp>

namespace spead {

/// Is a chunk whose memory its user brings, for ChunkQueue: any sizes, other ones each time. Its owner keeps
/// it and its memory while a queue or a stream has it.
class SPEAD_API LooseChunk {
  public:
    explicit LooseChunk(void* user = nullptr);
    ~LooseChunk();
    LooseChunk(const LooseChunk&) = delete;
    LooseChunk& operator=(const LooseChunk&) = delete;

    /// Sets the memory. Streams write 1 into `present` for each heap that arrived, or for each packet, and
    /// leave the others as they are. Throws UsageError while a queue or a stream has the chunk.
    void set_memory(std::span<std::byte> data, std::span<std::uint8_t> present,
                    std::span<std::byte> extra = {});
    /// Returns whether its user has it: neither a queue nor a stream.
    bool is_mine() const noexcept;

    // The stream that fills it tells these. Its user may do so, too, while it is his.

    std::int64_t id() const noexcept;  ///< -1: no stream has had it
    void set_id(std::int64_t id) noexcept;
    std::uint32_t stream() const noexcept;  ///< ChunkConfig::stream
    void set_stream(std::uint32_t number) noexcept;

    std::uint64_t packets() const noexcept;  ///< that the last stream placed
    std::uint64_t bytes() const noexcept;    ///< payload, of these
    void* user() const noexcept { return user_; }

    struct State;

  private:
    friend class ChunkQueue;
    void* user_;
    std::unique_ptr<State> state_;
};

/// Carries loose chunks between users and streams, without EAL: a bounded queue of addresses. A pair of them
/// makes a ChunkRing: streams take free chunks from one and put full ones into the other. Queues may be
/// shared by streams, and used alone.
///
/// A handle: all copies mean the same queue. Any thread may call anything. Streams never wait here. They put
/// full chunks in beyond `most`, and after stop(): no chunk is lost.
///
/// In a child of fork(2), a queue of the parent throws Error, is empty for take(), and does nothing else.
class SPEAD_API ChunkQueue {
  public:
    static constexpr std::size_t kMost = 32768;

    /// Makes a queue for `most` chunks, 1 to kMost. Throws UsageError, Error.
    explicit ChunkQueue(std::size_t most);

    /// Copies the handle. There is no move.
    ChunkQueue(const ChunkQueue&) = default;
    ChunkQueue& operator=(const ChunkQueue&) = default;
    ~ChunkQueue() = default;

    enum class Put : std::uint8_t { done, full, stopped };
    /// Puts a chunk with memory in, which is no more the user's. When it is full, space_fd() becomes readable
    /// once there is room. Throws UsageError for a chunk without memory, and for one that a queue or a stream
    /// has.
    Put put(LooseChunk& chunk);
    /// Takes the oldest chunk; null: there is none. Then data_fd() becomes readable with the next one, or
    /// with the end.
    LooseChunk* take() noexcept;
    /// Ends the queue for those who put in. Chunks in it may be taken. Returns false if it had ended.
    bool stop() noexcept;
    bool stopped() const noexcept;
    /// Counts those who put chunks in: streams do so themselves. With the last one removed, the queue stops.
    void add_producer() noexcept;
    /// Returns whether this has stopped the queue.
    bool remove_producer() noexcept;
    std::size_t size() const noexcept;
    std::size_t most() const noexcept;
    /// Returns descriptors for poll, epoll and asynchronous frameworks. Each may be readable early: ask.
    /// Owned by the queue.
    int data_fd() const noexcept;
    int space_fd() const noexcept;

    struct State;

  private:
    void need_own() const;
    friend class ChunkRing;
    std::shared_ptr<State> state_;
};

}  // namespace spead
