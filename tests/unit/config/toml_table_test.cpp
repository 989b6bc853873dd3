// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"

// Errors that a user reads when a key or a value of the file is wrong.
namespace spead::config {
namespace {

using test::expect_usage_error;

const std::string kPort = R"(version = 1
[[port]]
name = "p0"
device = "net_ring0"
)";
const std::string kReceive = kPort + R"([[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.2.3:7148"]
)";
const std::string kSend = kPort + R"([[send]]
name = "d0"
port = "p0"
endpoints = ["239.1.2.3:7148"]
)";

void expect_error(const std::string& text, std::initializer_list<std::string_view> parts) {
    SCOPED_TRACE(text);
    expect_usage_error([&] { parse_text(text, "a.toml"); }, parts);
}

TEST(UnknownKey, IsPlacedAndTheNearestKeyIsOffered) {
    expect_error(kReceive + "max_pol = 3\n",
                 {"a.toml:9:1", "`max_pol`", "[[receive]]", "did you mean `max_poll`"});
    expect_error(kPort + "devixe = \"x\"\n", {"a.toml:5:1", "`devixe`", "[[port]]", "did you mean `device`"});
    expect_error(kReceive + "[receive.heaps]\n  queue_depths = 3\n",
                 {"a.toml:10:3", "`queue_depths`", "[receive.heaps]", "`queue_depth`"});
    expect_error(kReceive + "[receive.sink]\nkind = \"file\"\ndir = \"x\"\n",
                 {"a.toml:11:1", "`dir`", "[receive.sink]", "`directory`"});
    expect_error(kSend + "rate_gbps = 3\n", {"a.toml:9:1", "`rate_gbps`", "[[send]]"});
    expect_error("version = 1\n[runtme]\n", {"a.toml:2:2", "`runtme`", "the file", "`runtime`"});
    expect_error("version = 1\n[memory]\nheap = 1\n", {"a.toml:3:1", "`heap`", "[memory]", "`heaps`"});
    expect_error("version = 1\n[runtime]\nmain-cpu = 1\n", {"a.toml:3:1", "`main-cpu`", "`main_cpu`"});
    expect_error(kReceive + "[end]\nidle = 1\n", {"a.toml:10:1", "`idle`", "[end]", "`idle_exit`"});
}

TEST(UnknownKey, AnOptionsNameLeadsToTheKey) {
    expect_error(kReceive + "max_heaps = 3\n", {"`max_heaps`", "max_live in [receive.heaps]"});
    expect_error(kReceive + "ring_heaps = 3\n", {"`ring_heaps`", "queue_depth in [receive.heaps]"});
    expect_error(kReceive + "max_heap_bytes = 3\n", {"`max_heap_bytes`", "max_bytes in [receive.heaps]"});
    expect_error(kReceive + "heap_timeout = 3\n", {"`heap_timeout`", "timeout in [receive.heaps]"});
    expect_error(kSend + "address_bits = 48\n", {"`address_bits`", "addr_bits"});
    expect_error("version = 1\n[[recv]]\n", {"`recv`", "[[receive]]"});
}

TEST(UnknownKey, AnEarlierNameLeadsToTheKey) {
    expect_error(kReceive + "[receive.heaps]\nring = 3\n", {"`ring`", "queue_depth in [receive.heaps]"});
}

TEST(UnknownKey, AKeyOfAnotherTableIsSaidToBelongThere) {
    expect_error(kReceive + "on_full = \"block\"\n", {"`on_full`", "belongs in [receive.heaps]"});
    expect_error(kReceive + "idle_exit = 5\n", {"`idle_exit`", "belongs in [end]"});
    expect_error(kReceive + "ttl = 5\n", {"`ttl`", "belongs in [[send]]"});
    expect_error("version = 1\ndevice = \"x\"\n", {"`device`", "belongs in [[port]]"});
}

TEST(UnknownKey, WithoutAnyNeighbourTheKeysAreListed) {
    expect_error(kPort + "colour = 3\n",
                 {"`colour`",
                  "the keys are name, device, mtu, address, address6, vlan, timestamps, udp_checksum, "
                  "reassemble, reassemble_datagrams, split or link_rate"});
}

TEST(UnknownKey, TheFirstInTheFileIsReported) {
    expect_error(kPort + "zzz = 3\naaa = 4\n", {"a.toml:5:1", "`zzz`"});
    expect_error(kPort + "aaa = 3\nzzz = 4\n", {"a.toml:5:1", "`aaa`"});
}

