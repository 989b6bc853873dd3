// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/privileges.hpp"
#include "port/capabilities.hpp"
#include "port/machine.hpp"
#include "port/pci_device.hpp"
#include "port/sizes.hpp"
#include "port/steering.hpp"

namespace spead::gather {
class Engine;
}

/// Declares the interface of a family of poll-mode drivers to lib/port. The families are in drivers/, one
/// small file each, and are found through an explicit table (drivers/table.hpp), because linkers drop static
/// registration.
///
/// Everything here is control code: main thread only, may throw spead::Error.
namespace spead::port {

class BufferLoans;

/// Says whether a feature of some devices is requested.
enum class UseDevice : std::uint8_t { never, if_it_can, must };

/// Holds the configuration's request for a port. Packet sizes are bytes of UDP payload over IPv4. Packets of
/// IPv6 with the same payload are longer, and count as that much more. 0 means "none" or "the default".
struct PortRequest {
    std::string name;  ///< its name in the configuration, used in reports and errors
    /// Holds a vdev string ("net_memif0,role=client"), netdev, IP address of one, PCI address, or RDMA
    /// device; see device_name.hpp.
    std::string device;
    std::uint32_t mtu = 0;  ///< largest IP packet; 0: what max_tx_packet needs
    std::uint16_t rx_queues = 1;
    bool fewer_queues_do = false;  ///< plan_ports() lowers rx_queues to what the driver grants
    std::uint16_t tx_queues = 0;
    std::uint32_t max_rx_packet = 9200;  ///< largest UDP payload to receive
    std::uint32_t max_tx_packet = 0;     ///< largest UDP payload that will be sent; 0: nothing is sent
    bool ipv6 = false;                   ///< packets of IPv6 are among them
    std::optional<std::uint16_t> vlan;   ///< rules let in only packets of this VLAN; none: tagged or not
    bool interrupts = false;             ///< an lcore wants to sleep until a packet comes
    /// Limits the mbufs that filters and lcores without a queue of their own may keep; each pool gets that
    /// many more.
    std::uint32_t held_mbufs = 0;
    /// Limits the mbufs that engines which move payload may keep; each pool gets that many more.
    std::uint32_t gathered_mbufs = 0;
    /// Limits the mbufs that heaps may refer to instead of being copied; each pool gets that many more.
    std::uint32_t lent_mbufs = 0;
    /// Limits the datagrams in the making from IP fragments; each pool has buffers for their fragments. 0:
    /// none.
    std::uint32_t reassembled_datagrams = 0;
    /// Holds the first bytes of a received packet that lie in memory of the CPU; the rest lies in that of
    /// PlannedPort::payload_engine. 0: packets stay whole.
    std::uint32_t split = 0;
    UseDevice timestamps = UseDevice::never;  ///< arrival times of the device
    UseDevice send_on_time = UseDevice::never;
    std::size_t buffer_size = 0;  ///< bytes of packets a receive queue should hold (`--buffer-size`)
    /// Says that EAL's --vdev or -a makes the device: `device` then holds all its arguments and a plan may
    /// not add any.
    bool exists = false;

    /// Returns the payload as its user names it: over IPv6, if there are such packets.
    std::uint32_t named(std::uint32_t payload) const {
        return payload - (ipv6 ? std::min(payload, kIpv6More) : 0);
    }
};

/// Describes a finite source behind one receive queue of the device.
struct SourceFile {
    std::string path;
    std::uint64_t packets = 0;         ///< whole records, all of them delivered before the source ends
    std::uint32_t largest_packet = 0;  ///< bytes
    bool truncated = false;            ///< the file ends inside record `packets` + 1
};

/// Describes the pools of a receive queue whose packets are cut (port/split_sizes.hpp). Where the card cuts,
/// `headers` are the queue's own pool.
struct SplitSizes {
    std::uint32_t at = 0;  ///< bytes that stay with the CPU
    Splitting by = Splitting::none;
    QueueSizes headers;
    QueueSizes payload;  ///< `pool_bytes`: without the data, which lie in memory of a device

