// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_stream.hpp"

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

void check_number(const char* what, std::uint64_t number, std::uint64_t largest, wire::Flavour flavour) {
    if (number > largest)
        throw IndexFault{
            fmt::format("the {} {} is above {}, the largest with {} address bits; change `address_bits`",
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
    for (const std::string_view kind : {"file:", "raw:", "zarr:"})
        if (from.starts_with(kind))
            return from.substr(kind.size());
    return from;
}

std::string StoredStream::index_path(const std::string& from) {
    const fs::path path = path_of(from);
    const fs::path directory = directory_of(path);
    const fs::path heaps = directory / StoredHeaps::kIndex;
    if (is_there(heaps))
        return heaps.string();
    if (const fs::path chunks = directory / IndexedChunks::kIndex; is_there(chunks))
        return chunks.string();
    const std::string group = ZarrChunks::group_in(path.string());
    return group.empty() ? heaps.string() : (fs::path(group) / ZarrChunks::kAttributes).string();
}

std::unique_ptr<StoredStream> StoredStream::open(const std::string& from, wire::Flavour flavour) {
    const std::string path = path_of(from);
    if (!is_there(path))
        throw_error(path,
                    "there is no such directory or file; give what --sink file:DIR, raw:DIR or "
                    "zarr:DIR has written");
    const fs::path directory = directory_of(path);
    const bool has_heaps = is_there(directory / StoredHeaps::kIndex);
    const bool has_chunks = is_there(directory / IndexedChunks::kIndex);
    if (has_heaps && has_chunks)
        throw_error(path, "there are heaps and chunks; write streams of both to directories of their own");
    if (has_chunks)
        return std::make_unique<StoredChunks>(std::make_unique<IndexedChunks>(path), flavour);
    if (const std::string group = has_heaps ? std::string() : ZarrChunks::group_in(path); !group.empty())
        return std::make_unique<StoredChunks>(std::make_unique<ZarrChunks>(group), flavour);
    if (!has_heaps && from.starts_with("zarr:"))
        throw_error(path, "there is no array; give what --sink zarr:DIR has written");
    return std::make_unique<StoredHeaps>(path, flavour);
}

}  // namespace spead::runtime
