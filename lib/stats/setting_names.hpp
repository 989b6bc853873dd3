// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

/// Names settings of streams as programs set them: by members of the headers' structs, and by Python's names.
/// Pure.
namespace spead::stats {

/// Returns the member of RecvConfig, ChunkConfig and the like that has a key of a stream, as
/// "second_path.skew"; empty: none has. Keys that the headers call alike are returned as they are.
std::string_view member_of(std::string_view key);

/// Returns the member for a sentence: "`queue_depth` (in Python `heaps` of RingStreamConfig)". The key stands
/// for a member that is not there.
std::string name_in_program(std::string_view key);

}  // namespace spead::stats
