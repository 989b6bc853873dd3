// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "wire/flavour.hpp"

namespace spead::runtime {

/// Describes a heap that a sink has written.
struct StoredHeap {
    struct Item {
        std::uint64_t id = 0;
        bool immediate = false;
        std::uint64_t value = 0;   ///< of an immediate
        std::uint64_t offset = 0;  ///< in the payload
        std::uint64_t length = 0;
    };
    std::uint64_t line = 0;  ///< of the index, from 1
    std::string stream{};
    std::uint64_t cnt = 0;
    std::vector<Item> items{};  ///< addressed ones by offset, without overlaps; then immediates
    std::string file{};         ///< in the directory; empty: it has no payload
    std::uint64_t offset = 0;   ///< of the payload in the file
    std::uint64_t bytes = 0;    ///< of the payload
};

/// Reads the heaps that a sink `file` or `raw` has written: their index, line by line, and their payload.
///
/// Index and files are hostile: each number is checked, each payload lies within its file, and files are
/// plain ones in the directory. One thread at a time.
class StoredHeaps {
  public:
    /// Limits a line of the index, and the payload of a heap.
    static constexpr std::size_t kMostLine = std::size_t{4} << 20;
    static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

    /// Returns the path of the index for `from`: a directory, or a file of a raw sink in one.
    static std::string index_path(const std::string& from);

    /// Opens the index. Throws Error when there is none. The heaps are for a sender of this flavour.
    explicit StoredHeaps(const std::string& from, wire::Flavour flavour = {});

    /// Sums up an index.
    struct Sum {
        std::uint64_t heaps = 0;
        std::uint64_t incomplete = 0;  ///< lines of heaps without a payload
        std::uint64_t largest = 0;     ///< bytes of a payload
        std::string stream{};
    };
    /// Reads the whole index, checks each line and file, and rewinds. Throws Error for the first fault: a
    /// broken line, a number that the flavour has no bits for, a place outside its file, a missing file,
    /// heaps of two streams.
    Sum check();
    /// Returns whether there is a next complete heap, and which. Throws Error as check().
    bool next(StoredHeap& heap);
    /// Goes back to the beginning.
    void rewind() noexcept;
    /// Reads the payload. `to` has its bytes. Throws Error.
    void read(const StoredHeap& heap, std::span<std::byte> to);

  private:
    struct Close {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };
    bool next_line();
    bool parse(StoredHeap& heap) const;
    void open(const std::string& name);
    [[noreturn]] void fail(std::uint64_t line, const std::string& what) const;

    wire::Flavour flavour_;
    std::string index_;
    std::string only_;  ///< file whose heaps are meant; empty: all
    FileDescriptor directory_;
    std::unique_ptr<std::FILE, Close> lines_;
    std::string text_;
    std::uint64_t line_ = 0;
    std::uint64_t incomplete_ = 0;
    std::string open_name_;  ///< of file_
    FileDescriptor file_;
    std::uint64_t file_bytes_ = 0;
};

}  // namespace spead::runtime
