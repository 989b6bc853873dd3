// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/bench/gpu_facts.hpp"
#include "app/bench/median.hpp"
#include "app/exit_status.hpp"
#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "observe/report_file.hpp"

namespace spead::app {

namespace {

constexpr unsigned kBatchSamples = 500;

/// Names the limit that a way is measured against.
enum class Limit : std::uint8_t { upload, read, copy };

constexpr std::string_view name_of(Limit limit) {
    switch (limit) {
        case Limit::upload:
            return "copy engine";
        case Limit::read:
            return "SM reads";
        case Limit::copy:
            break;
    }
    return "device copy";
}

/// Holds one way, and what was measured of it.
struct Way {
    std::string_view name;
    Limit limit = Limit::upload;
    GpuPasses::Packets packets{};  ///< payload 0: chunks
    std::uint64_t chunk = 0;
    std::vector<double> rates{};  ///< bytes per second
    std::uint64_t wrong = 0;
    GpuPasses::Times batch{};

    /// Returns the bytes that count against the limit: a copy reads and writes.
    double load() const { return median_of(rates) * (limit == Limit::copy ? 2 : 1); }
};

struct Limits {
    std::vector<double> upload, read, copy;

    double of(Limit limit) const {
        const std::vector<double>& rates = limit == Limit::upload ? upload
                                           : limit == Limit::read ? read
                                                                  : copy;
        return rates.empty() ? 0 : median_of(rates);
    }
};

std::vector<Way> ways_of(const GpuBenchOptions& o, bool kernel) {
    using gpu::Gatherer;
    std::vector<Way> ways;
    for (const std::uint64_t chunk : o.chunk_sizes)
        ways.push_back({.name = "chunks", .limit = Limit::upload, .chunk = chunk});
    for (const auto& [name, source, limit] :
         {std::tuple{"pinned packets", GpuPasses::Source::host, Limit::read},
          std::tuple{"device packets", GpuPasses::Source::device, Limit::copy}})
        for (const std::uint32_t payload : o.payload_sizes)
            for (const std::uint32_t batch : o.batches) {
                if (kernel)
                    ways.push_back({.name = name,
                                    .limit = limit,
                                    .packets = {payload, batch, source, Gatherer::Way::kernel}});
                if (!kernel || o.copy_engine)
                    ways.push_back({.name = name,
                                    .limit = source == GpuPasses::Source::host ? Limit::upload : limit,
                                    .packets = {payload, batch, source, Gatherer::Way::copy_engine}});
            }
    return ways;
}

/// Verifies each way, and measures limits and ways in turn. Ends before the next one once a signal came.
void measure(GpuPasses& passes, const GpuBenchOptions& o, Limits& limits, std::vector<Way>& ways,
             const process::StopSignals& signals) {
    for (Way& way : ways) {
        if (signals.came())
            return;
        way.wrong = way.chunk != 0 ? passes.wrong_in_chunks(way.chunk, o.in_flight)
                                   : passes.wrong_in_gather(way.packets);
        if (way.chunk == 0)
            way.batch = passes.batch_times(way.packets, kBatchSamples, o.time);
    }
    for (std::uint32_t round = 0; round < o.rounds && !signals.came(); round++) {
        limits.upload.push_back(passes.upload_limit(o.time));
        if (passes.has_kernel())
            limits.read.push_back(passes.read_limit(o.time));
        limits.copy.push_back(passes.copy_limit(o.time));
        for (Way& way : ways) {
            if (signals.came())
                return;
            way.rates.push_back(way.chunk != 0 ? passes.chunks(way.chunk, o.in_flight, o.time)
                                               : passes.gather(way.packets, o.time));
        }
    }
}

std::string_view engine_of(const Way& way) {
    return way.chunk == 0 && way.packets.way == gpu::Gatherer::Way::kernel ? "kernel" : "copy engine";
}

nlohmann::ordered_json to_json(const Way& way, double limit) {
    nlohmann::ordered_json row{{"way", way.name}, {"engine", engine_of(way)}};
    if (way.chunk != 0)
        row["chunk"] = way.chunk;
    else
        row.update({{"payload", way.packets.payload},
                    {"batch", way.packets.batch},
                    {"batch_median_us", way.batch.median * 1e6},
                    {"batch_p99_us", way.batch.p99 * 1e6}});
    row.update({{"gigabytes_per_second", median_of(way.rates) / 1e9},
                {"limit", name_of(way.limit)},
                {"of_limit", way.load() / limit},
                {"wrong_bytes", way.wrong}});
    return row;
}

void tell_row(const Way& way, double limit) {
    tell(stdout, "{:<14}  {:<11}  {:>9}  {:>6}  {:>8.2f}  {:>7.0f}  {:>5.3f} of {:<11}  {:>9}  {}\n",
         way.name, engine_of(way),
         way.chunk != 0 ? human_size(way.chunk) : fmt::format("{} B", way.packets.payload),
         way.chunk != 0 ? "-" : fmt::format("{}", way.packets.batch), median_of(way.rates) / 1e9,
         8 * median_of(way.rates) / 1e9, way.load() / limit, name_of(way.limit),
         way.chunk != 0 ? "-" : fmt::format("{:.1f}", way.batch.median * 1e6),
         way.wrong == 0 ? "0 wrong" : fmt::format("{} BYTES WRONG", way.wrong));
}

}  // namespace

void add_gpu_options(CLI::App& app, GpuBenchOptions& o) {
    o.payload_sizes = {1024, 4096, 8192};
    o.batches = {256, 1024};
    o.chunk_sizes = {std::uint64_t{8} << 20, std::uint64_t{32} << 20};
    o.set = std::uint64_t{512} << 20;
    constexpr config::Limits<std::uint64_t> kSet{std::uint64_t{1} << 20, std::uint64_t{1} << 36};
    constexpr config::Limits<std::uint64_t> kChunk{std::uint64_t{64} << 10, std::uint64_t{1} << 36};
    OptionSet options(app);
    options.integers("--payload", o.payload_sizes, {1, 65400}, "SPEAD payload bytes per packet");
    options.integers("--batch", o.batches, {1, 65536}, "Packets that one launch gathers");
    options.sizes("--chunk", o.chunk_sizes, kChunk, "", "Bytes per chunk");
    options.integer("--in-flight", o.in_flight, config::Limits<std::uint32_t>{1, 64},
                    "Chunks on their way at a time");
    options.integer("--streams", o.streams, config::Limits<std::uint32_t>{1, 64}, "CUDA streams for batches");
    options.size("--set", o.set, kSet, "Bytes of packets and chunks used in rotation");
    options.integer("--gpu", o.gpu, config::Limits<std::uint32_t>{0, 255}, "GPU, as the driver numbers them");
    options.flag("--copy-engine", o.copy_engine, "Gather packets by the copy engine, too");
    options.duration("--time", o.time, false, "Time to measure each combination");
    options.integer("--rounds", o.rounds, config::Limits<std::uint32_t>{1, 1000},
                    "Repetitions, of which the median counts");
}

void check_gpu_bench(const GpuBenchOptions& o) {
    if (o.time == 0)
        throw_usage("--time", "a time of 0 measures nothing; give at least 1ms");
    if (const std::uint64_t largest = std::ranges::max(o.chunk_sizes); largest > o.set)
        throw_usage("--chunk", "a chunk of {} does not fit the set of {}; give a larger --set",
                    human_size(largest), human_size(o.set));
}

int bench_gpu(const GpuBenchOptions& o, const std::string& json_path, const process::StopSignals& signals) {
    const gpu::ContextPointer context = gpu::Context::open(gpu::Driver::load(), static_cast<int>(o.gpu));
    const GpuFacts facts = gpu_facts(*context);
    const bool table = json_path != "-";
    if (table)
        tell(stdout, "{}\n", describe(facts));
    GpuPasses passes(context, o.set, o.streams);
    Limits limits;
    std::vector<Way> ways = ways_of(o, passes.has_kernel());
    measure(passes, o, limits, ways, signals);
    std::erase_if(ways, [](const Way& way) { return way.rates.empty(); });
    if (ways.empty()) {
        tell(stderr, "dpdk-spead: interrupted; nothing was measured\n");
        return kFailure;
    }
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    bool right = true;
    for (const Way& way : ways) {
        rows.push_back(to_json(way, limits.of(way.limit)));
        right &= way.wrong == 0;
    }
    if (table) {
        tell(
            stdout,
            "copy engine from pinned memory {:.2f} GB/s, SM reads of it {:.2f} GB/s, device copy {:.1f} GB/s "
            "read and written\n",
            limits.of(Limit::upload) / 1e9, limits.of(Limit::read) / 1e9, limits.of(Limit::copy) / 1e9);
        tell(stdout, "{:<14}  {:<11}  {:>9}  {:>6}  {:>8}  {:>7}  {:<20}  {:>9}\n", "way", "engine", "bytes",
             "batch", "GB/s", "Gb/s", "share of its limit", "batch us");
        for (const Way& way : ways)
            tell_row(way, limits.of(way.limit));
    }
    const nlohmann::ordered_json document{
        {"benchmark", "gpu"},
        {"gpu", to_json(facts)},
        {"set", o.set},
        {"copy_engine_gigabytes_per_second", limits.of(Limit::upload) / 1e9},
        {"sm_reads_gigabytes_per_second", limits.of(Limit::read) / 1e9},
        {"device_copy_gigabytes_per_second", limits.of(Limit::copy) / 1e9},
        {"in_flight", o.in_flight},
        {"streams", o.streams},
        {"rows", rows}};
    if (!json_path.empty())
        observe::write_file(json_path, document.dump(2));
    if (!right)
        tell(stderr, "bench gpu: bytes arrived wrong on the GPU\n");
    return right && !signals.came() ? kSuccess : kFailure;
}

}  // namespace spead::app
