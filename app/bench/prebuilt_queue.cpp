// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/prebuilt_queue.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "runtime/eal.hpp"

namespace spead::app {

PrebuiltSizes::PrebuiltSizes(std::uint32_t items, std::uint32_t payload) {
    const std::size_t packet = wire::kNetHeader + wire::kSpeadHeader + items * wire::kItemPointer + payload;
    frame = static_cast<std::uint32_t>((packet + 63) / 64 * 64);
    room = RTE_PKTMBUF_HEADROOM + frame;
    element = static_cast<std::uint32_t>(sizeof(rte_mbuf)) + room + 64;
}

PrebuiltQueue::PrebuiltQueue(const std::string& where, std::uint64_t packets, const PrebuiltSizes& sizes,
                             const std::function<void(std::uint64_t i, rte_mbuf& mbuf)>& build,
                             std::uint32_t descriptors) {
    static unsigned number = 0;
    const bool apart = descriptors != 0;
    const auto mbufs = static_cast<unsigned>(apart ? descriptors : packets);
    if (apart)
        own_ = memory::Mapping(packets * sizes.frame);
    pool_ = rte_pktmbuf_pool_create_by_ops(fmt::format("bench{}", number++).c_str(), mbufs, 0, 0,
                                           apart ? 0 : static_cast<std::uint16_t>(sizes.room), SOCKET_ID_ANY,
                                           "ring_sp_sc");
    if (pool_ == nullptr)
        throw_error(where, "no EAL memory for {} mbufs of {} bytes; give -m or a smaller --set", mbufs,
                    apart ? sizeof(rte_mbuf) : sizes.element);
    order_.resize(mbufs);
    if (rte_pktmbuf_alloc_bulk(pool_, order_.data(), mbufs) != 0) {
        rte_mempool_free(pool_);
        throw_error(where, "cannot take {} mbufs from their pool", mbufs);
    }
    frames_.reserve(packets);
    if (apart)
        lay_back_to_back(packets, sizes.frame, build);
    for (std::uint64_t i = 0; i < packets && !apart; i++) {
        build(i, *order_[i]);
        frames_.emplace_back(rte_pktmbuf_mtod(order_[i], std::uint8_t*), order_[i]->data_len);
    }
    rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(order_.data()), mbufs);
}

/// Builds each packet in the first mbuf, which points at the packet's place meanwhile.
void PrebuiltQueue::lay_back_to_back(std::uint64_t packets, std::uint32_t frame,
                                     const std::function<void(std::uint64_t, rte_mbuf&)>& build) {
    rte_mbuf& mbuf = *order_.front();
    auto* at = reinterpret_cast<std::uint8_t*>(own_.base());
    for (std::uint64_t i = 0; i < packets; i++) {
        mbuf.buf_addr = at;
        mbuf.buf_len = static_cast<std::uint16_t>(frame);
        mbuf.data_off = 0;
        mbuf.pkt_len = mbuf.data_len = 0;
        build(i, mbuf);
        frames_.emplace_back(at, mbuf.data_len);
        at += frame;
    }
}

/// Writes what a driver writes into the mbuf of each packet that came.
void PrebuiltQueue::attach(rte_mbuf** mbufs, std::uint16_t count) noexcept {
    const std::span<std::uint8_t>* frame = frames_.data() + (frames_.size() - left_);
    for (std::uint16_t i = 0; i < count; i++, frame++) {
        rte_mbuf& mbuf = *mbufs[i];
        mbuf.buf_addr = frame->data();
        mbuf.data_off = 0;
        mbuf.pkt_len = mbuf.data_len = static_cast<std::uint16_t>(frame->size());
    }
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

std::string PrebuiltQueue::pages() const {
    return own_.length() == 0 ? runtime::Eal::pages() : std::string(memory::name_of(own_.backing()));
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
    if (self->own_.length() != 0)
        self->attach(mbufs, n);
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

PrebuiltPacket::PrebuiltPacket(const std::string& where, std::span<const std::uint8_t> frame) {
    const auto length = static_cast<std::uint32_t>(frame.size());
    if (wire::parse_udp(frame.data(), length, length, false, udp) != PortOutcome::stream ||
        wire::parse_spead(frame.data() + udp.payload_offset, udp.payload_length, udp.payload_length, spead) !=
            wire::SpeadError::none)
        throw_error(where, "a prebuilt packet is broken");
    payload = std::as_bytes(frame.subspan(udp.payload_offset + spead.header_length, spead.payload_length));
}

}  // namespace spead::app
