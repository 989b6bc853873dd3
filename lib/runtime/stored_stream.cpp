// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_stream.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/indexed_chunks.hpp"
#include "runtime/stored_chunks.hpp"
#include "runtime/stored_heaps.hpp"
#include "runtime/zarr_chunks.hpp"

namespace spead::runtime {

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

/// Returns the directory that `from` is, or lies in.
fs::path directory_of(const fs::path& from) {
    std::error_code ignored;
    if (fs::is_directory(from, ignored))
        return from;
    return from.has_parent_path() ? from.parent_path() : fs::path(".");
}

constexpr std::string_view kZarr = "zarr:";
/// Names the sinks whose data are sent. A kind before the directory says which of its data are meant.
constexpr std::array<std::string_view, 3> kKinds{"file:", "raw:", kZarr};

/// Holds what a directory has that can be sent, of the kind that `from` names.
struct Found {
    explicit Found(const std::string& from) : directory(directory_of(StoredStream::path_of(from))) {
        const bool arrays_only = from.starts_with(kZarr);
        const bool any =
            std::ranges::none_of(kKinds, [&](std::string_view k) { return from.starts_with(k); });
        if (!arrays_only) {
            heaps = is_there(directory / StoredHeaps::kIndex);
            chunks = is_there(directory / IndexedChunks::kIndex);
        }
        if (arrays_only || any)
            group = ZarrChunks::group_in(StoredStream::path_of(from));
    }

    fs::path directory;
    bool heaps = false;   ///< an index of heaps
    bool chunks = false;  ///< one of chunks
    std::string group;    ///< the directory of arrays; empty: there are none
};

void check_number(const char* what, std::uint64_t number, std::uint64_t largest, wire::Flavour flavour) {
    if (number > largest)
        throw IndexFault{fmt::format(
            "the {} {} is above {}, the largest with {} address bits; give more `addr_bits` (--addr-bits)",
            what, number, largest, flavour.address_bits())};
}

}  // namespace

void check_bits(const StoredHeap& heap, wire::Flavour flavour) {
    check_number("heap count", heap.cnt, flavour.value_mask(), flavour);
    check_number("length", heap.bytes, flavour.value_mask(), flavour);
    for (const StoredHeap::Item& item : heap.items) {
        check_number("item id", item.id, flavour.max_id(), flavour);
        if (item.immediate)
            check_number("value", item.value, flavour.value_mask(), flavour);
    }
}

std::string StoredStream::path_of(const std::string& from) {
    for (const std::string_view kind : kKinds)
        if (from.starts_with(kind))
            return from.substr(kind.size());
    return from;
}

std::string StoredStream::index_path(const std::string& from) {
    const Found found(from);
    if (found.chunks && !found.heaps)
        return (found.directory / IndexedChunks::kIndex).string();
    return found.group.empty() ? (found.directory / StoredHeaps::kIndex).string()
                               : (fs::path(found.group) / ZarrChunks::kAttributes).string();
}

std::unique_ptr<StoredStream> StoredStream::open(const std::string& from, wire::Flavour flavour) {
    if (from.starts_with("hdf5:"))
        throw_error(from,
                    "files of a sink hdf5 cannot be sent; give what --sink file:DIR, raw:DIR or zarr:DIR has "
                    "written");
    const std::string path = path_of(from);
    if (!is_there(path))
        throw_error(path,
                    "there is no such directory or file; give what --sink file:DIR, raw:DIR or "
                    "zarr:DIR has written");
    const Found found(from);
    if (found.heaps && found.chunks)
        throw_error(path, "there are heaps and chunks; write streams of both to directories of their own");
    if (!found.group.empty() && (found.heaps || found.chunks))
        throw_error(path, "there are files with an index, and Zarr arrays; say which: raw:{} or zarr:{}",
                    path, path);
    if (found.chunks)
        return std::make_unique<StoredChunks>(std::make_unique<IndexedChunks>(path), flavour);
    if (!found.group.empty())
        return std::make_unique<StoredChunks>(std::make_unique<ZarrChunks>(found.group), flavour);
    if (from.starts_with(kZarr))
        throw_error(path, "there is no array; give what --sink zarr:DIR has written");
    return std::make_unique<StoredHeaps>(path, flavour);
}

}  // namespace spead::runtime
