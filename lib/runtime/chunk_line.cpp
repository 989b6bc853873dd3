// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_line.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace spead::runtime {

namespace {

/// Returns the ranges of heaps that lack a packet, as [first, last + 1]; null when they are more than
/// kMostRanges.
nlohmann::ordered_json missing_heaps(const chunk::Chunk& chunk, std::size_t packets_per_heap) {
    nlohmann::ordered_json ranges = nlohmann::ordered_json::array();
    const auto has = [&](std::size_t heap) {
        const auto packets = chunk.present.subspan(heap * packets_per_heap, packets_per_heap);
        return std::find(packets.begin(), packets.end(), 0) == packets.end();
    };
    const std::size_t heaps = chunk.present.size() / packets_per_heap;
    for (std::size_t heap = 0; heap < heaps;) {
        if (has(heap)) {
            heap++;
            continue;
        }
        const std::size_t first = heap;
        while (heap < heaps && !has(heap))
            heap++;
        if (ranges.size() == ChunkLine::kMostRanges)
            return nullptr;
        ranges.push_back({first, heap});
    }
    return ranges;
}

}  // namespace

ChunkLine::ChunkLine(std::string stream, const chunk::Placement& placement)
    : stream_(std::move(stream)),
      placement_(placement.text()),
      packets_per_heap_(placement.check().packets_per_heap) {}

nlohmann::ordered_json ChunkLine::facts_of(const chunk::Chunk& chunk) const {
    nlohmann::ordered_json line;
    line["stream"] = stream_;
    line["chunk"] = chunk.id;
    line["complete"] = chunk.complete();
    line["heaps"] = {{"present", chunk.heaps_present}, {"expected", chunk.heaps_expected}};
    line["packets"] = chunk.packets;
    line["missing"] = missing_heaps(chunk, packets_per_heap_);
    if (const ArrivalTimes arrival = clock_.arrival_of(chunk); arrival.first_ns != 0)
        line["arrival"] = {{"first_ns", arrival.first_ns}, {"last_ns", arrival.last_ns}};
    return line;
}

void ChunkLine::add_places(nlohmann::ordered_json& line, const chunk::Chunk& chunk, std::uint64_t offset) {
    const std::uint64_t present = offset + chunk.data.size();
    const std::uint64_t extra = present + chunk.present.size();
    line["payload"] = {{"offset", offset}, {"bytes", chunk.data.size()}};
    line["presence"] = {{"offset", present}, {"bytes", chunk.present.size()}};
    if (!chunk.extra.empty())
        line["extra"] = {{"offset", extra}, {"bytes", chunk.extra.size()}};
}

std::string ChunkLine::of(const chunk::Chunk& chunk, const std::string& file, std::uint64_t offset) const {
    nlohmann::ordered_json line = facts_of(chunk);
    line["file"] = file;
    add_places(line, chunk, offset);
    line["placement"] = placement_;
    return line.dump() + '\n';
}

}  // namespace spead::runtime
