// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_file_sink.hpp"

#include <array>
#include <cstring>
#include <span>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::runtime {

namespace {

constexpr const char* kChunkLines = "chunks.jsonl";
}  // namespace

ChunkFileSink::ChunkFileSink(const std::string& directory, std::string stream,
                             const chunk::Placement& placement)
    : stream_(std::move(stream)),
      line_(stream_, placement),
      directory_(directory, "chunks"),
      lines_(directory_.descriptor(), kChunkLines, lines_path(directory),
             fmt::format("the sink of {} writes", stream_), fmt::format("sink of {}", stream_)) {}

void ChunkFileSink::fail(const std::string& name, int error) const {
    throw_error(directory_.path() + '/' + name, "cannot write: {}; written before that: {} ({}), {} in {}/{}",
                std::strerror(error), counted(files_, "chunks"), human_size(bytes_),
                counted(lines_.lines(), "lines"), directory_.path(), kChunkLines);
}

void ChunkFileSink::consume_chunk(const chunk::Chunk& chunk) {
    const std::array<std::span<const std::byte>, 3> parts{chunk.data, std::as_bytes(chunk.present),
                                                          chunk.extra};
    const OutputDirectory::Written file =
        directory_.write_new(fmt::format("{}-chunk-{}", stream_, chunk.id), parts);
    if (file.error != 0)
        fail(file.name, file.error);
    files_++;
    for (const auto part : parts)
        bytes_ += part.size();
    wrote(directory_.path() + '/' + file.name, 0);
    if (const int error = lines_.append(line_.of(chunk, file.name, 0)); error != 0)
        fail(kChunkLines, error);
}

}  // namespace spead::runtime
