// SPDX-License-Identifier: BSD-3-Clause
#include "port/port.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "port/link_guard.hpp"
#include "port/log_capture.hpp"
#include "port/netdev.hpp"
#include "port/queues.hpp"

namespace spead::port {

static_assert(kHeadroom == RTE_PKTMBUF_HEADROOM);
static_assert(kMbufHeader == sizeof(rte_mbuf));

namespace {

constexpr std::uint16_t kDrainBurst = 64;
constexpr auto kFetchPatience = std::chrono::seconds{2};

/// Devices and netdevs of this process that a Port has open.
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
    static OpenNames names;
    return names;
}

/// EAL keeps a pool's name until it is freed, and a pool that lacks mbufs is never freed.
std::string next_pool_name() {
    static std::atomic<unsigned> count{0};
    return fmt::format("port_rx_{}", count++);
}

std::string reason_of(int error) {
    return rte_strerror(error < 0 ? -error : error);
}

/// The device strings of everything that EAL has attached: its --vdev options and open Ports.
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
        std::string text = name;
        const rte_devargs* devargs = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
        if (devargs != nullptr && devargs->args != nullptr && devargs->args[0] != '\0') {
            text += fmt::format(",{}", devargs->args);
        }
        devices.push_back(std::move(text));
    }
    return devices;
}

}  // namespace

