// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/assemble_point.hpp"
#include "config/names.hpp"
#include "runtime/plan.hpp"

namespace CLI {
class App;
}

namespace spead::app {

/// Says how `bench chunks` finds the places of heaps.
enum class BenchWay : std::uint8_t {
    direct,    ///< every packet tells
    tracked,   ///< the first packet of a heap tells
    callback,  ///< a user's function tells, for the heaps of a batch
    format,    ///< every packet tells, and is read by a declared format
};
inline constexpr std::array kBenchWays{
    config::Word{BenchWay::direct, "direct"}, config::Word{BenchWay::tracked, "tracked"},
    config::Word{BenchWay::callback, "callback"}, config::Word{BenchWay::format, "format"}};

inline constexpr std::array kBenchReuse{config::Word{Reuse::fifo, "fifo"}, config::Word{Reuse::lifo, "lifo"}};
inline constexpr std::array kBenchReaders{config::Word{Reader::none, "none"},
                                          config::Word{Reader::same, "same"},
                                          config::Word{Reader::other, "other"}};

/// Names a shape that other programs measure, too.
enum class BenchLike : std::uint8_t { nothing, spead2_mem };
inline constexpr std::array kBenchLikes{config::Word{BenchLike::nothing, "none"},
                                        config::Word{BenchLike::spead2_mem, "spead2-mem"}};

/// Holds the measurements of `bench assemble`, `chunks`, `distribute` and `transmit`: every combination of
/// the lists.
struct BenchOptions {
    std::vector<std::uint32_t> payload_sizes;  ///< SPEAD payload bytes per packet
    std::vector<std::uint64_t> heap_sizes;     ///< bytes; 0: one packet per heap
    std::vector<std::uint64_t>
        working_sets;  ///< assemble, chunks: bytes of heaps cycled through (warm and cold)
    std::vector<std::uint64_t> packet_sets;  ///< assemble: bytes of packets; empty: half of working_sets
    /// Holds bytes of heaps. assemble, empty: the other half; transmit, empty: as few heaps as keep it busy.
    std::vector<std::uint64_t> heap_sets;
    std::vector<std::uint32_t> descriptors;  ///< assemble: mbufs by turns, or 0; empty: 0, or that of `like`
    Reuse reuse = Reuse::fifo;               ///< assemble, transmit
    Reader reader = Reader::none;            ///< assemble
    memory::CopySetting copy = memory::CopySetting::automatic;  ///< assemble, chunks
    BenchLike like = BenchLike::nothing;                        ///< assemble, transmit
    std::vector<std::uint32_t> streams;                         ///< assemble: number of streams fed in turn
    std::vector<std::uint32_t> live_heaps;                      ///< assemble: heaps open at once, per stream
    bool lend = false;                  ///< assemble: each combination again, with lent packets
    bool two_paths = false;             ///< assemble: each combination again, with copies of all packets
    bool silent_path = false;           ///< assemble: each combination again, with a silent second path
    std::string patterns;               ///< chunks: names with commas between
    BenchWay way = BenchWay::direct;    ///< chunks
    std::string format;                 ///< chunks: name of a known one; empty: one for packets of SPEAD
    std::vector<std::uint32_t> lcores;  ///< chunks: how many fill the same ones; distribute: share a queue
    std::vector<std::uint32_t> groups;  ///< transmit: heaps submitted together, and interleaved
    double time = 1.0;                  ///< seconds measured per combination
    std::uint32_t rounds = 5;           ///< alternations between the work and its limit; the median counts
    std::string device;                 ///< transmit: port to send into
    runtime::ZeroCopySetting zero_copy = runtime::ZeroCopySetting::automatic;
    double rate = 0;  ///< transmit: bytes per second, 0: unlimited
    std::optional<unsigned> lcore;
    bool operator==(const BenchOptions&) const = default;
};

/// Sets the command's defaults and adds its options. `options` must outlive the parse.
void add_assemble_options(CLI::App& app, BenchOptions& options);
void add_chunks_options(CLI::App& app, BenchOptions& options);
void add_distribute_options(CLI::App& app, BenchOptions& options);
void add_transmit_options(CLI::App& app, BenchOptions& options);

/// Fills in the shape that `like` names.
void take_shape(BenchOptions& options);
void take_transmit_shape(BenchOptions& options);

/// Limits the heaps of a group of `bench transmit`.
inline constexpr std::uint32_t kMostGroup = 1024;

/// Throws UsageError for options that contradict each other.
void check_bench(const BenchOptions& options);
void check_transmit(const BenchOptions& options);

}  // namespace spead::app
