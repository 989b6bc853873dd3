// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "heap/pool_placer.hpp"
#include "memory/arena.hpp"
#include "runtime/details.hpp"
#include "runtime/former_packets.hpp"
#include "runtime/layout.hpp"
#include "runtime/lcore_look.hpp"
#include "runtime/lcore_loop.hpp"
#include "runtime/lcore_watch.hpp"
#include "stats/peak.hpp"

namespace spead::runtime {

struct StreamLane;

/// Holds one worker lcore with the objects that it owns.
struct Worker {
    explicit Worker(const WorkerLayout& l) : layout(&l), watch(l.lcore, l.cpu) {}

    const WorkerLayout* layout;
    memory::Arena arena;
    std::optional<heap::Reservations> reservations;  ///< of arena
    std::vector<StreamLane*> lanes;                  ///< the lanes of streams on the lcore
    /// Holds the sources of packets: queues of ports, and lcores that pass theirs on. None is ever removed.
    std::vector<std::unique_ptr<recv::Source>> sources;
    std::vector<std::size_t> source_ports;  ///< index of each source's port
    std::unique_ptr<LcoreLoop> loop;
    LcoreWatch watch;
    bool launched = false;
    bool lost = false;  ///< its lcore has not answered for too long, and is not asked again

    /// Holds the counts of the lcore's last answer.
    struct Counts {
        std::vector<stats::RxCounters> ports;  ///< in the order of sources
        stats::LcoreCounters lcore;
        std::vector<SourceDetails> sources;  ///< in the order of sources
    };
    Counts counts;
    /// Holds the high-water marks of its full looks.
    struct Peaks {
        stats::PeakRecord longest_loop;
        std::vector<stats::PeakRecord> buffers_taken;  ///< in the order of sources; of the queue's pool

        void forget() {
            longest_loop.forget();
            buffers_taken.clear();
        }
    };
    Peaks peaks;
    std::unique_ptr<LcoreLook> spare;  ///< memory for the next look
    FormerPackets former;
};

/// Returns whether the lcore is silent or lost.
inline bool is_silent(const Worker& w) noexcept {
    return w.lost || w.watch.silent();
}

}  // namespace spead::runtime
