// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "chunk/placement.hpp"
#include "runtime/output_directory.hpp"
#include "sink/array_layout.hpp"
#include "sink/raw_file.hpp"
#include "sink/zarr_array.hpp"

namespace spead::runtime {

/// Says what the arrays of a stream hold.
struct ZarrContent {
    chunk::Placement placement;
    sink::ElementType type{};
    sink::Column column{};
    std::uint32_t margin = 0;  ///< chunks that the arrays begin before the first one that comes
};

/// Holds the directories of a Zarr group, DIRECTORY/STREAM, which other processes may write, too: each has a
/// column of its own. A file of a chunk is written in STREAM/.parts, and gets its name there when it is
/// whole. Metadata is replaced by rename(2).
///
/// The arrays' first chunk has the lowest index, and the number `first_chunk` in the attributes of `data`.
/// The process whose chunk is first says which it is.
///
/// open_part() belongs to one thread, publish() to another.
class ZarrStore {
  public:
    /// Limits the chunks of an array, so that no packet makes it endless.
    static constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 32;

    /// Makes the group and its arrays, or opens those of an earlier run. Throws Error if DIRECTORY's parent
    /// is missing or nothing can be written, when other arrays are in the way, and when another process
    /// writes the same column.
    ZarrStore(const std::string& directory, const std::string& stream, const ZarrContent& content);

    const std::string& path() const noexcept { return group_.path(); }
    /// Makes a file for the payload of a chunk. Throws Error.
    std::shared_ptr<sink::RawFile> open_part();
    /// Removes a file that open_part() made, if it has not become a chunk.
    void remove_part(const std::string& name) const noexcept { parts_.remove(name); }

    /// Holds all of a chunk but its payload.
    struct Chunk {
        std::int64_t id = 0;
        std::span<const std::byte> presence{};
        std::span<const std::byte> extra{};
        std::int64_t first_ns = 0;  ///< 0: unknown, as the next
        std::int64_t last_ns = 0;
    };
    /// Says why a chunk is not in the arrays.
    enum class Refusal : std::uint8_t { none, present, before_first, too_far };
    /// Gives the payload, the first `length` bytes of a part, its name, and lets the arrays reach it. Returns
    /// 0, or errno: then there is nothing of the chunk. `refusal`: none, or why the chunk has no place; then
    /// the part is removed.
    int publish(const sink::RawFile& part, std::uint64_t length, const Chunk& chunk, Refusal& refusal);
    /// Lets the arrays reach all chunks that publish() could not add in time, after the last publish(). Waits
    /// half a second at most. Returns 0, or errno; EBUSY: another process holds the lock of the metadata.
    int finish();

  private:
    struct Array {
        Array(sink::ZarrArray described, const std::string& group)
            : of(std::move(described)), directory(group + '/' + of.name, "a Zarr array") {}

        sink::ZarrArray of;
        OutputDirectory directory;
        std::uint64_t known = 0;  ///< chunks along the time that its metadata has at least
    };

    void take_column();
    void remove_leftovers() const;
    void open_array(Array& array);
    void read_attributes(const std::string& text);
    void compare_placement(const std::string& told, const std::string& path) const;
    std::string attributes(std::int64_t first) const;
    int agree_on_first(std::int64_t id);
    int put(const OutputDirectory& directory, const std::string& name, std::span<const std::byte> bytes,
            bool replace) const;
    int put(const OutputDirectory& directory, const std::string& name, std::string_view text,
            bool replace) const;
    int write_small(const Chunk& chunk, std::uint64_t index);
    int grow(Array& array, std::uint64_t chunks);
    int grow_all(std::uint64_t chunks);
    void withdraw(std::uint64_t index, bool data) const noexcept;
    std::string part_name() const;

    ZarrContent content_;
    OutputDirectory directory_;
    OutputDirectory group_;
    OutputDirectory parts_;
    FileDescriptor lock_;                 ///< held while metadata is read and replaced
    std::shared_ptr<const void> writer_;  ///< keeps other processes from the column
    std::vector<Array> arrays_;           ///< the first is `data`
    std::optional<std::int64_t> first_;
    std::uint64_t chunks_ = 0;  ///< up to the last one that publish() has named
    bool behind_ = false;       ///< another process held the lock when the arrays were to grow
};

}  // namespace spead::runtime
