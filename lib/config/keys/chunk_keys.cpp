// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "chunk/chunk_ring.hpp"
#include "config/key_field.hpp"
#include "config/keys/tables.hpp"
#include "config/limits.hpp"

namespace spead::config::keys {

namespace {

using runtime::ChunkPlan;
using runtime::ReceivePlan;

void check_placement(const std::string& placement, const std::string& where) {
    chunk::Placement::parse(placement, where);
}

constexpr std::array kChunkKeys{
    Key{
        .name = "placement",
        .field = text<&ReceivePlan::chunk, &ChunkPlan::placement>,
        .change = Change::anew,
        .required = true,
        .example = "\"heap 5120; time: item 0x1600 / 4096 [8192]\"",
        .option = "--placement",
        .word = "TEXT",
        .help = "Places heaps in chunks by the values of their items",
        .check = check_placement,
    },
    Key{
        .name = "way",
        .field = choice<&ReceivePlan::chunk, &ChunkPlan::way>,
        .change = Change::anew,
        .help = "Says whether all packets carry the items, or only the first",
    },
    Key{
        .name = "chunks",
        .field = integer<&ReceivePlan::chunk, &ChunkPlan::chunks>,
        .range = {2, chunk::ChunkRing::kMaxChunks},
        .change = Change::anew,
        .option = "--chunks",
        .help = "Sets the number of chunk buffers; more than the window has",
    },
    Key{
        .name = "window",
        .field = integer<&ReceivePlan::chunk, &ChunkPlan::window>,
        .range = {1, chunk::ChunkWindowConfig::kMaxChunks},
        .change = Change::anew,
        .option = "--chunk-window",
        .help = "Sets the number of chunks that are open at once",
    },
    Key{
        .name = "eviction",
        .field = choice<&ReceivePlan::chunk, &ChunkPlan::eviction>,
        .change = Change::anew,
        .help = "Hands a chunk over at once, or when all lcores have passed it",
    },
    Key{
        .name = "timeout",
        .field = seconds<&ReceivePlan::chunk, &ChunkPlan::timeout>,
        .range = kTime,
        .off_word = true,
        .change = Change::anew,
        .help = "Hands a chunk over after this time without a packet of it",
    },
    Key{
        .name = "patience",
        .field = seconds<&ReceivePlan::chunk, &ChunkPlan::patience>,
        .range = kTime,
        .off_word = true,
        .change = Change::anew,
        .help = "Limits how long lossless eviction waits for other lcores",
    },
    Key{
        .name = "max_jump",
        .field = integer<&ReceivePlan::chunk, &ChunkPlan::max_jump>,
        .range = {0, std::int64_t{1} << 40},
        .change = Change::anew,
        .unset = "8 windows",
        .help = "Limits how many chunks a packet may move the window; 0 = any",
    },
    Key{
        .name = "back_fill",
        .field = flag<&ReceivePlan::chunk, &ChunkPlan::back_fill>,
        .change = Change::anew,
        .help = "Opens chunks for skipped ids of the window, as spead2 does",
    },
    Key{
        .name = "memory",
        .field = choice<&ReceivePlan::chunk, &ChunkPlan::memory>,
        .change = Change::anew,
        .help = "Takes any memory, huge pages, or pinned for cards or for GPUs",
    },
};

}  // namespace

std::span<const Key> receive_chunk() {
    return kChunkKeys;
}

}  // namespace spead::config::keys
