// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_options.hpp"

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"
#include "recv/distributor.hpp"

namespace spead::app {

namespace {

constexpr config::Limits<std::uint64_t> kSet{4096, std::uint64_t{1} << 40};

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

/// Checks what holds for every benchmark of heaps.
void check_sizes(const BenchOptions& bench) {
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

}  // namespace

void add_assemble_options(CLI::App& app, BenchOptions& bench) {
    constexpr config::Limits<std::uint32_t> kMany{1, 65536};
    OptionSet options(app);
    add_sizes(options, bench);
    bench.working_sets = {std::uint64_t{8} << 20, std::uint64_t{1} << 30};
    bench.streams = {1};
    bench.live_heaps = {4};
    options.sizes("--set", bench.working_sets, kSet, "", "Bytes of packets and heaps in rotation, half each");
    options.sizes("--packet-set", bench.packet_sets, kSet, "",
                  "Bytes of packets in rotation, with --heap-set");
    options.sizes("--heap-set", bench.heap_sets, kSet, "",
                  "Bytes of heaps in rotation, with --packet-set; at most 512 of one packet");
    options.choice("--reuse", bench.reuse, kBenchReuse,
                   "Which heap is given back next: the oldest or the last");
    options.choice("--reader", bench.reader, kBenchReaders, "Which lcore reads each heap");
    options.choice("--copy", bench.copy, config::kCopies, "Copies into the cache or past it");
    options.choice("--like", bench.like, kBenchLikes, "Takes the shape of another program's benchmark");
    options.integers("--streams", bench.streams, kMany, "Streams that receive in turn");
    options.integers("--live-heaps", bench.live_heaps, kMany, "Heaps open at once, per stream");
    options.integers("--descriptors", bench.descriptors, {0, 1 << 20},
                     "Mbufs that carry packets by turns; 0 = each in its own");
    options.flag("--two-paths", bench.two_paths, "Measure each combination again with a copy of every burst");
    options.flag("--silent-path", bench.silent_path,
                 "Measure each combination again with a second path that brings nothing");
    options.flag("--lend", bench.lend, "Measure each combination again with heaps that refer to the packets");
    add_measurement(options, bench);
}

void add_chunks_options(CLI::App& app, BenchOptions& bench) {
    OptionSet options(app);
    bench.patterns = "p1,p2,p3,p3b,p4";
    bench.working_sets = {std::uint64_t{16} << 20, std::uint64_t{512} << 20};
    options.choice("--way", bench.way, kBenchWays, "How the places of heaps are found");
    options.text("--format", bench.format, "NAME", "Known format of the packets, with --way format");
    options.text("--pattern", bench.patterns, "NAME,...", "Patterns of senders, as of send --pattern");
    options.sizes("--set", bench.working_sets, kSet, "", "Bytes of packets and chunks in rotation");
    bench.lcores = {1};
    options.choice("--copy", bench.copy, config::kCopies, "Copies into the cache or past it");
    options.integers("--lcores", bench.lcores, {1, 16},
                     "Lcores that fill the same chunks; one is measured, too");
    add_measurement(options, bench);
}

void add_distribute_options(CLI::App& app, BenchOptions& bench) {
    OptionSet options(app);
    bench.payload_sizes = {64, 1024, 8192};
    bench.working_sets = {std::uint64_t{4} << 20, std::uint64_t{512} << 20};
    bench.streams = {1, 16};
    bench.lcores = {2, 4};
    options.integers("--payload", bench.payload_sizes, {1, 65400}, "SPEAD payload bytes per packet");
    options.sizes("--set", bench.working_sets, kSet, "", "Bytes of packets used in rotation: warm, cold");
    options.integers("--streams", bench.streams, {1, 65536}, "Streams that send in turn");
    options.integers("--lcores", bench.lcores, {2, recv::Distributor::kMaxOthers + 1},
                     "Lcores that share the queue, with the one that polls it");
    add_measurement(options, bench);
}

void add_transmit_options(CLI::App& app, BenchOptions& bench) {
    OptionSet options(app);
    add_sizes(options, bench);
    bench.device = "net_null0";
    bench.groups = {1};
    options.sizes("--heap-set", bench.heap_sets, kSet, "", "Bytes of heaps in rotation; else a few heaps");
    options.choice("--reuse", bench.reuse, kBenchReuse,
                   "Which heap is sent next: the oldest or the last that completed");
    options.integers("--group", bench.groups, {1, kMostGroup}, "Heaps submitted together, and interleaved");
    options.choice("--like", bench.like, kBenchLikes, "Takes the shape of another program's benchmark");
    options.text("--device", bench.device, "DEVICE", "Port to send into");
    options.choice("--zero-copy", bench.zero_copy, config::kZeroCopy, "Send straight from the heaps' memory");
    options.rate("--rate", bench.rate, "UDP payload per second; 0 = unlimited");
    add_measurement(options, bench);
}

void take_shape(BenchOptions& bench) {
    if (bench.like != BenchLike::spead2_mem)
        return;
    // Packets of 1472, 4160 and 8972 bytes less the SPEAD header, in 1 GiB; heaps of 4 MiB, each given back
    // at once.
    bench.payload_sizes = {1424, 4112, 8924};
    bench.heap_sizes = {std::uint64_t{4} << 20};
    bench.packet_sets = {std::uint64_t{1} << 30};
    bench.heap_sets = {std::uint64_t{48} << 20};
    bench.reuse = Reuse::lifo;
    bench.streams = bench.live_heaps = {1};
    if (bench.descriptors.empty())
        bench.descriptors = {4096};
}

void take_transmit_shape(BenchOptions& bench) {
    take_shape(bench);
    bench.packet_sets.clear();
    if (bench.like == BenchLike::spead2_mem)
        bench.groups = {1};
}

void check_transmit(const BenchOptions& bench) {
    check_sizes(bench);
    for (const std::uint64_t set : bench.heap_sets)
        for (const std::uint64_t heap : bench.heap_sizes)
            if (set < 2 * heap)
                throw_usage("--heap-set",
                            "{} hold fewer than two heaps of {}: one is sent while the other waits; give a "
                            "larger set or smaller heaps",
                            human_size(set), human_size(heap));
}

void check_bench(const BenchOptions& bench) {
    if (bench.packet_sets.empty() != bench.heap_sets.empty())
        throw_usage(bench.packet_sets.empty() ? "--heap-set" : "--packet-set",
                    "the sets of packets and heaps go together; give both, or --set");
    if (bench.lend && bench.reader != Reader::none)
        throw_usage("--lend", "lent heaps have no reader here; leave out --reader");
    for (const std::uint32_t mbufs : bench.descriptors)
        if (bench.lend && mbufs != 0)
            throw_usage(
                "--lend",
                "lent packets stay in their heaps, and {} mbufs carry others meanwhile; leave out --lend, or "
                "give --descriptors 0",
                mbufs);
    check_sizes(bench);
}

}  // namespace spead::app
