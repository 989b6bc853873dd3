// SPDX-License-Identifier: BSD-3-Clause
/// Opens a port: from a plan to a configured device with its queues.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_flow.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "port/device_calls.hpp"
#include "port/log_capture.hpp"
#include "port/netdev.hpp"
#include "port/port_state.hpp"
#include "port/private_files.hpp"
#include "port/rx_pool.hpp"

namespace spead::port {

static_assert(kHeadroom == RTE_PKTMBUF_HEADROOM);
static_assert(kMbufHeader == sizeof(rte_mbuf));

namespace {

/// Holds the devices and netdevs of this process that a Port has open.
class OpenNames {
  public:
    void claim(const PlannedPort& planned) {
        const std::lock_guard lock(mutex_);
        if (devices_.contains(planned.device.name)) {
            throw_error(where(planned.request), "the device {} is already open as another port",
                        planned.device.name);
        }
        if (netdevs_.contains(planned.device.netdev)) {
            throw_error(where(planned.request), "the network interface {} is already open as another port",
                        planned.device.netdev);
        }
        devices_.insert(planned.device.name);
        if (!planned.device.netdev.empty()) {
            netdevs_.insert(planned.device.netdev);
        }
    }
    void release(const PreparedDevice& device) {
        const std::lock_guard lock(mutex_);
        devices_.erase(device.name);
        netdevs_.erase(device.netdev);
    }

