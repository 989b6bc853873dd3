// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the actions for an engine that moves no payload, by its name.
Cures mend_engine(std::string_view engine);

/// Returns the finding of an engine that stands still, or did for a while.
std::vector<Finding> engine_findings(const EngineSnapshot& e);

/// Takes out of the findings of a run what an engine explains that stands still: the losses of its streams,
/// of their ports, and of senders whose ring they empty, from the beginning of the stall until shortly after
/// its end. Then losses that no counter here explains are the network's again. Pure; control code, one
/// thread.
class EngineLosses {
  public:
    /// Takes it out of the findings of a snapshot that counts from the run's start. The engine's own finding
    /// tells how many packets that were.
    void take_from(std::vector<Finding>& found, const Snapshot& now);
    /// Forgets the parts of these names, which count from 0 again.
    void forget(const std::vector<std::string>& names);
    void clear() { known_.clear(), packets_.clear(), missed_.clear(); }

  private:
    /// Has a number besides, because a part may have several findings of a cause: of paths, or of axes.
    using Key = std::tuple<Cause, Stage, std::string, unsigned>;
    struct Known {
        std::uint64_t count = 0;   ///< at the last look
        std::uint64_t hidden = 0;  ///< of it: an engine that stood still explains it
        std::uint64_t open = 0;    ///< of it: an engine is quiet since before it, and perhaps stands still
        bool seen = false;
    };
    enum class Hold : std::uint8_t { no, perhaps, yes };
    struct OfEngine {
        double quiet_s = 0;        ///< at the last look
        std::uint64_t stalls = 0;  ///< likewise
        double held_until_s = -1;  ///< of the run
        Hold hold = Hold::no;
        bool begun_anew = false;  ///< it has moved something since the last look
    };
    /// Returns the engines by the names of the parts that wait for them.
    std::map<std::string, const EngineSnapshot*> look(const Snapshot& now);
    void let_go(const std::map<std::string, const EngineSnapshot*>& parts, const Snapshot& now);

    std::map<Key, Known> known_;
    std::map<std::string, OfEngine> engines_;
    std::map<std::string, std::uint64_t> packets_;  ///< lost before they could be fetched, by engine
    std::map<std::string, std::uint64_t> missed_;   ///< the same, and for want of a buffer, by port
};

}  // namespace spead::stats
