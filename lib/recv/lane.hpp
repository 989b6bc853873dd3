// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "capture/tap.hpp"
#include "chunk/chunk_lane.hpp"
#include "heap/heap_queue.hpp"
#include "heap/window.hpp"
#include "memory/stores_rule.hpp"
#include "recv/filter_gate.hpp"
#include "recv/gathering.hpp"
#include "recv/lent_buffers.hpp"
#include "recv/path_record.hpp"
#include "stats/counters.hpp"
#include "wire/packet_format.hpp"
#include "wire/refused_heads.hpp"

namespace spead::recv {

struct LaneConfig {
    std::string name;                      ///< of the stream
    std::vector<Endpoint> endpoints;       ///< the stream's endpoints on this lcore
    std::uint32_t max_packet_size = 9200;  ///< UDP payload bytes
    std::uint32_t queue_heaps = 256;
    memory::CopySetting copy = memory::CopySetting::automatic;
    heap::WindowConfig window;
    std::optional<wire::PacketFormat> format{};  ///< none: SPEAD
};

/// Holds one stream on one lcore: its decoder, window, queue and counters. Control code makes and destroys it
/// while the lcore does not have it; in between other threads may use only `queue`'s consumer side.
template <class Decoder>
struct Lane {
    Lane(LaneConfig c, heap::PoolPlacer placer)
        : config(std::move(c)),
          queue(config.queue_heaps, heap::Window::records_needed(config.window, config.queue_heaps)),
          window(config.window, placer, queue, counters),
          max_packet_size(config.max_packet_size),
          endpoints(config.endpoints.size()),
          unplaced(config.endpoints.size()),
          stops_seen(config.endpoints.size(), 0),
          numbers(config.endpoints.size()) {
        if (config.format)
            decoder.use(*config.format);
        std::iota(numbers.begin(), numbers.end(), std::uint16_t{0});
    }

    const LaneConfig config;
    stats::StreamCounters counters;
    heap::HeapQueue queue;
    heap::Window window;
    Decoder decoder;
    const std::uint32_t max_packet_size;
    // The lcore's own notes, together with `endpoints`: each packet reads them.
    /// Holds the stores of its copies, from the next batch on.
    memory::Stores stores =
        config.copy == memory::CopySetting::streaming ? memory::Stores::streaming : memory::Stores::cached;
    /// Says that placed packets need more than a copy: they are lent, left to an engine, or noted for their
    /// path.
    bool diverts = false;
    /// Says that packets of this batch go into the window and need no more than a copy: one look in place of
    /// four. Valid while `batch` is the lcore's.
    bool usual = false;
    bool has_ended = false;                          ///< listed for hand-over
    std::uint32_t batch = 0;                         ///< the batch that touched it last
    std::vector<stats::EndpointCounters> endpoints;  ///< in the order of config.endpoints
    std::vector<stats::UnplacedCounters> unplaced;   ///< likewise
    std::vector<std::uint64_t> stops_seen;           ///< stop items by endpoint
    wire::RefusedHeads refused;                      ///< packets that are malformed
    /// Holds the number of each endpoint in the stream, which its chunks go by. At the start that is its
    /// place; when endpoints come and go, the others keep their places here.
    std::vector<std::uint16_t> numbers;
    /// Holds the path of each endpoint, as `numbers`; empty: the stream has one path.
    std::vector<std::uint8_t> paths;
    std::unique_ptr<PathRecord> path_record;  ///< null: the stream has one path

    /// Takes the packets instead of the window, and puts them into chunks; null: the stream has heaps.
    std::unique_ptr<chunk::ChunkLane> chunks;
    std::unique_ptr<FilterGate> filter;  ///< asked before packets are placed; null: keeps all
    /// Points to the tap that copies all packets of the stream on arrival, whatever their outcome; null:
    /// none. Belongs to the capture, and outlives its use here (capture/capture.hpp). Set by the lcore
    /// (mailbox), or before it runs.
    capture::Tap* tap = nullptr;
    /// Holds packets that stay in the port's buffers, instead of copies in their heaps; null: all are copied.
    std::unique_ptr<LentBuffers> lent;
    /// Moves payload in place of copies; null: none does. Not beside lent packets.
    std::shared_ptr<Gathering> gathering;

