// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_heaps.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/heap_limits.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"

namespace spead::runtime {

namespace {

using IndexJson = nlohmann::json;

constexpr const char* kHeapIndex = "heaps.jsonl";
constexpr const char* kChunkIndex = "chunks.jsonl";

/// Says what is wrong with a line.
struct IndexFault {
    std::string what;
};

std::uint64_t number_in(const IndexJson& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_unsigned())
        throw IndexFault{fmt::format("`{}` is no number from 0", name)};
    return found->get<std::uint64_t>();
}

std::string text_in(const IndexJson& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string())
        throw IndexFault{fmt::format("`{}` is no text", name)};
    return found->get<std::string>();
}

/// Returns a name that leads nowhere but into the directory.
std::string name_in_directory(std::string name) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
        throw IndexFault{fmt::format("`{}` is no name of a file in the directory", printable(name))};
    return name;
}

/// Refuses a number that a packet has no bits for.
void check_bits(const char* what, std::uint64_t number, std::uint64_t largest, wire::Flavour flavour) {
    if (number > largest)
        throw IndexFault{
            fmt::format("the {} {} is above {}, the largest with {} address bits; change `address_bits`",
                        what, number, largest, flavour.address_bits())};
}

StoredHeap::Item stored_item(const IndexJson& json, wire::Flavour flavour) {
    StoredHeap::Item item;
    item.id = number_in(json, "id");
    if (item.id < wire::item::kDescriptor)
        throw IndexFault{fmt::format("item {:#x} belongs to the protocol", item.id)};
    check_bits("item id", item.id, flavour.max_id(), flavour);
    item.immediate = json.contains("immediate");
    if (item.immediate) {
        item.value = number_in(json, "immediate");
        check_bits("value", item.value, flavour.value_mask(), flavour);
    } else {
        item.offset = number_in(json, "offset");
        item.length = number_in(json, "length");
    }
    return item;
}

std::vector<StoredHeap::Item> stored_items(const IndexJson& line, std::uint64_t bytes,
                                           wire::Flavour flavour) {
    const auto found = line.find("items");
    if (found == line.end() || !found->is_array() || found->size() > kMaxHeapItems)
        throw IndexFault{fmt::format("`items` is no list of at most {} items", kMaxHeapItems)};
    std::vector<StoredHeap::Item> items;
    std::uint64_t at = 0;
    for (const IndexJson& json : *found) {
        if (!json.is_object())
            throw IndexFault{"an item is no object"};
        const StoredHeap::Item& item = items.emplace_back(stored_item(json, flavour));
        if (item.immediate)
            continue;
        if (item.offset < at || item.offset > bytes || item.length > bytes - item.offset)
            throw IndexFault{
                fmt::format("item {:#x} has bytes {} to {}; it begins at {} at the earliest, and the "
                            "payload has {}",
                            item.id, item.offset, item.offset + item.length, at, bytes)};
        at = item.offset + item.length;
    }
    // As sinks write them.
    std::stable_partition(items.begin(), items.end(),
                          [](const StoredHeap::Item& item) { return !item.immediate; });
    return items;
}

}  // namespace

std::string StoredHeaps::index_path(const std::string& from) {
    std::error_code ignored;
    const std::filesystem::path path(from);
    return ((std::filesystem::is_directory(path, ignored) ? path : path.parent_path()) / kHeapIndex).string();
}

