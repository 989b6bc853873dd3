// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/cause_row.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

/// Lists the causes of warnings: what came close to a loss.
namespace spead::stats::test {

inline const CauseRow kNearLossCauseRows[] = {
    {"LcoreHeldUp",
     [](Snapshot& s) {
         s.lcores[0].held_up = {77, 76'000'000, 140'000'000};
     },
     Cause::lcore_held_up,
     Stage::lcore,
     "lcore 0 on CPU 0: 77 times it did not run for up to 76 ms, because other work had its CPU; nothing was "
     "lost yet: its receive queue fills in 140 ms at the present rate; ",
     {"isolcpus"}},
    {"LcoreHeldUpForLongerThanItsQueueSeemsToHold",
     [](Snapshot& s) {
         s.lcores[0].held_up = {77, 600'000'000, 140'000'000};
     },
     Cause::lcore_held_up,
     Stage::lcore,
     "lcore 0 on CPU 0: 77 times it did not run for up to 600 ms, because other work had its CPU; nothing "
     "was "
     "lost yet; ",
     {"SIGSTOP"}},
    {"BuffersNearlyOut",
     [](Snapshot& s) {
         s.ports[0].buffers = {4096, 12};
         s.ports[0].buffers_near = {77, 4084, 4096};
     },
     Cause::buffers_nearly_out,
     Stage::port,
     "p0: 77 times only 12 of 4096 packet buffers were free: nothing was lost yet; ",
     {"--buffer-size"}},
    {"QueueNearlyFull",
     [](Snapshot& s) {
         s.streams[0].queue_near = {77, 250, 256};
     },
     Cause::queue_nearly_full,
     Stage::consumer,
     "s0: 77 times up to 250 of 256 places of the hand-over queue were taken: no heap was lost yet",
     {"--ring-heaps"}},
    {"PoolNearlyFull",
     [](Snapshot& s) {
         s.streams[0].pool_near = {77, 250 << 20, 256 << 20};
     },
     Cause::pool_nearly_full,
     Stage::memory,
     "s0: 77 times up to 250 MiB of the 256 MiB of its heap memory were in use: no packet was lost yet; ",
     {"--memory"}},
};

}  // namespace spead::stats::test