    /// Returns the memory of the device for one queue.
    std::size_t device_bytes() const { return std::size_t{payload.mbufs} * payload.data_room; }
    /// Returns the EAL memory of the queue's pools beside PreparedDevice::rx.
    std::size_t more_eal_bytes() const {
        return payload.pool_bytes + (by == Splitting::software ? headers.pool_bytes : 0);
    }
};

/// Describes the MTU of the network interface behind a port, and its effect on the requested packets.
struct MtuAdvice {
    std::string text;     ///< empty: no such interface, or its MTU does not matter to its driver
    std::string command;  ///< lets more of the packets through; empty: none is needed, or none would help
    bool enough = true;   ///< all of the packets fit
};

/// Holds a driver's plan for a request, before the device exists.
struct PreparedDevice {
    std::string name;              ///< EAL's name of the device: "net_memif0"
    std::string devargs;           ///< complete string for rte_dev_probe
    std::string netdev;            ///< the kernel's interface behind it, empty when there is none
    std::string peer_netdev;       ///< the kernel's interface at the other end (net_tap), else empty
    bool own_mac = false;          ///< the device reports the MAC address of its peer: Port takes another
    std::uint32_t eal_mtu = 0;     ///< value for rte_eth_conf.rxmode.mtu; 0 leaves EAL's default
    std::uint32_t netdev_mtu = 0;  ///< set by apply() on the netdev; 0: unchanged
    MtuAdvice mtu_advice;          ///< among the remarks, too, where it is not enough
    std::uint16_t rx_queues = 0;   ///< of the device; may be more than were asked for (Port merges them)
    std::uint16_t tx_queues = 0;   ///< of the device; may be more than were asked for (the surplus is idle)
    /// Counts the pools: one per requested receive queue, or one for unread queues; one per queue of the
    /// device if a PMD does not let queues share.
    std::uint16_t rx_pools = 0;
    std::uint32_t rx_slot = 0;  ///< bytes of an mbuf in a receive pool without gaps; 0: any layout will do
    std::uint32_t rx_kept = 0;  ///< mbufs of each receive pool that the PMD may keep when it is closed
    bool pci = false;           ///< a card: EAL needs its PCI bus and huge pages
    bool shares_eal_memory = false;      ///< its peer maps EAL's memory, which may be 8 files at most
    bool physical_addresses = false;     ///< the card reads memory past any IOMMU: EAL's --iova-mode=pa
    bool connects_when_started = false;  ///< looks for its peer only then, and not again after losing it
    bool listens = false;                ///< makes a socket for its peer when opened, for this user only
    /// Says that isolation requested before the queues are set up is accepted without effect.
    bool isolates_with_queues = false;
    /// Holds the capabilities that the device needs after its start: to be opened again when its interface
    /// returns, for rules, to restore changes of apply(). The program drops the others.
    Privileges kept;
    Capabilities capabilities;  ///< declared(), refined by this device's arguments
    QueueSizes rx;              ///< one receive queue and its pool
    /// Describes one transmit queue. `descriptors` packets may stay inside the driver after tx_burst took
    /// them. `mbufs` is the need of a sender's pool so that it does not run dry, `data_room` the need of one
    /// whole packet.
    QueueSizes tx;
    std::optional<SplitSizes> split;  ///< none: packets stay whole
    std::size_t device_bytes = 0;     ///< EAL memory the device takes besides the pools
    std::size_t outside_bytes =
        0;  ///< memory it takes outside EAL: the kernel's rings, memory shared with a peer
    std::vector<SourceFile> sources;   ///< one per receive queue of the device when it is finite, else empty
    std::vector<std::string> inputs;   ///< files read, whether the source is finite or not
    std::vector<std::string> outputs;  ///< files written, one per transmit queue of the device; may be empty
    std::vector<std::string> remarks;  ///< for the user (an MTU raised), with the port's name
    std::uint32_t netdev_mtu_before = 0;  ///< written by apply(), read by released()
    std::shared_ptr<void> held;           ///< written by apply(): the driver's data until released()

    /// Returns the EAL memory for this port: `-m` is the sum over all ports plus the needs of senders and
    /// queues.
    std::size_t eal_bytes() const {
        return device_bytes + rx_pools * (rx.pool_bytes + (split ? split->more_eal_bytes() : 0));
    }
};

class Driver {
  public:
    virtual ~Driver() = default;

