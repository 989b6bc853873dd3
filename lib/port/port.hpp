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

/// Source address of packets that leave a port without an IPv4 address of its own (files, rings, memif, a
/// netdev without address): TEST-NET-1 of RFC 5737, which no network routes.
inline constexpr Ipv4 kFallbackAddress{0xC0000201};  // 192.0.2.1

/// One Ethernet port, from attaching the device to removing it.
///
/// Control world: one thread at a time (the control executor) calls everything here, except the queues, which
/// belong to their lcores between start() and stop(). Order: open, start, lcores poll, lcores joined, stop,
/// close. Members that throw throw spead::Error with the port's name, the cause and the remedy.
class Port {
  public:
    /// Finds the driver, plans, applies, attaches the device (rte_dev_probe; one that EAL's --vdev made is
    /// adopted), configures it, makes one pool per receive queue and sets the queues up. Not started. A
    /// second Port on a device or netdev that is open is refused. On failure everything done so far is
    /// undone.
    static std::unique_ptr<Port> open(const PortRequest& request, std::span<const Driver* const> table);
    /// The same for a port that plan_ports() has planned, so that its files are not scanned twice.
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
    /// stop(), then closes and removes the device, frees the pools and undoes what open changed outside the
    /// process. Does nothing when closed. A pool that still lacks mbufs is left alone and remarked. Never
    /// throws.
    void close() noexcept;

    bool started() const noexcept;

    /// Steers an endpoint, between start() and stop(); before its group is joined. Does nothing where only
    /// the software classifier steers. Throws when the device refuses.
    void add_rule(const Rule& rule);
    /// Where the device is isolated: has IGMP and ARP put into the queue, for a host of our own. Between
    /// start() and stop(). Throws when the device refuses.
    void add_host_rules(std::uint16_t queue);
    /// After its group was left. Does nothing when there is no such rule.
    void remove_rule(const Endpoint& endpoint);
    /// In the order in which they were added; empty where only the software classifier steers.
    std::vector<RuleState> rules() const;
    /// RuleTable::passed() of the rules; empty where only the software classifier steers.
    std::vector<PassedPackets> passed() const;

    /// Devices with a peer (memif) carry nothing until this has found it: tries again to start a client that
    /// waits for its server, and lets the queues run once the peer is connected. Warns, once, when somebody
    /// has put the rules out of force. Cheap; for the control executor's timer, about every 100 ms, on every
    /// port. Returns link_up().
    bool poll_link();
    /// The netdev has a carrier, the memif peer is connected, or the PMD says so. False when not started.
    bool link_up() const;
    /// The netdev it was opened on, or has made (net_tap), if that is no longer there: removed, renamed, or
    /// in another namespace. Empty when all is well or there is none.
    std::string missing_netdev() const;

    /// Queue i of those asked for (not of the device: surplus device queues are merged in). Valid until
    /// close(), to be called by one lcore at a time and only between start() and stop().
    RxQueue rx_queue(std::uint16_t i) const;
    TxQueue tx_queue(std::uint16_t i) const;
    /// What to wait for instead of polling receive queue i; nothing where the port cannot, or was not asked
    /// for interrupts. Between start() and stop().
    RxEvents rx_events(std::uint16_t i) const;
    /// Pool of receive queue i; its mbufs must all be freed before close().
    rte_mempool* rx_pool(std::uint16_t i) const;

    const Capabilities& capabilities() const noexcept;
    /// Where packets say when they came, if that was asked for and the port can; else null. Valid as long as
    /// the port.
    const ArrivalTimes* arrivals() const noexcept;
    /// How to have packets sent at a time; without a clock where that was not asked for or the port cannot.
    const SendTimes& send_times() const noexcept;
    const MacAddress& mac() const noexcept;
    /// IPv4 address of the netdev, else kFallbackAddress.
    Ipv4 source_address() const noexcept;

    const std::string& name() const noexcept;         ///< the configuration's
    const std::string& device_name() const noexcept;  ///< EAL's: "net_ring0"
    const std::string& devargs() const noexcept;      ///< what the device was attached with
    std::string driver_name() const;                  ///< "net_ring"
    const std::string& netdev() const noexcept;       ///< empty when the kernel does not see it
    unsigned if_index() const noexcept;               ///< of the netdev; 0 when there is none
    std::uint16_t port_id() const noexcept;           ///< ethdev's
    rte_device* device() const noexcept;              ///< null after close()
    int socket_id() const noexcept;                   ///< NUMA node, or SOCKET_ID_ANY (-1)

    /// As set up: descriptors after the device's own adjustment.
    const QueueSizes& rx_sizes() const noexcept;
    const QueueSizes& tx_sizes() const noexcept;
    /// "p0 (net_ring0): receive 1 x ..., transmit 1 x ..."
    std::string sizes() const;
    /// Lines to tell the user, each with the port's name: the plan's first, then what happened since (a
    /// source that ended early, mbufs not returned).
    const std::vector<std::string>& remarks() const noexcept;

    /// The device's own counts since open; after close() the last ones.
    stats::NicSnapshot nic() const;

    /// Finite sources only (else false): every record has been delivered. May be called while lcores poll.
    bool exhausted() const noexcept;
    /// Names each source file that ends inside a record, or delivered fewer records than it held when it was
    /// opened. The run should not end with status 0 unless there is none. May be called while lcores poll.
    std::vector<std::string> source_problems() const;

    /// Checks that the files written hold what was sent (net_pcap counts packets that a full disk lost as
    /// sent). Empty when all is well. May be called while lcores send; exact after stop().
    std::string output_problem() const;
    /// Throws Error with output_problem() unless that is empty.
    void verify_output() const;

  private:
    struct State;
    explicit Port(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace spead::port
