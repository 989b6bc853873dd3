// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/stored_files.hpp"
#include "runtime/stored_stream.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

/// Reads the heaps that a sink `file` or `raw` has written: their index, line by line, and their payload.
///
/// Index and files are hostile: each number is checked, each payload lies within its file, and files are
/// plain ones in the directory. One thread at a time.
class StoredHeaps final : public StoredStream {
  public:
    static constexpr const char* kIndex = "heaps.jsonl";

    /// Opens the index of a directory, or of a raw sink's file in one. Throws Error when there is none.
    explicit StoredHeaps(const std::string& from, wire::Flavour flavour = {});

    /// Throws Error for a broken line, a number that the flavour has no bits for, a place outside its file, a
    /// missing file, heaps of two streams.
    Sum check() override;
    bool next(StoredHeap& heap) override;
    void rewind() override;
    void read(const StoredHeap& heap, std::span<std::byte> to) override;
    std::string left_out(const Sum& sum) const override;

  private:
    bool parse(StoredHeap& heap) const;

    wire::Flavour flavour_;
    StoredPlace place_;
    IndexLines lines_;
    std::uint64_t incomplete_ = 0;
    StoredFile file_;
};

}  // namespace spead::runtime
