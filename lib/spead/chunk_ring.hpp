// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "runtime/user_chunks.hpp"
#include "spead/chunk.hpp"
#include "spead/session.hpp"

/// Holds the inner parts of ChunkRing and ChunkPtr. Not installed.
namespace spead {

struct ChunkRing::State {
    std::shared_ptr<door::Session> session;  ///< null: the ring was made without one
    std::shared_ptr<runtime::UserChunks> chunks;

    /// Returns whether the session has ended before any stream began, so that none will.
    bool is_forsaken() const { return session && !chunks->begun() && !session->running(); }

    /// Throws UsageError for a ring that was moved from, and Error in a child of fork(2).
    static State& of(const std::unique_ptr<State>& state);
};

namespace door {

/// Holds a chunk for a user, with all objects that its memory needs.
struct ChunkLoan {
    std::shared_ptr<runtime::UserChunks> chunks;
    runtime::UserChunks::Loan loan;
};

}  // namespace door
}  // namespace spead
