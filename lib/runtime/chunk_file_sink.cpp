// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_file_sink.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::runtime {

namespace {

constexpr const char* kChunkLines = "chunks.jsonl";

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
        if (ranges.size() == ChunkFileSink::kMostRanges)
            return nullptr;
        ranges.push_back({first, heap});
    }
    return ranges;
}

}  // namespace

ChunkFileSink::WallClock::WallClock()
    : ticks_(rte_rdtsc()),
      ns_per_tick_(rte_get_tsc_hz() == 0 ? 0 : 1e9 / static_cast<double>(rte_get_tsc_hz())),
      ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()) {}

std::int64_t ChunkFileSink::WallClock::ns_of(std::uint64_t ticks) const {
    return ns_ + static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks - ticks_)) *
                                           ns_per_tick_);
}

ChunkFileSink::ChunkFileSink(const std::string& directory, std::string stream,
                             const chunk::Placement& placement)
    : stream_(std::move(stream)),
      placement_(placement.text()),
      packets_per_heap_(placement.check().packets_per_heap),
      directory_(directory, "chunks"),
      lines_(directory_.descriptor(), kChunkLines, lines_path(directory),
             fmt::format("the sink of {} writes", stream_), fmt::format("sink of {}", stream_)) {}

void ChunkFileSink::fail(const std::string& name, int error) const {
    throw_error(directory_.path() + '/' + name,
                "cannot write: {}; written before that: {} chunks ({}), {} lines in {}/{}",
                std::strerror(error), files_, human_size(bytes_), lines_.lines(), directory_.path(),
                kChunkLines);
}

void ChunkFileSink::consume_chunk(const chunk::Chunk& chunk) {
    const std::array<std::span<const std::byte>, 3> parts{chunk.data, std::as_bytes(chunk.present),
                                                          chunk.extra};
    const OutputDirectory::Written file =
        directory_.write_new(fmt::format("{}-chunk-{}", stream_, chunk.id), parts);
    if (file.error != 0)
        fail(file.name, file.error);
    files_++;
    for (const auto part : parts)
        bytes_ += part.size();
    if (const int error = lines_.append(line_of(chunk, file.name)); error != 0)
        fail(kChunkLines, error);
}

std::string ChunkFileSink::line_of(const chunk::Chunk& chunk, const std::string& file) const {
    const std::size_t extra = chunk.data.size() + chunk.present.size();
    nlohmann::ordered_json line;
    line["stream"] = stream_;
    line["chunk"] = chunk.id;
    line["complete"] = chunk.complete();
    line["heaps"] = {{"present", chunk.heaps_present}, {"expected", chunk.heaps_expected}};
    line["packets"] = chunk.packets;
    line["missing"] = missing_heaps(chunk, packets_per_heap_);
    if (chunk.first_arrival != 0 && clock_.ns_per_tick_ != 0)
        line["arrival"] = {{"first_ns", clock_.ns_of(chunk.first_arrival)},
                           {"last_ns", clock_.ns_of(chunk.last_arrival)}};
    line["file"] = file;
    line["payload"] = {{"offset", 0}, {"bytes", chunk.data.size()}};
    line["presence"] = {{"offset", chunk.data.size()}, {"bytes", chunk.present.size()}};
    if (!chunk.extra.empty())
        line["extra"] = {{"offset", extra}, {"bytes", chunk.extra.size()}};
    line["placement"] = placement_;
    return line.dump() + '\n';
}

}  // namespace spead::runtime
