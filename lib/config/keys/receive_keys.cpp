// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "base/setting_limits.hpp"
#include "config/key_field.hpp"
#include "config/keys/tables.hpp"
#include "config/limits.hpp"
#include "recv/filter_expression.hpp"
#include "runtime/notice_address.hpp"
#include "sink/array_layout.hpp"
#include "sink/dada_ring.hpp"
#include "wire/packet_format.hpp"

namespace spead::config::keys {

namespace {

using runtime::ReceivePlan;
using runtime::SinkPlan;

void check_format(const std::string& format, const std::string& where) {
    if (!format.empty())
        wire::PacketFormat::parse(format, where);
}

void check_filter(const std::string& filter, const std::string& where) {
    if (!filter.empty())
        recv::FilterExpression::parse(filter, where);
}

void check_dtype(const std::string& dtype, const std::string& where) {
    sink::ElementType::parse(dtype, where);
}

void check_part(const std::string& part, const std::string& where) {
    sink::parse_column({}, part, where);
}

void check_ring(const std::string& ring, const std::string& where) {
    sink::parse_dada_key(ring, where);
}

void check_notify(const std::string& notify, const std::string& where) {
    if (!notify.empty())
        runtime::parse_notice_address(notify, where);
}

constexpr std::array kReceiveKeys{
    Key{
        .name = "name",
        .field = text<&ReceivePlan::name>,
        .required = true,
        .example = "\"s0\"",
        .help = "Names the stream in reports and file names",
    },
    Key{
        .name = "port",
        .field = text<&ReceivePlan::port>,
        .change = Change::anew,
        .required = true,
        .example = "\"p0\"",
        .option = "--port",
        .help = "Names the port that receives the stream",
    },
    Key{
        .name = "backend",
        .field = choice<&ReceivePlan::backend>,
        .change = Change::refused,
        .terse = true,
        .option = "--backend",
        .help = "Receives by the port's driver, or by sockets on its interface",
    },
    Key{
        .name = "copy",
        .field = choice<&ReceivePlan::copy>,
        .change = Change::anew,
        .terse = true,
        .option = "--copy",
        .help = "Copies payload into the cache or past it; auto = by its memory",
    },
    Key{
        .name = "endpoints",
        .field = endpoint_list<&ReceivePlan::endpoint_texts, &ReceivePlan::endpoints>,
        .change = Change::immediate,
        .required = true,
        .example = "[\"239.1.2.3:7148\"]",
        .option = "ENDPOINT",
        .help = "Lists groups or addresses, as ADDRESS[+N]:PORT[@SOURCE]",
    },
    Key{
        .name = "paths",
        .field = texts<&ReceivePlan::paths>,
        .change = Change::anew,
        .terse = true,
        .example = "[\"p0\", \"p1\"]",
        .help = "Names two ports that bring copies of the stream, in place of port",
    },
    Key{
        .name = "path_endpoints",
        .field = endpoint_list<&ReceivePlan::path_endpoint_texts, &ReceivePlan::path_endpoints>,
        .change = Change::immediate,
        .terse = true,
        .unset = "endpoints",
        .example = "[\"239.2.2.3:7148\"]",
        .help = "Lists the second path's endpoints, in the first's order",
    },
    Key{
        .name = "path_skew",
        .field = seconds<&ReceivePlan::path_skew>,
        .range = kTime,
        .change = Change::anew,
        .terse = true,
        .option = "--path-skew",
        .help = "Tells how far one path may be behind the other",
    },
    Key{
        .name = "lcores",
        .field = cpus<&ReceivePlan::lcores>,
        .range = kCpu,
        .change = Change::anew,
        .unset = "chosen",
        .option = "--lcores",
        .help = "Lists the CPUs whose lcores receive the stream",
    },
    Key{
        .name = "poll",
        .field = choice<&ReceivePlan::poll>,
        .change = Change::immediate,
        .option = "--poll",
        .help = "Makes an idle lcore spin (busy), pause (adaptive) or sleep (interrupt)",
    },
    Key{
        .name = "max_poll",
        .field = integer<&ReceivePlan::max_poll>,
        .range = {1, 1000000},
        .change = Change::immediate,
        .option = "--max-poll",
        .help = "Sets the number of empty polls before an lcore pauses or waits",
    },
    Key{
        .name = "max_packet_size",
        .field = integer<&ReceivePlan::max_packet_size>,
        .range = kReceivePacket,
        .change = Change::anew,
        .option = "--max-packet-size",
        .help = "Limits the UDP payload of a packet, in bytes",
    },
    Key{
        .name = "buffer_size",
        .field = size<&ReceivePlan::buffer_size>,
        .range = {0, kMostBuffer},
        .change = Change::anew,
        .option = "--buffer-size",
        .help = "Sets the receive queue's size in bytes of packets; 0 = default",
    },
    Key{
        .name = "substreams",
        .field = integer<&ReceivePlan::substreams>,
        .range = {1, kMostSubstreams},
        .change = Change::anew,
        .option = "--substreams",
        .help = "Splits the stream into windows by heap count modulo this number",
    },
    Key{
        .name = "in_order",
        .field = flag<&ReceivePlan::in_order>,
        .change = Change::anew,
        .option = "--in-order",
        .help = "Accepts a heap's packets in order only, as spead2 does",
    },
    Key{
        .name = "stop_on_stop_item",
        .field = flag<&ReceivePlan::stop_on_stop_item>,
        .change = Change::anew,
        .option = "--stop-on-stop-item",
        .help = "Lets a stop item end the stream",
    },
    Key{
        .name = "control_heaps",
        .field = flag<&ReceivePlan::control_heaps>,
        .change = Change::anew,
        .terse = true,
        .help = "Delivers heaps that carry only stream control, too",
    },
    Key{
        .name = "enabled",
        .field = flag<&ReceivePlan::enabled>,
        .change = Change::anew,
        .help = "Receives the stream; false = not until it is started at the prompt",
    },
    Key{
        .name = "format",
        .field = text<&ReceivePlan::format>,
        .change = Change::anew,
        .unset = "SPEAD",
        .example = "\"vdif\"",
        .option = "--format",
        .word = "TEXT",
        .help = "Declares packets that are not SPEAD, or names a known format",
        .check = check_format,
    },
    Key{
        .name = "filter",
        .field = text<&ReceivePlan::filter>,
        .change = Change::anew,
        .unset = "all packets",
        .example = "\"item 0x1600 == 5\"",
        .option = "--filter",
        .word = "EXPRESSION",
        .help = "Keeps only packets for which the expression holds",
        .check = check_filter,
    },
    Key{
        .name = "held_buffers",
        .field = integer<&ReceivePlan::held_buffers>,
        .range = {0, kMostHeldBuffers},
        .change = Change::anew,
        .terse = true,
        .help = "Limits the buffers that a C++ filter may hold on each lcore",
    },
    Key{
        .name = "lend",
        .field = integer<&ReceivePlan::lend>,
        .range = {0, 1048576},
        .change = Change::anew,
        .terse = true,
        .help = "Limits the port's buffers that heaps keep on each lcore, uncopied",
    },
    Key{
        .name = "silent_after",
        .field = seconds<&ReceivePlan::silent_after>,
        .range = kTime,
        .off_word = true,
        .change = Change::immediate,
        .help = "Reports the stream as silent after this time without a packet",
    },
    Key{
        .name = "loss_threshold",
        .field = real<&ReceivePlan::loss_threshold>,
        .range = {0, 1},
        .change = Change::immediate,
        .help = "Reports losses above this fraction of heaps; 0 = never",
    },
    Key{
        .name = "expected_rate",
        .field = rate<&ReceivePlan::expected_rate>,
        .range = kRate,
        .change = Change::immediate,
        .option = "--expected-rate",
        .help = "Reports less than 90 % of this payload per second; 0 = never",
    },
    Key{
        .name = "shard",
        .field = choice<&ReceivePlan::shard>,
        .change = Change::immediate,
        .terse = true,
        .help = "Deals its endpoints or the whole stream; all = every shard has it",
    },
    Key{
        .name = "deal",
        .field = choice<&ReceivePlan::deal>,
        .change = Change::immediate,
        .terse = true,
        .help = "Deals endpoints to shards in blocks of neighbours, or in turn",
    },
    Key{
        .name = "assign",
        .field = texts<&ReceivePlan::assign>,
        .change = Change::immediate,
        .example = "[\"239.1.2.3+3:7148=0\"]",
        .help = "Lists endpoints that belong to certain shards, as ENDPOINT=SHARD",
    },
};

constexpr std::array kHeapKeys{
    Key{
        .name = "max_live",
        .field = integer<&ReceivePlan::max_live>,
        .range = {1, kMostLiveHeaps},
        .change = Change::anew,
        .option = "--max-heaps",
        .help = "Limits the heaps that are open at once, per substream",
    },
    Key{
        .name = "queue_depth",
        .field = integer<&ReceivePlan::queue_depth>,
        .range = {1, kMostQueuedHeaps},
        .change = Change::anew,
        .option = "--ring-heaps",
        .help = "Limits the heaps that wait for the consumer",
    },
    Key{
        .name = "max_bytes",
        .field = size<&ReceivePlan::max_bytes>,
        .range = kMaxHeapBytes,
        .change = Change::anew,
        .option = "--max-heap-bytes",
        .help = "Refuses larger heaps, and counts them as heap_too_big",
    },
    Key{
        .name = "timeout",
        .field = seconds<&ReceivePlan::timeout>,
        .range = kTime,
        .off_word = true,
        .change = Change::anew,
        .option = "--heap-timeout",
        .help = "Gives a heap up after this time without a packet of it",
    },
    Key{
        .name = "history",
        .field = integer<&ReceivePlan::history>,
        .range = {0, kMostHistory},
        .change = Change::anew,
        .option = "--history",
        .help = "Remembers this many finished heaps per substream; 0 = none",
    },
    Key{
        .name = "history_time",
        .field = seconds<&ReceivePlan::history_time>,
        .range = kTime,
        .change = Change::anew,
        .option = "--history-time",
        .help = "Sets the time for which finished heaps are remembered",
    },
    Key{
        .name = "on_full",
        .field = choice<&ReceivePlan::on_full>,
        .change = Change::anew,
        .option = "--on-full",
        .help = "Selects the heap that a full hand-over queue drops, if any",
    },
    Key{
        .name = "gather",
        .field = choice<&ReceivePlan::engine>,
        .change = Change::anew,
        .terse = true,
        .option = "--heap-memory",
        .help = "Leaves payload to an engine that moves it into its own memory",
    },
    Key{
        .name = "gather_memory",
        .field = size<&ReceivePlan::engine_memory>,
        .range = kMemoryHeaps,
        .change = Change::anew,
        .terse = true,
        .help = "Sets the engine's memory for heaps, on each lcore",
    },
};

constexpr std::array kSinkKeys{
    Key{
        .name = "kind",
        .field = choice<&ReceivePlan::sink, &SinkPlan::kind>,
        .change = Change::anew,
        .required = true,
        .example = "\"verify\"",
        .option = "--sink",
        .help = "Counts heaps, checks them, or writes them to files or a ring",
    },
    Key{
        .name = "directory",
        .field = text<&ReceivePlan::sink, &SinkPlan::directory>,
        .change = Change::anew,
        .unset = "none",
        .example = "\"/data/out\"",
        .option = "--sink",
        .word = "file:DIR|raw:DIR|zarr:DIR|hdf5:DIR",
        .help = "Names the directory that the sink writes files to",
    },
    Key{
        .name = "directories",
        .field = texts<&ReceivePlan::sink, &SinkPlan::directories>,
        .change = Change::anew,
        .example = "[\"/disk0/out\", \"/disk1/out\"]",
        .help = "Lists the directories of a raw sink, one for each disk",
    },
    Key{
        .name = "on_error",
        .field = choice<&ReceivePlan::sink, &SinkPlan::on_error>,
        .change = Change::anew,
        .option = "--on-sink-error",
        .help = "Stops the sink, or ends the run, when it cannot write",
    },
    Key{
        .name = "rotate_size",
        .field = size<&ReceivePlan::sink, &SinkPlan::rotate_size>,
        .range = {0, std::int64_t{1} << 50},
        .change = Change::anew,
        .terse = true,
        .help = "Begins the next raw or hdf5 file at this size; 0 = never",
    },
    Key{
        .name = "dtype",
        .field = text<&ReceivePlan::sink, &SinkPlan::dtype>,
        .change = Change::anew,
        .terse = true,
        .example = "\">i2\"",
        .help = "Says the type of the elements of a zarr or hdf5 sink's array",
        .check = check_dtype,
    },
    Key{
        .name = "columns",
        .field = text<&ReceivePlan::sink, &SinkPlan::columns>,
        .change = Change::anew,
        .unset = "none",
        .example = "\"chan\"",
        .help = "Names the axis along which shards write one array",
    },
    Key{
        .name = "column",
        .field = text<&ReceivePlan::sink, &SinkPlan::column>,
        .change = Change::anew,
        .unset = "the shard",
        .example = "\"0/3\"",
        .help = "Says which part of that axis this process writes, as I/N",
        .check = check_part,
    },
    Key{
        .name = "ring",
        .field = text<&ReceivePlan::sink, &SinkPlan::ring>,
        .change = Change::anew,
        .unset = "dada",
        .example = "\"dada\"",
        .option = "--sink",
        .word = "dada:KEY",
        .help = "Names the PSRDADA ring of a dada sink, by its hexadecimal key",
        .check = check_ring,
    },
    Key{
        .name = "header",
        .field = text<&ReceivePlan::sink, &SinkPlan::header>,
        .change = Change::anew,
        .unset = "none",
        .example = "\"/etc/dpdk-spead/header.txt\"",
        .option = "--sink-header",
        .word = "FILE",
        .help = "Names the template of a dada sink's headers",
    },
    Key{
        .name = "notify",
        .field = text<&ReceivePlan::sink, &SinkPlan::notify>,
        .change = Change::anew,
        .unset = "off",
        .example = "\"unix:/run/dpdk-spead/notices\"",
        .option = "--notify",
        .word = "unix:PATH|tcp:[ADDRESS:]PORT",
        .help = "Tells clients at a socket of each chunk that the sink keeps",
        .check = check_notify,
    },
};

}  // namespace

std::span<const Key> receive() {
    return kReceiveKeys;
}

std::span<const Key> receive_heaps() {
    return kHeapKeys;
}

std::span<const Key> receive_sink() {
    return kSinkKeys;
}

}  // namespace spead::config::keys
