// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "runtime/chunk_list.hpp"
#include "runtime/stored_files.hpp"
#include "sink/zarr_array.hpp"

namespace spead::runtime {

/// Reads the chunks of a group that sinks `zarr` have written, by the names of their files. Chunks of all
/// columns follow each other by their numbers.
class ZarrChunks final : public ChunkList {
  public:
    static constexpr const char* kAttributes = "data/.zattrs";

    /// Returns the group that `from` is, or its only one; empty: it has none. Throws Error if it has several.
    static std::string group_in(const std::string& from);

    /// Opens a group. Throws Error if its arrays are not those of a sink, with the file and the reason.
    explicit ZarrChunks(const std::string& group);

    bool next(StoredChunk& chunk) override;
    void rewind() override { at_ = 0; }
    void read(std::uint64_t offset, std::span<std::byte> to) override;
    [[noreturn]] void fail(const std::string& what) const override;
    const std::string& path() const noexcept override { return group_; }

  private:
    /// Holds an array's directory, and the names of its files.
    struct Array {
        std::string path;
        FileDescriptor directory;
        sink::ZarrArray of;
    };
    /// Names a chunk's file by its place in the array.
    struct Key {
        std::uint64_t index = 0;
        std::uint32_t column = 0;
        auto operator<=>(const Key&) const = default;
    };

    Array open_array(const std::string& name) const;
    void take_attributes();
    void check_metadata(Array& array, const sink::ZarrArray& expected) const;
    void list_files();
    std::optional<Key> key_of(const std::string& name) const;
    std::string name_in(const Array& array, const Key& key) const;
    chunk::Placement placement_of(std::uint32_t column) const;
    void load(const Array& array, const Key& key, std::uint64_t bytes, std::vector<std::byte>& to) const;

    std::string group_;
    std::string stream_;
    chunk::Placement placement_;
    chunk::Layout layout_;
    sink::Column column_;  ///< whose placement that is
    std::uint64_t first_ = 0;
    Array data_;
    Array presence_;
    std::optional<Array> extra_;
    std::vector<Key> keys_;
    std::size_t at_ = 0;                   ///< of the next one in keys_
    std::optional<std::uint32_t> before_;  ///< column of the one before
    StoredFile file_;
};

}  // namespace spead::runtime
