// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/kernel_sockets.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>

#include <fmt/core.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "base/socket_address.hpp"
#include "recv/datagram_lane.hpp"
#include "recv/kernel_socket.hpp"
#include "wire/net.hpp"

#ifndef RTE_ETHDEV_RXTX_CALLBACKS
#error "net_kernel needs a DPDK with callbacks of receive queues"
#endif

namespace spead::drivers {

namespace {

/// Limits the datagrams of a burst, and the sockets that it looks at.
constexpr std::uint16_t kMessages = 64;
constexpr int kReady = 16;
static_assert(kMessages >= kReady, "each socket that is ready has a share of a burst");
/// Limits the wait for a burst to end. Its lcore may have no CPU meanwhile.
constexpr std::chrono::seconds kPatience{1};

/// Says that the kernel has checked the sums.
constexpr std::uint64_t kRightSums = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

Endpoint place_of(const Endpoint& endpoint) {
    return {endpoint.address, endpoint.port, {}};
}

}  // namespace

/// Holds the sockets of one receive queue.
class KernelSockets::Queue {
  public:
    explicit Queue(const Options& options)
        : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)), room_(options.max_payload + 1) {
        if (!epoll_)
            throw_error(options.where,
                        "cannot make an event descriptor: {}; raise the limit of descriptors (ulimit -n)",
                        std::strerror(errno));
        for (std::size_t i = 0; i < kMessages; i++) {
            headers_[i] = {};
            headers_[i].msg_hdr.msg_name = &names_[i];
            headers_[i].msg_hdr.msg_iov = &parts_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
        }
    }

    /// Is the callback of the receive queue: all `count` mbufs are fresh, and hold nothing.
    static std::uint16_t burst(std::uint16_t /*port*/, std::uint16_t /*queue*/, rte_mbuf** mbufs,
                               std::uint16_t count, std::uint16_t /*max*/, void* user) {
        auto& self = *static_cast<Queue*>(user);
        // An odd turn stands before the first look at a socket.
        self.turn_.fetch_add(1, std::memory_order_seq_cst);
        const std::uint16_t n = self.fill(mbufs, std::min(count, kMessages));
        self.turn_.fetch_add(1, std::memory_order_release);
        if (n < count)
            rte_pktmbuf_free_bulk(mbufs + n, count - n);
        return n;
    }

    void add(const Endpoint& endpoint);
    void remove(const Endpoint& endpoint);
    void clear() noexcept;

    int descriptor() const noexcept { return epoll_.get(); }
    std::uint64_t take_missed();

  private:
    struct Open {
        recv::KernelSocket socket;
        std::vector<Endpoint> endpoints;  ///< of the rules that need it: of one place, with other sources
        std::uint32_t dropped = 0;        ///< when it was last asked
    };

    /// Is a removed socket that a burst may still have.
    struct Retired {
        std::unique_ptr<Open> open;
        std::uint32_t turn;  ///< the burst's, if it is odd
    };

    std::uint16_t fill(rte_mbuf** mbufs, std::uint16_t room) noexcept;
    std::uint16_t take(const recv::KernelSocket& socket, rte_mbuf** mbufs, std::uint16_t room) noexcept;
    Open* find(const Endpoint& endpoint) noexcept;
    void note_missed(Open& open) noexcept;
    bool close_retired() noexcept;
    bool wait_for_burst() noexcept;
    recv::KernelSocket::Options socket_options() const {
        // The program drops its privileges after the start. Sockets opened later would have other buffers.
        return {options_.interface, options_.buffer_size, false, options_.where, false, true};
    }

    const Options& options_;
    std::vector<std::unique_ptr<Open>> sockets_;
    std::vector<Retired> retired_;
    std::uint64_t missed_ = 0;
    bool told_of_buffer_ = false;
    FileDescriptor epoll_;
    // Of the lcore:
    alignas(64) std::atomic<std::uint32_t> turn_{0};  ///< odd: a burst is being received
    const std::size_t room_;
    std::array<mmsghdr, kMessages> headers_;
    std::array<iovec, kMessages> parts_;
    std::array<sockaddr_in6, kMessages> names_;
};

std::uint16_t KernelSockets::Queue::fill(rte_mbuf** mbufs, std::uint16_t room) noexcept {
    std::array<epoll_event, kReady> ready;
    const int sockets = ::epoll_wait(epoll_.get(), ready.data(), kReady, 0);
    std::uint16_t n = 0;
    for (int i = 0; i < sockets && n < room; i++) {
        // Each has its share: the kernel names them in the same order when all of them are busy.
        const auto share = static_cast<std::uint16_t>(std::max(1, (room - n) / (sockets - i)));
        const Open& open = *static_cast<const Open*>(ready[static_cast<std::size_t>(i)].data.ptr);
        n = static_cast<std::uint16_t>(n + take(open.socket, mbufs + n, share));
    }
    return n;
}