TEST(WrongType, IsNamedWithTheRightOne) {
    expect_error(kReceive + "max_poll = \"ten\"\n",
                 {"a.toml:9:12", "`max_poll` is a string, \"ten\"; give a whole number, 1 to 1000000"});
    expect_error(kReceive + "max_poll = 1.5\n",
                 {"a.toml:9:12", "number with a fraction, 1.5", "whole number"});
    expect_error(kReceive + "in_order = \"yes\"\n",
                 {"a.toml:9:12", "`in_order` is a string", "true or false"});
    expect_error(kReceive + "in_order = 1\n", {"`in_order` is a whole number", "true or false"});
    expect_error(kReceive + "poll = 1\n", {"a.toml:9:8", "`poll` is a whole number", "string in quotes"});
    expect_error("version = 1\n[runtime]\nmetrics = 9100\n",
                 {"a.toml:3:11", "`metrics` is a whole number, 9100", "as in metrics = \"9100\""});
    expect_error(kReceive + "max_poll = \"" + std::string(65, 'x') + "\"\n",
                 {"`max_poll` is a string; give a whole number"});
    expect_error(kReceive + "buffer_size = true\n", {"`buffer_size` is true or false", "16MiB"});
    expect_error(kReceive + "lcores = 1\n",
                 {"`lcores` is a whole number", "list of CPU numbers such as [1, 2]"});
    expect_error(kReceive + "lcores = [1, \"2\"]\n", {"a.toml:9:14", "`lcores` is a string", "whole number"});
    expect_error(kReceive + "heaps.timeout = [1]\n", {"`timeout` is a list", "250ms"});
    expect_error(kSend + "rate = true\n", {"`rate` is true or false", "10Gbps"});
    expect_error(kSend + "burst_rate_ratio = \"x\"\n",
                 {"`burst_rate_ratio` is a string", "give a number, 1 to 1000"});
    expect_error("version = 1\n[runtime]\nname = 2020-01-01\n", {"`name` is a date or time", "string"});
    expect_error(kPort + "[[receive]]\nname = \"s0\"\nport = \"p0\"\nendpoints = \"239.1.2.3:7148\"\n",
                 {"a.toml:8:13", "`endpoints` is a string", "list of strings"});
    expect_error(kPort + "[[receive]]\nname = \"s0\"\nport = \"p0\"\nendpoints = [1]\n",
                 {"a.toml:8:14", "`endpoints`", "strings in the list"});
}

TEST(WrongType, OneBracketOrTwo) {
    expect_error("version = 1\n[port]\nname = \"p0\"\n", {"a.toml:2:", "`port` is a table", "[[port]]"});
    expect_error("version = 1\n[receive]\nname = \"p0\"\n", {"`receive` is a table", "[[receive]]"});
    expect_error("version = 1\n[[memory]]\nheaps = 5\n", {"`memory` is a list of tables", "write [memory]"});
    expect_error(kReceive + "sink = \"verify\"\n",
                 {"a.toml:9:8", "`sink` is a string", "write [receive.sink]"});
    expect_error(kReceive + "heaps = 4\n", {"`heaps` is a whole number", "write [receive.heaps]"});
    expect_error("version = 1\nport = [1]\n", {"`port` is a list", "[[port]]"});
}

TEST(Range, IsTold) {
    expect_error(kReceive + "max_poll = 0\n", {"a.toml:9:12", "`max_poll` is 0", "1 to 1000000"});
    expect_error(kReceive + "max_packet_size = 65508\n", {"`max_packet_size` is 65508", "32 to 65507"});
    expect_error(kReceive + "substreams = -1\n", {"`substreams` is -1", "1 to 65536"});
    expect_error(kReceive + "heaps.queue_depth = 4294967297\n",
                 {"`queue_depth` is 4294967297", "1 to 1048576"});
    expect_error(kReceive + "heaps.max_live = 0\n", {"`max_live` is 0", "1 to 65536"});
    expect_error(kReceive + "heaps.history = -1\n", {"`history` is -1", "0 to 1048576"});
    expect_error(kReceive + "heaps.timeout = -0.5\n", {"`timeout` is -0.5 seconds", "0 to"});
    expect_error(kReceive + "heaps.timeout = nan\n", {"`timeout` is nan"});
    expect_error(kReceive + "heaps.max_bytes = 0\n", {"`max_bytes` is 0 B", "give 1 B to"});
    expect_error(kReceive + "buffer_size = -1\n", {"`buffer_size` is -1", "a size cannot be negative"});
    expect_error(kReceive + "lcores = [1024]\n", {"a.toml:9:11", "`lcores` is 1024", "0 to 1023"});
    expect_error(kSend + "ttl = 0\n", {"`ttl` is 0", "1 to 255"});
    expect_error(kSend + "ttl = 256\n", {"`ttl` is 256", "1 to 255"});
    expect_error(kSend + "addr_bits = 264\n", {"`addr_bits` is 264", "8 to 56"});
    expect_error(kSend + "heaps = -2\n", {"`heaps` is -2", "give -1 or more"});
    expect_error(kSend + "burst_rate_ratio = 0.5\n", {"`burst_rate_ratio` is 0.5", "1 to 1000"});
    expect_error(kSend + "burst_rate_ratio = inf\n", {"`burst_rate_ratio` is inf"});
    expect_error(kPort + "mtu = 70000\n", {"`mtu` is 70000", "65535"});
}

