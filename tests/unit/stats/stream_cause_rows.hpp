// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include "tests/unit/stats/cause_row.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

/// Lists the causes that a diagnosis finds at streams.
namespace spead::stats::test {

inline const CauseRow kStreamCauseRows[] = {
    {"ConsumerSlow",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 256;
     },
     Cause::consumer_too_slow,
     Stage::consumer,
     "s0: 77 heaps",
     {"256 of 256", "do less per heap", "let the senders send less"}},
    {"ConsumerHoldsMemory",
     [](Snapshot& s) {
         s.streams[0].heaps_dropped_full = 77;
         s.streams[0].queue_most = 12;
         s.streams[0].heaps_delivered = 1000;
     },
     Cause::consumer_holds_pool,
     Stage::memory,
     "s0: 77 heaps",
     {"12 of 256", "raise --memory"}},
    {"DeviceError",
     [](Snapshot& s) { s.streams[0].heaps_device_error = 77; },
     Cause::device_error,
     Stage::memory,
     "s0: 77 heaps were lost because the engine",
     {"stood still", "in the log", "--heap-memory none"}},
    {"SinkFailed",
     [](Snapshot& s) { s.streams[0].heaps_unwritten = 77; },
     Cause::sink_failed,
     Stage::consumer,
     "s0: 77 heaps were not written",
     {"make room", "then restart"}},
    {"SinkFull",
     [](Snapshot& s) {
         s.streams[0].heaps_unwritten = 77;
         s.streams[0].sink_losses = {{SinkLoss::Lack::room, 77, "its readers have left no room"}};
     },
     Cause::sink_full,
     Stage::consumer,
     "s0: 77 heaps were not written: its readers",
     {"dada_db -n"}},
    {"SinkNoPlace",
     [](Snapshot& s) {
         s.streams[0].heaps_unwritten = 77;
         s.streams[0].sink_losses = {{SinkLoss::Lack::place, 77, "its file exists already"}};
     },
     Cause::sink_no_place,
     Stage::consumer,
     "s0: 77 heaps were not written: its file",
     {"another directory"}},
    {"PoolSmall",
     [](Snapshot& s) { set(s, PacketOutcome::no_memory); },
     Cause::pool_too_small,
     Stage::memory,
     "s0: 77 packets",
     {"--memory"}},
    {"Ghosts",
     [](Snapshot& s) {
         s.streams[0].heaps_started = 1000;
         s.streams[0].heaps_ghosts = s.streams[0].heaps_ended[1] = 77;
         s.streams[0].ghosts_source = 0x0A000009;
         s.streams[0].ghosts_of_source = 70;
     },
     Cause::ghosts,
     Stage::window,
     "s0: 77 heaps were ghosts",
     {"most of them from 10.0.0.9", "GROUP:PORT@SOURCE"}},
    {"HeapLimits",
     [](Snapshot& s) {
         set(s, PacketOutcome::no_memory);
         s.streams[0].packets_at_limit = 77;
     },
     Cause::heap_limits,
     Stage::window,
     "s0: 77 packets",
     {"8192 different item pointers", "more memory does not help"}},
    {"ConsumerHoldsPool",
     [](Snapshot& s) {
         set(s, PacketOutcome::no_memory);
         s.streams[0].queue_most = 200;
     },
     Cause::consumer_holds_pool,
     Stage::memory,
     "s0: 77 packets",
     {"up to 200 heaps waited", "do less per heap"}},
    {"MaxLive",
     [](Snapshot& s) { s.streams[0].heaps_interleaved_evictions = s.streams[0].heaps_ended[1] = 77; },
     Cause::max_live_too_small,
     Stage::window,
     "s0: 77 heaps",
     {"interleave", "--max-heaps", "--substreams"}},
    {"Late",
     [](Snapshot& s) { set(s, PacketOutcome::late); },
     Cause::late,
     Stage::window,
     "s0: 77 packets",
     {"--max-heaps"}},
    {"Network",
     [](Snapshot& s) { s.streams[0].heaps_ended[2] = 77; },
     Cause::network_loss,
     Stage::network,
     "s0: 77 heaps",
     {"nothing was lost here", "--burst-size"}},
    {"NetworkBeyondTheFirstHeaps",
     [](Snapshot& s) {
         s.streams[0].heaps_ended[1] = 77;
         for (int i = 0; i < 20; i++)
             s.streams[0].by_endpoint.push_back({fmt::format("239.1.2.{}:7148", i), 10, 0});
     },
     Cause::network_loss,
     Stage::network,
     "s0: 77 heaps",
     {"of the first 20", "--burst-size"}},
    {"NetworkFarBeyondTheFirstHeaps",
     [](Snapshot& s) {
         s.streams[0].heaps_ended[1] = 77;
         s.streams[0].by_endpoint = {{"239.1.2.3:7148", 500, 0}};
     },
     Cause::network_loss,
     Stage::network,
     "s0: 77 heaps stayed incomplete although nothing was lost here: their packets did not arrive; ",
     {"--burst-size"}},
    {"NetworkWhereNothingIsNew",
     [](Snapshot& s) {
         s.streams[0].heaps_ended[1] = 77;
         s.streams[0].by_endpoint = {{"239.1.2.3:7148", 1000, 0, true}, {"239.1.2.4:7148", 0, 0}};
     },
     Cause::network_loss,
     Stage::network,
     "s0: 77 heaps",
     {"did not arrive; at 10.0.0.1, look"}},
    {"NoItemForAChunk",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::no_item);
     },
     Cause::misplaced,
     Stage::packet,
     "s0: 77 packets lack an item",
     {"item ids of `placement`"}},
    {"ChunksOutOfRange",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::out_of_range);
     },
     Cause::misplaced,
     Stage::packet,
     "s0: 77 packets have a value beyond an axis",
     {"counts of the axes"}},
    {"SlowPlaceCallback",
     [](Snapshot& s) {
         with_chunks(s);
         s.streams[0].events[static_cast<std::size_t>(StreamEvent::callback_slow)] = 77;
         s.streams[0].chunks.callback_heaps = 10;
         s.streams[0].chunks.callback_cycles = 9000;
     },
     Cause::callback_slow,
     Stage::lcore,
     "s0: 77 times its place callback took over a quarter",
     {"900 cycles for a heap", "more lcores"}},
    {"LateForTheirChunkByOnePath",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::late);
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].paths[1].late = 77;
     },
     Cause::late,
     Stage::window,
     "s0: 77 packets came after their chunk had been handed over, most of them by port p1",
     {"chunks that may be open"}},
    {"LateForTheirChunk",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::late);
     },
     Cause::late,
     Stage::window,
     "s0: 77 packets came after their chunk",
     {"--chunk-window"}},
    {"TooFarAhead",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::future);
     },
     Cause::future,
     Stage::window,
     "s0: 77 packets were too far ahead",
     {"wrong clock"}},
    {"NothingOfAPlace",
     [](Snapshot& s) {
         with_chunks(s);
         s.streams[0].axes = {{"pol", 1, 2, 1, 100, 100, 5, {{0, 0}, {385, 77}}}};
     },
     Cause::place_silent,
     Stage::network,
     "s0: 77 chunks",
     {"had nothing of pol 1", "look at the sender"}},
    {"NoChunkBecauseTheConsumerIsSlow",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::no_chunk);
         s.streams[0].chunks.short_of = 3;
         s.streams[0].chunks.consumed_ns = 13'000;
     },
     Cause::no_chunk,
     Stage::consumer,
     "s0: 77 packets came when free chunks had run out",
     {"the consumer takes 1.3 times as long as a chunk lasts", "do less per chunk"}},
    {"NoChunkAlthoughTheConsumerIsFast",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::no_chunk);
         s.streams[0].chunks.short_of = 3;
     },
     Cause::no_chunk,
     Stage::consumer,
     "s0: 77 packets came when free chunks had run out; raise --chunks",
     {}},
    {"NoChunkWhileAnotherLcoreOpensIt",
     [](Snapshot& s) {
         with_chunks(s);
         set(s, PacketOutcome::no_chunk);
     },
     Cause::no_chunk,
     Stage::window,
     "s0: 77 packets came while another lcore",
     {"CPU of its own"}},
    {"CutByJoin",
     [](Snapshot& s) {
         s.streams[0].heaps_ended[1] = 77;
         s.ports[0].joins_groups = true;
         for (int i = 0; i < 77; i++)
             s.streams[0].by_endpoint.push_back({fmt::format("239.1.2.{}:7148", i), 10, 0});
     },
     Cause::cut_by_join,
     Stage::network,
     "s0: 77 heaps",
     {"before their group was joined"}},
    {"CutByTheStartOfAPortThatJoinsNothing",
     [](Snapshot& s) {
         s.streams[0].heaps_ended[1] = 77;
         for (int i = 0; i < 77; i++)
             s.streams[0].by_endpoint.push_back({fmt::format("239.1.2.{}:7148", i), 10, 0});
     },
     Cause::cut_by_join,
     Stage::network,
     "s0: 77 heaps",
     {"before their endpoint was received"}},
    {"CutByChange",
     [](Snapshot& s) {
         s.streams[0].heaps_ended[1] = 77;
         s.streams[0].cut_at_start = {true, 0, 80};
     },
     Cause::cut_by_change,
     Stage::window,
     "s0: 77 heaps",
     {"they were under way when the stream or its port was changed", "no action is needed"}},
    {"PathSilent",
     [](Snapshot& s) {
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].paths[0] = {.packets = 77, .placed = 77};
         s.duration_s = 10;
     },
     Cause::path_silent,
     Stage::network,
     "s0: 77 packets came by one path alone",
     {"port p1 has brought nothing", "link"}},
    {"PathDied",
     [](Snapshot& s) {
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].paths[0] = {.packets = 177, .placed = 100, .redundant = 77};
         s.streams[0].paths[1] = {.packets = 100, .placed = 77, .redundant = 23, .passed = 177};
         s.streams[0].path_is_silent[1] = true;
     },
     Cause::path_silent,
     Stage::network,
     "s0: 77 packets came by one path alone: the path by port p1 brings nothing any more",
     {"link"}},
    {"PathLoss",
     [](Snapshot& s) {
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].paths[0] = {.packets = 177, .placed = 100, .redundant = 77};
         s.streams[0].paths[1] = {.packets = 100, .placed = 77, .redundant = 23, .passed = 177};
     },
     Cause::path_loss,
     Stage::network,
     "s0: 77 packets came by one path alone; the path by port p1",
     {"too late", "drops on that path"}},
    {"PathBehind",
     [](Snapshot& s) {
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].paths[0] = {.packets = 100, .placed = 100, .passed = 177};
         s.streams[0].paths[1] = {.packets = 100, .placed = 77, .redundant = 23, .forgotten = 77};
         s.streams[0].paths[1].forgotten_after = 1'250'000'000;
     },
     Cause::path_behind,
     Stage::network,
     "s0: 77 packets came by port p1 up to 1.25 s after their copy by the other path",
     {"delivered again", "`path_skew`"}},
    {"LateOfOnePath",
     [](Snapshot& s) {
         set(s, PacketOutcome::late);
         s.streams[0].path_ports = {"p0", "p1"};
         s.streams[0].paths[1].late = 77;
     },
     Cause::late,
     Stage::window,
     "s0: 77 packets came after their heap had been given up, most of them by port p1",
     {"--max-heaps"}},
    {"DuplicatesOfOne",
     [](Snapshot& s) { set(s, PacketOutcome::duplicate); },
     Cause::duplicates,
     Stage::network,
     "s0: 77 packets",
     {"second path", "loop"}},
    {"DuplicatesOfTwo",
     [](Snapshot& s) {
         set(s, PacketOutcome::duplicate);
         s.ports[0].talkers.push_back({"10.0.0.2", "s0", 500, 1});
         s.ports[0].talkers.push_back({"10.0.0.3", "s1", 500, 1});
     },
     Cause::duplicates,
     Stage::network,
     "s0: 77 packets",
     {"2 sources", "10.0.0.1, 10.0.0.2", "@SOURCE"}},
    {"Unmatched",
     [](Snapshot& s) {
         set(s, PortOutcome::unmatched);
         s.streams[0].received = s.streams[0].packets[0] = 0;
         s.ports[0].talkers = {{"10.0.0.9", "", 77, 0}};
     },
     Cause::unmatched,
     Stage::classify,
     "p0: 77 packets",
     {"from 10.0.0.9", "s0 received nothing", "endpoints"}},
    {"UnmatchedOfIpv6",
     [](Snapshot& s) {
         set(s, PortOutcome::unmatched);
         s.streams[0].received = s.streams[0].packets[0] = 0;
         s.ports[0].talkers = {{"an IPv6 sender (hash 0x51fa1af)", "", 77, 0}};
         s.ports[0].strays = {{"[ff15::4]:7148", "fd00:9::2", 70}, {"[ff15::5]:7148", "fd00:9::3", 7}};
     },
     Cause::unmatched,
     Stage::classify,
     "p0: 77 packets",
     {"most of them from fd00:9::2 to [ff15::4]:7148", "s0 received nothing"}},
    {"NotSpead",
     [](Snapshot& s) { set(s, PacketOutcome::malformed); },
     Cause::not_spead,
     Stage::packet,
     "s0: 77 packets",
     {"SPEAD", "--format"}},
    {"HeaderInDevice",
     [](Snapshot& s) {
         set(s, PacketOutcome::header_in_device);
         s.streams[0].longest_header = 562;
     },
     Cause::header_in_device,
     Stage::packet,
     "s0: 77 packets",
     {"up to 562 bytes", "set `split` to 562"}},
    {"Oversize",
     [](Snapshot& s) { set(s, PacketOutcome::oversize); },
     Cause::packets_too_large,
     Stage::packet,
     "s0: 77 packets",
     {"; raise --max-packet-size"}},
    {"HeapTooBig",
     [](Snapshot& s) { set(s, PacketOutcome::heap_too_big); },
     Cause::heaps_too_large,
     Stage::packet,
     "s0: 77 packets",
     {"; raise --max-heap-bytes"}},
    {"Inconsistent",
     [](Snapshot& s) { set(s, PacketOutcome::inconsistent); },
     Cause::contradictions,
     Stage::packet,
     "s0: 77 packets",
     {"heap counts of its own"}},
    {"OutOfOrder",
     [](Snapshot& s) { set(s, PacketOutcome::out_of_order); },
     Cause::out_of_order,
     Stage::packet,
     "s0: 77 packets",
     {"--in-order"}},
};

}  // namespace spead::stats::test
