// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>
#include <string_view>

/// Every key of the file format, by table. docs/configuration.md explains them; anything else is an error.
namespace spead::config {

struct TableKeys {
    std::string_view table;  ///< as the user writes its head, without brackets
    bool list;               ///< [[table]] rather than [table]
    std::span<const std::string_view> keys;
};

namespace keys {
inline constexpr std::array<std::string_view, 7> kRoot{"version", "runtime", "memory", "port",
                                                       "receive", "send",    "end"};
inline constexpr std::array<std::string_view, 10> kRuntime{
    "name",      "main_cpu", "lcores",        "live",    "control",
    "log_level", "on_event", "lcore_timeout", "metrics", "capabilities"};
inline constexpr std::array<std::string_view, 1> kMemory{"heaps"};
inline constexpr std::array<std::string_view, 7> kPort{"name", "device",     "mtu",         "address",
                                                       "vlan", "timestamps", "udp_checksum"};
inline constexpr std::array<std::string_view, 20> kReceive{"name",
                                                           "port",
                                                           "endpoints",
                                                           "lcores",
                                                           "poll",
                                                           "max_poll",
                                                           "max_packet_size",
                                                           "buffer_size",
                                                           "substreams",
                                                           "in_order",
                                                           "stop_on_stop_item",
                                                           "filter",
                                                           "held_buffers",
                                                           "expected_rate",
                                                           "silent_after",
                                                           "loss_threshold",
                                                           "enabled",
                                                           "heaps",
                                                           "sink",
                                                           "capture"};
inline constexpr std::array<std::string_view, 9> kReceiveCapture{
    "files",    "rotate_size", "rotate_seconds", "snap_length", "count",
    "duration", "direct_io",   "buffer",         "only"};
inline constexpr std::array<std::string_view, 7> kReceiveHeaps{
    "max_live", "ring", "max_bytes", "timeout", "history", "history_time", "on_full"};
inline constexpr std::array<std::string_view, 3> kReceiveSink{"kind", "directory", "on_error"};
inline constexpr std::array<std::string_view, 25> kSend{
    "name",         "port",      "endpoints",       "lcore",
    "dst_mac",      "rate",      "burst_size",      "burst_rate_ratio",
    "ttl",          "dscp",      "max_packet_size", "heap_size",
    "items",        "heaps",     "max_heaps",       "first_count",
    "count_step",   "addr_bits", "zero_copy",       "verify",
    "udp_checksum", "enabled",   "timeout",         "pacer",
    "impair"};
inline constexpr std::array<std::string_view, 4> kEnd{"heaps", "duration", "idle_exit", "exit_on_stop"};
}  // namespace keys

inline constexpr std::array kTables{
    TableKeys{"receive.heaps", false, keys::kReceiveHeaps},
    TableKeys{"receive.sink", false, keys::kReceiveSink},
    TableKeys{"receive.capture", false, keys::kReceiveCapture},
    TableKeys{"receive", true, keys::kReceive},
    TableKeys{"send", true, keys::kSend},
    TableKeys{"port", true, keys::kPort},
    TableKeys{"end", false, keys::kEnd},
    TableKeys{"runtime", false, keys::kRuntime},
    TableKeys{"memory", false, keys::kMemory},
};

/// What people write from habit (the command line's option, an older or a likely name) and what it is called
/// here.
struct Alias {
    std::string_view habit;
    std::string_view here;
};
inline constexpr std::array kAliases{
    Alias{"max_heaps", "max_live in [receive.heaps]"},
    Alias{"ring_heaps", "ring in [receive.heaps]"},
    Alias{"max_heap_bytes", "max_bytes in [receive.heaps]"},
    Alias{"heap_timeout", "timeout in [receive.heaps]"},
    Alias{"packet", "max_packet_size"},
    Alias{"packet_size", "max_packet_size"},
    Alias{"buffer", "buffer_size"},
    Alias{"concurrent_heaps", "max_live in [receive.heaps]"},
    Alias{"address_bits", "addr_bits"},
    Alias{"interface", "device in [[port]]"},
    Alias{"recv", "[[receive]]"},
    Alias{"ports", "[[port]]"},
    Alias{"stream", "[[receive]] or [[send]]"},
    Alias{"streams", "[[receive]] or [[send]]"},
    Alias{"main", "main_cpu"},
    Alias{"cpus", "lcores"},
    Alias{"snaplen", "snap_length"},
    Alias{"file", "files in [receive.capture]"},
};

}  // namespace spead::config