  private:
    std::mutex mutex_;
    std::set<std::string> devices_;
    std::set<std::string> netdevs_;
};

OpenNames& open_names() {
    // Never destroyed: ports may be closed while the process ends.
    static OpenNames& names = *new OpenNames;
    return names;
}

/// Returns a new pool name. EAL keeps a name until its pool is freed, and a pool that lacks mbufs is never
/// freed.
std::string next_pool_name() {
    static std::atomic<unsigned> count{0};
    return fmt::format("port_rx_{}", count++);
}

/// Returns the device strings of everything that EAL has attached: its --vdev options and open Ports.
std::vector<std::string> attached_devices() {
    std::vector<std::string> devices;
    for (auto next = rte_eth_find_next(0); next < RTE_MAX_ETHPORTS;
         next = rte_eth_find_next(static_cast<std::uint16_t>(next + 1))) {
        const auto id = static_cast<std::uint16_t>(next);
        rte_eth_dev_info info{};
        char name[RTE_ETH_NAME_MAX_LEN];
        if (rte_eth_dev_get_name_by_port(id, name) != 0 || rte_eth_dev_info_get(id, &info) != 0) {
            continue;
        }
        // The device's own name: a card's port may have another.
        std::string text = info.device == nullptr ? name : rte_dev_name(info.device);
        const rte_devargs* devargs = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
        if (devargs != nullptr && devargs->args != nullptr && devargs->args[0] != '\0') {
            text += fmt::format(",{}", devargs->args);
        }
        devices.push_back(std::move(text));
    }
    return devices;
}

/// Returns the ethdev port of a device. A card's port may have another name than the card (mlx4 calls them
/// "mlx4_0 port 1", mlx5 names those of a bond after it). A card may have several: then the one on our
/// netdev.
std::optional<std::uint16_t> find_port(const PreparedDevice& device) {
    std::uint16_t id = 0;
    if (rte_eth_dev_get_port_by_name(device.name.c_str(), &id) == 0) {
        return id;
    }
    if (!device.pci) {
        return std::nullopt;
    }
    const auto netdev = netdev_facts(device.netdev);
    std::optional<std::uint16_t> found;
    for (auto next = rte_eth_find_next(0); next < RTE_MAX_ETHPORTS;
         next = rte_eth_find_next(static_cast<std::uint16_t>(next + 1))) {
        id = static_cast<std::uint16_t>(next);
        rte_eth_dev_info info{};
        if (rte_eth_dev_info_get(id, &info) != 0 || info.device == nullptr ||
            device.name != rte_dev_name(info.device)) {
            continue;
        }
        if (netdev && info.if_index == netdev->index) {
            return id;
        }
        if (!found) {
            found = id;
        }
    }
    return found;
}

}  // namespace

void Port::State::claim() {
    open_names().claim(planned);
    is.claimed = true;
}

void Port::State::give_up_claim() {
    is.claimed = false;
    open_names().release(device);
}

void Port::State::attach() {
    auto id = find_port(device);
    const bool there = id.has_value();
    if (there && !planned.request.exists) {
        throw_error(name, "the device {} already exists with another configuration than planned ({})",
                    device.name, device.devargs);
    }
    if (!there && planned.request.exists) {
        throw_error(name, "EAL's {} names the device {}, but EAL has not made it",
                    device.pci ? "-a" : "--vdev", device.name);
    }
    if (!there) {
        LogCapture log;
        const int error = rte_dev_probe(device.devargs.c_str());
        if (error == 0) {
            id = find_port(device);
        }
        if (!id) {
            std::string reason = log.take_reason();
            if (reason.empty()) {
                reason =
                    error != 0 ? reason_of(error) : "the driver made no port (was the name used before?)";
            }
            throw_error(name, "EAL cannot attach \"{}\": {}", device.devargs, reason);
        }
        if (planned.driver->complains()) {
            log.discard();
        }
    }
    identity.port_id = *id;
    is.attached = true;
    is.opened = true;
    planned.driver->attached(device);
}

void Port::State::configure() {
    rte_eth_dev_info info{};
    if (const int error = device_calls().info(identity.port_id, info); error != 0) {
        throw_error(name, "cannot read the features of the device {}: {}", device.name, reason_of(error));
    }
    identity.eal_device = info.device;
    identity.if_index = info.if_index;
    identity.socket_id = rte_eth_dev_socket_id(identity.port_id);
    if (device.rx_queues > info.max_rx_queues || device.tx_queues > info.max_tx_queues) {
        throw_error(name, "{} receive and {} transmit queues are needed, and the device {} has {} and {}",
                    device.rx_queues, device.tx_queues, device.name, info.max_rx_queues, info.max_tx_queues);
    }

    capabilities = device.capabilities;
    capabilities.rx_offloads = (capabilities.rx_offloads | RTE_ETH_RX_OFFLOAD_SCATTER) & info.rx_offload_capa;
    capabilities.tx_offloads &= info.tx_offload_capa;
    if (device.tx_queues > 0) {
        // A driver file may know better than the report: several PMDs handle chains without saying so.
        capabilities.tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS & info.tx_offload_capa;
        capabilities.tx_multi_segment = !capabilities.corrupts_chains &&
                                        (capabilities.tx_multi_segment ||
                                         (capabilities.tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0);
    }
    if (device.rx_queues == 0) {
        capabilities.rx_offloads = 0;
    }
    prepare_device_memory();
    prepare_split(info);
    times.choose(info, capabilities);
    if (!device.isolates_with_queues) {
        isolate();
    }

    rte_eth_conf conf{};
    conf.rxmode.mtu = device.eal_mtu;
    conf.rxmode.offloads = capabilities.rx_offloads;
    conf.txmode.offloads = capabilities.tx_offloads;
    conf.intr_conf.rxq = planned.request.interrupts && capabilities.rx_interrupt ? 1 : 0;
    LogCapture log;
    if (const int error =
            device_calls().configure(identity.port_id, device.rx_queues, device.tx_queues, conf);
        error != 0) {
        throw_error(name, "EAL cannot configure {}: {} ({})", device.name, reason_of(error),
                    log.take_reason());
    }
    make_pools();
    set_up_queues(info);
    if (device.isolates_with_queues) {
        isolate();
    }
}

/// Reserves the flags of packets with memory of a GPU. Drivers look for them when the device starts.
void Port::State::prepare_device_memory() {
    capabilities.tx_device_memory = capabilities.tx_device_memory && device.tx_queues > 0 &&
                                    capabilities.tx_multi_segment && capabilities.tx_external_buffer;
    if (!capabilities.tx_device_memory) {
        return;
    }
    try {
        capabilities.tx_device_flags = planned.driver->device_memory_flags();
    } catch (const Error& error) {
        capabilities.tx_device_memory = false;
        remarks.push_back(fmt::format("{}: it cannot send from memory of a GPU: {}", name, error.what()));
    }
}

/// Asks a card to cut packets, where that is its part.
void Port::State::prepare_split(const rte_eth_dev_info& info) {
    if (!device.split || device.split->by != Splitting::card) {
        return;
    }
    if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT) == 0 || info.rx_seg_capa.max_nseg < 2 ||
        info.rx_seg_capa.multi_pools == 0) {
        throw_error(name,
                    "the device {} does not split packets into headers and data "
                    "(RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT); leave out `split` (--split)",
                    device.name);
    }
    capabilities.rx_offloads |= RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT;
}

