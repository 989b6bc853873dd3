// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_options.hpp"

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"

namespace spead::app {

namespace {

void add_sizes(OptionSet& options, BenchOptions& bench) {
    bench.payload_sizes = {64, 256, 1024, 1408, 4096, 8192};
    bench.heap_sizes = {0, std::uint64_t{64} << 10, std::uint64_t{4} << 20};
    options.integers("--payload", bench.payload_sizes, {1, 65400}, "SPEAD payload bytes per packet");
    options.sizes("--heap-size", bench.heap_sizes, config::kHeapSize, "packet",
                  "Bytes per heap; packet = one packet each");
}

void add_measurement(OptionSet& options, BenchOptions& bench) {
    options.duration("--time", bench.time, false, "Time to measure each combination");
    options.integer("--rounds", bench.rounds, config::Limits<std::uint32_t>{1, 1000},
                    "Repetitions, of which the median counts");
    options.cpu("--lcore", bench.lcore, "CPU to run on");
}

}  // namespace

void add_assemble_options(CLI::App& app, BenchOptions& bench) {
    constexpr config::Limits<std::uint64_t> kSet{4096, std::uint64_t{1} << 40};
    constexpr config::Limits<std::uint32_t> kMany{1, 65536};
    OptionSet options(app);
    add_sizes(options, bench);
    bench.working_sets = {std::uint64_t{8} << 20, std::uint64_t{1} << 30};
    bench.streams = {1};
    bench.live_heaps = {4};
    options.sizes("--set", bench.working_sets, kSet, "", "Bytes of heaps used in rotation: warm, cold");
    options.integers("--streams", bench.streams, kMany, "Streams that receive in turn");
    options.integers("--live-heaps", bench.live_heaps, kMany, "Heaps open at once, per stream");
    add_measurement(options, bench);
}

void add_transmit_options(CLI::App& app, BenchOptions& bench) {
    OptionSet options(app);
    add_sizes(options, bench);
    bench.device = "net_null0";
    options.text("--device", bench.device, "DEVICE", "Port to send into");
    options.choice("--zero-copy", bench.zero_copy, config::kZeroCopy, "Send straight from the heaps' memory");
    options.rate("--rate", bench.rate, "UDP payload per second; 0 = unlimited");
    add_measurement(options, bench);
}

void check_bench(const BenchOptions& bench) {
    for (const std::uint64_t heap : bench.heap_sizes)
        for (const std::uint32_t payload : bench.payload_sizes)
            if (heap != 0 && heap < payload)
                throw_usage(
                    "--heap-size",
                    "heaps of {} are smaller than one packet's payload of {} bytes; give larger heaps, or "
                    "`packet`",
                    human_size(heap), payload);
    if (bench.time == 0)
        throw_usage("--time", "a time of 0 measures nothing; give at least 1ms");
}

}  // namespace spead::app
