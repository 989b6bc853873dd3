// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "heap/pool_placer.hpp"
#include "memory/arena.hpp"
#include "runtime/details.hpp"
#include "runtime/layout.hpp"
#include "runtime/lcore_look.hpp"
#include "runtime/lcore_loop.hpp"
#include "runtime/lcore_watch.hpp"
#include "stats/peak.hpp"

namespace spead::runtime {

struct StreamLane;

/// One worker lcore with what it owns.
struct Worker {
    explicit Worker(const WorkerLayout& l) : layout(&l), watch(l.lcore, l.cpu) {}

    const WorkerLayout* layout;
    memory::Arena arena;
    std::optional<heap::Reservations> reservations;  ///< of arena
    std::vector<StreamLane*> lanes;                  ///< what the lcore has of streams
    /// Where packets come from: queues of ports, and lcores that pass theirs on. None is removed.
    std::vector<std::unique_ptr<recv::Source>> sources;
    std::vector<std::size_t> source_ports;  ///< index of each source's port
    std::unique_ptr<LcoreLoop> loop;
    LcoreWatch watch;
    bool launched = false;
    bool lost = false;  ///< its lcore has not answered for too long, and is not asked again

    /// What the lcore counted when it last answered.
    struct Counts {
        std::vector<stats::RxCounters> ports;  ///< as sources
        stats::LcoreCounters lcore;
        std::vector<SourceDetails> sources;  ///< as sources
    };
    Counts counts;
    stats::PeakRecord longest_loop;
    std::vector<stats::PeakRecord> buffers_taken;  ///< as sources; of the queue's pool
    std::unique_ptr<LcoreLook> spare;              ///< memory for the next look
    /// Packets of streams that it no longer has, by the stream's number, and of streams that are no more.
    std::map<std::uint32_t, std::uint64_t> past;
    std::uint64_t removed = 0;
};

/// Returns whether the lcore is silent or lost.
inline bool is_silent(const Worker& w) noexcept {
    return w.lost || w.watch.silent();
}

}  // namespace spead::runtime