/// Receives up to `room` datagrams of a socket, and writes the headers before them that they came with.
std::uint16_t KernelSockets::Queue::take(const recv::KernelSocket& socket, rte_mbuf** mbufs,
                                         std::uint16_t room) noexcept {
    recv::PacketWay way;
    way.destination = socket.place().address;
    way.destination_port = socket.place().port;
    const std::size_t headers = way.destination.is_v4() ? wire::kNetHeader : wire::kNetHeader6;
    for (std::size_t i = 0; i < room; i++) {
        parts_[i] = {rte_pktmbuf_mtod_offset(mbufs[i], void*, headers), room_};
        headers_[i].msg_hdr.msg_namelen = sizeof names_[i];
    }
    const int received = ::recvmmsg(socket.fd(), headers_.data(), room, MSG_DONTWAIT, nullptr);
    // An error belongs to an earlier datagram, as an ICMP message about it. It is gone when it has been read.
    const auto n = static_cast<std::uint16_t>(std::max(0, received));
    for (std::size_t i = 0; i < n; i++) {
        rte_mbuf& m = *mbufs[i];
        way.source = address_of(reinterpret_cast<const sockaddr*>(&names_[i]));
        // At the same place in both families.
        way.source_port = byte_swap(reinterpret_cast<const sockaddr_in&>(names_[i]).sin_port);
        const std::size_t length = headers_[i].msg_len;
        recv::write_way(rte_pktmbuf_mtod(&m, std::uint8_t*), way, length);
        m.pkt_len = static_cast<std::uint32_t>(headers + length);
        m.data_len = static_cast<std::uint16_t>(m.pkt_len);
        m.ol_flags = kRightSums;
    }
    return n;
}

KernelSockets::Queue::Open* KernelSockets::Queue::find(const Endpoint& endpoint) noexcept {
    const auto open = std::ranges::find_if(
        sockets_, [&](const auto& one) { return one->socket.place() == place_of(endpoint); });
    return open == sockets_.end() ? nullptr : open->get();
}

/// Opens a socket, or lets that of the same address and port have one more source.
void KernelSockets::Queue::add(const Endpoint& endpoint) {
    close_retired();
    if (Open* const open = find(endpoint); open != nullptr) {
        std::vector<Endpoint> all = open->endpoints;
        all.push_back(endpoint);
        open->socket.change(all, socket_options());
        open->endpoints = std::move(all);
        return;
    }
    auto open = std::make_unique<Open>(Open{recv::KernelSocket({endpoint}, socket_options()), {endpoint}});
    const std::size_t granted = open->socket.buffer_size();
    if (granted < options_.buffer_size && !std::exchange(told_of_buffer_, true))
        log_warning(LogType::port,
                    "{}: the kernel grants receive buffers of {} bytes, and {} were wanted; `sysctl -w "
                    "net.core.rmem_max={}`",
                    options_.where, granted, options_.buffer_size, options_.buffer_size);
    sockets_.reserve(sockets_.size() + 1);
    retired_.reserve(sockets_.size() + 1);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = open.get();
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, open->socket.fd(), &event) != 0)
        throw_error(options_.where, "a socket cannot be watched: {}; raise fs.epoll.max_user_watches",
                    std::strerror(errno));
    sockets_.push_back(std::move(open));
}

/// Closes the socket with its last endpoint.
void KernelSockets::Queue::remove(const Endpoint& endpoint) {
    Open* const open = find(endpoint);
    if (open == nullptr)
        return;
    std::vector<Endpoint> rest = open->endpoints;
    std::erase(rest, endpoint);
    if (!rest.empty()) {
        open->socket.change(rest, socket_options());
        open->endpoints = std::move(rest);
        return;
    }
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, open->socket.fd(), nullptr);
    note_missed(*open);
    const auto at = std::ranges::find_if(sockets_, [open](const auto& one) { return one.get() == open; });
    retired_.push_back({std::move(*at), turn_.load(std::memory_order_seq_cst)});
    sockets_.erase(at);
    if (!wait_for_burst())
        log_warning(LogType::port, "{}: a burst has not ended within {} s, so {} stays bound until it has",
                    options_.where, kPatience.count(), to_string(endpoint));
}

/// Closes the removed sockets that no burst has any more. Returns whether all are closed.
bool KernelSockets::Queue::close_retired() noexcept {
    const std::uint32_t now = turn_.load(std::memory_order_acquire);
    std::erase_if(retired_, [now](const Retired& r) { return r.turn % 2 == 0 || r.turn != now; });
    return retired_.empty();
}

