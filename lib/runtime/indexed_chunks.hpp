// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "runtime/chunk_list.hpp"
#include "runtime/stored_files.hpp"

namespace spead::runtime {

/// Reads the chunks that a sink `file` or `raw` has written, by their index.
class IndexedChunks final : public ChunkList {
  public:
    static constexpr const char* kIndex = "chunks.jsonl";

    /// Opens the index of a directory, or of a raw sink's file in one. Throws Error when there is none.
    explicit IndexedChunks(const std::string& from);

    bool next(StoredChunk& chunk) override;
    void rewind() override { lines_.rewind(); }
    void read(std::uint64_t offset, std::span<std::byte> to) override;
    [[noreturn]] void fail(const std::string& what) const override { lines_.fail(lines_.line(), what); }
    const std::string& path() const noexcept override { return lines_.path(); }

  private:
    bool parse(StoredChunk& chunk);
    void take_placement(const std::string& text, StoredChunk& chunk);

    StoredPlace place_;
    IndexLines lines_;
    StoredFile file_;
    std::uint64_t payload_ = 0;  ///< where it begins in the file
    std::string text_;           ///< of the placement
};

}  // namespace spead::runtime
