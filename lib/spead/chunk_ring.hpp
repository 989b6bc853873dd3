// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/process_mark.hpp"
#include "runtime/user_chunks.hpp"
#include "spead/chunk.hpp"
#include "spead/session.hpp"

/// Holds the inner parts of ChunkRing and ChunkPtr. Not installed.
namespace spead {

namespace door {

/// Holds chunks, and the user's memory that they lie in. The ring, its streams and its handles have this. The
/// session's thread has the chunks alone: it could not unregister memory.
struct KeptChunks {
    std::mutex mutex;
    std::vector<Memory> memory;  ///< guarded
    std::shared_ptr<runtime::UserChunks> chunks;
    std::atomic<bool> given_up{false};  ///< a stream was stopped before any has begun

    /// Ends the ring, until a start, unless a stream has begun to fill it.
    void end_if_idle() noexcept {
        if (chunks->begun())
            return;
        given_up = true;
        chunks->ring().close();
    }
};

}  // namespace door

struct ChunkRing::State {
    explicit State(std::size_t count, std::shared_ptr<door::Session> of = nullptr);
    State(std::shared_ptr<chunk::ChunkQueue> free, std::shared_ptr<chunk::ChunkQueue> full);

    std::shared_ptr<door::Session> session;  ///< null: the ring was made without one
    const ProcessMark mark;                  ///< a child of fork(2) has no thread that fills chunks
    std::shared_ptr<door::KeptChunks> kept;
    std::shared_ptr<runtime::UserChunks> chunks;  ///< those of `kept`

    /// Returns whether the session has ended, or a stream was stopped, before any stream began.
    bool is_forsaken() const {
        return !chunks->begun() && (kept->given_up || (session && !session->running()));
    }

    /// Keeps the memory. Throws UsageError unless `data` lies in it.
    void keep(const Memory& memory, std::span<const std::byte> data);

    bool is_own() const noexcept { return mark.is_own(); }

    /// Throws UsageError for a ring that was moved from, and Error in a child of fork(2).
    static State& of(const std::unique_ptr<State>& state);
};

namespace door {

/// Holds a chunk for a user, with all objects that its memory needs.
struct ChunkLoan {
    std::shared_ptr<KeptChunks> kept;
    std::shared_ptr<runtime::UserChunks> chunks;
    runtime::UserChunks::Loan loan;
};

}  // namespace door
}  // namespace spead
