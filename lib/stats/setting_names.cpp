// SPDX-License-Identifier: BSD-3-Clause
#include "stats/setting_names.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace spead::stats {

namespace {

struct Names {
    std::string_view key;     ///< as the prompt names it
    std::string_view member;  ///< of the headers' structs; empty: none has it
    std::string_view python;  ///< where Python has it elsewhere; empty: alike
};

/// Lists the keys that programs call otherwise.
constexpr std::array kNames{
    Names{"max_packet_size", "max_packet_size", "also `max_size` of a reader"},
    Names{"in_order", "in_order", "set `allow_out_of_order` of StreamConfig"},
    Names{"path_skew", "second_path.skew", ""},
    Names{"heaps.max_live", "max_heaps", ""},
    Names{"heaps.queue_depth", "queue_depth", "`heaps` of RingStreamConfig"},
    Names{"heaps.max_bytes", "max_heap_bytes", "a larger `upper` of its MemoryPool"},
    Names{"heaps.timeout", "heap_timeout", ""},
    Names{"heaps.history", "history", ""},
    Names{"heaps.history_time", "", ""},
    Names{"heaps.gather", "", ""},
    Names{"chunk.chunks", "chunks", ""},
    Names{"chunk.window", "window", "also `max_chunks` of ChunkStreamConfig"},
    Names{"chunk.max_jump", "max_jump", ""},
    Names{"chunk.timeout", "timeout", ""},
    Names{"chunk.patience", "patience", ""},
    Names{"chunk.placement", "placement", ""},
    Names{"chunk.way", "", ""},
    Names{"sink.kind", "", ""},
    Names{"sink.directory", "", ""},
    Names{"memory.heaps", "memory", "a larger `max_free` of its MemoryPool"},
};

const Names* find(std::string_view key) {
    const auto* const found =
        std::find_if(kNames.begin(), kNames.end(), [key](const Names& n) { return n.key == key; });
    return found == kNames.end() ? nullptr : found;
}

}  // namespace

std::string_view member_of(std::string_view key) {
    const Names* const names = find(key);
    return names == nullptr ? key : names->member;
}

std::string name_in_program(std::string_view key) {
    const Names* const names = find(key);
    if (names == nullptr || names->member.empty())
        return fmt::format("`{}`", key);
    return names->python.empty() ? fmt::format("`{}`", names->member)
                                 : fmt::format("`{}` (in Python {})", names->member, names->python);
}

}  // namespace spead::stats