    /// Lets heaps refer to up to `wanted` buffers, as far as the share allows. Before the first packet.
    void lend(port::BufferShare share, std::uint32_t wanted) {
        lent = std::make_unique<LentBuffers>(std::move(share), wanted,
                                             heap::Window::records_needed(config.window, config.queue_heaps));
        window.lend_with(lent->packets());
        diverts = true;
    }

    /// Leaves payload to an engine, in whose memory the heaps or the chunks lie; chunks without rows. Lanes
    /// of one lcore may share it. Before the first packet, and after `chunks` is set.
    void gather_with(std::shared_ptr<Gathering> engine) {
        gathering = std::move(engine);
        if (chunks)
            chunks->copied_by(gathering->tickets());
        else
            window.copied_by(gathering->tickets());
        diverts = true;
    }

    /// Holds how many times as long as finished heaps copies are recognised that come too late.
    static constexpr std::uint64_t kLateCopies = 16;

    /// Counts its packets by path: `of_endpoints` are the paths of its endpoints. `behind`: ticks that a path
    /// may be behind the other one. `has_chunks`: no late copy is delivered again, because its chunk has been
    /// handed over. Neither lends nor gathers. Before the first packet.
    void merge(std::vector<std::uint8_t> of_endpoints, std::uint64_t behind, bool has_chunks = false) {
        paths = std::move(of_endpoints);
        path_record = std::make_unique<PathRecord>(
            behind, has_chunks
                        ? 0
                        : kLateCopies * std::min(std::max(config.window.history_ticks, behind),
                                                 std::numeric_limits<std::uint64_t>::max() / kLateCopies));
        diverts = true;
    }
    /// Begins a batch.
    void begin_batch(std::uint32_t number) noexcept {
        batch = number;
        usual = tap == nullptr && !filter && !chunks && !diverts;
    }
    /// Notes placed packets while both paths bring some.
    void follow_paths() noexcept {
        diverts = path_record->is_awake();
        usual &= !diverts;
    }
    /// Returns whether it notes which path brought a packet: it has two, and both bring packets.
    bool notes_paths() const noexcept { return path_record && diverts; }
    /// Returns the packets of each of its paths.
    PathRecord::Packets packets_by_path() const noexcept {
        PathRecord::Packets all{};
        for (std::size_t e = 0; e < paths.size(); e++)
            all[paths[e]] += endpoints[e].packets;
        return all;
    }
    /// Returns the time with the number of the last packet that came first.
    PathRecord::Now path_time(std::uint64_t ticks) const noexcept {
        return {ticks, counters.packets[static_cast<std::size_t>(PacketOutcome::placed)] +
                           counters.packets[static_cast<std::size_t>(PacketOutcome::control)]};
    }

    /// Returns the bytes that payload has been written to in turn, since the last take_rotating().
    std::size_t rotating() const noexcept { return chunks ? chunks->memory() : window.rotating(); }
    std::size_t take_rotating() noexcept { return chunks ? chunks->memory() : window.take_rotating(); }

    /// Returns a copy of its counters, to which it adds those of its endpoints by path. On the lcore.
    stats::StreamCounters counts() const noexcept {
        stats::StreamCounters copy = counters;
        for (std::size_t e = 0; e < paths.size(); e++)
            copy.paths[paths[e]].add(endpoints[e], unplaced[e]);
        for (std::size_t path = 0; path_record && path < copy.paths.size(); path++) {
            copy.paths[path].passed += path_record->passed(path);
            copy.paths[path].awaited = path_record->awaited(path, path_time(0).unique);
            copy.paths[path].forgotten += path_record->late_copies().count(path);
            copy.paths[path].forgotten_after =
                std::max(copy.paths[path].forgotten_after, path_record->late_copies().longest(path));
        }
        return copy;
    }

    /// Restarts everything that is no count: the heap times, and the high-water marks of queue and memory. On
    /// the lcore.
    void forget_peaks() noexcept {
        queue.forget_most_queued();
        window.forget_peaks();
        if (chunks)
            chunks->forget_peaks();
        if (path_record)
            path_record->forget_peaks();
        for (stats::PathCounters& path : counters.paths)
            path.forgotten_after = 0;
        counters.longest_header = counters.longest_packet = 0;
        counters.active = {};
    }
};

}  // namespace spead::recv
