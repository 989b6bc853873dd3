// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_heaps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/heap_limits.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"

namespace spead::runtime {

namespace {

using IndexJson = nlohmann::json;

StoredHeap::Item stored_item(const IndexJson& json) {
    StoredHeap::Item item;
    item.id = index_number(json, "id");
    if (item.id < wire::item::kDescriptor)
        throw IndexFault{fmt::format("item {:#x} belongs to the protocol", item.id)};
    item.immediate = json.contains("immediate");
    if (item.immediate) {
        item.value = index_number(json, "immediate");
    } else {
        item.offset = index_number(json, "offset");
        item.length = index_number(json, "length");
    }
    return item;
}

std::vector<StoredHeap::Item> stored_items(const IndexJson& line, std::uint64_t bytes) {
    const auto found = line.find("items");
    if (found == line.end() || !found->is_array() || found->size() > kMaxHeapItems)
        throw IndexFault{fmt::format("`items` is no list of at most {} items", kMaxHeapItems)};
    std::vector<StoredHeap::Item> items;
    std::uint64_t at = 0;
    for (const IndexJson& json : *found) {
        if (!json.is_object())
            throw IndexFault{"an item is no object"};
        const StoredHeap::Item& item = items.emplace_back(stored_item(json));
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

StoredHeaps::StoredHeaps(const std::string& from, wire::Flavour flavour)
    : flavour_(flavour), place_(from), lines_(place_, kIndex) {}

void StoredHeaps::rewind() {
    lines_.rewind();
    incomplete_ = 0;
}

/// Reads the heap of the line. Returns false when it has no payload, or is none of the file that is meant.
bool StoredHeaps::parse(StoredHeap& heap) const {
    const IndexJson line = parse_foreign(lines_.text());
    if (!line.is_object())
        throw IndexFault{"the line is no object of JSON"};
    heap.line = lines_.line();
    heap.where = fmt::format("the heap of line {}", heap.line);
    heap.endpoint.reset();
    heap.stream = index_text(line, "stream");
    heap.cnt = index_number(line, "cnt");
    const bool complete = line.contains("complete") && line["complete"] == true;
    const auto length = line.find("length");
    const bool has_length = length != line.end() && !length->is_null();
    const bool no_hole = !has_length && line.contains("missing") && line["missing"] == IndexJson::array();
    if (!complete && !no_hole)
        return false;
    heap.bytes = index_number(line, has_length ? "length" : "received");
    heap.offset = 0;
    heap.file.clear();
    if (const auto place = line.find("payload"); place != line.end()) {
        heap.file = name_in_directory(index_text(line, "file"));
        heap.offset = index_number(*place, "offset");
        if (index_number(*place, "bytes") != heap.bytes)
            throw IndexFault{fmt::format("`payload` has {} bytes, and the heap {}",
                                         index_number(*place, "bytes"), heap.bytes)};
    } else if (heap.bytes > 0) {
        heap.file =
            name_in_directory(line.contains("file") ? index_text(line, "file")
                                                    : fmt::format("{}-{}.bin", heap.stream, heap.cnt));
    }
    if (heap.bytes > kMostBytes)
        throw IndexFault{
            fmt::format("the heap has {}, more than {}", human_size(heap.bytes), human_size(kMostBytes))};
    if (!place_.only.empty() && heap.file != place_.only)
        return false;
    heap.items = stored_items(line, heap.bytes);
    check_bits(heap, flavour_);
    return true;
}

bool StoredHeaps::next(StoredHeap& heap) {
    while (lines_.next()) {
        try {
            if (!parse(heap)) {
                incomplete_++;
                continue;
            }
            if (heap.file.empty())
                return true;
            file_.open(place_.directory.get(), heap.file);
            file_.check("payload", heap.offset, heap.bytes);
            return true;
        } catch (const IndexFault& fault) {
            lines_.fail(lines_.line(), fault.what);
        }
    }
    return false;
}

StoredStream::Sum StoredHeaps::check() {
    Sum sum;
    StoredHeap heap;
    rewind();
    while (next(heap)) {
        if (sum.heaps > 0 && heap.stream != sum.stream)
            lines_.fail(heap.line,
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
        throw_error(lines_.path(), "there is no complete heap{}",
                    place_.only.empty() ? "" : " of " + place_.only);
    return sum;
}

void StoredHeaps::read(const StoredHeap& heap, std::span<std::byte> to) {
    try {
        if (!heap.file.empty()) {
            file_.open(place_.directory.get(), heap.file);
            file_.read(heap.offset, to.first(heap.bytes));
        }
    } catch (const IndexFault& fault) {
        lines_.fail(heap.line, fault.what);
    }
}

std::string StoredHeaps::left_out(const Sum& sum) const {
    return fmt::format("{} of {} {} no payload, or another file, and {} left out",
                       counted(sum.incomplete, "lines"), lines_.path(),
                       word_for(sum.incomplete, "has", "have"), word_for(sum.incomplete, "is", "are"));
}

}  // namespace spead::runtime
