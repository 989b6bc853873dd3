// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/path_cure_rows.hpp"

/// Lists cures of programs that use the C++ or Python API: there is no file, no option and no prompt.
namespace spead::stats::test {

/// Leaves the API as the only way to set something.
inline void by_program(Snapshot& s) {
    s.by_configuration = true;
    s.settings.attach = "";
    s.settings.configuration = "";
    s.settings.by_options = false;
    for (StreamSnapshot& stream : s.streams)
        stream.settings.by_program = stream.settings.own_memory = true;
}

inline const CureRow kProgramCureRows[] = {
    {"MoreHeaps",
     [](Snapshot& s) {
         by_program(s);
         s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77;
     },
     Cause::max_live_too_small,
     {"set `max_heaps` to 8 (now 4)", "give each sender a substream (`substreams`)"}},
    {"ALongerQueue",
     [](Snapshot& s) {
         by_program(s);
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
         s.streams[0].heaps_delivered = 1000;
     },
     Cause::consumer_too_slow,
     {"set `queue_depth` (in Python `heaps` of RingStreamConfig) to 1024 (now 256)", "do less per heap"}},
    {"MoreMemory",
     [](Snapshot& s) {
         by_program(s);
         set(s, PacketOutcome::no_memory);
     },
     Cause::pool_too_small,
     {"raise its `memory` (in Python a larger `max_free` of its MemoryPool)"}},
    {"LargerPackets",
     [](Snapshot& s) {
         by_program(s);
         set(s, PacketOutcome::oversize);
     },
     Cause::packets_too_large,
     {"set `max_packet_size` (in Python also `max_size` of a reader) to 18400 (now 9200)"}},
    {"AnyOrder",
     [](Snapshot& s) {
         by_program(s);
         set(s, PacketOutcome::out_of_order);
     },
     Cause::out_of_order,
     {"leave out `in_order` (in Python set `allow_out_of_order` of StreamConfig) to take them"}},
    {"AFormat",
     [](Snapshot& s) {
         by_program(s);
         s.streams[0].fits_format = "vdif";
         set(s, PacketOutcome::malformed);
     },
     Cause::not_spead,
     {"a sample of these packets fits the format `vdif`: set `format` to vdif"}},
    {"SmallerBursts",
     [](Snapshot& s) {
         by_program(s);
         s.streams[0].heaps_ended[1] = 77;
         s.ports[0].settings.interface = "";
     },
     Cause::network_loss,
     {"at 10.0.0.1, look at the sender's own losses, and send in smaller bursts (`burst_size` of "
      "SendConfig)"}},
    {"OtherHeapCounts",
     [](Snapshot& s) {
         by_program(s);
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.2.3:7148"}};
         s.streams[0].paths[0] = {.packets = 100, .placed = 100};
         s.streams[0].paths[1] = {.packets = 200, .redundant = 200};
     },
     Cause::duplicates,
     {"give a sender that begins anew other heap counts, or let it pause for longer than a second"}},
    {"APathBehind",
     [](Snapshot& s) {
         second_is_behind(s, 1.24);
         by_program(s);
     },
     Cause::path_behind,
     {"set `second_path.skew` to 1.9s (now 50ms)", "find out why that path is so slow"}},
    {"AStrayOfTheSecondPath",
     [](Snapshot& s) {
         strays(s, "239.1.3.4:7148", "10.0.0.9");
         by_program(s);
         s.streams[0].path_ports = {"p7", "p0"};
         s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
     },
     Cause::unmatched,
     {"compare the endpoints",
      "if s0 should receive the packets for 239.1.3.4:7148, add `239.1.3.4:7148` with its twin on the other "
      "path (`add_endpoint`)"}},
    {"ChunksThatTimeOut",
     [](Snapshot& s) {
         with_chunks(s);
         by_program(s);
         set(s, PacketOutcome::late);
         s.streams[0].chunks.timed_out = 3;
         s.streams[0].settings.chunk_timeout = 0.25;
     },
     Cause::late,
     {"set `timeout` to 500ms (now 250ms), or turn it off"}},
    {"TheTrackedWay",
     [](Snapshot& s) {
         with_chunks(s);
         by_program(s);
         set(s, PacketOutcome::inconsistent);
     },
     Cause::contradictions,
     {"if only the first packet of a heap has its items: declare its placement `tracked`"}},
};

}  // namespace spead::stats::test
