// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/zarr_chunks.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/printable.hpp"
#include "sink/array_layout.hpp"

namespace spead::runtime {

namespace {

namespace fs = std::filesystem;

/// Limits the files that describe arrays.
constexpr std::uint64_t kMostText = std::uint64_t{1} << 20;

bool is_group(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path / "data" / ".zarray", ignored);
}

std::string array_text(int directory, const std::string& path, const char* name) {
    try {
        StoredFile file;
        file.open(directory, name);
        if (file.bytes() > kMostText)
            throw IndexFault{fmt::format("it has {} bytes, more than {}", file.bytes(), kMostText)};
        std::string text(file.bytes(), '\0');
        file.read(0, std::as_writable_bytes(std::span(text)));
        return text;
    } catch (const IndexFault& fault) {
        throw_error(path + '/' + name, "{}; give an array that --sink zarr:DIR has written", fault.what);
    }
}

/// Lists a directory. Throws Error when it cannot be read.
std::vector<fs::path> entries_of(const fs::path& directory) {
    std::vector<fs::path> all;
    std::error_code failed;
    for (fs::directory_iterator at(directory, failed); !failed && at != fs::directory_iterator();
         at.increment(failed))
        all.push_back(at->path());
    if (failed)
        throw_error(directory.string(), "cannot list the directory: {}", failed.message());
    return all;
}

/// Returns the number at the beginning of a name, and removes it with the point behind it.
std::optional<std::uint64_t> take_number(std::string_view& name) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc())
        return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (name.starts_with('.'))
        name.remove_prefix(1);
    return number;
}

}  // namespace

std::string ZarrChunks::group_in(const std::string& from) {
    if (is_group(from))
        return from;
    std::string group;
    if (std::error_code ignored; !fs::is_directory(from, ignored))
        return group;
    for (const fs::path& entry : entries_of(from)) {
        std::error_code ignored;
        // A link may lead out of the directory.
        if (fs::is_symlink(entry, ignored) || !is_group(entry))
            continue;
        if (!group.empty())
            throw_error(from, "there are the arrays of several streams, {} and {}; give the directory of one",
                        printable(fs::path(group).filename().string()), printable(entry.filename().string()));
        group = entry.string();
    }
    return group;
}

ZarrChunks::ZarrChunks(const std::string& group)
    : group_(group), stream_(fs::path(fs::path(group) / "").parent_path().filename().string()) {
    data_ = open_array("data");
    presence_ = open_array("presence");
    try {
        take_attributes();
        const auto type = sink::ElementType::parse(
            text_in(parse_foreign(array_text(data_.directory.get(), data_.path, ".zarray")), "dtype"),
            data_.path + "/.zarray");
        check_metadata(data_, sink::data_array(sink::array_layout(placement_, type, data_.path), column_));
        check_metadata(presence_, sink::presence_array(placement_, column_));
        if (const auto extra = sink::extra_array(placement_, column_)) {
            extra_ = open_array("extra");
            check_metadata(*extra_, *extra);
        }
    } catch (const UsageError& error) {
        throw Error(fmt::format("{}; give an array that --sink zarr:DIR has written", error.what()));
    }
    list_files();
}

