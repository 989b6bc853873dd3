// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/cause_row.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

/// Lists the causes that a diagnosis finds at ports, lcores and senders.
namespace spead::stats::test {

inline const CauseRow kPortCauseRows[] = {
    {"RingShort",
     [](Snapshot& s) { s.ports[0].nic.missed = 77; },
     Cause::receive_ring_short,
     Stage::port,
     "p0: 77 packets",
     {"the lcore had time", "2048 packets", "--buffer-size"}},
    {"RingShortBeforeItsLcoresBegan",
     [](Snapshot& s) { s.ports[0].nic.missed = s.ports[0].missed_at_start = 77; },
     Cause::missed_at_start,
     Stage::port,
     "p0: 77 packets came when the port had started",
     {"no lcore fetched yet", "no action is needed"}},
    {"RingShortThoughEveryBurstWasFull",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].rx_full_bursts = s.ports[0].rx_bursts;
         s.lcores[0].counters.busy_cycles = 100'000'000;  // 1 %
     },
     Cause::receive_ring_short,
     Stage::port,
     "p0: 77 packets",
     {"the lcore had time", "2048 packets", "--buffer-size"}},
    {"LcoreBusy",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
     },
     Cause::lcore_too_slow,
     Stage::lcore,
     "p0: 77 packets",
     {"busy 95 %", "--lcores"}},
    {"LcoreFullBursts",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].rx_full_bursts = 400;
         s.lcores[0].counters.busy_cycles = 5'000'000'000;
     },
     Cause::lcore_too_slow,
     Stage::lcore,
     "p0: 77 packets",
     {"80 % of its bursts were full"}},
    {"LcoreInterrupted",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.lcores[0].counters.longest_loop = 4'000'000;
     },
     Cause::lcore_interrupted,
     Stage::lcore,
     "p0: 77 packets",
     {"off its CPU for up to 4 ms, because other work had it", "isolcpus"}},
    {"RingShortAlsoWithoutShortAbsences",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].missed_while = {.interrupted = 15, .idle = 62, .longest_s = 0.005};
     },
     Cause::receive_ring_short,
     Stage::port,
     "p0: 77 packets",
     {"the lcore had time", "2048 packets", "--buffer-size"}},
    {"ProgramStopped",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].rx_full_bursts = s.ports[0].rx_bursts;
         s.lcores[0].counters.longest_loop = s.lcores[0].counters.interrupted_cycles = 9'000'000'000;
         s.lcores[0].counters.busy_cycles = 10'000'000'000;
     },
     Cause::lcore_interrupted,
     Stage::lcore,
     "p0: 77 packets",
     {"9.0 s", "SIGSTOP"}},
    {"LcoreSilent",
     [](Snapshot& s) {
         s.lcores[0].silent_s = 77.5;
         s.lcores[0].silences = 1;
         s.lcores[0].activity = "it is stopped, by a debugger or SIGSTOP";
     },
     Cause::lcore_silent,
     Stage::lcore,
     "lcore 0 on CPU 0: 77 seconds",
     {"without an answer: it is stopped", "do not change until it answers"}},
    {"LcoreWasSilent",
     [](Snapshot& s) { s.lcores[0].silences = 77; },
     Cause::lcore_silent,
     Stage::lcore,
     "lcore 0 on CPU 0: 77 times",
     {"for a second or longer", "isolcpus"}},
    {"NoBuffers",
     [](Snapshot& s) {
         s.ports[0].nic.no_mbuf = 77;
         s.ports[0].buffers = {4096, 12};
     },
     Cause::no_buffers,
     Stage::port,
     "p0: 77 times",
     {"down to 12 of 4096", "--buffer-size"}},
    {"NicErrors",
     [](Snapshot& s) { s.ports[0].nic.errors = 77; },
     Cause::nic_errors,
     Stage::port,
     "p0: 77 errors",
     {"in receiving", "ethtool -S"}},
    {"NicSendErrors",
     [](Snapshot& s) { s.ports[0].nic.errors = s.ports[0].nic.send_errors = 77; },
     Cause::nic_errors,
     Stage::transmit,
     "p0: 77 errors",
     {"in sending", "MTU"}},
    {"NoBuffersWhileAFilterHoldsThem",
     [](Snapshot& s) {
         s.ports[0].nic.no_mbuf = 77;
         s.streams[0].held_now = 500;
     },
     Cause::no_buffers,
     Stage::port,
     "p0: 77 times",
     {"filters hold 500", "held_buffers"}},
    {"EngineStandsStill",
     [](Snapshot& s) {
         s.engines.push_back({"cuda", {"s0", "s1"}, 77.5, 77.5, 1, 77.5});
     },
     Cause::engine_stalled,
     Stage::memory,
     "engine cuda: 77 seconds",
     {"moved no payload: s0, s1 wait for it", "`nvidia-smi` shows", "reset it"}},
    {"EngineStoodStill",
     [](Snapshot& s) {
         s.engines.push_back({"fake", {"s0"}, 0, 0, 77, 120});
     },
     Cause::engine_stalled,
     Stage::memory,
     "engine fake: 77 times",
     {"for a second or longer, 120.0 s in all", "see whether its thread runs"}},
    {"EngineTooSlow",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].rx_gather_full = 4000;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
         s.lcores[0].counters.longest_loop = 4'000'000;
     },
     Cause::engine_too_slow,
     Stage::memory,
     "p0: 77 packets",
     {"an engine had not moved enough payload", "4000 polls", "--heap-memory none"}},
    {"LcoreBusyThoughAnEngineWasBehindOnce",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].rx_gather_full = 50;
         s.lcores[0].counters.busy_cycles = 9'500'000'000;
     },
     Cause::lcore_too_slow,
     Stage::lcore,
     "p0: 77 packets",
     {"busy 95 %", "--lcores"}},
    {"ProgramStoppedThoughTheEngineWasThen",
     [](Snapshot& s) {
         s.ports[0].nic.missed = 77;
         s.ports[0].rx_gather_full = 4000;
         s.lcores[0].counters.longest_loop = s.lcores[0].counters.interrupted_cycles = 9'000'000'000;
         s.lcores[0].counters.busy_cycles = 10'000'000'000;
     },
     Cause::lcore_interrupted,
     Stage::lcore,
     "p0: 77 packets",
     {"9.0 s", "SIGSTOP"}},
    {"Gso",
     [](Snapshot& s) { s.ports[0].rx_oversized_frames = 77; },
     Cause::gso_frames,
     Stage::network,
     "p0: 77 frames",
     {"ethtool -K", "tx-udp-segmentation off"}},
    {"Fragments",
     [](Snapshot& s) { set(s, PortOutcome::fragment); },
     Cause::fragments,
     Stage::network,
     "p0: 77 packets",
     {"not reassembled", "MTU", "`backend`"}},
    {"FragmentsLeaveHeapsIncomplete",
     [](Snapshot& s) {
         set(s, PortOutcome::fragment);
         s.streams[0].heaps_ended[1] = 77;
     },
     Cause::fragments,
     Stage::network,
     "p0: 77 packets",
     {"not reassembled"}},
    {"FragmentsThatAreNotPutTogether",
     [](Snapshot& s) {
         set(s, PortOutcome::fragment);
         s.ports[0].reassembly_places = 256;
     },
     Cause::fragments,
     Stage::network,
     "p0: 77 packets",
     {"repeated, broken, for no stream", "other senders"}},
    {"DatagramsIncomplete",
     [](Snapshot& s) { s.ports[0].reassembly.given_up = 77; },
     Cause::datagrams_incomplete,
     Stage::network,
     "p0: 77 datagrams",
     {"0.1 s", "loss on the way"}},
    {"DatagramsThatContradictThemselves",
     [](Snapshot& s) {
         s.ports[0].reassembly.given_up = 77;
         s.ports[0].reassembly.conflicting = 70;
     },
     Cause::datagrams_incomplete,
     Stage::network,
     "p0: 77 datagrams",
     {"contradict each other (70 of the datagrams)"}},
    {"TooManyFragments",
     [](Snapshot& s) { s.ports[0].reassembly.given_up = s.ports[0].reassembly.too_many = 77; },
     Cause::too_many_fragments,
     Stage::network,
     "p0: 77 datagrams",
     {"more than 8", "MTU"}},
    {"ReassemblyFull",
     [](Snapshot& s) {
         s.ports[0].reassembly.given_up = s.ports[0].reassembly.crowded_out = 77;
         s.ports[0].reassembly_places = 256;
     },
     Cause::reassembly_full,
     Stage::lcore,
     "p0: 77 datagrams",
     {"places for 256", "reassemble_datagrams", "floods"}},
    {"Checksums",
     [](Snapshot& s) { set(s, PortOutcome::bad_checksum); },
     Cause::bad_checksums,
     Stage::network,
     "p0: 77 packets",
     {"cables"}},
    {"ChecksumsOfIpv6",
     [](Snapshot& s) {
         set(s, PortOutcome::bad_checksum);
         s.streams[0].endpoints = {"[ff15::1]:7148"};
     },
     Cause::bad_checksums,
     Stage::network,
     "p0: 77 packets",
     {"cables", "let the sender write the UDP checksum"}},
    {"SendTimeout",
     [](Snapshot& s) { s.sends[0].counters.timed_out = 77; },
     Cause::send_timeout,
     Stage::transmit,
     "d0: 77 heaps",
     {"within the time-out"}},
    {"PortTakesNothing",
     [](Snapshot& s) {
         s.ticks_per_second = 1000;
         s.sends[0].port = "p7";
         s.sends[0].suspects = "look at the cat";
         s.sends[0].counters.outages = 77;
         s.sends[0].counters.outage_ticks = 123'400;
     },
     Cause::port_takes_nothing,
     Stage::transmit,
     "d0: 77 times",
     {"port p7 took nothing", "123.4 s in all", "look at the cat"}},
    {"AGroupBesideThoseOfASlowStream",
     [](Snapshot& s) {
         set(s, PortOutcome::unmatched);
         s.streams[0].endpoints = {"239.1.2.0+2:7148"};
         s.streams[0].health = "losing, slow";
         s.ports[0].strays = {{"239.1.2.3:7148", "10.0.0.1", 70}};
     },
     Cause::unmatched,
     Stage::classify,
     "p0: 77 packets",
     {"no stream names to 239.1.2.3:7148, while s0 lacks packets",
      "if s0 should receive the packets for 239.1.2.3:7148"}},
    {"Impaired",
     [](Snapshot& s) {
         s.sends[0].counters.impaired_lost = 65;
         s.sends[0].counters.impaired_corrupted = 7;
         s.sends[0].counters.impaired_sent = 1000;
         s.sends[0].counters.impaired_dropped = 5;
     },
     Cause::impaired,
     Stage::transmit,
     "d0: 77 packets",
     {"on purpose", "65 lost, 0 duplicated, 7 corrupted", "0 delayed, 5 dropped when the port stopped",
      "without --impair"}},
};

}  // namespace spead::stats::test
