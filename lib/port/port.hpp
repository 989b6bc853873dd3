// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "port/capabilities.hpp"
#include "port/driver.hpp"
#include "port/port_io.hpp"
#include "port/rx_events.hpp"
#include "port/steering.hpp"
#include "port/timestamps.hpp"
#include "stats/snapshot.hpp"

struct rte_mempool;
struct rte_device;

namespace spead::port {

using spead::MacAddress;

/// Holds the source address of packets from a port without an IPv4 address of its own (files, rings, memif, a
/// netdev without address): TEST-NET-1 of RFC 5737, which no network routes.
inline constexpr Ipv4 kFallbackAddress{0xC0000201};  // 192.0.2.1

/// Owns one Ethernet port, from attaching the device to removing it.
///
/// Control code: one thread at a time (the control executor) calls everything here, except the queues, which
/// belong to their lcores between start() and stop(). Order: open, start, lcores poll, lcores joined, stop,
/// close. Members that throw throw spead::Error with the port's name, the cause and the fix.
class Port {
  public:
    /// Finds the driver, plans, applies, attaches the device (rte_dev_probe; one that EAL's --vdev made is
    /// adopted), configures it, makes one pool per receive queue and sets the queues up. Does not start it.
    /// Refuses a second Port on an open device or netdev. On failure everything done so far is undone.
    static std::unique_ptr<Port> open(const PortRequest& request, std::span<const Driver* const> table);
    /// Does the same for a port that plan_ports() has planned, so that its files are not scanned twice.
    static std::unique_ptr<Port> open(const PlannedPort& planned);

    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// Starts the device; does nothing when it is started. A memif client whose server is not there yet is
    /// left waiting (see poll_link) and its queues carry nothing; every other failure throws.
    void start();
    /// Stops the device; does nothing when it is stopped. No lcore may be inside a queue. Waits (at most two
    /// seconds without progress) until a memif peer has fetched what was sent; frees packets left in a
    /// net_ring, whose external-buffer callbacks then run in this thread.
    void stop();
    /// Calls stop(), then closes and removes the device, frees the pools and undoes the changes of open
    /// outside the process. Does nothing when closed. If a pool still lacks mbufs, it is kept, with a remark.
    /// While buffers may be lent, the port's BufferLoans keep its pools instead.
    /// Never throws.
    void close() noexcept;

    bool started() const noexcept;

    /// Steers an endpoint, between start() and stop(); before its group is joined. Does nothing where only
    /// the software classifier steers. Throws when the device refuses.
    void add_rule(const Rule& rule);
    /// Steers IGMP, ARP, MLD and NDP into the queue if the device is isolated, for a host of our own. Between
    /// start() and stop(). Throws when the device refuses.
    void add_host_rules(std::uint16_t queue);
    /// Asks again for the rule for MLD and NDP if the device refused it, and the port did not need it: a host
    /// of our own uses IPv6 from now on. Between start() and stop(). Throws when the device refuses.
    void use_ipv6();
    /// Removes the rule after its group was left. Does nothing when there is no such rule.
    void remove_rule(const Endpoint& endpoint);
    /// Returns the rules in the order in which they were added; empty if only the software classifier steers.
    std::vector<RuleState> rules() const;
    /// Returns RuleTable::passed() of the rules; empty if only the software classifier steers.
    std::vector<PassedPackets> passed() const;

    /// Follows the peer of a device that needs one (memif): tries again to start a client that waits for its
    /// server, and lets the queues run once the peer is connected. Warns, once, when another program has
    /// disabled the rules. Cheap; call it from the control executor's timer, about every 100 ms, on every
    /// port. Returns link_up().
    bool poll_link();
    /// Returns whether the netdev has a carrier, the memif peer is connected, or the PMD says so. False when
    /// not started.
    bool link_up() const;
    /// Returns the netdev that it was opened on, or has made (net_tap), if that has disappeared: removed,
    /// renamed, or in another namespace. Empty when it exists or there is none.
    std::string missing_netdev() const;

    /// Returns the requested queue i (not the device's: surplus device queues are merged in). Valid until
    /// close(), for one lcore at a time and only between start() and stop().
    RxQueue rx_queue(std::uint16_t i) const;
    TxQueue tx_queue(std::uint16_t i) const;
    /// Returns the events of receive queue i, instead of polling. They are empty where the port has none, or
    /// was not asked for interrupts. Between start() and stop().
    RxEvents rx_events(std::uint16_t i) const;
    /// Returns the pool of receive queue i; its mbufs must all be freed before close().
    rte_mempool* rx_pool(std::uint16_t i) const;

    const Capabilities& capabilities() const noexcept;
    /// Returns where packets have their arrival times, if these were requested and the port has them; else
    /// null. Valid as long as the port.
    const ArrivalTimes* arrivals() const noexcept;
    /// Returns how to send packets at a time; without a clock if that was not requested or the port cannot.
    const SendTimes& send_times() const noexcept;
    const MacAddress& mac() const noexcept;
    /// Returns the IPv4 address of the netdev, else kFallbackAddress.
    Ipv4 source_address() const noexcept;
    /// Returns that for packets of IPv6: an address of the interface, or else the link-local one that the MAC
    /// address gives (RFC 4291 2.5.1).
    Ipv6 source_address6() const noexcept;

    const std::string& name() const noexcept;         ///< the configuration's
    const std::string& device_name() const noexcept;  ///< EAL's: "net_ring0"
    const std::string& devargs() const noexcept;      ///< of the attached device
    std::string driver_name() const;                  ///< "net_ring"
    const std::string& netdev() const noexcept;       ///< empty when the kernel does not see it
    unsigned if_index() const noexcept;               ///< of the netdev; 0 when there is none
    std::uint16_t port_id() const noexcept;           ///< ethdev's
    rte_device* device() const noexcept;              ///< null after close()
    int socket_id() const noexcept;                   ///< NUMA node, or SOCKET_ID_ANY (-1)

    /// Returns the sizes as set up: descriptors after the device's own adjustment.
    const QueueSizes& rx_sizes() const noexcept;
    const QueueSizes& tx_sizes() const noexcept;
    /// Formats the sizes: "p0 (net_ring0): receive 1 x ..., transmit 1 x ..."
    std::string sizes() const;
    /// Returns remarks for the user, each with the port's name: the plan's first, then later events (a source
    /// that ended early, mbufs not returned).
    const std::vector<std::string>& remarks() const noexcept;

    /// Returns the device's own counts since open; after close() the last ones.
    stats::NicSnapshot nic() const;

    /// Returns whether every record of a finite source has been delivered; else false. May be called while
    /// lcores poll.
    bool exhausted() const noexcept;
    /// Names each source file that ends inside a record, or delivered fewer records than it held when it was
    /// opened. If there is one, the run should not end with status 0. May be called while lcores poll.
    std::vector<std::string> source_problems() const;

    /// Checks that the written files hold all sent packets (net_pcap counts packets that a full disk lost as
    /// sent). Empty when they do. May be called while lcores send; exact after stop().
    std::string output_problem() const;
    /// Throws Error with output_problem() unless that is empty.
    void verify_output() const;

  private:
    struct State;
    explicit Port(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace spead::port
