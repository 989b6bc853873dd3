// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/indexed_chunks.hpp"

#include <limits>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/foreign_json.hpp"

namespace spead::runtime {

namespace {

/// Says where a part of the chunk lies in its file. Throws IndexFault if it has another size.
std::uint64_t place_of(const nlohmann::json& line, const char* part, std::uint64_t bytes) {
    const auto place = line.find(part);
    if (place == line.end() || !place->is_object())
        throw IndexFault{fmt::format("`{}` is no object", part)};
    if (const std::uint64_t said = index_number(*place, "bytes"); said != bytes)
        throw IndexFault{fmt::format("`{}` has {} bytes, and the placement {}", part, said, bytes)};
    return index_number(*place, "offset");
}

}  // namespace

IndexedChunks::IndexedChunks(const std::string& from) : place_(from), lines_(place_, kIndex) {}

void IndexedChunks::take_placement(const std::string& text, StoredChunk& chunk) {
    chunk.same_placement = text == text_;
    if (chunk.same_placement)
        return;
    try {
        chunk.placement = chunk::Placement::parse(text, "placement");
    } catch (const Error& error) {
        throw IndexFault{error.what()};
    }
    text_ = text;
}

/// Reads the chunk of the line. Returns false when it is none of the file that is meant.
bool IndexedChunks::parse(StoredChunk& chunk) {
    const nlohmann::json line = parse_foreign(lines_.text());
    if (!line.is_object())
        throw IndexFault{"the line is no object of JSON"};
    const std::string file = name_in_directory(index_text(line, "file"));
    if (!place_.only.empty() && file != place_.only)
        return false;
    chunk.stream = index_text(line, "stream");
    chunk.id = index_number(line, "chunk");
    if (chunk.id > std::numeric_limits<std::int64_t>::max())
        throw IndexFault{fmt::format("no chunk has the number {}", chunk.id)};
    take_placement(index_text(line, "placement"), chunk);
    const chunk::Layout layout = chunk.placement.check();
    file_.open(place_.directory.get(), file);
    const auto load = [&](const char* part, std::uint64_t bytes, std::vector<std::byte>& to) {
        const std::uint64_t offset = place_of(line, part, bytes);
        file_.check(part, offset, bytes);
        to.resize(bytes);
        file_.read(offset, to);
    };
    payload_ = place_of(line, "payload", layout.bytes);
    file_.check("payload", payload_, layout.bytes);
    load("presence", layout.present_bytes(), chunk.presence);
    chunk.extra.clear();
    if (layout.extra_bytes > 0)
        load("extra", layout.heaps * layout.extra_bytes, chunk.extra);
    return true;
}

bool IndexedChunks::next(StoredChunk& chunk) {
    while (lines_.next()) {
        try {
            if (parse(chunk))
                return true;
        } catch (const IndexFault& fault) {
            fail(fault.what);
        }
    }
    text_.clear();
    return false;
}

void IndexedChunks::read(std::uint64_t offset, std::span<std::byte> to) {
    try {
        file_.read(payload_ + offset, to);
    } catch (const IndexFault& fault) {
        fail(fault.what);
    }
}

}  // namespace spead::runtime
