// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"
#include "runtime/chunk_line.hpp"
#include "runtime/notice_server.hpp"

namespace spead::runtime {

/// Holds what a notice will say of a chunk that is on its way to a sink's file.
struct ChunkNotice {
    nlohmann::ordered_json line;
    const chunk::Chunk* chunk = nullptr;  ///< only while it is handed over
};

/// Gives out notices of the chunks that one stream's sink keeps (docs/notices.md).
class ChunkNotices {
  public:
    /// Listens at the address, or shares the server that does. Throws Error as NoticeServer, and UsageError
    /// for a wrong placement.
    ChunkNotices(const std::string& address, const std::string& stream, const chunk::Placement& placement);

    /// Begins a notice. The thread that has the chunk.
    ChunkNotice begin(const chunk::Chunk& chunk) const;
    /// Adds the file and the place of the payload in it.
    static void add_place(ChunkNotice& notice, const std::string& path, std::uint64_t offset);
    /// Gives the notice out. Any thread; never waits.
    void send(ChunkNotice notice);

  private:
    ChunkLine line_;
    std::shared_ptr<NoticeServer> server_;
};

}  // namespace spead::runtime
