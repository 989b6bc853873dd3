// SPDX-License-Identifier: BSD-3-Clause
#include "send/sender.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "base/error.hpp"
#include "port/sizes.hpp"
#include "send/transmitter.hpp"

namespace spead::send {
namespace {

std::string where_of(const SenderConfig& config) {
    return config.name.empty() ? std::string("send") : "send " + config.name;
}

void check_pacing(const Pacing& pacing, const std::string& where) {
    if (!std::isfinite(pacing.rate) || pacing.rate < 0)
        throw Error(where, fmt::format("rate of {} bytes per second: it must be 0 (unlimited) or above",
                                       pacing.rate));
    if (!std::isfinite(pacing.burst_rate_ratio) || pacing.burst_rate_ratio < 1)
        throw Error(where,
                    fmt::format("burst rate ratio of {}: it must be at least 1", pacing.burst_rate_ratio));
}

UdpChecksum checksum_of(const SenderConfig& config) {
    if (!config.udp_checksum && !is_ipv6(config))
        return UdpChecksum::none;
    return (config.capabilities.tx_offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0 ? UdpChecksum::port
                                                                                 : UdpChecksum::software;
}

wire::MacAddress mac_of(const Destination& destination, const std::string& where) {
    if (destination.mac)
        return *destination.mac;
    if (!destination.endpoint.address.is_multicast())
        throw Error(
            where, fmt::format("the unicast destination {} needs a MAC address, of the host or of the router "
                               "towards it; give it with `dst_mac` (--dst-mac)",
                               to_string(destination.endpoint)));
    return wire::multicast_mac_of(destination.endpoint.address);
}

std::vector<DestinationHeader> headers_of(const SenderConfig& config) {
    std::vector<DestinationHeader> headers;
    for (const Destination& destination : config.destinations) {
        wire::NetHeaderSpec spec;
        spec.src_mac = config.source_mac;
        spec.dst_mac = mac_of(destination, where_of(config));
        spec.src_ip = config.source_ip;
        spec.dst_ip = destination.endpoint.address;
        spec.src_port = config.source_port;
        spec.dst_port = destination.endpoint.port;
        spec.ttl = config.ttl;
        spec.dscp = config.dscp;
        spec.vlan = config.vlan;
        headers.emplace_back(spec, checksum_of(config));
    }
    return headers;
}

/// Checks everything that can be wrong with a configuration.
SenderConfig checked(SenderConfig config) {
    const std::string where = where_of(config);
    if (config.destinations.empty())
        throw Error(where, "the destination is missing: give at least one endpoint");
    try {
        usable_packet_size(config.max_packet_size);
    } catch (const Error& error) {
        throw Error(where, error.what());
    }
    const std::size_t most = kMaxSendPacket - (is_ipv6(config) ? port::kIpv6More : 0);
    if (config.max_packet_size > most)
        throw Error(
            where,
            fmt::format("packet size of {} bytes is too large: at most {} fit a buffer with all headers",
                        config.max_packet_size, most));
    std::vector<Endpoint> endpoints;
    for (const Destination& d : config.destinations)
        endpoints.push_back(d.endpoint);
    need_one_version(endpoints, where);
    const std::size_t net = net_header_of(config);
    const std::size_t frame = net + (config.max_packet_size & ~7U);
    if (config.capabilities.max_tx_frame != 0 && frame > config.capabilities.max_tx_frame)
        throw Error(
            where,
            fmt::format("packets of {} bytes make frames of {}, but the port sends {} at most: raise its "
                        "MTU or lower the packet size to {}",
                        config.max_packet_size, frame, config.capabilities.max_tx_frame,
                        config.capabilities.max_tx_frame -
                            std::min<std::size_t>(net, config.capabilities.max_tx_frame)));
    check_pacing(config.pacing, where);
    constexpr std::uint32_t kMostHeaps = 1U << 20;
    if (config.max_heaps == 0 || config.max_heaps > kMostHeaps)
        throw Error(where,
                    fmt::format("max_heaps is {}: it must be from 1 to {}", config.max_heaps, kMostHeaps));
    if (config.queue.burst == nullptr)
        throw Error(where, "no transmit queue");
    if (config.zero_copy == ZeroCopy::always && !may_send_external(config))
        throw Error(
            where,
            "zero_copy is \"always\", but the port cannot send from registered memory (it takes neither "
            "chains of buffers nor external ones): use \"auto\"");
    return config;
}

/// Returns whether IO addresses are virtual. With physical ones, the address of user memory is unknown.
bool virtual_addresses(const SenderConfig& config) {
    const bool yes = rte_eal_iova_mode() == RTE_IOVA_VA;
    if (!yes && config.zero_copy == ZeroCopy::always)
        throw Error(where_of(config), "zero_copy is \"always\", which needs EAL with --iova-mode=va");
    return yes;
}

SendStatus status_of(Progress result) noexcept {
    return result == Progress::built     ? SendStatus::sent
           : result == Progress::aborted ? SendStatus::aborted
                                         : SendStatus::timed_out;
}

}  // namespace

struct Sender::Impl {
    explicit Impl(SenderConfig c)
        : config(checked(std::move(c))),
          where(where_of(config)),
          frames{may_send_external(config) && virtual_addresses(config),
                 config.zero_copy == ZeroCopy::always,
                 checksum_of(config),
                 static_cast<std::uint32_t>(wire::kEthernetHeader + (config.vlan ? wire::kVlanTag : 0)),
                 is_ipv6(config),
                 config.capabilities.tx_device_flags},
          pools(plan_memory(config), config.numa, where),
          heaps(config.max_heaps, config.numa, where),
          dummy(std::size_t{4} * config.max_packet_size),
          transmitter({config.queue, config.capabilities.late_free_segments, frames, headers_of(config),
                       config.pacing, static_cast<double>(rte_get_tsc_hz()), config.timeout_ticks,
                       &dummy.layout(config.max_packet_size), config.send_times},
                      pools, heaps, shared),
          next_cnt(config.first_cnt),
          cnt_step(config.cnt_step) {}