/// Isolates the device before it starts, so that it never receives packets without a rule.
void Port::State::isolate() {
    if (device.rx_queues == 0 || !capabilities.isolation) {
        return;
    }
    rte_flow_error error{};
    if (const int result = device_calls().flow_isolate(identity.port_id, true, error); result != 0) {
        capabilities.isolation = false;
        remarks.push_back(
            fmt::format("{}: {} does not isolate its rules ({}): it also receives packets of no stream", name,
                        device.name, error.message == nullptr ? reason_of(result) : error.message));
    }
}

void Port::State::make_pools() {
    for (std::uint16_t i = 0; i < device.rx_pools; ++i) {
        rte_mempool* pool = make_rx_pool(next_pool_name(), device.rx, device.rx_slot, identity.socket_id);
        if (pool == nullptr) {
            throw_error(name,
                        "no memory for receive pool {} of {} ({}; {}): raise EAL's -m by that much, or lower "
                        "--buffer-size or --max-packet-size",
                        i + 1, device.rx_pools, to_string(device.rx), reason_of(rte_errno));
        }
        pools.push_back(pool);
    }
    if (device.split && device.rx_pools > 0) {
        split = std::make_unique<SplitPools>(planned, identity.socket_id);
        if (device.split->by == Splitting::card) {
            split->map(*identity.eal_device);
        }
    }
}

void Port::State::set_up_queues(const rte_eth_dev_info& info) {
    LogCapture log;
    std::uint16_t rx_descriptors = device.rx.descriptors;
    std::uint16_t tx_descriptors = device.tx.descriptors;
    if (const int error =
            rte_eth_dev_adjust_nb_rx_tx_desc(identity.port_id, &rx_descriptors, &tx_descriptors);
        error != 0) {
        throw_error(name, "EAL cannot adjust the descriptors of {}: {} ({})", device.name, reason_of(error),
                    log.take_reason());
    }
    device.rx.descriptors = device.rx_queues == 0 ? std::uint16_t{0} : rx_descriptors;
    device.tx.descriptors = device.tx_queues == 0 ? std::uint16_t{0} : tx_descriptors;

    // The port's configuration holds for all queues as well.
    rte_eth_rxconf rxconf = info.default_rxconf;
    rxconf.offloads = 0;
    rte_eth_txconf txconf = info.default_txconf;
    txconf.offloads = 0;
    const auto socket = static_cast<unsigned>(identity.socket_id);
    const bool by_card = split != nullptr && device.split->by == Splitting::card;
    for (std::uint16_t q = 0; q < device.rx_queues; ++q) {
        const std::size_t pool = q % pools.size();
        std::array<rte_eth_rxseg, 2> segments{};
        if (by_card) {
            segments[0].split.mp = pools[pool];
            segments[0].split.length = static_cast<std::uint16_t>(device.split->at);
            segments[1].split.mp = split->payload(pool);
            rxconf.rx_seg = segments.data();
            rxconf.rx_nseg = static_cast<std::uint16_t>(segments.size());
        }
        if (const int error = device_calls().rx_queue_setup(identity.port_id, q, rx_descriptors, socket,
                                                            rxconf, by_card ? nullptr : pools[pool]);
            error != 0) {
            throw_error(name, "EAL cannot set up receive queue {} of {}: {} ({})", q, device.name,
                        reason_of(error), log.take_reason());
        }
    }
    for (std::uint16_t q = 0; q < device.tx_queues; ++q) {
        if (const int error = rte_eth_tx_queue_setup(identity.port_id, q, tx_descriptors, socket, &txconf);
            error != 0) {
            throw_error(name, "EAL cannot set up transmit queue {} of {}: {} ({})", q, device.name,
                        reason_of(error), log.take_reason());
        }
    }

    const std::uint16_t asked = planned.request.rx_queues;
    for (std::uint16_t i = 0; i < asked; ++i) {
        RxState& state = rx.emplace_back();
        state.port_id = identity.port_id;
        state.finite = capabilities.finite;
        state.trusts_peer = capabilities.trusts_peer;
        state.pool = pools[i];
        state.parts = std::vector<RxPart>((device.rx_queues - i + asked - 1U) / asked);
        for (std::size_t k = 0; k < state.parts.size(); ++k) {
            state.parts[k].queue = static_cast<std::uint16_t>(i + k * asked);
            if (state.finite) {
                state.parts[k].segments =
                    segments_of(device.sources[state.parts[k].queue].largest_packet, device.rx.data_room);
            }
        }
    }
    for (std::uint16_t i = 0; i < planned.request.tx_queues; ++i) {
        TxState& state = tx.emplace_back();
        state.port_id = identity.port_id;
        state.queue = i;
    }
    if (capabilities.needs_peer) {
        peer.guard(identity.port_id, rx, tx);
    }
    rewind();
}

