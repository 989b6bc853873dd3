// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_chunk_sink.hpp"

#include <array>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace spead::runtime {

RawChunkSink::RawChunkSink(const std::vector<std::string>& directories, const std::string& stream,
                           const chunk::Placement& placement, const sink::RawWriter::Options& options)
    : line_(stream, placement),
      output_(
          directories, stream, {"chunks", "chunks.jsonl"}, [this](const char* what) { fail(what); },
          options) {}

void RawChunkSink::hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept {
    if (!attempt([&] { add(chunk, settled); }))
        settled(false);
}

void RawChunkSink::add(const chunk::Chunk& chunk, const Settled& settled) {
    const std::array<std::span<const std::byte>, 3> parts{chunk.data, std::as_bytes(chunk.present),
                                                          chunk.extra};
    const auto line = [&](const sink::RawFile* file, std::uint64_t offset) {
        if (file != nullptr)
            wrote(output_.path_of(*file), offset);
        return line_.of(chunk, file == nullptr ? std::string() : file->name(), offset);
    };
    output_.add(parts, line, settled);
}

void RawChunkSink::consume_chunk(const chunk::Chunk& chunk) {
    bool kept = false;
    add(chunk, [&kept](bool k) { kept = k; });
    settle();
    if (!kept)
        throw Error(failure());
}

}  // namespace spead::runtime