TEST(Unit, IsCheckedAndTheAcceptedOnesListed) {
    expect_error(kReceive + "buffer_size = \"16M\"\n", {"a.toml:9:15", "`16M`", "MiB", "MB"});
    expect_error(kReceive + "heaps.timeout = \"5 minutes\"\n", {"a.toml:9:17", "`5 minutes`", "min or h"});
    expect_error(kReceive + "heaps.history_time = \"off\"\n", {"`off`", "seconds"});
    expect_error(kSend + "rate = \"10\"\n", {"a.toml:9:8", "`10`", "no unit", "Gbps"});
    expect_error(kSend + "rate = 10\n", {"a.toml:9:8", "`10`", "no unit", "Gbps"});
    EXPECT_EQ(parse_text(kSend + "rate = 0\n", "").sends[0].rate, 0);
}

TEST(Choice, IsCheckedAndTheChoicesListed) {
    expect_error(kReceive + "poll = \"sleepy\"\n", {"a.toml:9:8", "`sleepy`", "busy, adaptive or interrupt"});
    expect_error(kReceive + "heaps.on_full = \"drop-newest\"\n",
                 {"`drop-newest`", "did you mean `drop_newest`"});
    expect_error(kReceive + "sink.kind = \"disk\"\n",
                 {"`disk`", "null, verify, file, raw, zarr, hdf5 or dada"});
    expect_error(kReceive + "sink = {kind = \"null\", on_error = \"go on\"}\n", {"`go on`", "stop or end"});
    expect_error(kSend + "zero_copy = \"yes\"\n", {"`yes`", "auto, always or never"});
}

TEST(MissingKey, IsNamedWithAnExample) {
    expect_error("version = 1\n[[port]]\ndevice = \"x\"\n",
                 {"a.toml:2:1", "[[port]] has no `name`", "name = \"p0\""});
    expect_error("version = 1\n[[port]]\nname = \"x\"\n", {"a.toml:2:1", "[[port]] has no `device`"});
    expect_error(kPort + "[[receive]]\nport = \"p0\"\n", {"a.toml:5:1", "[[receive]] has no `name`"});
    expect_error(kPort + "[[receive]]\nname = \"s0\"\n", {"[[receive]] has no `port`", "port = \"p0\""});
    expect_error(kPort + "[[receive]]\nname = \"s0\"\nport = \"p0\"\n",
                 {"[[receive]] has no `endpoints`", "239.1.2.3:7148"});
    expect_error(kPort + "[[send]]\nname = \"s0\"\nport = \"p0\"\n", {"[[send]] has no `endpoints`"});
    expect_error(kReceive + "[receive.sink]\n", {"[receive.sink] has no `kind`"});
}

TEST(Endpoints, AWrongOneIsPlacedAtItsText) {
    expect_error(kPort + R"([[receive]]
name = "s0"
port = "p0"
endpoints = [
  "239.1.2.3:7148",
  "239.1.2.300:7148",
])",
                 {"a.toml:10:3", "`239.1.2.300:7148`", "`300`", "above 255"});
}

TEST(LogLevel, AWrongOneIsPlaced) {
    expect_error("version = 1\n[runtime]\nlog_level = \"loud\"\n", {"a.toml:3:13", "`loud`", "debug"});
    expect_error("version = 1\n[runtime]\nlog_level = \"\"\n", {"a.toml:3:13", "``"});
    expect_error("version = 1\n[runtime]\nmetrics = \"here:x\"\n", {"a.toml:3:11", "`here`"});
    expect_error("version = 1\n[runtime]\nmetrics = \"127.0.0.1:x\"\n",
                 {"a.toml:3:11", "`x`", "127.0.0.1:9100"});
}

TEST(SecondTable, ErrorsPointIntoTheRightOne) {
    expect_error(
        kReceive +
            "[[receive]]\nname = \"s1\"\nport = \"p0\"\nendpoints = [\"239.1.2.4:7148\"]\nmax_poll = 0\n",
        {"a.toml:13:12"});
}

}  // namespace
}  // namespace spead::config
