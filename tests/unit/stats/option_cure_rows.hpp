// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/known_run.hpp"

/// Lists cures of runs without a configuration file: of options alone, and of a prompt at a terminal.
namespace spead::stats::test {

/// Leaves options of the command line as the only way to set something.
inline void by_options(Snapshot& s) {
    s.settings.attach = "";
    s.settings.configuration = "";
}

/// Lets the consumer be too slow, which writes to a directory.
inline void slow_sink(Snapshot& s) {
    by_options(s);
    s.streams[0].heaps_dropped_full = 77;
    s.streams[0].queue_most = 256;
    s.streams[0].settings.directory = "/data/a b";
}

/// Lets packets have no place in chunks.
inline void without_place(Snapshot& s) {
    with_chunks(s);
    by_options(s);
    set(s, PacketOutcome::out_of_range);
    s.streams[0].settings.placement = "heap 8192; time: heap [4]";
}

inline const CureRow kOptionCureRows[] = {
    {"AnotherDirectory",
     slow_sink,
     Cause::consumer_too_slow,
     {"see what slows its disk down",
      "write to a faster disk: restart with another directory in `--sink` (now '/data/a b')",
      "or let the senders send less"}},
    {"ALongerQueue",
     [](Snapshot& s) {
         slow_sink(s);
         s.streams[0].heaps_delivered = 1000;
     },
     Cause::consumer_too_slow,
     {"restart with `--ring-heaps 1024` (now 256)", "see what slows its disk down"}},
    {"OneFile",
     [](Snapshot& s) {
         slow_sink(s);
         s.streams[0].settings.file_for_each = true;
     },
     Cause::consumer_too_slow,
     {"write one file in place of one for each heap: restart with `--sink 'raw:/data/a b'`"}},
    {"APlacement",
     without_place,
     Cause::misplaced,
     {"compare the counts of the axes in `placement`",
      "correct the placement: restart with `--placement 'PLACEMENT'` (now 'heap 8192; time: heap [4]')"}},
    {"APlacementAtItsOwnPrompt",
     [](Snapshot& s) {
         without_place(s);
         s.settings.own_prompt = true;
     },
     Cause::misplaced,
     {"compare the counts of the axes in `placement`",
      "see what the packets hold: enter `capture start s0 /var/tmp/s0.pcap capture.count 20` at its prompt",
      "correct the placement: enter `stream set s0 chunk.placement \"PLACEMENT\"` at its prompt"}},
    {"WhatNoOptionSets",
     [](Snapshot& s) {
         with_chunks(s);
         by_options(s);
         set(s, PacketOutcome::late);
         s.streams[0].chunks.timed_out = 3;
         s.streams[0].settings.chunk_timeout = 0.25;
     },
     Cause::late,
     {"restart with a configuration file (`run --config FILE`) that has `timeout = \"500ms\"` in "
      "[receive.chunk] (now "
      "250ms), or turn it off"}},
    {"AShorterHistory",
     [](Snapshot& s) {
         by_options(s);
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.2.3:7148"}};
         s.streams[0].paths[0] = {.packets = 100, .placed = 100};
         s.streams[0].paths[1] = {.packets = 200, .redundant = 200};
     },
     Cause::duplicates,
     {"give a sender that begins anew other heap counts, or lower `--history-time`"}},
    {"ALargerSplit",
     [](Snapshot& s) {
         by_options(s);
         set(s, PacketOutcome::header_in_device);
         s.streams[0].longest_header = 170;
     },
     Cause::header_in_device,
     {"restart with `--split 170`", "or send fewer item pointers in a packet"}},
    {"MoreDatagrams",
     [](Snapshot& s) {
         by_options(s);
         s.ports[0].reassembly_places = s.ports[0].settings.reassemble_datagrams = 256;
         s.ports[0].reassembly.given_up = s.ports[0].reassembly.crowded_out = 77;
     },
     Cause::reassembly_full,
     {"restart with a configuration file (`run --config FILE`) that has `reassemble_datagrams = 512` in "
      "[[port]] (now 256)"}},
    {"HeapsThatAreNotSentInTime",
     [](Snapshot& s) {
         by_options(s);
         s.sends[0].counters.timed_out = 77;
         s.sends[0].port = "p0";
         s.sends[0].settings = {1.25e9, 0.5};
     },
     Cause::send_timeout,
     {"restart with `--rate 20Gbps` (now 10Gbps)",
      "restart with a configuration file (`run --config FILE`) that has `timeout = \"1s\"` in [[send]] (now "
      "500ms)"}},
};

}  // namespace spead::stats::test
