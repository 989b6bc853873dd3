// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/test_sender.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"

namespace spead::app {

namespace {

constexpr auto kPacketPatience = std::chrono::seconds(1);

}  // namespace

TestSender::TestSender(const port::Port& port, const Endpoint& destination)
    : queue_(port.tx_queue(0)), mapping_(std::size_t{2} << 20), region_(mapping_.base(), mapping_.length()) {
    region_.map(port);
    std::fill_n(mapping_.base(), mapping_.length(), kFilledWith);
    wire::NetHeaderSpec spec;
    spec.src_mac = port.mac();
    spec.dst_mac = wire::multicast_mac_of(destination.address);
    spec.src_ip =
        destination.address.is_v6() ? IpAddress(port.source_address6()) : IpAddress(port.source_address());
    spec.dst_ip = destination.address;
    spec.src_port = spec.dst_port = destination.port;
    way_ = spec;
    headers_ = wire::NetHeaderTemplate(spec);
    pool_ = rte_pktmbuf_pool_create("selftest", kPool, 0, 0, RTE_PKTMBUF_HEADROOM + 2048, port.socket_id());
    if (pool_ == nullptr)
        throw_error("", "no memory for {} mbufs", kPool);
    // Which mbufs are back tells the pool; the memory is this object's throughout.
    shared_.free_cb = [](void*, void*) {};
}

TestSender::~TestSender() {
    if (all_back())
        rte_mempool_free(pool_);
}

bool TestSender::all_back() const {
    return rte_mempool_full(pool_) != 0;
}

unsigned TestSender::back() const {
    return kPool - rte_mempool_in_use_count(pool_);
}

std::uint16_t TestSender::send(std::uint16_t segments) {
    std::uint16_t sent = 0;
    for (; sent < kPacketsOfEach; sent++) {
        rte_mbuf* packet = make(segments);
        if (packet == nullptr)
            throw_error("", "no mbufs are left: {} of the sent packets came back", back());
        const auto end = std::chrono::steady_clock::now() + kPacketPatience;
        while (queue_.tx_burst(&packet, 1) == 0) {
            if (std::chrono::steady_clock::now() > end) {
                rte_pktmbuf_free(packet);
                return sent;
            }
            std::this_thread::yield();
        }
    }
    return sent;
}

rte_mbuf* TestSender::make(std::uint16_t segments) {
    rte_mbuf* const head = rte_pktmbuf_alloc(pool_);
    if (head == nullptr)
        return nullptr;
    auto* const out = reinterpret_cast<std::uint8_t*>(
        rte_pktmbuf_append(head, static_cast<std::uint16_t>(headers_.length())));
    headers_.write(out, segments * kSegment, checksum(segments));
    for (std::uint16_t i = 0; i < segments; i++) {
        rte_mbuf* const piece = rte_pktmbuf_alloc(pool_);
        if (piece == nullptr) {
            rte_pktmbuf_free(head);
            return nullptr;
        }
        std::byte* const at = piece_at(i);
        rte_mbuf_ext_refcnt_set(&shared_, static_cast<std::uint16_t>(rte_mbuf_ext_refcnt_read(&shared_) + 1));
        rte_pktmbuf_attach_extbuf(piece, at, reinterpret_cast<rte_iova_t>(at), kSegment, &shared_);
        piece->data_len = kSegment;
        piece->pkt_len = kSegment;
        rte_pktmbuf_chain(head, piece);
    }
    return head;
}

/// Returns the UDP checksum of a packet: none over IPv4; over IPv6 receivers demand one.
std::uint16_t TestSender::checksum(std::uint16_t segments) const {
    if (way_.dst_ip.is_v4())
        return 0;
    std::vector<std::span<const std::uint8_t>> payload;
    for (std::uint16_t i = 0; i < segments; i++)
        payload.emplace_back(reinterpret_cast<const std::uint8_t*>(piece_at(i)), kSegment);
    return wire::udp_checksum(way_.src_ip, way_.dst_ip, way_.src_port, way_.dst_port, payload);
}

}  // namespace spead::app
