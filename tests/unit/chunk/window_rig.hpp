// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/chunk_window.hpp"
#include "tests/unit/chunk/ring_rig.hpp"

/// Drives a window by hand.
namespace spead::chunk::test {

using Missing = Member::Missing;
/// Holds the ticks of a second.
constexpr std::uint64_t kSecond = 1000;

/// Holds a ring, a window and its members, on one thread.
struct WindowRig {
    explicit WindowRig(std::size_t chunks, const ChunkWindowConfig& config, std::size_t member_count = 1)
        : chunks_(chunks), window(std::make_unique<ChunkWindow>(config, chunks_.ring)) {
        for (std::size_t i = 0; i < member_count; i++)
            members.push_back(std::make_unique<Member>(*window));
    }
    ~WindowRig() { members.clear(); }

    ChunkRing& ring() { return chunks_.ring; }
    Missing open(std::int64_t id, std::size_t member = 0, std::uint64_t now = 1, std::uint32_t source = 1,
                 bool can_wait = false) {
        Missing missing = Missing::none;
        Chunk* const chunk = members[member]->open({id, id, source, can_wait, now}, missing);
        EXPECT_EQ(chunk != nullptr, missing == Missing::none);
        if (chunk != nullptr) {
            EXPECT_EQ(chunk->id, id);
            EXPECT_EQ(members[member]->find(id), chunk);
            chunk->shares[members[member]->number()].last = now;
            members[member]->used(*chunk);
        }
        return missing;
    }
    void boundary(std::size_t member = 0) { members[member]->boundary(); }
    /// Returns the ids of the chunks that wait, and gives them back.
    std::vector<std::int64_t> taken() {
        std::vector<std::int64_t> ids;
        while (Chunk* const chunk = chunks_.ring.take()) {
            ids.push_back(chunk->id);
            EXPECT_TRUE(chunks_.ring.give_back(*chunk));
        }
        return ids;
    }

    RingOfChunks chunks_;
    std::unique_ptr<ChunkWindow> window;
    std::vector<std::unique_ptr<Member>> members;
};

using Ids = std::vector<std::int64_t>;

/// Returns the settings of a window that does not believe far times.
inline ChunkWindowConfig guarded() {
    return {.chunks = 2, .max_jump = 16, .second_ticks = kSecond};
}

}  // namespace spead::chunk::test
