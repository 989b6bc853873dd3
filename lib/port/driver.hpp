// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

/// What lib/port needs to know of one family of poll-mode drivers. The families live in drivers/, one small
/// file each, and are found through an explicit table (drivers/table.hpp), because linkers drop static
/// registration.
///
/// Everything here is control world: main thread only, may throw spead::Error.
namespace spead::port {

/// Whether something that only some devices can do is asked of them.
enum class UseDevice : std::uint8_t { never, if_it_can, must };

/// What the configuration asks of a port. Packet sizes are UDP payload bytes; 0 means "none" or "the
/// default".
struct PortRequest {
    std::string name;  ///< the configuration's name of it, used in reports and errors
    /// Vdev string ("net_memif0,role=client"), netdev, IP address of one, PCI address, RDMA device; see
    /// device_name.hpp.
    std::string device;
    std::uint32_t mtu = 0;  ///< largest IP packet; 0: what max_tx_packet needs
    std::uint16_t rx_queues = 1;
    bool fewer_queues_do = false;  ///< plan_ports() lowers rx_queues to what the driver grants
    std::uint16_t tx_queues = 0;
    std::uint32_t max_rx_packet = 9200;  ///< largest UDP payload to receive
    std::uint32_t max_tx_packet = 0;     ///< largest UDP payload that will be sent; 0: nothing is sent
    std::optional<std::uint16_t> vlan;   ///< rules let in only packets of this VLAN; none: tagged or not
    bool interrupts = false;             ///< an lcore wants to sleep until a packet comes
    /// mbufs that lcores without a queue of their own and filters may keep; each pool gets so many more.
    std::uint32_t held_mbufs = 0;
    UseDevice timestamps = UseDevice::never;  ///< the device's word of when packets came
    UseDevice send_on_time = UseDevice::never;
    std::size_t buffer_size = 0;  ///< bytes of packets a receive queue should hold (`--buffer-size`)
    /// EAL's --vdev or -a makes the device: `device` then holds all its arguments and a plan may not add any.
    bool exists = false;
};

/// A finite source behind one receive queue of the device.
struct SourceFile {
    std::string path;
    std::uint64_t packets = 0;         ///< whole records, all of them delivered before the source ends
    std::uint32_t largest_packet = 0;  ///< bytes
    bool truncated = false;            ///< the file ends inside record `packets` + 1
};

/// The MTU of the network interface behind a port, and what it means for the packets that are asked for.
struct MtuAdvice {
    std::string text;  ///< empty: the port has no such interface, or its MTU is nothing to its driver
    std::string
        command;  ///< lets more of the packets through; empty: nothing to do, or nothing that would help
    bool enough = true;  ///< all of the packets fit
};

/// What a driver file makes of a request before the device exists.
struct PreparedDevice {
    std::string name;              ///< EAL's name of the device: "net_memif0"
    std::string devargs;           ///< complete string for rte_dev_probe
    std::string netdev;            ///< the kernel's interface behind it, empty when there is none
    std::string peer_netdev;       ///< the kernel's interface at the other end (net_tap), else empty
    bool own_mac = false;          ///< the device tells the MAC address of its peer: Port takes another
    std::uint32_t eal_mtu = 0;     ///< value for rte_eth_conf.rxmode.mtu; 0 leaves EAL's default
    std::uint32_t netdev_mtu = 0;  ///< what apply() sets the netdev's MTU to; 0: leave it alone
    MtuAdvice mtu_advice;          ///< among the remarks, too, where it is not enough
    std::uint16_t rx_queues = 0;   ///< of the device; may be more than were asked for (Port merges them)
    std::uint16_t tx_queues = 0;   ///< of the device; may be more than were asked for (the surplus is idle)
    /// One per receive queue that was asked for, or one for queues nobody reads; or one per queue of the
    /// device, where a PMD does not let queues share.
    std::uint16_t rx_pools = 0;
    std::uint32_t rx_slot = 0;  ///< bytes of an mbuf in a receive pool without gaps; 0: any layout will do
    std::uint32_t rx_kept = 0;  ///< mbufs of each receive pool that the PMD may keep when it is closed
    bool pci = false;           ///< a card: EAL needs its PCI bus and huge pages
    bool shares_eal_memory = false;      ///< its peer maps EAL's memory, which may be 8 files at most
    bool physical_addresses = false;     ///< the card reads memory past any IOMMU: EAL's --iova-mode=pa
    bool connects_when_started = false;  ///< looks for its peer only then, and not again when it loses it
    bool listens = false;  ///< makes a socket for its peer when it is opened, which is for this user only
    /// Isolation asked for before the queues are set up is accepted and not carried out.
    bool isolates_with_queues = false;
    /// What of root's power the device needs once it has started: to be opened anew when its interface is
    /// back, for rules, to put back what apply() changed. The program gives up the rest.
    Privileges kept;
    Capabilities capabilities;  ///< declared(), refined by this device's arguments
    QueueSizes rx;              ///< one receive queue and its pool
    /// One transmit queue: `descriptors` packets may stay inside the driver after tx_burst took them; `mbufs`
    /// is what a sender's pool needs so that it does not run dry, `data_room` what one whole packet needs.
    QueueSizes tx;
    std::size_t device_bytes = 0;  ///< EAL memory the device takes besides the pools
    std::size_t outside_bytes =
        0;  ///< memory it takes outside EAL: the kernel's rings, memory shared with a peer
    std::vector<SourceFile> sources;   ///< one per receive queue of the device when it is finite, else empty
    std::vector<std::string> inputs;   ///< files read, whether the source is finite or not
    std::vector<std::string> outputs;  ///< files written, one per transmit queue of the device; may be empty
    std::vector<std::string> remarks;  ///< lines to tell the user (an MTU raised), with the port's name
    std::uint32_t netdev_mtu_before = 0;  ///< written by apply(), read by released()
    std::shared_ptr<void> held;           ///< written by apply(): what the driver keeps until released()