ZarrChunks::Array ZarrChunks::open_array(const std::string& name) const {
    Array array;
    array.path = (fs::path(group_) / name).string();
    array.directory =
        FileDescriptor(::open(array.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!array.directory)
        throw_error(array.path, "cannot open this array: {}; give one that --sink zarr:DIR has written",
                    std::strerror(errno));
    return array;
}

/// Reads the placement, the number of the first chunk, and whose placement it is.
void ZarrChunks::take_attributes() {
    const auto attributes = parse_foreign(array_text(data_.directory.get(), data_.path, ".zattrs"));
    const std::string path = data_.path + "/.zattrs";
    first_ = number_in(attributes, "first_chunk", UINT64_MAX);
    const std::string text = text_in(attributes, "placement");
    if (first_ > INT64_MAX || text.empty())
        throw_error(path,
                    "it has no `first_chunk` or `placement`; give an array that --sink zarr:DIR has written");
    placement_ = chunk::Placement::parse(text, path);
    layout_ = placement_.check(path);
    const auto column = attributes.find("column");
    if (column == attributes.end())
        return;
    column_.axis = text_in(*column, "axis");
    const std::uint64_t count = number_in(*column, "count");
    const std::uint64_t index = number_in(*column, "index");
    if (count == 0 || count > sink::kMostColumns || index >= count)
        throw_error(path, "there is no column {} of {}; give an array that --sink zarr:DIR has written",
                    index, count);
    column_.count = static_cast<std::uint32_t>(count);
    column_.index = static_cast<std::uint32_t>(index);
    sink::check_column(placement_, column_, path);
}

void ZarrChunks::check_metadata(Array& array, const sink::ZarrArray& expected) const {
    array.of = expected;
    const sink::ZarrArray::Found found =
        expected.read(array_text(array.directory.get(), array.path, ".zarray"));
    if (!found.other.empty())
        throw_error(array.path + "/.zarray", "{}; give an array that --sink zarr:DIR has written",
                    found.other);
}

/// Returns the name of a chunk's file.
std::string ZarrChunks::name_in(const Array& array, const Key& key) const {
    sink::ZarrArray of = array.of;
    for (sink::ZarrArray::Axis& axis : of.axes)
        if (axis.chunks > 1)
            axis.at = key.column;
    return of.key(key.index);
}

/// Returns what a name stands for; none: it is none of a chunk.
std::optional<ZarrChunks::Key> ZarrChunks::key_of(const std::string& name) const {
    Key key;
    std::string_view rest = name;
    for (std::size_t i = 0; i < data_.of.axes.size(); i++) {
        const std::optional<std::uint64_t> number = take_number(rest);
        if (!number)
            return std::nullopt;
        if (i == data_.of.time)
            key.index = *number;
        else if (data_.of.axes[i].chunks > *number)
            key.column = std::max(key.column, static_cast<std::uint32_t>(*number));
    }
    return name_in(data_, key) == name ? std::optional(key) : std::nullopt;
}

void ZarrChunks::list_files() {
    for (const fs::path& entry : entries_of(data_.path))
        if (const std::optional<Key> key = key_of(entry.filename().string()))
            keys_.push_back(*key);
    std::sort(keys_.begin(), keys_.end());
    if (!keys_.empty() && keys_.back().index > static_cast<std::uint64_t>(INT64_MAX) - first_)
        throw_error(data_.path, "no chunk has a number as large as that of {}", name_in(data_, keys_.back()));
}

/// Returns the placement of a column: on an axis of items or heap counts, it begins elsewhere.
chunk::Placement ZarrChunks::placement_of(std::uint32_t column) const {
    chunk::Placement placement = placement_;
    for (chunk::Axis& axis : placement.axes)
        if (axis.name == column_.axis && axis.term.kind != chunk::Term::Kind::endpoint)
            axis.term.first += (std::uint64_t{column} - column_.index) * axis.count * axis.term.step;
    return placement;
}

void ZarrChunks::load(const Array& array, const Key& key, std::uint64_t bytes,
                      std::vector<std::byte>& to) const {
    StoredFile file;
    const std::string name = name_in(array, key);
    try {
        file.open(array.directory.get(), name);
    } catch (const IndexFault& fault) {
        throw IndexFault{fmt::format("{}: {}", array.path, fault.what)};
    }
    if (file.bytes() != bytes)
        throw IndexFault{
            fmt::format("{}/{} has {} bytes, and the placement {}", array.path, name, file.bytes(), bytes)};
    to.resize(bytes);
    file.read(0, to);
}

bool ZarrChunks::next(StoredChunk& chunk) {
    if (at_ == keys_.size()) {
        before_.reset();
        return false;
    }
    const Key& key = keys_[at_++];
    try {
        chunk.stream = stream_;
        chunk.id = first_ + key.index;
        chunk.same_placement = before_ == key.column;
        before_ = key.column;
        if (!chunk.same_placement)
            chunk.placement = placement_of(key.column);
        chunk.endpoint = 0;
        for (const chunk::Axis& axis : placement_.axes)
            if (axis.name == column_.axis && axis.term.kind == chunk::Term::Kind::endpoint)
                chunk.endpoint = std::uint64_t{key.column} * axis.count;
        file_.open(data_.directory.get(), name_in(data_, key));
        if (file_.bytes() != layout_.bytes)
            throw IndexFault{
                fmt::format("it has {} bytes, and the placement {}", file_.bytes(), layout_.bytes)};
        load(presence_, key, layout_.present_bytes(), chunk.presence);
        if (extra_)
            load(*extra_, key, layout_.heaps * layout_.extra_bytes, chunk.extra);
    } catch (const IndexFault& fault) {
        fail(fault.what);
    }
    return true;
}

void ZarrChunks::read(std::uint64_t offset, std::span<std::byte> to) {
    try {
        file_.read(offset, to);
    } catch (const IndexFault& fault) {
        fail(fault.what);
    }
}

void ZarrChunks::fail(const std::string& what) const {
    throw_error(data_.path + '/' + name_in(data_, keys_[at_ - 1]), "{}; remove the chunk, or write it anew",
                what);
}

}  // namespace spead::runtime
