// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "stats/snapshot.hpp"

namespace spead::stats {

/// Notes what came close to a limit, from detailed snapshots of one run that count from its start. Where
/// something was lost within kLately, the loss has its own finding, and nothing is noted. Where a source
/// waits, there is nothing to lose. Pure; control code, one thread.
class NearLosses {
  public:
    /// Holds the seconds of a loop of an lcore that are noted at any rate.
    static constexpr double kLongLoop = 0.05;
    /// Holds the part of the time that fills the receive queue, from which on a loop is noted.
    static constexpr double kPartOfQueue = 0.5;
    /// Holds the seconds that no loop without an interruption takes.
    static constexpr double kShortLoop = 0.001;
    /// Notes a queue or memory of which one part in so many is free, or less.
    static constexpr std::uint64_t kFreePart = 8;
    /// Notes buffers likewise: their pool is sampled only once a millisecond.
    static constexpr std::uint64_t kFreeBuffers = 16;
    /// Holds the places of a queue below which a full one is usual.
    static constexpr std::uint64_t kShortQueue = 8;

    /// Takes the next snapshot, and writes into it all that was noted so far.
    void observe(Snapshot& now);
    /// Takes a snapshot after a change: queues may have changed, so nothing new is noted.
    void settle(Snapshot& now);
    /// Forgets how close to the limits it was.
    void clear();

  private:
    struct OfPort {
        std::uint64_t lost = 0;
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
        double lost_s = -1e9;  ///< second of the last loss
        NearLoss near;
    };
    struct OfStream {
        std::uint64_t dropped = 0;
        std::uint64_t no_memory = 0;
        double dropped_s = -1e9;
        double no_memory_s = -1e9;
        NearLoss queue;
        NearLoss pool;
    };
    struct OfLcore {
        std::uint64_t loops = 0;
        std::map<std::string, std::uint64_t> received;  ///< packets, by port
        NearLoss near;
    };

    void look(Snapshot& now, bool settled);
    void look_at_port(PortSnapshot& p, const Snapshot& now, bool settled);
    void look_at_stream(StreamSnapshot& s, const Snapshot& now, bool settled);
    void look_at_lcore(LcoreSnapshot& l, const Snapshot& now, bool settled);

    std::map<std::string, OfPort> ports_;
    std::map<std::uint32_t, OfStream> streams_;  ///< by number
    std::map<unsigned, OfLcore> lcores_;
    double seen_s_ = 0;
    double passed_s_ = 0;  ///< since the snapshot before
};

}  // namespace spead::stats
