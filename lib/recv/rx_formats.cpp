// SPDX-License-Identifier: BSD-3-Clause
/// Handles the usual packets of declared formats, which no template of SPEAD matches.
#include <rte_mbuf.h>

#include "recv/rx_agent.hpp"
#include "recv/rx_take.hpp"

namespace spead::recv {

/// Handles a packet in one segment that has the network headers of the last ones to its endpoint, and whose
/// format accepts it. fast_path() has looked at its mbuf and its length. Returns false when nothing was done,
/// or when the packet has to wait (stopped_short_).
template <class Decoder>
template <class Ip>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::format_path(Source& source, BasicFlowCache<Ip>& flows,
                                                          rte_mbuf* mbuf, bool verify,
                                                          std::uint64_t now) noexcept {
    const std::uint8_t* const frame = frame_of(mbuf);
    const BasicNetTemplate<Ip>& net = flows.of_format(frame);
    std::size_t datagram = 0;
    if (!net.match(frame, mbuf->data_len, verify, datagram))
        return false;
    heap::PacketView view;
    std::uint32_t payload_at = 0;
    if (!lanes_[net.lane()]->decoder.decode_format(frame + Ip::kHeader, datagram, view, payload_at) ||
        view.payload_length == 0) [[unlikely]]
        return false;
    const auto length = static_cast<std::uint32_t>(datagram);
    const std::uint32_t at = Ip::kHeader + payload_at;
    return take<Ip>(source, net.lane(), net.endpoint(), view, mbuf, frame + at, at, now,
                    {.at = Ip::kHeader, .have = length, .length = length, .gathered = 0}, [] { return 0U; });
}

template bool BasicRxAgent<SpeadDecoder>::format_path(Source&, FlowCache&, rte_mbuf*, bool,
                                                      std::uint64_t) noexcept;
template bool BasicRxAgent<SpeadDecoder>::format_path(Source&, FlowCache6&, rte_mbuf*, bool,
                                                      std::uint64_t) noexcept;

}  // namespace spead::recv