    /// EAL memory for this port: `-m` is the sum over all ports plus what senders and queues need.
    std::size_t eal_bytes() const { return device_bytes + rx_pools * rx.pool_bytes; }
};

class Driver {
  public:
    virtual ~Driver() = default;

    /// PMD name as in the vdev string without its number: "net_ring".
    virtual std::string_view name() const = 0;
    /// The older name EAL knows the PMD by ("eth_ring"); empty when there is none.
    virtual std::string_view alias() const { return {}; }
    /// Attaching and starting succeed with lines in EAL's log that look like failures and mean nothing.
    virtual bool complains() const { return false; }
    /// What this family can do at best; lib/port masks it with the device's report.
    virtual Capabilities declared() const = 0;
    /// How many of the receive queues that are wanted (one per lcore) the device can fill sensibly, at least
    /// 1 when any is wanted; plan() is then asked for so many. Where there are fewer, the lcores that are
    /// left over are workers behind the first queue's.
    virtual std::uint16_t grant_queues(const PortRequest& request) const {
        const bool one = declared().steering != Steering::rte_flow;
        return request.rx_queues > 1 && one ? std::uint16_t{1} : request.rx_queues;
    }
    /// Checks name, file, interface and privilege, translates MTU and sizes into devargs. Changes nothing,
    /// works before EAL is initialised. Throws Error naming the port, the cause and the remedy.
    virtual PreparedDevice plan(const PortRequest& request) const = 0;
    /// Makes the changes outside the process that the plan needs (a netdev's MTU). Throws Error; then nothing
    /// has been changed.
    virtual void apply(PreparedDevice&) const {}
    /// Between rte_dev_probe and configure: what can only be set once the device exists. Throws Error.
    virtual void attached(const PreparedDevice&) const {}
    /// Between stop and rte_eth_dev_close: for what the PMD would leave behind. Devices that need a peer are
    /// asked in EAL's interrupt thread.
    virtual void closing(const PreparedDevice&) const noexcept {}
    /// Undoes apply() after the device is removed.
    virtual void released(const PreparedDevice&) const noexcept {}
    /// Devices that need a peer: why it is not connected to now (it is no one to be trusted), for the user to
    /// read; empty where there is nobody yet; none: it is. Asked before every start.
    virtual std::optional<std::string> why_no_peer(const PreparedDevice&) const { return {}; }
    /// The rules of a device whose steering is not rte_flow's; called between rte_eth_dev_start and the first
    /// rule, at every start. Null where there is nothing but the software classifier.
    virtual std::unique_ptr<RuleTable> make_rules(const PreparedDevice&) const { return nullptr; }
    /// Cards on the PCI bus; the device is then a PCI address, and name() only what the family is called.
    virtual bool pci() const { return false; }
    /// Whether this family drives such a card as it is bound now. PCI families only.
    virtual bool drives(const PciDevice&) const { return false; }
    /// How good a way this family is to any network interface of the kernel, whatever its card: 0, none. The
    /// highest is taken that does not decline.
    virtual int netdev_rank() const { return 0; }
    /// Why this family declines a network interface of the kernel that the request named (privilege, packet
    /// size, what the kernel can do), for the user to read; empty: it takes it.
    virtual std::string why_not(const PortRequest&, const std::string& /*netdev*/) const { return {}; }
    /// The device string of a network interface of the kernel, with what follows its name ("eth0,key=value"):
    /// a vdev string without number, or a PCI address. Only asked of a family that takes the interface.
    virtual std::string translate(std::string_view /*netdev*/) const { return {}; }
    /// Packets the kernel lost in front of the device since the last call, when the PMD does not count them.
    virtual std::uint64_t take_missed(const PreparedDevice&) const { return 0; }
    /// Why the file behind transmit queue `queue` does not hold the `packets` packets and `bytes` bytes that
    /// the PMD took since the last start; empty when it does or when there is no file.
    virtual std::string output_problem(const PreparedDevice&, std::uint16_t /*queue*/,
                                       std::uint64_t /*packets*/, std::uint64_t /*bytes*/) const {
        return {};
    }
    /// Devices that need a peer: descriptors of this process's connections to it. An event on one of them
    /// means that the peer goes, and with it the memory that bursts work on.
    virtual std::vector<int> connections(const PreparedDevice&) const { return {}; }
    /// Descriptors, one per receive queue of the started device, that are readable whenever packets wait
    /// there, for PMDs that have such and no interrupts. None: ask ethdev for its receive interrupts.
    virtual std::optional<std::vector<int>> event_descriptors(const PreparedDevice&) const { return {}; }
    /// Packets that tx_burst took and that wait for a peer to fetch them; stopping now would lose them.
    virtual std::uint64_t unfetched(const PreparedDevice&) const { return 0; }
};

/// Finds the family by the device string's name (`net_ring0,...` -> net_ring, `eth_ring0` too); null if none
/// fits. Cards have no such names.
const Driver* find_driver(std::span<const Driver* const> table, std::string_view device);

using AddQueues = std::function<void(const Driver& driver, PortRequest& request)>;

/// A request whose device has been found and planned.
struct PlannedPort {
    PortRequest request;  ///< `device` completed: a translated name, a number for a bare driver name
    const Driver* driver = nullptr;
    PreparedDevice device;
};

/// Plans all ports of a run; changes nothing, works before EAL is initialised (`--check`, EAL's `-m`).
///
/// `eal_devices` are the values of EAL's --vdev and -a options: a port named like one of them is that device.
/// A driver name without number gets the lowest free one. Throws Error for an unknown device (see
/// name_device), and when two ports are one device or one netdev.
///
/// `add_queues` may raise a request's queues and packet sizes once its family is known.
std::vector<PlannedPort> plan_ports(std::span<const PortRequest> requests,
                                    std::span<const Driver* const> table,
                                    std::span<const std::string> eal_devices = {},
                                    const Machine& machine = this_machine(),
                                    const AddQueues& add_queues = {});

/// "port p0", for the `where` of errors.
std::string where(const PortRequest& request);

}  // namespace spead::port