/// Waits until the bursts that may have an old socket have ended. Returns whether they have.
bool KernelSockets::Queue::wait_for_burst() noexcept {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!close_retired()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::yield();
    }
    return true;
}

void KernelSockets::Queue::clear() noexcept {
    for (const auto& open : sockets_) {
        note_missed(*open);
        // A child of fork(2) may keep the socket, and would let the kernel watch it further.
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, open->socket.fd(), nullptr);
    }
    sockets_.clear();
    retired_.clear();
}

void KernelSockets::Queue::note_missed(Open& open) noexcept {
    const auto now = open.socket.dropped();
    if (!now)
        return;
    missed_ += static_cast<std::uint32_t>(*now - open.dropped);
    open.dropped = *now;
}

std::uint64_t KernelSockets::Queue::take_missed() {
    close_retired();
    for (const auto& open : sockets_)
        note_missed(*open);
    return std::exchange(missed_, 0);
}

/// Holds the rules of a started device, and the callbacks of its queues.
class KernelSockets::Rules final : public port::RuleTable {
  public:
    Rules(KernelSockets& sockets, std::uint16_t port) : sockets_(sockets), port_(port) {
        for (std::uint16_t q = 0; q < sockets_.queues_.size(); q++) {
            const rte_eth_rxtx_callback* const callback =
                rte_eth_add_rx_callback(port_, q, &Queue::burst, sockets_.queues_[q].get());
            if (callback == nullptr) {
                end_callbacks();
                throw_error(sockets_.options_.where, "DPDK takes no callback for receive queue {}", q);
            }
            callbacks_.push_back(callback);
        }
    }
    ~Rules() override {
        Rules::clear();
        end_callbacks();
    }
    Rules(const Rules&) = delete;
    Rules& operator=(const Rules&) = delete;

    void add(const port::Rule& rule) override {
        const std::string& where = sockets_.options_.where;
        if (rule.vlan)
            throw_usage(where,
                        "{} in VLAN {}: the kernel takes tags off; name the interface of that VLAN instead",
                        to_string(rule.endpoint), *rule.vlan);
        if (std::ranges::find(rules_, rule.endpoint, &port::Rule::endpoint) != rules_.end())
            throw_error(where, "{} has a socket already", to_string(rule.endpoint));
        rules_.reserve(rules_.size() + 1);
        sockets_.queues_[rule.queues.front()]->add(rule.endpoint);
        rules_.push_back(rule);
    }
    void remove(const Endpoint& endpoint) override {
        const auto rule = std::ranges::find(rules_, endpoint, &port::Rule::endpoint);
        if (rule == rules_.end())
            return;
        sockets_.queues_[rule->queues.front()]->remove(endpoint);
        rules_.erase(rule);
    }
    void clear() noexcept override {
        for (const auto& queue : sockets_.queues_)
            queue->clear();
        rules_.clear();
    }
    std::vector<port::RuleState> rules() const override {
        std::vector<port::RuleState> all;
        for (const port::Rule& rule : rules_)
            all.push_back({rule,
                           fmt::format("UDP socket for {} -> receive queue {}", to_string(rule.endpoint),
                                       rule.queues.front()),
                           false,
                           {}});
        return all;
    }

  private:
    /// Takes the callbacks away. No lcore polls, so their memory can be freed.
    void end_callbacks() noexcept {
        for (std::uint16_t q = 0; q < callbacks_.size(); q++)
            if (rte_eth_remove_rx_callback(port_, q, callbacks_[q]) == 0)
                rte_free(const_cast<rte_eth_rxtx_callback*>(callbacks_[q]));
        callbacks_.clear();
    }

    KernelSockets& sockets_;
    const std::uint16_t port_;
    std::vector<const rte_eth_rxtx_callback*> callbacks_;
    std::vector<port::Rule> rules_;
};

KernelSockets::KernelSockets(Options options, std::uint16_t queues) : options_(std::move(options)) {
    for (std::uint16_t q = 0; q < queues; q++)
        queues_.push_back(std::make_unique<Queue>(options_));
}

KernelSockets::~KernelSockets() = default;

std::unique_ptr<port::RuleTable> KernelSockets::receive_from(const std::string& device) {
    std::uint16_t port = 0;
    if (rte_eth_dev_get_port_by_name(device.c_str(), &port) != 0)
        throw_error(options_.where, "the device {} has disappeared", device);
    return std::make_unique<Rules>(*this, port);
}

std::vector<int> KernelSockets::descriptors() const {
    std::vector<int> all;
    for (const auto& queue : queues_)
        all.push_back(queue->descriptor());
    return all;
}

std::uint64_t KernelSockets::take_missed() {
    std::uint64_t all = 0;
    for (const auto& queue : queues_)
        all += queue->take_missed();
    return all;
}

}  // namespace spead::drivers
