// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/option_cure_rows.hpp"

/// Lists cures of streams with two paths.
namespace spead::stats::test {

/// Lets the second path be so many seconds behind the first, so that its packets are delivered again.
inline void second_is_behind(Snapshot& s, double seconds) {
    two_paths(s, 1000);
    StreamSnapshot& stream = s.streams[0];
    stream.settings.path_skew = 0.05;
    stream.settings.history = 16384;
    stream.settings.history_time = 1;
    stream.paths[1].redundant -= 77;
    stream.paths[1].placed = stream.paths[1].forgotten = 77;
    stream.paths[1].forgotten_after = static_cast<std::uint64_t>(seconds * 1e9);
    stream.paths[0].passed = stream.paths[1].passed = 1000;
}

inline const CureRow kPathCureRows[] = {
    {"APathBehindTheHistorysTime",
     [](Snapshot& s) { second_is_behind(s, 1.24); },
     Cause::path_behind,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 path_skew 1.9s` (now 50ms); to keep it, set "
      "`path_skew = \"1.9s\"` in [[receive]] of s0 in /etc/x.toml",
      "find out why that path is so slow"}},
    {"APathBehindTheHistorysTimeAndATimeout",
     [](Snapshot& s) {
         second_is_behind(s, 1.24);
         s.streams[0].settings.heap_timeout = 0.5;
         s.streams[0].settings.history_time = 1.2;
     },
     Cause::path_behind,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 path_skew 1.9s heaps.history_time 3.8s "
      "heaps.timeout 1.9s` (now 50ms); to keep it, set `path_skew = \"1.9s\"` in [[receive]] of s0 in "
      "/etc/x.toml; to keep it, set `history_time = \"3.8s\"` in [receive.heaps]"}},
    {"APathBehindTheHistorysHeaps",
     [](Snapshot& s) {
         second_is_behind(s, 0.04);
         s.streams[0].heaps_started = s.streams[0].heaps_ended[0] = s.streams[0].heaps_delivered = 20'000'000;
     },
     Cause::path_behind,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.history 262144` (now 16384)",
      "find out why that path is so slow"}},
    {"APathBehindByOptions",
     [](Snapshot& s) {
         second_is_behind(s, 2.5);
         by_options(s);
         s.streams[0].settings.heap_timeout = 1;
     },
     Cause::path_behind,
     {"restart with `--path-skew 3.8s` (now 50ms), and restart with `--heap-timeout 3.8s` (now 1s)",
      "find out why that path is so slow"}},
    {"APathThatLacksPacketsWithATimeout",
     [](Snapshot& s) {
         two_paths(s, 900);
         s.streams[0].settings.path_skew = s.streams[0].settings.heap_timeout = 0.6;
         s.streams[0].settings.history_time = 1.2;
     },
     Cause::path_loss,
     {"see whether its interface dropped packets: `ip -s link show eth0`", "look for drops on that path",
      "if that path is only slow, run `dpdk-spead attach /run/x.sock -- stream set s0 path_skew 1.2s "
      "heaps.timeout 1.2s` (now 600ms)"}},
};

}  // namespace spead::stats::test
