// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stats/finding_log.hpp"

namespace spead::stats::test {

/// Makes the snapshots of a run as time passes. One lcore polls the port of its stream, and is busy for a
/// hundredth of the time.
class Watched {
  public:
    Watched() {
        now_.detailed = true;
        now_.ticks_per_second = 1e9;
        StreamSnapshot& s = now_.streams.emplace_back();
        s.name = "s0";
        s.number = 1;
        s.port = "p0";
        s.state = "received";
        s.received = 1;
        s.queue_capacity = 4;
        PortSnapshot& p = now_.ports.emplace_back();
        p.name = "p0";
        p.rx_descriptors = 2048;
        LcoreSnapshot& l = now_.lcores.emplace_back();
        l.lcore = 1;
        l.ports = {{"p0", 0}};
    }

    StreamSnapshot& stream() { return now_.streams[0]; }
    PortSnapshot& port() { return now_.ports[0]; }
    Snapshot& now() { return now_; }

    /// Passes a fifth of a second in which all is well.
    void pass(double busy = 0.01) {
        now_.duration_s += 0.2;
        LcoreSnapshot& l = now_.lcores[0];
        l.counters.cycles += 200'000'000;
        l.counters.busy_cycles += static_cast<std::uint64_t>(2e8 * busy);
        l.longest_loop_now = 100'000;
        l.counters.longest_loop = std::max(l.counters.longest_loop, l.longest_loop_now);
        port().rx_bursts += 100;
        stream().queue_most_now = 1;
    }
    /// Stops the program for `seconds`, during a loop of its lcore that was to rest.
    void stand_still(double seconds) {
        now_.duration_s += seconds;
        LcoreSnapshot& l = now_.lcores[0];
        const auto cycles = static_cast<std::uint64_t>(seconds * 1e9);
        l.counters.cycles += cycles;
        l.counters.interrupted_cycles += cycles;
        l.counters.longest_loop = l.longest_loop_now = cycles;
    }
    std::vector<Finding> look(FindingLog& log) {
        Snapshot s = now_;
        log.observe(s);
        return *s.findings;
    }
    void change(FindingLog& log, const std::vector<std::string>& names) {
        Snapshot s = now_;
        log.changed(s, names);
    }

  private:
    Snapshot now_;
};

}  // namespace spead::stats::test
