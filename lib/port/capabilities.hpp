// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spead::port {

enum class Steering : std::uint8_t { software, rte_flow, xdp_map, sockets };
/// Returns whether a rule puts the packets of its endpoint into one queue, and other rules into others.
constexpr bool steers_by_queue(Steering s) {
    return s == Steering::rte_flow || s == Steering::sockets;
}
/// Says how group membership is reported to the network: not at all (files, rings), by a kernel socket on the
/// port's netdev, by our own host (IGMP, MLD), where the kernel does not see the port, or by the sockets that
/// are the port's rules.
enum class Membership : std::uint8_t { none, kernel_socket, own_host, rules };

/// Says which arrival times a port's driver writes into mbufs.
enum class RxTimestamps : std::uint8_t {
    none,
    microseconds,  ///< since 1970, of a capture file's records
    device_clock   ///< RTE_ETH_RX_OFFLOAD_TIMESTAMP: ticks of the device, or UTC nanoseconds
};

/// Says who can cut received packets into headers and data, which then lie in memory of a device: nobody, the
/// card (RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT), or this program, for tests, on devices without hardware.
enum class Splitting : std::uint8_t { none, card, software };

/// Holds the capabilities of a port: the driver file's declaration, masked with the device's report.
struct Capabilities {
    Steering steering = Steering::software;
    Membership membership = Membership::none;
    bool isolation = false;  ///< rte_flow_isolate: packets without a rule stay with the kernel or are dropped
    /// Says that the device distributes flows (source, destination, ports) over its receive queues by itself,
    /// and keeps a flow on its queue. So packets of every endpoint may come from every queue.
    bool distributes_flows = false;
    bool spreads_sources = false;     ///< a rule may spread an endpoint's senders over several queues
    bool rx_interrupt = false;        ///< an lcore can sleep until a packet comes
    bool tx_multi_segment = false;    ///< a packet may be a chain of mbufs
    bool tx_external_buffer = false;  ///< an mbuf may point at registered user memory
    /// Says that an mbuf may point at memory of a GPU, too: the driver reads nothing behind the first
    /// segment.
    bool tx_device_memory = false;
    bool corrupts_chains = false;  ///< the device reports that it sends chains, but sends them wrong
    bool lossless = false;         ///< a full receiver pushes back instead of losing (pcap, ring, memif)
    bool finite = false;           ///< the source ends (a capture file); see Port::exhausted
    bool receives_own = false;     ///< sent packets come back on the same port (ring): fit for loopback
    bool trusts_peer =
        false;  ///< another process writes the lengths of received packets; the PMD believes it
    bool receives_only = false;  ///< it takes no packets to send
    bool counts_packets = true;  ///< the device's extended counters are of its packets
    bool needs_peer = false;  ///< carries nothing until another process connects (memif); see Port::poll_link
    /// Holds how many sent segments the driver may keep until more are sent (mlx5: 31). 0: freed promptly.
    std::uint16_t late_free_segments = 0;
    std::uint32_t max_rx_frame = 0;  ///< bytes, from destination MAC to the last byte before the FCS
    std::uint32_t max_tx_frame = 0;  ///< bytes, likewise
    /// Holds the longest frame that the link can have carried, VLAN tags included; 0: unknown. Longer ones,
    /// and those that the port had to cut to max_rx_frame, come from senders that rely on segmentation by
    /// their interface.
    std::uint32_t link_frame = 0;
    RxTimestamps rx_timestamps = RxTimestamps::none;
    /// Says that the device sends a packet at the time that is written into it
    /// (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP).
    bool send_on_time = false;
    Splitting splitting = Splitting::none;
    std::uint64_t rx_offloads = 0;  ///< RTE_ETH_RX_OFFLOAD_*, granted
    std::uint64_t tx_offloads = 0;  ///< RTE_ETH_TX_OFFLOAD_*, granted
    /// Holds the mbuf flags of packets with memory of a GPU (Driver::device_memory_flags).
    std::uint64_t tx_device_flags = 0;
};

constexpr std::string_view name_of(Splitting s) {
    switch (s) {
        case Splitting::card:
            return "yes";
        case Splitting::software:
            return "for tests";
        case Splitting::none:
            break;
    }
    return "-";
}

constexpr std::string_view name_of(Steering s) {
    switch (s) {
        case Steering::rte_flow:
            return "rte_flow";
        case Steering::xdp_map:
            return "xdp map";
        case Steering::sockets:
            return "sockets";
        case Steering::software:
            break;
    }
    return "software";
}

constexpr std::string_view name_of(RxTimestamps t) {
    switch (t) {
        case RxTimestamps::microseconds:
            return "of the file";
        case RxTimestamps::device_clock:
            return "device clock";
        case RxTimestamps::none:
            break;
    }
    return "-";
}

constexpr std::string_view name_of(Membership m) {
    switch (m) {
        case Membership::kernel_socket:
            return "kernel socket";
        case Membership::own_host:
            return "own host";
        case Membership::rules:
            return "its sockets";
        case Membership::none:
            break;
    }
    return "none";
}

}  // namespace spead::port