struct Port::State {
    explicit State(PlannedPort p)
        : planned(std::move(p)), device(planned.device), name(where(planned.request)) {}
    ~State() { tear_down(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    struct Written {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
    };

    PlannedPort planned;
    PreparedDevice& device;
    std::string name;  ///< for errors
    std::uint16_t port_id = RTE_MAX_ETHPORTS;
    rte_device* eal_device = nullptr;
    unsigned if_index = 0;
    int socket_id = SOCKET_ID_ANY;
    MacAddress mac{};
    Ipv4 address = kFallbackAddress;
    Capabilities capabilities;
    std::vector<rte_mempool*> pools;
    std::deque<RxState> rx;
    std::deque<TxState> tx;
    std::unique_ptr<Gate> gate;  ///< devices with a peer only
    std::unique_ptr<LinkGuard> guard;
    std::vector<std::string> remarks;
    bool claimed = false;
    bool applied = false;
    bool attached = false;  ///< the device exists in EAL and is ours to remove
    bool opened = false;    ///< the ethdev port exists
    bool started = false;
    bool waiting = false;  ///< started by the user, but the peer is not there yet
    mutable stats::NicSnapshot nic;
    mutable std::uint64_t kernel_missed = 0;
    std::vector<Written> written_at_start;
    std::vector<Written> written;  ///< since the last start, kept at stop

    void attach();
    void configure();
    void make_pools();
    void set_up_queues(const rte_eth_dev_info& info, const rte_eth_conf& conf);
    void identify();
    bool try_start(std::string& reason);
    void make_gate();
    int in_order(const std::function<int()>& call) const;
    void follow_peer();
    bool device_link() const;
    void rewind();
    void free_leftovers();
    void wait_until_fetched();
    void stop();
    void tear_down() noexcept;
    void update_nic() const;
    std::vector<Written> count_written() const;
    std::vector<Written> written_now() const;
};

void Port::State::attach() {
    std::uint16_t id = 0;
    const bool there = rte_eth_dev_get_port_by_name(device.name.c_str(), &id) == 0;
    if (there && !planned.request.exists) {
        throw_error(name, "the device {} exists already, but not as it was planned ({})", device.name,
                    device.devargs);
    }
    if (!there && planned.request.exists) {
        throw_error(name, "EAL's --vdev was to make the device {}, but it is not there", device.name);
    }
    if (!there) {
        LogCapture log;
        const int error = rte_dev_probe(device.devargs.c_str());
        if (error != 0 || rte_eth_dev_get_port_by_name(device.name.c_str(), &id) != 0) {
            std::string reason = log.take_reason();
            if (reason.empty()) {
                reason =
                    error != 0 ? reason_of(error) : "the driver made no port (was the name used before?)";
            }
            throw_error(name, "EAL cannot attach \"{}\": {}", device.devargs, reason);
        }
        if (planned.driver->complains_when_attached()) {
            log.discard();
        }
    }
    port_id = id;
    attached = true;
    opened = true;
}

void Port::State::configure() {
    rte_eth_dev_info info{};
    if (const int error = rte_eth_dev_info_get(port_id, &info); error != 0) {
        throw_error(name, "the device {} does not tell what it can do: {}", device.name, reason_of(error));
    }
    eal_device = info.device;
    if_index = info.if_index;
    socket_id = rte_eth_dev_socket_id(port_id);
    if (device.rx_queues > info.max_rx_queues || device.tx_queues > info.max_tx_queues) {
        throw_error(name, "{} receive and {} transmit queues are needed, the device {} has {} and {}",
                    device.rx_queues, device.tx_queues, device.name, info.max_rx_queues, info.max_tx_queues);
    }

    capabilities = device.capabilities;
    capabilities.rx_offloads = (capabilities.rx_offloads | RTE_ETH_RX_OFFLOAD_SCATTER) & info.rx_offload_capa;
    capabilities.tx_offloads &= info.tx_offload_capa;
    if (device.tx_queues > 0) {
        // A driver file may know better than the report: several PMDs handle chains without saying so.
        capabilities.tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS & info.tx_offload_capa;
        capabilities.tx_multi_segment =
            capabilities.tx_multi_segment || (capabilities.tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    }
    if (device.rx_queues == 0) {
        capabilities.rx_offloads = 0;
    }

    rte_eth_conf conf{};
    conf.rxmode.mtu = device.eal_mtu;
    conf.rxmode.offloads = capabilities.rx_offloads;
    conf.txmode.offloads = capabilities.tx_offloads;
    LogCapture log;
    if (const int error = rte_eth_dev_configure(port_id, device.rx_queues, device.tx_queues, &conf);
        error != 0) {
        throw_error(name, "EAL cannot configure {}: {} ({})", device.name, reason_of(error),
                    log.take_reason());
    }
    make_pools();
    set_up_queues(info, conf);
}

void Port::State::make_pools() {
    for (std::uint16_t i = 0; i < device.rx_pools; ++i) {
        rte_mempool* pool =
            rte_pktmbuf_pool_create(next_pool_name().c_str(), device.rx.mbufs, device.rx.cache, 0,
                                    static_cast<std::uint16_t>(device.rx.data_room), socket_id);
        if (pool == nullptr) {
            throw_error(name,
                        "no memory for receive pool {} of {} ({}; {}): raise EAL's -m by that much, or lower "
                        "--buffer-size or --max-packet-size",
                        i + 1, device.rx_pools, to_string(device.rx), reason_of(rte_errno));
        }
        pools.push_back(pool);
    }
}

void Port::State::set_up_queues(const rte_eth_dev_info& info, const rte_eth_conf& conf) {
    LogCapture log;
    std::uint16_t rx_descriptors = device.rx.descriptors;
    std::uint16_t tx_descriptors = device.tx.descriptors;
    if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(port_id, &rx_descriptors, &tx_descriptors);
        error != 0) {
        throw_error(name, "EAL cannot adjust the descriptors of {}: {} ({})", device.name, reason_of(error),
                    log.take_reason());
    }
    device.rx.descriptors = device.rx_queues == 0 ? std::uint16_t{0} : rx_descriptors;
    device.tx.descriptors = device.tx_queues == 0 ? std::uint16_t{0} : tx_descriptors;

    rte_eth_rxconf rxconf = info.default_rxconf;
    rxconf.offloads = conf.rxmode.offloads;
    rte_eth_txconf txconf = info.default_txconf;
    txconf.offloads = conf.txmode.offloads;
    const auto socket = static_cast<unsigned>(socket_id);
    for (std::uint16_t q = 0; q < device.rx_queues; ++q) {
        if (const int error =
                rte_eth_rx_queue_setup(port_id, q, rx_descriptors, socket, &rxconf, pools[q % pools.size()]);
            error != 0) {
            throw_error(name, "EAL cannot set up receive queue {} of {}: {} ({})", q, device.name,
                        reason_of(error), log.take_reason());
        }
    }
    for (std::uint16_t q = 0; q < device.tx_queues; ++q) {
        if (const int error = rte_eth_tx_queue_setup(port_id, q, tx_descriptors, socket, &txconf);
            error != 0) {
            throw_error(name, "EAL cannot set up transmit queue {} of {}: {} ({})", q, device.name,
                        reason_of(error), log.take_reason());
        }
    }

    const std::uint16_t asked = planned.request.rx_queues;
    for (std::uint16_t i = 0; i < asked; ++i) {
        RxState& state = rx.emplace_back();
        state.port_id = port_id;
        state.finite = capabilities.finite;
        state.pool = pools[i];
        state.parts = std::vector<RxPart>((device.rx_queues - i + asked - 1U) / asked);
        for (std::uint16_t k = 0; k < state.parts.size(); ++k) {
            state.parts[k].queue = static_cast<std::uint16_t>(i + k * asked);
            if (state.finite) {
                state.parts[k].segments =
                    segments_of(device.sources[state.parts[k].queue].largest_packet, device.rx.data_room);
            }
        }
    }
    for (std::uint16_t i = 0; i < planned.request.tx_queues; ++i) {
        TxState& state = tx.emplace_back();
        state.port_id = port_id;
        state.queue = i;
    }
    if (capabilities.needs_peer) {
        make_gate();
    }
    rewind();
}

void Port::State::make_gate() {
    gate = std::make_unique<Gate>(rx.size() + tx.size());
    std::size_t queue = 0;
    for (auto& state : rx) {
        state.gate = gate.get();
        state.presence = &gate->presence(queue++);
    }
    for (auto& state : tx) {
        state.gate = gate.get();
        state.presence = &gate->presence(queue++);
    }
    guard = std::make_unique<LinkGuard>(port_id, *gate);
}

void Port::State::identify() {
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
    }
    if (device.netdev.empty()) {
        return;
    }
    const auto facts = netdev_facts(device.netdev);
    if (!facts) {
        throw_error(name, "the network interface {} has gone", device.netdev);
    }
    if_index = facts->index;
    if (facts->address.value != 0) {
        address = facts->address;
    }
    if (facts->promiscuous) {
        // rte_eth_dev_start writes ethdev's own idea of promiscuous mode to the netdev; an administrator's
        // choice must survive that.
        rte_eth_promiscuous_enable(port_id);
    }
}

/// Calls into the device that a peer's disconnect must not meet half way.
int Port::State::in_order(const std::function<int()>& call) const {
    int result = 0;
    if (guard) {
        guard->run([&] { result = call(); });
    } else {
        result = call();
    }
    return result;
}

bool Port::State::device_link() const {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/// Opens the gate when the peer has come, and looks for it again when it has gone or has refused us.
void Port::State::follow_peer() {
    const auto connections = [this] { return planned.driver->connections(device); };
    if (guard->wants_watch()) {
        guard->watch(connections);
    } else if (device.connects_when_started && !device_link() && connections().empty()) {
        guard->release();
        (void)in_order([this] { return rte_eth_dev_stop(port_id); });
        started = false;
        waiting = true;
    }
}

/// net_pcap reads its files from the beginning at every start, and writes them anew.
void Port::State::rewind() {
    for (auto& state : rx) {
        for (auto& part : state.parts) {
            if (state.finite) {
                part.ended_early.store(false, std::memory_order_relaxed);
                part.remaining.store(device.sources[part.queue].packets, std::memory_order_release);
            }
        }
    }
    written_at_start = count_written();
    written.clear();
}

bool Port::State::try_start(std::string& reason) {
    rewind();
    LogCapture log;
    const int error = in_order([this] { return rte_eth_dev_start(port_id); });
    if (error != 0) {
        reason = fmt::format("{} ({})", reason_of(error), log.take_reason());
        return false;
    }
    started = true;
    waiting = false;
    return true;
}

void Port::State::free_leftovers() {
    rte_mbuf* mbufs[kDrainBurst];
    for (std::uint16_t q = 0; q < device.rx_queues; ++q) {
        while (const std::uint16_t n = rte_eth_rx_burst(port_id, q, mbufs, kDrainBurst)) {
            rte_pktmbuf_free_bulk(mbufs, n);
        }
    }
}

void Port::State::wait_until_fetched() {
    auto left = planned.driver->unfetched(device);
    auto last_progress = std::chrono::steady_clock::now();
    while (left != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        const auto now = std::chrono::steady_clock::now();
        if (const auto still = planned.driver->unfetched(device); still != left) {
            left = still;
            last_progress = now;
        } else if (now - last_progress > kFetchPatience) {
            remarks.push_back(fmt::format("{}: the peer did not fetch the last {} packets", name, left));
            return;
        }
    }
}

void Port::State::stop() {
    waiting = false;
    if (!started) {
        return;
    }
    if (capabilities.needs_peer) {
        wait_until_fetched();
    }
    if (capabilities.receives_own) {
        free_leftovers();
    }
    if (guard) {
        guard->release();
    }
    for (const auto& state : rx) {
        for (const auto& part : state.parts) {
            if (part.ended_early.load(std::memory_order_relaxed)) {
                remarks.push_back(
                    fmt::format("{}: {} ended before its {} records were delivered; it changed meanwhile",
                                name, device.sources[part.queue].path, device.sources[part.queue].packets));
            }
        }
    }
    written = written_now();
    update_nic();
    started = false;
    if (const int error = in_order([this] { return rte_eth_dev_stop(port_id); }); error != 0) {
        remarks.push_back(fmt::format("{}: EAL cannot stop {}: {}", name, device.name, reason_of(error)));
    }
}

void Port::State::tear_down() noexcept {
    try {
        stop();
        if (opened) {
            update_nic();
            opened = false;
            // Two calls: events that came together with the first are handled before the second.
            (void)in_order([this] {
                planned.driver->closing(device);
                return 0;
            });
            if (const int error = in_order([this] { return rte_eth_dev_close(port_id); }); error != 0) {
                remarks.push_back(
                    fmt::format("{}: EAL cannot close {}: {}", name, device.name, reason_of(error)));
            }
        }
        guard.reset();
        if (attached) {
            attached = false;
            if (const int error = eal_device == nullptr ? -ENODEV : rte_dev_remove(eal_device); error != 0) {
                remarks.push_back(
                    fmt::format("{}: EAL cannot remove {}: {}", name, device.name, reason_of(error)));
            }
            eal_device = nullptr;
        }
        for (rte_mempool* pool : pools) {
            if (const unsigned missing = rte_mempool_in_use_count(pool); missing != 0) {
                remarks.push_back(fmt::format(
                    "{}: {} mbufs were not returned to their pool, which stays allocated", name, missing));
            } else {
                rte_mempool_free(pool);
            }
        }
        pools.clear();
        if (applied) {
            applied = false;
            planned.driver->released(device);
        }
        if (claimed) {
            claimed = false;
            open_names().release(device);
        }
    } catch (const std::exception&) {
        // Only an allocation for a remark can fail here, and there is no one left to tell.
    }
}

void Port::State::update_nic() const {
    rte_eth_stats stats{};
    if (!opened || rte_eth_stats_get(port_id, &stats) != 0) {
        return;
    }
    kernel_missed += planned.driver->take_missed(device);
    nic.missed = stats.imissed + kernel_missed;
    nic.no_mbuf = stats.rx_nombuf;
    nic.errors = stats.ierrors + stats.oerrors;
}

std::vector<Port::State::Written> Port::State::count_written() const {
    std::vector<Written> counts;
    rte_eth_stats stats{};
    if (device.outputs.empty() || rte_eth_stats_get(port_id, &stats) != 0) {
        return counts;
    }
    for (std::uint16_t q = 0; q < device.tx_queues && q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q) {
        counts.push_back({stats.q_opackets[q], stats.q_obytes[q]});
    }
    return counts;
}

std::vector<Port::State::Written> Port::State::written_now() const {
    std::vector<Written> counts = count_written();
    for (std::size_t q = 0; q < counts.size() && q < written_at_start.size(); ++q) {
        counts[q].packets -= written_at_start[q].packets;
        counts[q].bytes -= written_at_start[q].bytes;
    }
    return counts;
}

Port::Port(std::unique_ptr<State> state) : state_(std::move(state)) {}
Port::~Port() = default;

std::unique_ptr<Port> Port::open(const PortRequest& request, std::span<const Driver* const> table) {
    const auto attached = attached_devices();
    return open(plan_ports({&request, 1}, table, attached).front());
}

std::unique_ptr<Port> Port::open(const PlannedPort& planned) {
    if (planned.device.rx_queues == 0 && planned.device.tx_queues == 0) {
        throw_usage(where(planned.request), "nothing receives from it and nothing sends to it");
    }
    auto state = std::make_unique<State>(planned);
    open_names().claim(planned);
    state->claimed = true;
    planned.driver->apply(state->device);
    state->applied = true;
    state->remarks = state->device.remarks;
    state->attach();
    state->configure();
    state->identify();
    return std::unique_ptr<Port>(new Port(std::move(state)));
}

void Port::start() {
    State& s = *state_;
    if (s.started || s.waiting) {
        return;
    }
    if (!s.opened) {
        throw_error(s.name, "the port is closed");
    }
    std::string reason;
    if (s.try_start(reason)) {
        return;
    }
    if (!s.capabilities.needs_peer) {
        throw_error(s.name, "EAL cannot start {}: {}", s.device.name, reason);
    }
    s.waiting = true;
}

void Port::stop() {
    state_->stop();
}

void Port::close() noexcept {
    state_->tear_down();
}

bool Port::started() const noexcept {
    return state_->started;
}

bool Port::poll_link() {
    State& s = *state_;
    if (s.waiting) {
        std::string reason;
        s.try_start(reason);
    }
    if (s.started && s.guard) {
        s.follow_peer();
    }
    return link_up();
}

bool Port::link_up() const {
    const State& s = *state_;
    if (!s.started) {
        return false;
    }
    if (!s.device.netdev.empty()) {
        const auto facts = netdev_facts(s.device.netdev);
        return facts && facts->up && facts->running;
    }
    if (s.gate && !s.gate->is_open()) {
        return false;
    }
    return s.device_link();
}

bool Port::netdev_gone() const {
    const State& s = *state_;
    if (s.device.netdev.empty()) {
        return false;
    }
    const auto facts = netdev_facts(s.device.netdev);
    return !facts || facts->index != s.if_index;
}

RxQueue Port::rx_queue(std::uint16_t i) const {
    State& s = *state_;
    if (i >= s.rx.size()) {
        throw_error(s.name, "receive queue {} does not exist; there are {}", i, s.rx.size());
    }
    RxQueue queue = bind_rx(s.rx[i]);
    queue.pool = s.device.capabilities.receives_own ? nullptr : rx_pool(i);
    return queue;
}

TxQueue Port::tx_queue(std::uint16_t i) const {
    State& s = *state_;
    if (i >= s.tx.size()) {
        throw_error(s.name, "transmit queue {} does not exist; there are {}", i, s.tx.size());
    }
    return bind_tx(s.tx[i]);
}

rte_mempool* Port::rx_pool(std::uint16_t i) const {
    const State& s = *state_;
    if (i >= s.pools.size()) {
        throw_error(s.name, "receive queue {} has no pool; there are {}", i, s.pools.size());
    }
    return s.pools[i];
}

const Capabilities& Port::capabilities() const noexcept {
    return state_->capabilities;
}
const MacAddress& Port::mac() const noexcept {
    return state_->mac;
}
Ipv4 Port::source_address() const noexcept {
    return state_->address;
}
const std::string& Port::name() const noexcept {
    return state_->planned.request.name;
}
const std::string& Port::device_name() const noexcept {
    return state_->device.name;
}
const std::string& Port::devargs() const noexcept {
    return state_->device.devargs;
}
std::string Port::driver_name() const {
    return std::string{state_->planned.driver->name()};
}
const std::string& Port::netdev() const noexcept {
    return state_->device.netdev;
}
unsigned Port::if_index() const noexcept {
    return state_->if_index;
}
std::uint16_t Port::port_id() const noexcept {
    return state_->port_id;
}
rte_device* Port::device() const noexcept {
    return state_->eal_device;
}
int Port::socket_id() const noexcept {
    return state_->socket_id;
}
const QueueSizes& Port::rx_sizes() const noexcept {
    return state_->device.rx;
}
const QueueSizes& Port::tx_sizes() const noexcept {
    return state_->device.tx;
}
const std::vector<std::string>& Port::remarks() const noexcept {
    return state_->remarks;
}

std::string Port::sizes() const {
    const State& s = *state_;
    std::vector<std::string> parts;
    if (s.device.rx_pools > 0) {
        parts.push_back(fmt::format("receive {} x {}", s.device.rx_pools, to_string(s.device.rx)));
    }
    if (s.planned.request.tx_queues > 0) {
        parts.push_back(fmt::format("transmit {} x {} descriptors", s.planned.request.tx_queues,
                                    s.device.tx.descriptors));
    }
    if (s.device.outside_bytes > 0) {
        parts.push_back(fmt::format("rings outside EAL {:.1f} MiB",
                                    static_cast<double>(s.device.outside_bytes) / (1024 * 1024)));
    }
    return fmt::format("{} ({}): {}", s.planned.request.name, s.device.name, fmt::join(parts, "; "));
}

stats::NicSnapshot Port::nic() const {
    state_->update_nic();
    return state_->nic;
}

bool Port::exhausted() const noexcept {
    const State& s = *state_;
    return s.capabilities.finite && !s.rx.empty() && std::ranges::all_of(s.rx, [](const RxState& state) {
               return std::ranges::all_of(state.parts, [](const RxPart& part) {
                   return part.remaining.load(std::memory_order_acquire) == 0;
               });
           });
}

bool Port::source_truncated() const noexcept {
    const State& s = *state_;
    return std::ranges::any_of(s.device.sources, &SourceFile::truncated) ||
           std::ranges::any_of(s.rx, [](const RxState& state) {
               return std::ranges::any_of(state.parts, [](const RxPart& part) {
                   return part.ended_early.load(std::memory_order_relaxed);
               });
           });
}

std::string Port::output_problem() const {
    const State& s = *state_;
    const auto written = s.started ? s.written_now() : s.written;
    for (std::size_t q = 0; q < written.size(); ++q) {
        auto problem = s.planned.driver->output_problem(s.device, static_cast<std::uint16_t>(q),
                                                        written[q].packets, written[q].bytes);
        if (!problem.empty()) {
            return problem;
        }
    }
    return {};
}

void Port::verify_output() const {
    if (const auto problem = output_problem(); !problem.empty()) {
        throw Error(state_->name, problem);
    }
}

}  // namespace spead::port
