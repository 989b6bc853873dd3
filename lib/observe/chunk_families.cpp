// SPDX-License-Identifier: BSD-3-Clause
#include "observe/chunk_families.hpp"

#include <optional>
#include <string>

#include "observe/part_families.hpp"

namespace spead::observe {

namespace {

struct ChunkPart {
    std::string name;
    stats::ChunkCounts chunks;
};

void add_callback_families(std::vector<prometheus::MetricFamily>& out, const std::vector<ChunkPart>& parts) {
    PartFamilies f(out, parts, "stream");
    const auto count = [&f](const char* name, const char* help, std::uint64_t stats::ChunkCounts::*of) {
        f.counter(name, help, [of](const ChunkPart& p) { return p.chunks.*of; });
    };
    using C = stats::ChunkCounts;
    count("spead_stream_callback_calls_total", "Calls of the place callback.", &C::callback_calls);
    count("spead_stream_callback_heaps_total", "Heaps that the place callback was asked about.",
          &C::callback_heaps);
    count("spead_stream_callback_cycles_total", "Cycles of the CPU's clock in the place callback.",
          &C::callback_cycles);
    count("spead_stream_callback_rejected_heaps_total", "Heaps that the place callback refused.",
          &C::callback_rejected);
    count("spead_stream_callback_nonsense_heaps_total",
          "Heaps that the place callback put outside the chunk.", &C::callback_nonsense);
}

}  // namespace

void add_chunk_families(std::vector<prometheus::MetricFamily>& out, const stats::Snapshot& now) {
    // Chunks that several streams fill have one series, so that sums are right. Callbacks are each stream's.
    std::vector<ChunkPart> parts;
    std::vector<ChunkPart> all;
    for (const stats::StreamSnapshot& s : now.streams)
        if (s.chunks.any()) {
            all.push_back({s.name, s.chunks});
            if (s.chunks_counted_with.empty())
                parts.push_back(all.back());
        }
    if (all.empty())
        return;
    PartFamilies f(out, parts, "stream");
    add_callback_families(out, all);
    const auto count = [&f](const char* name, const char* help, std::uint64_t stats::ChunkCounts::*of) {
        f.counter(name, help, [of](const ChunkPart& p) { return p.chunks.*of; });
    };
    const auto level = [&f](const char* name, const char* help, std::uint64_t stats::ChunkCounts::*of) {
        f.gauge(name, help, [of](const ChunkPart& p) {
            return std::optional<double>(static_cast<double>(p.chunks.*of));
        });
    };
    using C = stats::ChunkCounts;
    count("spead_stream_chunks_opened_total", "Chunks that lcores began to fill.", &C::opened);
    count("spead_stream_chunks_handed_over_total", "Chunks that left the window for the consumer.",
          &C::handed_over);
    count("spead_stream_chunks_timed_out_total", "Chunks handed over because no packet came for them.",
          &C::timed_out);
    count("spead_stream_chunks_skipped_total", "Chunk ids that left the window without a chunk.",
          &C::skipped);
    count("spead_stream_chunk_shortages_total", "Chunks that were wanted while none was free.", &C::short_of);
    count("spead_stream_chunk_resyncs_total", "Jumps of the time that the window followed after a vote.",
          &C::resyncs);
    count("spead_stream_chunk_out_waited_total", "Times that a lossless chunk waited too long for an lcore.",
          &C::out_waited);
    count("spead_stream_chunks_taken_total", "Chunks that the consumer has taken.", &C::taken);
    count("spead_stream_chunks_delivered_total", "Chunks that the sink has taken.", &C::delivered);
    count("spead_stream_chunks_unwritten_total",
          "Chunks that the sink could not write, or had no room or place for.", &C::unwritten);
    count("spead_stream_chunks_device_error_total",
          "Chunks lost because the engine that moves their payload failed.", &C::device_error);
    count("spead_stream_chunks_complete_total", "Taken chunks without a missing heap.", &C::complete);
    count("spead_stream_chunk_heaps_expected_total", "Heaps that taken chunks have room for.",
          &C::heaps_expected);
    count("spead_stream_chunk_heaps_present_total", "Heaps in taken chunks.", &C::heaps_present);
    count("spead_stream_chunk_heaps_missing_total", "Heaps that taken chunks lack.", &C::heaps_missing);
    count("spead_stream_chunk_heaps_cut_total",
          "Heaps that chunks lack because the receiver began or ended with them.", &C::heaps_cut);
    count("spead_stream_chunk_heaps_device_error_total",
          "Heaps of chunks that were lost because the engine failed.", &C::heaps_device_error);
    count("spead_stream_chunk_heaps_skipped_total", "Heaps of skipped chunk ids.", &C::heaps_skipped);
    level("spead_stream_chunk_buffers", "Chunks of the stream, wherever they are.", &C::buffers);
    level("spead_stream_chunk_bytes", "Payload of a chunk.", &C::buffer_bytes);
    level("spead_stream_free_chunks", "Chunks that are free.", &C::free);
    level("spead_stream_open_chunks", "Chunks that lcores fill.", &C::open);
    level("spead_stream_waiting_chunks", "Chunks that wait for the consumer.", &C::waiting);
    level("spead_stream_held_chunks", "Chunks that the consumer holds.", &C::held);
    f.gauge("spead_stream_chunk_consumer_load",
            "Time that the consumer takes for a chunk, as a multiple of the time that it lasts.",
            [](const ChunkPart& p) {
                const double load = p.chunks.consumer_load();
                return load > 0 ? std::optional(load) : std::nullopt;
            });
}

}  // namespace spead::observe
