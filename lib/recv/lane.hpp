// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "capture/tap.hpp"
#include "heap/heap_queue.hpp"
#include "heap/window.hpp"
#include "recv/filter_gate.hpp"
#include "stats/counters.hpp"

namespace spead::recv {

struct LaneConfig {
    std::string name;                      ///< of the stream
    std::vector<Endpoint> endpoints;       ///< the stream's endpoints on this lcore
    std::uint32_t max_packet_size = 9200;  ///< UDP payload bytes
    std::uint32_t queue_heaps = 256;
    heap::WindowConfig window;
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
          stops_seen(config.endpoints.size(), 0) {}

    const LaneConfig config;
    stats::StreamCounters counters;
    heap::HeapQueue queue;
    heap::Window window;
    Decoder decoder;
    const std::uint32_t max_packet_size;
    std::vector<stats::EndpointCounters> endpoints;  ///< in the order of config.endpoints
    std::vector<std::uint64_t> stops_seen;           ///< stop items by endpoint

    std::unique_ptr<FilterGate> filter;  ///< asked before packets are placed; null: keeps all
    /// Points to the tap that copies all packets of the stream on arrival, whatever their outcome; null:
    /// none. Belongs to the capture, and outlives its use here (capture/capture.hpp). Set by the lcore
    /// (mailbox), or before it runs.
    capture::Tap* tap = nullptr;

    // The lcore's own notes.
    std::uint32_t copies = 0;  ///< accepted in this batch and not yet committed
    std::uint32_t batch = 0;   ///< the batch that touched it last
    bool has_ended = false;    ///< listed for hand-over

    /// Restarts everything that is no count: the heap times, and the high-water marks of queue and memory. On
    /// the lcore.
    void forget_peaks() noexcept {
        queue.forget_most_queued();
        window.forget_peaks();
        counters.active = {};
    }
};

}  // namespace spead::recv
