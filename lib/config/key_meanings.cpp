// SPDX-License-Identifier: BSD-3-Clause
#include "config/key_meanings.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace spead::config {

namespace {

struct Meaning {
    std::string_view key;
    std::string_view words;
};

constexpr std::array kStreamKeys{
    Meaning{"name", "what it is called"},
    Meaning{"port", "the port that receives it"},
    Meaning{"endpoints", "its groups and ports"},
    Meaning{"lcores", "CPUs of the lcores that receive it"},
    Meaning{"poll", "what an lcore does when nothing comes"},
    Meaning{"max_poll", "empty polls before an lcore pauses"},
    Meaning{"max_packet_size", "largest UDP payload, in bytes"},
    Meaning{"buffer_size", "packets that the port's queue holds, in bytes"},
    Meaning{"substreams", "windows, by heap count modulo this number"},
    Meaning{"in_order", "take a heap's packets in order only"},
    Meaning{"stop_on_stop_item", "a stop item ends the stream"},
    Meaning{"filter", "keep only packets for which this holds"},
    Meaning{"held_buffers", "buffers that a filter may hold, per lcore"},
    Meaning{"expected_rate", "payload that should come, per second"},
    Meaning{"silent_after", "time without a packet until it is called silent"},
    Meaning{"loss_threshold", "share of lost heaps that is told of, 0 to 1"},
    Meaning{"enabled", "whether it is received"},
    Meaning{"heaps.max_live", "heaps open at once, per substream"},
    Meaning{"heaps.ring", "heaps that wait for the consumer"},
    Meaning{"heaps.max_bytes", "largest heap"},
    Meaning{"heaps.timeout", "time without a packet until a heap is given up"},
    Meaning{"heaps.history", "finished heap counts that are remembered"},
    Meaning{"heaps.history_time", "for how long they are"},
    Meaning{"heaps.on_full", "what is dropped when the queue is full"},
    Meaning{"sink.kind", "what becomes of heaps"},
    Meaning{"sink.directory", "where a file sink writes"},
    Meaning{"sink.on_error", "what a sink that cannot write ends"},
    Meaning{"capture.files", "pcap files, packets are dealt over them"},
    Meaning{"capture.rotate_size", "size at which the next file begins"},
    Meaning{"capture.rotate_seconds", "time after which the next file begins"},
    Meaning{"capture.snap_length", "bytes of a packet that are kept"},
    Meaning{"capture.count", "packets after which it is over; 0: no limit"},
    Meaning{"capture.duration", "time after which it ends; off: no limit"},
    Meaning{"capture.direct_io", "write past the page cache"},
    Meaning{"capture.buffer", "packets that wait for the disks, in bytes"},
    Meaning{"capture.only", "packets end in the capture; no heaps are made"},
};

constexpr std::array kSendKeys{
    Meaning{"name", "what it is called"},
    Meaning{"port", "the port that sends"},
    Meaning{"endpoints", "where heaps go, in turn"},
    Meaning{"lcore", "CPU of the lcore that sends"},
    Meaning{"dst_mac", "MAC address for unicast endpoints"},
    Meaning{"rate", "payload per second; 0: unlimited"},
    Meaning{"burst_size", "bytes between two looks at the clock"},
    Meaning{"burst_rate_ratio", "how much faster late packets catch up"},
    Meaning{"ttl", "time to live of the packets"},
    Meaning{"dscp", "class of the packets, 0 to 63"},
    Meaning{"max_packet_size", "largest UDP payload, in bytes"},
    Meaning{"heap_size", "payload of a heap"},
    Meaning{"items", "items in a heap"},
    Meaning{"heaps", "how many are sent; -1: for ever"},
    Meaning{"max_heaps", "heaps in flight"},
    Meaning{"first_count", "heap count of the first heap"},
    Meaning{"count_step", "from one heap count to the next"},
    Meaning{"addr_bits", "address bits of the SPEAD flavour"},
    Meaning{"zero_copy", "whether payload is sent from where it lies"},
    Meaning{"verify", "send the verification sequence"},
    Meaning{"impair", "what is done to its packets on purpose"},
    Meaning{"udp_checksum", "whether packets have a UDP checksum"},
    Meaning{"enabled", "whether it sends"},
    Meaning{"timeout", "time until an unsent heap is given up"},
    Meaning{"pacer", "who keeps the rate, the lcore or the port"},
};

std::string_view meaning(std::span<const Meaning> keys, std::string_view key) {
    const auto found = std::ranges::find(keys, key, &Meaning::key);
    return found == keys.end() ? std::string_view() : found->words;
}

}  // namespace

std::string_view meaning_of_stream_key(std::string_view key) {
    return meaning(kStreamKeys, key);
}

std::string_view meaning_of_send_key(std::string_view key) {
    return meaning(kSendKeys, key);
}

}  // namespace spead::config