StoredHeaps::StoredHeaps(const std::string& from, wire::Flavour flavour)
    : flavour_(flavour), index_(index_path(from)) {
    std::error_code ignored;
    const std::filesystem::path path(from);
    if (!std::filesystem::exists(path, ignored))
        throw_error(from,
                    "there is no such directory or file; give what --sink file:DIR or raw:DIR has written");
    if (!std::filesystem::is_directory(path, ignored))
        only_ = path.filename().string();
    const std::string directory = path.has_parent_path() ? path.parent_path().string() : ".";
    directory_ = FileDescriptor(
        ::open(only_.empty() ? from.c_str() : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    FileDescriptor index(openat(directory_.get(), kHeapIndex, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts {};
    if (!index && only_.empty() && faccessat(directory_.get(), kChunkIndex, F_OK, 0) == 0)
        throw_error(from, "it has chunks, and only heaps can be sent; store the stream without a placement");
    if (!index || fstat(index.get(), &facts) != 0)
        throw_error(index_, "cannot read the index: {}; give what --sink file:DIR or raw:DIR has written",
                    std::strerror(errno));
    if (!S_ISREG(facts.st_mode))
        throw_error(index_, "cannot read the index: it is no file");
    lines_.reset(fdopen(index.get(), "r"));
    if (!lines_)
        throw_error(index_, "cannot read the index: {}", std::strerror(errno));
    static_cast<void>(index.release());
}

void StoredHeaps::fail(std::uint64_t line, const std::string& what) const {
    throw_error(fmt::format("{}:{}", index_, line), "{}; write the heaps anew, or remove the line", what);
}

void StoredHeaps::rewind() noexcept {
    std::rewind(lines_.get());
    line_ = 0;
    incomplete_ = 0;
}

/// Reads a line into text_. Returns false at the end.
bool StoredHeaps::next_line() {
    text_.clear();
    for (;;) {
        const int c = getc_unlocked(lines_.get());
        if (c == EOF && std::ferror(lines_.get()) != 0)
            throw_error(index_, "cannot read the index: {}", std::strerror(errno));
        if (c == EOF && text_.empty())
            return false;
        if (c == EOF)
            fail(line_ + 1, "the last line has no end: its sink was killed, or still writes");
        if (c == '\n')
            break;
        if (text_.size() == kMostLine)
            fail(line_ + 1, fmt::format("the line has more than {} bytes", kMostLine));
        text_ += static_cast<char>(c);
    }
    line_++;
    return true;
}

/// Reads the heap of the line. Returns false when it has no payload, or is none of the file that is meant.
bool StoredHeaps::parse(StoredHeap& heap) const {
    const IndexJson line = parse_foreign(text_);
    if (!line.is_object())
        throw IndexFault{"the line is no object of JSON"};
    heap.line = line_;
    heap.stream = text_in(line, "stream");
    heap.cnt = number_in(line, "cnt");
    const bool complete = line.contains("complete") && line["complete"] == true;
    const auto length = line.find("length");
    const bool has_length = length != line.end() && !length->is_null();
    const bool no_hole = !has_length && line.contains("missing") && line["missing"] == IndexJson::array();
    if (!complete && !no_hole)
        return false;
    heap.bytes = number_in(line, has_length ? "length" : "received");
    heap.offset = 0;
    heap.file.clear();
    if (const auto place = line.find("payload"); place != line.end()) {
        heap.file = name_in_directory(text_in(line, "file"));
        heap.offset = number_in(*place, "offset");
        if (number_in(*place, "bytes") != heap.bytes)
            throw IndexFault{fmt::format("`payload` has {} bytes, and the heap {}",
                                         number_in(*place, "bytes"), heap.bytes)};
    } else if (heap.bytes > 0) {
        heap.file = name_in_directory(
            line.contains("file") ? text_in(line, "file") : fmt::format("{}-{}.bin", heap.stream, heap.cnt));
    }
    if (heap.bytes > kMostBytes)
        throw IndexFault{
            fmt::format("the heap has {}, more than {}", human_size(heap.bytes), human_size(kMostBytes))};
    if (!only_.empty() && heap.file != only_)
        return false;
    check_bits("heap count", heap.cnt, flavour_.value_mask(), flavour_);
    check_bits("length", heap.bytes, flavour_.value_mask(), flavour_);
    heap.items = stored_items(line, heap.bytes, flavour_);
    return true;
}

void StoredHeaps::open(const std::string& name) {
    if (name == open_name_)
        return;
    // A link could lead out of the directory, and a pipe never end.
    FileDescriptor file(
        openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts {};
    if (!file || fstat(file.get(), &facts) != 0)
        throw IndexFault{fmt::format("cannot read {}: {}", printable(name), std::strerror(errno))};
    if (!S_ISREG(facts.st_mode))
        throw IndexFault{fmt::format("{} is no file", printable(name))};
    file_ = std::move(file);
    file_bytes_ = static_cast<std::uint64_t>(facts.st_size);
    open_name_ = name;
}

bool StoredHeaps::next(StoredHeap& heap) {
    while (next_line()) {
        try {
            if (!parse(heap)) {
                incomplete_++;
                continue;
            }
            if (heap.file.empty())
                return true;
            open(heap.file);
            if (heap.offset > file_bytes_ || heap.bytes > file_bytes_ - heap.offset)
                throw IndexFault{
                    fmt::format("the payload has bytes {} to {} of {}, and that has {}: it was cut",
                                heap.offset, heap.offset + heap.bytes, printable(heap.file), file_bytes_)};
            return true;
        } catch (const IndexFault& fault) {
            fail(line_, fault.what);
        }
    }
    return false;
}

StoredHeaps::Sum StoredHeaps::check() {
    Sum sum;
    StoredHeap heap;
    rewind();
    while (next(heap)) {
        if (sum.heaps > 0 && heap.stream != sum.stream)
            fail(heap.line,
                 fmt::format("the index has heaps of two streams, `{}` and `{}`; give the file of one "
                             "(DIR/{}.raw), or write streams to directories of their own",
                             printable(sum.stream), printable(heap.stream), printable(sum.stream)));
        sum.stream = heap.stream;
        sum.heaps++;
        sum.largest = std::max(sum.largest, heap.bytes);
    }
    sum.incomplete = incomplete_;
    rewind();
    if (sum.heaps == 0)
        throw_error(index_, "there is no complete heap{}", only_.empty() ? "" : " of " + only_);
    return sum;
}

void StoredHeaps::read(const StoredHeap& heap, std::span<std::byte> to) {
    try {
        if (!heap.file.empty())
            open(heap.file);
    } catch (const IndexFault& fault) {
        fail(heap.line, fault.what);
    }
    std::uint64_t at = heap.offset;
    for (to = to.first(heap.bytes); !to.empty();) {
        const ssize_t n = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail(heap.line, fmt::format("cannot read the payload in {}: {}", printable(heap.file),
                                        n == 0 ? "it was cut" : std::strerror(errno)));
        to = to.subspan(static_cast<std::size_t>(n));
        at += static_cast<std::uint64_t>(n);
    }
}

}  // namespace spead::runtime
