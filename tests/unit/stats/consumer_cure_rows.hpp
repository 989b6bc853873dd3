// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/setting_limits.hpp"
#include "tests/unit/stats/known_run.hpp"

/// Lists cures of consumers that are too slow, always or now and then, in a run whose settings are known.
namespace spead::stats::test {

inline const CureRow kConsumerCureRows[] = {
    {"LongerQueue",
     [](Snapshot& s) {
         s.streams[0].heaps_delivered = 1000;
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
     },
     Cause::consumer_too_slow,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.queue_depth 1024` (now 256); to keep it, "
      "set `queue_depth = 1024` in [receive.heaps] of s0 in /etc/x.toml",
      "do less per heap"}},
    {"FasterConsumer",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].settings.directory = "/data/a b";
     },
     Cause::consumer_too_slow,
     {"see what slows its disk down: `df '/data/a b'` names it, and `cat /proc/pressure/io`",
      "write to a faster disk: run `dpdk-spead attach /run/x.sock -- stream set s0 sink.directory DIRECTORY` "
      "(now '/data/a b'); to keep it, set `directory = \"DIRECTORY\"` in [receive.sink] of s0 in /etc/x.toml",
      "or let the senders send less"}},
    {"AConsumerThatIsAlwaysTooSlow",
     [](Snapshot& s) {
         s.streams[0].heaps_delivered = 1000;
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].dropped_while = {77, 0, 256, 256, 9.7, 0.3, 1, 77};
         s.streams[0].endpoints.push_back("239.1.2.4:7148");
     },
     Cause::consumer_too_slow,
     {"do less per heap",
      "give a part of the endpoints of s0 to a further stream: each has a thread for its consumer",
      "or let the senders send less"}},
    {"AConsumerThatSharesItsThread",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams.push_back(clean().streams[0]);
         s.streams[1].name = "s1";
         s.settings.allowed_cpus = {0, 1};
         s.settings.cpus = {1};
     },
     Cause::consumer_too_slow,
     {"do less per heap", "leave more CPUs without lcores: 1 thread takes the heaps of 2 streams"}},
    {"ADiskThatIsAlwaysTooSlow",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].dropped_while = {77, 0, 256, 256, 9.7, 0.3, 1, 77};
         s.streams[0].endpoints.push_back("239.1.2.4:7148");
         s.streams[0].settings.directory = "/data";
     },
     Cause::consumer_too_slow,
     {"see what slows its disk down: `df /data` names it",
      "write to a faster disk: ", "or let the senders send less"}},
    {"AConsumerThatPauses",
     [](Snapshot& s) {
         s.streams[0].heaps_delivered = 10;
         s.streams[0].heaps_dropped_full = 3000;
         s.streams[0].queue_most = 256;
         s.streams[0].dropped_while = {3000, 0, 256, 256, 2, 8, 1, 3000};
     },
     Cause::consumer_too_slow,
     {"run `dpdk-spead attach /run/x.sock -- stream set s0 heaps.queue_depth 4096` (now 256)",
      "do less per heap"}},
    {"OneFileForAllHeaps",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].settings.directory = "/data/a`b";
         s.streams[0].settings.file_for_each = true;
         s.settings.configuration = "";
     },
     Cause::consumer_too_slow,
     {"write one file in place of one for each heap: run `dpdk-spead attach /run/x.sock -- stream set s0 "
      "sink.kind raw`",
      "see what slows its disk down: `df '/data/a'\"$(printf '\\140')\"'b'` names it",
      "write to a faster disk: run `dpdk-spead attach /run/x.sock -- stream set s0 sink.directory DIRECTORY` "
      "(now '/data/a'\"$(printf '\\140')\"'b')"}},
    {"QueueOfALargestDepth",
     [](Snapshot& s) {
         s.streams[0].heaps_delivered = 1000;
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].settings.queue_depth = kMostQueuedHeaps;
     },
     Cause::consumer_too_slow,
     {"do less per heap"}},
};

}  // namespace spead::stats::test
