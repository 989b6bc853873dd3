// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/prebuilt_queue.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace spead::app {

PrebuiltSizes::PrebuiltSizes(std::uint32_t items, std::uint32_t payload) {
    const std::size_t packet = wire::kNetHeader + wire::kSpeadHeader + items * wire::kItemPointer + payload;
    room = static_cast<std::uint32_t>(RTE_PKTMBUF_HEADROOM + (packet + 63) / 64 * 64);
    element = static_cast<std::uint32_t>(sizeof(rte_mbuf)) + room + 64;
}

PrebuiltQueue::PrebuiltQueue(const std::string& where, std::uint64_t packets, const PrebuiltSizes& sizes,
                             const std::function<void(std::uint64_t i, rte_mbuf& mbuf)>& build) {
    static unsigned number = 0;
    pool_ = rte_pktmbuf_pool_create_by_ops(
        fmt::format("bench{}", number++).c_str(), static_cast<unsigned>(packets), 0, 0,
        static_cast<std::uint16_t>(sizes.room), SOCKET_ID_ANY, "ring_sp_sc");
    if (pool_ == nullptr)
        throw_error(where, "no EAL memory for {} mbufs of {} bytes; give -m or a smaller --set", packets,
                    sizes.element);
    order_.resize(packets);
    if (rte_pktmbuf_alloc_bulk(pool_, order_.data(), static_cast<unsigned>(packets)) != 0) {
        rte_mempool_free(pool_);
        throw_error(where, "cannot take {} mbufs from their pool", packets);
    }
    for (std::uint64_t i = 0; i < packets; i++)
        build(i, *order_[i]);
    rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(order_.data()), static_cast<unsigned>(packets));
}

PrebuiltQueue::~PrebuiltQueue() {
    rte_mempool_free(pool_);
}

void PrebuiltQueue::restore_order() {
    std::vector<void*> any(order_.size());
    const auto n = static_cast<unsigned>(any.size());
    if (rte_mempool_get_bulk(pool_, any.data(), n) != 0)
        throw_error("bench", "packets did not come back from their heaps");
    rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(order_.data()), n);
}

bool PrebuiltQueue::all_back() const {
    return rte_mempool_avail_count(pool_) == order_.size();
}

std::uint16_t PrebuiltQueue::burst(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max) {
    auto* const self = static_cast<PrebuiltQueue*>(context);
    if (self->left_ == 0)
        return 0;
    const auto n = static_cast<std::uint16_t>(std::min<std::uint64_t>(max, self->left_));
    if (rte_mempool_get_bulk(self->pool_, reinterpret_cast<void**>(mbufs), n) != 0)
        return 0;
    self->left_ -= n;
    return n;
}

std::span<std::byte> append_datagram(rte_mbuf& mbuf, std::uint32_t group, std::uint16_t port,
                                     std::span<const std::uint8_t> header, std::size_t payload) {
    const std::size_t length = header.size() + payload;
    auto* const frame = reinterpret_cast<std::uint8_t*>(
        rte_pktmbuf_append(&mbuf, static_cast<std::uint16_t>(wire::kNetHeader + length)));
    wire::NetHeaderSpec spec;
    spec.dst_ip = group;
    spec.src_ip = 0x0A000001;
    spec.dst_port = port;
    spec.src_port = port;
    spec.dst_mac = wire::multicast_mac_of(spec.dst_ip);
    std::uint8_t* const at = frame + wire::write_headers(frame, spec, length);
    std::ranges::copy(header, at);
    return std::as_writable_bytes(std::span(at + header.size(), payload));
}

std::span<std::byte> append_packet(rte_mbuf& mbuf, std::uint32_t group, std::uint16_t port,
                                   std::span<const std::uint64_t> pointers, std::size_t payload) {
    std::vector<std::uint8_t> header{0x53, 4, 2, 6, 0, 0, 0, static_cast<std::uint8_t>(pointers.size())};
    for (const std::uint64_t pointer : pointers) {
        header.resize(header.size() + wire::kItemPointer);
        store_be64(header.data() + header.size() - wire::kItemPointer, pointer);
    }
    return append_datagram(mbuf, group, port, header, payload);
}

PrebuiltPacket::PrebuiltPacket(const std::string& where, const rte_mbuf& mbuf) {
    const auto* const frame = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    if (wire::parse_udp(frame, mbuf.data_len, mbuf.data_len, false, udp) != PortOutcome::stream ||
        wire::parse_spead(frame + udp.payload_offset, udp.payload_length, udp.payload_length, spead) !=
            wire::SpeadError::none)
        throw_error(where, "a prebuilt packet is broken");
    payload =
        std::as_bytes(std::span(frame + udp.payload_offset + spead.header_length, spead.payload_length));
}

}  // namespace spead::app