    /// Holds the small heap of zeros that dummies are made from when no heap is in flight.
    struct DummyHeap {
        explicit DummyHeap(std::size_t size) : bytes(size) {}
        DummyHeap(const DummyHeap&) = delete;
        DummyHeap& operator=(const DummyHeap&) = delete;

        /// Fills the heap, and lays it out; called once.
        const HeapLayout& layout(std::uint32_t max_packet_size) {
            heap.add_item(wire::item::kFirstUser, bytes);
            return heap.layout(max_packet_size, nullptr);
        }

        std::vector<std::byte> bytes;
        OutgoingHeap heap;
    };

    void prepare(OutgoingHeap& heap);
    void prepare_anew(OutgoingHeap& heap);
    std::string device_obstacle() const;
    void check_device(const HeapLayout& layout) const;

    SenderConfig config;
    std::string where;
    FrameBuilder::Options frames;
    Pools pools;
    InFlight heaps;
    Shared shared;
    DummyHeap dummy;
    std::shared_ptr<ArmedEvent> event;  ///< the transmitter's
    Transmitter transmitter;

    // The heap source's.
    alignas(64) std::uint64_t next_cnt;
    std::uint64_t cnt_step;
    std::uint64_t packets = 0;  ///< ever submitted
    std::uint32_t in_flight = 0;
};

/// Returns why this sender cannot send from memory of a GPU, and the fix; empty: it can.
std::string Sender::Impl::device_obstacle() const {
    const std::string port = config.port_name.empty() ? "the port" : config.port_name;
    if (config.zero_copy == ZeroCopy::never)
        return "zero_copy is \"never\", so each packet is copied; set it to \"auto\"";
    if (!config.no_device_memory.empty())
        return config.no_device_memory;
    if (!config.capabilities.tx_device_memory)
        return fmt::format("the driver of {} reads the packets that it sends; use a card of net_mlx5", port);
    if (!frames.external)
        return "EAL has physical addresses, and those of a GPU are unknown; start it with --iova-mode=va";
    if (frames.checksum != UdpChecksum::software)
        return {};
    return fmt::format(
        "the CPU makes the UDP checksums, since {} makes none; {}", port,
        is_ipv6(config) ? "send to IPv4 endpoints, which need none" : "udp_checksum is true: leave it out");
}

/// Refuses layouts that would need a look at memory of a GPU.
void Sender::Impl::check_device(const HeapLayout& layout) const {
    if (const std::string obstacle = device_obstacle(); !obstacle.empty())
        throw_error(where, "the heap lies in memory of a GPU, which the CPU cannot read, but {}", obstacle);
    Packetiser walk;
    walk.start(layout, 0);
    while (!walk.done()) {
        const Packetiser::Packet packet = walk.next();
        std::uint32_t pieces = 0;
        bool device = false;
        walk.for_each_piece(packet, [&](const std::byte*, std::uint32_t, PieceKind kind) {
            ++pieces;
            device |= kind == PieceKind::device;
        });
        if (device && pieces > FrameBuilder::kMaxPieces)
            throw Error(
                where,
                fmt::format(
                    "a packet with memory of a GPU, at offset {} of the heap, is made of {} pieces; at "
                    "most {} can be sent without copying: join items in memory",
                    packet.offset, pieces, FrameBuilder::kMaxPieces));
        walk.advance(packet);
    }
}

inline void Sender::Impl::prepare(OutgoingHeap& heap) {
    const std::uint64_t generation = config.regions == nullptr ? 0 : config.regions->generation();
    if (!heap.laid_out(config.max_packet_size, config.regions, generation) || heap.layout_.has_device ||
        (config.zero_copy == ZeroCopy::always && heap.layout_.has_unregistered)) [[unlikely]]
        prepare_anew(heap);
}

void Sender::Impl::prepare_anew(OutgoingHeap& heap) {
    const HeapLayout* layout = nullptr;
    try {
        layout = &heap.layout(config.max_packet_size, config.regions);
    } catch (const Error& error) {
        throw Error(where, error.what());
    }
    if (heap.in_flight())
        return;
    if (layout->has_device)
        check_device(*layout);
    if (config.zero_copy == ZeroCopy::always && layout->has_unregistered)
        throw Error(where, "zero_copy is \"always\", but the heap has items outside every registered region");
}

Sender::Sender(SenderConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}

Sender::~Sender() {
    impl_->transmitter.abandon(Transmitter::Heaps::gone);
    impl_->transmitter.collect(0);
}

SenderMemory Sender::memory_need(const SenderConfig& config) {
    return plan_memory(config);
}

void Sender::prepare(OutgoingHeap& heap) {
    impl_->prepare(heap);
}

bool Sender::submit(std::span<const Submission> group, Interleave mode) {
    Impl& s = *impl_;
    const SenderConfig& config = s.config;
    if (group.size() > config.max_heaps)
        throw Error(s.where, fmt::format("a group of {} heaps can never be in flight: max_heaps is {}",
                                         group.size(), config.max_heaps));
    if (group.size() > free_heaps() || stop_requested())
        return false;
    if (group.empty())
        return true;

    std::uint64_t packets = 0, next_cnt = s.next_cnt;
    const std::uint64_t deadline =
        config.timeout_ticks == 0
            ? 0
            : (config.clock != nullptr ? config.clock() : rte_rdtsc()) + config.timeout_ticks;
    std::uint32_t n = 0;
    for (const Submission& one : group) {
        if (one.heap == nullptr)
            throw Error(s.where, "a submission without a heap");
        if (one.substream >= config.destinations.size())
            throw Error(s.where, fmt::format("substream {} does not exist: there are {}", one.substream,
                                             config.destinations.size()));
        if (one.rate && (!std::isfinite(*one.rate) || *one.rate < 0))
            throw Error(
                s.where,
                fmt::format("rate of {} bytes per second for a heap: it must be 0 (unlimited) or above",
                            *one.rate));
        s.prepare(*one.heap);
        const HeapLayout& layout = one.heap->layout_;
        const std::uint64_t mask = layout.flavour.value_mask();
        std::optional<std::uint64_t> cnt = one.cnt ? one.cnt : one.heap->cnt();
        if (cnt && *cnt > mask)
            throw Error(s.where,
                        fmt::format("heap count {:#x} does not fit SPEAD-64-{}: the largest is {:#x}", *cnt,
                                    layout.flavour.address_bits(), mask));
        if (!cnt) {
            cnt = next_cnt & mask;
            next_cnt += s.cnt_step;
        }
        packets += layout.packets;
        Entry& entry = s.heaps.to_submit(n++);
        entry.heap = one.heap;
        entry.layout = &layout;
        entry.user = one.user;
        entry.cnt = *cnt;
        entry.deadline = one.control ? 0 : deadline;
        entry.rate = one.rate.value_or(-1);
        entry.substream = one.substream;
        entry.group_end = mode == Interleave::serial || n == group.size();
        entry.control = one.control;
    }

    s.next_cnt = next_cnt;
    s.in_flight += n;
    s.packets += packets;
    for (const Submission& one : group)
        ++one.heap->in_flight_;
    s.shared.packets_submitted.store(s.packets, std::memory_order_relaxed);
    // This publishes the count and the layouts, too.
    s.heaps.submit(n);
    return true;
}

std::size_t Sender::poll_completions(std::span<Completion> out) {
    InFlight& heaps = impl_->heaps;
    const std::size_t n = std::min<std::uint64_t>(out.size(), heaps.completions());
    for (std::size_t i = 0; i < n; ++i) {
        const Entry& entry = heaps.completion(i);
        out[i] = {entry.heap, entry.user, entry.cnt, entry.time, entry.substream, status_of(entry.result)};
        --entry.heap->in_flight_;
    }
    heaps.take_completions(n);
    impl_->in_flight -= static_cast<std::uint32_t>(n);
    return n;
}

void Sender::set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept {
    impl_->next_cnt = next;
    impl_->cnt_step = step;
}

void Sender::announce_by(std::shared_ptr<ArmedEvent> event) noexcept {
    impl_->event = std::move(event);
    impl_->transmitter.announce_by(impl_->event.get());
}

void Sender::disown(OutgoingHeap& heap) noexcept {
    heap.in_flight_ = 0;
}

bool Sender::any_completed() const noexcept {
    return impl_->heaps.completions() != 0;
}

std::uint32_t Sender::in_flight() const noexcept {
    return impl_->in_flight;
}
std::uint32_t Sender::free_heaps() const noexcept {
    return impl_->config.max_heaps - impl_->in_flight;
}

bool Sender::poll(std::uint64_t now) noexcept {
    return impl_->transmitter.poll(now);
}
bool Sender::collect(std::uint64_t now) noexcept {
    return impl_->transmitter.collect(now);
}
std::size_t Sender::release() noexcept {
    impl_->transmitter.reap();
    return impl_->pools.out();
}
void Sender::set_port(const port::TxQueue& queue, const port::SendTimes& times, const wire::MacAddress& mac,
                      const IpAddress& ip) noexcept {
    impl_->transmitter.set_source(mac, ip);
    impl_->transmitter.set_times(times);
    impl_->transmitter.set_queue(queue);
}
void Sender::set_source(const wire::MacAddress& mac, const IpAddress& ip) noexcept {
    impl_->transmitter.set_source(mac, ip);
}
void Sender::set_queue(const port::TxQueue& queue) noexcept {
    impl_->transmitter.set_queue(queue);
}
bool Sender::idle() const noexcept {
    return impl_->transmitter.idle();
}
std::uint64_t Sender::next_send_time() const noexcept {
    return impl_->transmitter.next_send_time();
}
Backlog Sender::backlog() const noexcept {
    return impl_->transmitter.backlog();
}
bool Sender::stuck() const noexcept {
    return impl_->transmitter.stuck();
}
void Sender::set_mac(std::uint32_t substream, const wire::MacAddress& mac) noexcept {
    impl_->transmitter.set_mac(substream, mac);
}
void Sender::set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept {
    impl_->transmitter.set_ttl_dscp(ttl, dscp);
}
DummyResult Sender::dummy(std::uint32_t packets) noexcept {
    return impl_->transmitter.dummy(packets);
}
void Sender::set_pacing(const Pacing& pacing) noexcept {
    impl_->transmitter.set_pacing(pacing);
}
const Pacing& Sender::pacing() const noexcept {
    return impl_->transmitter.pacing();
}
const stats::SendCounters& Sender::counters() const noexcept {
    return impl_->transmitter.counters();
}

void Sender::request_cut(Cut cut) noexcept {
    impl_->shared.cut.store(cut, std::memory_order_relaxed);
}
void Sender::request_recall() noexcept {
    impl_->shared.recall.store(true, std::memory_order_relaxed);
}
void Sender::request_stop() noexcept {
    impl_->shared.stop.store(true, std::memory_order_relaxed);
}
bool Sender::stop_requested() const noexcept {
    return impl_->shared.stop.load(std::memory_order_relaxed);
}

std::uint64_t Sender::polls() const noexcept {
    return impl_->shared.polls.load(std::memory_order_relaxed);
}

const SenderConfig& Sender::config() const noexcept {
    return impl_->config;
}
std::size_t Sender::mbufs_out() const noexcept {
    return impl_->pools.out();
}

}  // namespace spead::send
