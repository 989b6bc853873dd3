// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "config/key_field.hpp"
#include "config/keys/tables.hpp"
#include "config/limits.hpp"
#include "config/pattern_rules.hpp"
#include "port/impairments.hpp"
#include "send/heap_layout.hpp"

namespace spead::config::keys {

namespace {

using runtime::SendPlan;

/// Sets the pattern and its sizes. Keys of the sizes stand behind it in the table: in a file and on the
/// command line they change what the pattern has set.
void set_pattern(Part part, const Value& value, const Where& where) {
    SendPlan& plan = *std::get<SendPlan*>(part);
    refuse_beam(std::get<std::string>(value), where(""));
    field_detail::set<&SendPlan::pattern>(part, value, where);
    if (plan.pattern == HeapPattern::none)
        return;
    constexpr std::uint32_t kLeastInFlight = 64;
    const PatternShape& shape = shape_of(plan.pattern);
    const auto pointers = static_cast<std::uint32_t>(pattern_items(plan.pattern, {}).count + 1);
    plan.heap_size = shape.heap_bytes;
    plan.max_packet_size = send::kPacketPrefix + pointers * 8 + shape.packet_payload;
    // Large heaps would take too much memory; the heaps of all antennas travel together.
    plan.max_heaps = plan.pattern == HeapPattern::p4 ? 4 : std::max(kLeastInFlight, 2 * shape.senders);
    plan.address_bits = kPatternAddressBits;
}

constexpr Field kPattern{KeyType::choice, field_detail::kNames<HeapPattern>,
                         &field_detail::get<&SendPlan::pattern>, &set_pattern};

constexpr std::array kSendKeys{
    Key{
        .name = "name",
        .field = text<&SendPlan::name>,
        .required = true,
        .example = "\"d0\"",
        .help = "Names the sender in reports",
    },
    Key{
        .name = "port",
        .field = text<&SendPlan::port>,
        .required = true,
        .example = "\"p0\"",
        .option = "--port",
        .help = "Names the port that sends",
    },
    Key{
        .name = "endpoints",
        .field = endpoint_list<&SendPlan::endpoint_texts, &SendPlan::endpoints>,
        .required = true,
        .example = "[\"239.1.2.3:7148\"]",
        .option = "ENDPOINT",
        .help = "Lists destinations; heap i goes to endpoint i modulo their number",
    },
    Key{
        .name = "lcore",
        .field = cpu<&SendPlan::lcore>,
        .range = kCpu,
        .unset = "chosen",
        .option = "--lcore",
        .help = "Names the CPU whose lcore sends",
    },
    Key{
        .name = "dst_mac",
        .field = text<&SendPlan::dst_mac>,
        .unset = "looked up",
        .example = "\"02:00:00:00:00:05\"",
        .option = "--dst-mac",
        .word = "MAC",
        .help = "Sends unicast packets to this MAC address, the host's or router's",
    },
    Key{
        .name = "rate",
        .field = rate<&SendPlan::rate>,
        .range = kRate,
        .change = Change::immediate,
        .option = "--rate",
        .help = "Limits the UDP payload per second; 0 = unlimited",
    },
    Key{
        .name = "burst_size",
        .field = size<&SendPlan::burst_size>,
        .range = {1, std::int64_t{1} << 32},
        .change = Change::immediate,
        .option = "--burst-size",
        .help = "Sets the bytes that are sent between two readings of the clock",
    },
    Key{
        .name = "burst_rate_ratio",
        .field = real<&SendPlan::burst_rate_ratio>,
        .range = kBurstRateRatio,
        .change = Change::immediate,
        .option = "--burst-rate-ratio",
        .help = "Limits the rate of a late sender, as a multiple of its rate",
    },
    Key{
        .name = "pacer",
        .field = choice<&SendPlan::pacer>,
        .option = "--pacer",
        .help = "Lets the lcore or the port's hardware keep the rate",
    },
    Key{
        .name = "ttl",
        .field = integer<&SendPlan::ttl>,
        .range = {1, 255},
        .change = Change::immediate,
        .option = "--ttl",
        .help = "Sets the IP time to live; 1 stays in the local network",
    },
    Key{
        .name = "dscp",
        .field = integer<&SendPlan::dscp>,
        .range = {0, 63},
        .change = Change::immediate,
        .option = "--dscp",
        .help = "Sets the class of the packets (DSCP, RFC 2474)",
    },
    Key{
        .name = "pattern",
        .field = kPattern,
        .terse = true,
        .option = "--pattern",
        .help = "Sends heaps with the items, sizes and order of a telescope",
    },
    Key{
        .name = "senders",
        .field = integer<&SendPlan::senders>,
        .range = {0, PatternHeap::kSenders},
        .terse = true,
        .option = "--senders",
        .help = "Sets the polarisations (p1) or antennas of the pattern; 0 = all",
    },
    Key{
        .name = "first_time",
        .field = integer<&SendPlan::first_time>,
        .range = {0, (std::int64_t{1} << 48) - 1},
        .terse = true,
        .option = "--first-time",
        .help = "Sets the pattern's first time, in steps from heap to heap",
    },
    Key{
        .name = "max_packet_size",
        .field = integer<&SendPlan::max_packet_size>,
        .range = kSendPacket,
        .unset = "1472; of IPv6 1452",
        .option = "--max-packet-size",
        .help = "Limits the UDP payload of a packet, in bytes",
    },
    Key{
        .name = "heap_size",
        .field = size<&SendPlan::heap_size>,
        .range = kHeapSize,
        .option = "--heap-size",
        .help = "Sets the total size of a heap's items",
    },
    Key{
        .name = "items",
        .field = integer<&SendPlan::items>,
        .range = {1, 1048576},
        .option = "--items",
        .help = "Sets the items of a heap",
    },
    Key{
        .name = "repeat_items",
        .field = flag<&SendPlan::repeat_items>,
        .terse = true,
        .option = "--repeat-items",
        .help = "Puts a heap's items in each of its packets, not only the first",
    },
    Key{
        .name = "heaps",
        .field = integer<&SendPlan::heaps>,
        .range = {-1, INT64_MAX},
        .change = Change::immediate,
        .option = "--heaps",
        .help = "Ends the sender after this many heaps; -1 = never",
    },
    Key{
        .name = "max_heaps",
        .field = integer<&SendPlan::max_heaps>,
        .range = kInFlight,
        .option = "--max-heaps",
        .help = "Limits the heaps in flight",
    },
    Key{
        .name = "timeout",
        .field = seconds<&SendPlan::timeout>,
        .range = kTime,
        .off_word = true,
        .help = "Gives a heap up that is not sent within this time",
    },
    Key{
        .name = "first_count",
        .field = integer<&SendPlan::first_count>,
        .range = {0, kMaxHeapCount},
        .option = "--first-count",
        .help = "Sets the heap count of the first heap",
    },
    Key{
        .name = "count_step",
        .field = integer<&SendPlan::count_step>,
        .range = {1, kMaxHeapCount},
        .option = "--count-step",
        .help = "Sets the step from one heap count to the next",
    },
    Key{
        .name = "addr_bits",
        .field = integer<&SendPlan::address_bits>,
        .range = {8, 56},
        .option = "--addr-bits",
        .help = "Sets XX of the flavour SPEAD-64-XX",
    },
    Key{
        .name = "zero_copy",
        .field = choice<&SendPlan::zero_copy>,
        .option = "--zero-copy",
        .help = "Sends straight from the heaps' memory, or copies",
    },
    Key{
        .name = "verify",
        .field = flag<&SendPlan::verify>,
        .option = "--verify",
        .help = "Sends the verification sequence, which a verify sink checks",
    },
    Key{
        .name = "udp_checksum",
        .field = flag<&SendPlan::udp_checksum>,
        .option = "--udp-checksum",
        .help = "Fills in UDP checksums rather than 0",
    },
    Key{
        .name = "impair",
        .field = text<&SendPlan::impair>,
        .unset = "nothing",
        .example = "\"loss=1%,reorder=10,seed=7\"",
        .option = "--impair",
        .word = "WHAT",
        .help = "Loses, repeats, reorders, delays or corrupts packets on purpose",
        .check = [](const std::string& impair,
                    const std::string& where) { port::Impairments::parse(impair, where); },
    },
    Key{
        .name = "from",
        .field = text<&SendPlan::from>,
        .unset = "made",
        .example = "\"/data/out\"",
        .option = "--from",
        .word = "DIR|FILE.raw",
        .help = "Sends what a file, raw or zarr sink has written",
    },
    Key{
        .name = "copy_of",
        .field = text<&SendPlan::copy_of>,
        .unset = "no copy",
        .example = "\"d0\"",
        .help = "Sends the heaps of this sender on a second path, in step",
    },
    Key{
        .name = "enabled",
        .field = flag<&SendPlan::enabled>,
        .change = Change::immediate,
        .help = "Sends heaps; false = not until it is started at the prompt",
    },
};

}  // namespace

std::span<const Key> send() {
    return kSendKeys;
}

}  // namespace spead::config::keys
