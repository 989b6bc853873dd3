// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "config/key_field.hpp"
#include "config/keys/tables.hpp"
#include "config/limits.hpp"

namespace spead::config::keys {

namespace {

using capture::Options;
using runtime::ReceivePlan;

constexpr std::array kCaptureKeys{
    Key{
        .name = "files",
        .field = texts<&ReceivePlan::capture, &Options::files>,
        .required = true,
        .example = "[\"s0.pcap\"]",
        .option = "FILE",
        .help = "Lists the pcap files; packets are distributed over them",
    },
    Key{
        .name = "rotate_size",
        .field = size<&ReceivePlan::capture, &Options::rotate_size>,
        .range = {0, std::int64_t{1} << 50},
        .option = "--rotate-size",
        .help = "Begins the next file at this size; 0 = never",
    },
    Key{
        .name = "rotate_seconds",
        .field = seconds<&ReceivePlan::capture, &Options::rotate_seconds>,
        .range = kTime,
        .off_word = true,
        .option = "--rotate-seconds",
        .help = "Begins the next file after this time of packets",
    },
    Key{
        .name = "snap_length",
        .field = integer<&ReceivePlan::capture, &Options::snap_length>,
        .range = {1, capture::kLongestRecord},
        .option = "--snaplen",
        .help = "Keeps this many bytes of each packet",
    },
    Key{
        .name = "count",
        .field = integer<&ReceivePlan::capture, &Options::count>,
        .range = {0, INT64_MAX},
        .option = "--count",
        .help = "Ends the capture after this many packets; 0 = no limit",
    },
    Key{
        .name = "duration",
        .field = seconds<&ReceivePlan::capture, &Options::duration>,
        .range = kTime,
        .off_word = true,
        .help = "Ends the capture after this time",
    },
    Key{
        .name = "direct_io",
        .field = flag<&ReceivePlan::capture, &Options::direct_io>,
        .option = "--direct-io",
        .help = "Bypasses the kernel's page cache (O_DIRECT)",
    },
    Key{
        .name = "buffer",
        .field = size<&ReceivePlan::capture, &Options::buffer>,
        .range = {std::int64_t{1} << 20, std::int64_t{1} << 40},
        .option = "--buffer",
        .help = "Limits the bytes of packets that wait for the disks",
    },
    Key{
        .name = "only",
        .field = flag<&ReceivePlan::capture, &Options::only>,
        .help = "Makes no heaps of the packets; they end in the capture",
    },
};

}  // namespace

std::span<const Key> receive_capture() {
    return kCaptureKeys;
}

}  // namespace spead::config::keys
