// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_notices.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace spead::runtime {

ChunkNotices::ChunkNotices(const std::string& address, const std::string& stream,
                           const chunk::Placement& placement)
    : line_(stream, placement),
      server_(NoticeServer::at(parse_notice_address(address, fmt::format("receive {}", stream)))) {}

ChunkNotice ChunkNotices::begin(const chunk::Chunk& chunk) const {
    return {line_.facts_of(chunk), &chunk};
}

void ChunkNotices::add_place(ChunkNotice& notice, const std::string& path, std::uint64_t offset) {
    std::error_code ignored;
    notice.line["path"] = std::filesystem::absolute(path, ignored).lexically_normal().string();
    ChunkLine::add_places(notice.line, *notice.chunk, offset);
}

void ChunkNotices::send(ChunkNotice notice) {
    notice.line["placement"] = line_.placement();
    // A path need not be UTF-8.
    server_->send(notice.line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace spead::runtime