    /// Returns the PMD name as in the vdev string without its number: "net_ring".
    virtual std::string_view name() const = 0;
    /// Returns EAL's older name of the PMD ("eth_ring"); empty when there is none.
    virtual std::string_view alias() const { return {}; }
    /// Returns whether attaching and starting log misleading errors in EAL's log even when they succeed.
    virtual bool complains() const { return false; }
    /// Returns the best capabilities of this family; lib/port masks them with the device's report.
    virtual Capabilities declared() const = 0;
    /// Returns how many of the wanted receive queues (one per lcore) the device can use well, at least 1 when
    /// any is wanted; plan() then gets that number. If there are fewer, the remaining lcores work behind the
    /// first queue's.
    virtual std::uint16_t grant_queues(const PortRequest& request) const {
        const bool one = !steers_by_queue(declared().steering);
        return request.rx_queues > 1 && one ? std::uint16_t{1} : request.rx_queues;
    }
    /// Checks name, file, interface and privilege, and translates MTU and sizes into devargs. Changes
    /// nothing, works before EAL is initialised. Throws Error naming the port, the cause and the fix.
    virtual PreparedDevice plan(const PortRequest& request) const = 0;
    /// Makes the changes outside the process that the plan needs (a netdev's MTU). Throws Error; then nothing
    /// has been changed.
    virtual void apply(PreparedDevice&) const {}
    /// Sets properties that need the device to exist, between rte_dev_probe and configure. Throws Error.
    virtual void attached(const PreparedDevice&) const {}
    /// Returns the mbuf flags of packets with memory of a GPU, which keep the PMD from reading that. Called
    /// before the device is configured, if it may send such packets. Throws Error.
    virtual std::uint64_t device_memory_flags() const { return 0; }
    /// Cleans up for the PMD, between stop and rte_eth_dev_close. For devices that need a peer it runs in
    /// EAL's interrupt thread.
    virtual void closing(const PreparedDevice&) const noexcept {}
    /// Undoes apply() after the device is removed.
    virtual void released(const PreparedDevice&) const noexcept {}
    /// Returns, for devices that need a peer, why none is connected (for example because it is not trusted),
    /// for the user; an empty text if none has come yet; none: one is connected. Called before every start.
    virtual std::optional<std::string> why_no_peer(const PreparedDevice&) const { return {}; }
    /// Makes the rules of a device whose steering is not rte_flow; called between rte_eth_dev_start and the
    /// first rule, at every start. Null if there is only the software classifier.
    virtual std::unique_ptr<RuleTable> make_rules(const PreparedDevice&) const { return nullptr; }
    /// Returns whether the family is of PCI cards; the device is then a PCI address, and name() only the
    /// family's.
    virtual bool pci() const { return false; }
    /// Returns whether this family drives such a card with its present binding. PCI families only.
    virtual bool drives(const PciDevice&) const { return false; }
    /// Returns how well this family suits any network interface of the kernel, whatever its card; 0: not at
    /// all. The highest that does not decline is taken.
    virtual int netdev_rank() const { return 0; }
    /// Returns why this family declines a named network interface of the kernel (privilege, packet size,
    /// features of the kernel), for the user; empty: it takes it.
    virtual std::string why_not(const PortRequest&, const std::string& /*netdev*/) const { return {}; }
    /// Returns the device string of a network interface of the kernel, with the text after its name
    /// ("eth0,key=value"): a vdev string without number, or a PCI address. Called only if the family takes
    /// the interface.
    virtual std::string translate(std::string_view /*netdev*/) const { return {}; }
    /// Returns the packets that the kernel lost in front of the device since the last call, if the PMD does
    /// not count them.
    virtual std::uint64_t take_missed(const PreparedDevice&) const { return 0; }
    /// Returns why the file behind transmit queue `queue` does not hold the `packets` packets and `bytes`
    /// bytes that the PMD took since the last start; empty when it does or when there is no file.
    virtual std::string output_problem(const PreparedDevice&, std::uint16_t /*queue*/,
                                       std::uint64_t /*packets*/, std::uint64_t /*bytes*/) const {
        return {};
    }
    /// Returns, for devices that need a peer, the descriptors of this process's connections to it. An event
    /// on one of them means that the peer is leaving, and with it the memory that bursts use.
    virtual std::vector<int> connections(const PreparedDevice&) const { return {}; }
    /// Returns descriptors, one per receive queue of the started device, that are readable whenever packets
    /// wait there. For PMDs that have them and no interrupts. None: use ethdev's receive interrupts.
    virtual std::optional<std::vector<int>> event_descriptors(const PreparedDevice&) const { return {}; }
    /// Returns how many packets that tx_burst took still wait for a peer to fetch them; stopping now would
    /// lose them.
    virtual std::uint64_t unfetched(const PreparedDevice&) const { return 0; }
};

/// Returns the family by the device string's name (`net_ring0,...` -> net_ring, `eth_ring0` too); null if
/// none fits. Cards have no such names.
const Driver* find_driver(std::span<const Driver* const> table, std::string_view device);

using AddQueues = std::function<void(const Driver& driver, PortRequest& request)>;

/// Holds a request whose device has been found and planned.
struct PlannedPort {
    PortRequest request;  ///< `device` completed: a translated name, a number for a bare driver name
    const Driver* driver = nullptr;
    PreparedDevice device;
    /// Holds the loans of its buffers, of every device that is opened for it; null: heaps are copied.
    std::shared_ptr<BufferLoans> loans{};
    /// Makes the memory that payload is received into, where packets are cut.
    std::shared_ptr<gather::Engine> payload_engine{};
};

/// Plans all ports of a run; changes nothing, works before EAL is initialised (`--check`, EAL's `-m`).
///
/// `eal_devices` are the values of EAL's --vdev and -a options: a port named like one of them is that device.
/// A driver name without number gets the lowest one that is free, and not among `in_use`, the names of
/// devices that are open. Throws Error for an unknown device (see name_device), and when two ports are one
/// device or one netdev.
///
/// `add_queues` may raise a request's queues and packet sizes once its family is known.
std::vector<PlannedPort> plan_ports(std::span<const PortRequest> requests,
                                    std::span<const Driver* const> table,
                                    std::span<const std::string> eal_devices = {},
                                    const Machine& machine = this_machine(), const AddQueues& add_queues = {},
                                    std::span<const std::string> in_use = {});

/// Returns "port p0", for the `where` of errors.
std::string where(const PortRequest& request);

}  // namespace spead::port