void Port::State::identify() {
    const std::uint16_t port_id = identity.port_id;
    MacAddress& mac = identity.mac;
    rte_ether_addr hardware{};
    if (rte_eth_macaddr_get(port_id, &hardware) == 0) {
        std::copy_n(hardware.addr_bytes, mac.size(), mac.begin());
    }
    if (mac == MacAddress{}) {
        // Locally administered: 02, "SPD", and the port's number.
        mac = {0x02,
               0x53,
               0x50,
               0x44,
               static_cast<std::uint8_t>(port_id >> 8),
               static_cast<std::uint8_t>(port_id)};
    } else if (device.own_mac) {
        // A unique address beside that of the other end: locally administered, and no group's.
        mac[0] = static_cast<std::uint8_t>((mac[0] | 0x02U) & 0xFEU);
        mac[5] ^= 1U;
    }
    if (capabilities.membership == Membership::own_host && capabilities.steering == Steering::software &&
        device.rx_queues > 0 && rte_eth_allmulticast_enable(port_id) != 0) {
        // The card's filter would keep the groups out; few PMDs know neither.
        rte_eth_promiscuous_enable(port_id);
    }
    if (device.netdev.empty()) {
        return;
    }
    const auto facts = netdev_facts(device.netdev);
    if (!facts) {
        throw_error(name, "the network interface {} has disappeared", device.netdev);
    }
    identity.if_index = facts->index;
    if (facts->address.value != 0) {
        identity.address = facts->address;
    }
    identity.address6 = facts->address6;
    if (facts->promiscuous) {
        // rte_eth_dev_start writes ethdev's own idea of promiscuous mode to the netdev; an administrator's
        // choice must survive that.
        rte_eth_promiscuous_enable(port_id);
    }
}

std::unique_ptr<Port> Port::open(const PortRequest& request, std::span<const Driver* const> table) {
    const auto attached = attached_devices();
    return open(plan_ports({&request, 1}, table, attached).front());
}

std::unique_ptr<Port> Port::open(const PlannedPort& planned) {
    if (planned.device.rx_queues == 0 && planned.device.tx_queues == 0) {
        throw_usage(where(planned.request), "no stream receives from it, and no sender sends to it");
    }
    auto state = std::make_unique<State>(planned);
    state->claim();
    planned.driver->apply(state->device);
    state->is.applied = true;
    state->remarks = state->device.remarks;
    {
        const auto own = state->device.listens ? std::make_unique<PrivateFiles>() : nullptr;
        state->attach();
        state->configure();
    }
    state->identify();
    return std::unique_ptr<Port>(new Port(std::move(state)));
}

}  // namespace spead::port
