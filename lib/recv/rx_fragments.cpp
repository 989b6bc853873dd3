// SPDX-License-Identifier: BSD-3-Clause
/// Handles packets that are not only counted: IP fragments, and frames for our own hosts.
#include <rte_mbuf.h>

#include "recv/mbufs.hpp"
#include "recv/rx_agent.hpp"
#include "recv/udp_checksum.hpp"

namespace spead::recv {

namespace {

/// Stands in a burst for a fragment that is held. It has no bytes, and is never freed.
rte_mbuf held_elsewhere{};

}  // namespace

/// Counts a packet of slow_path() that is a fragment, IGMP or ARP, and handles it. A fragment may go out of
/// the burst, or a whole datagram may take its place there. `bytes`: of the batch. Returns false when the
/// datagram has to wait (stopped_short_).
template <class Decoder>
[[gnu::noinline]] bool BasicRxAgent<Decoder>::handle_apart(Source& source, rte_mbuf*& mbuf,
                                                           PortOutcome outcome, std::uint64_t now,
                                                           std::uint64_t& bytes) noexcept {
    if (outcome != PortOutcome::fragment) {
        source.counters[outcome]++;
        pass_on(source, mbuf);
        return true;
    }
    if (source.reassembler == nullptr) {
        const Classifier& all = source.all_endpoints != nullptr ? *source.all_endpoints : source.classifier;
        source.counters.reassembly.wanted += Reassembler::is_for(all, *mbuf);
        source.counters[outcome]++;
        return true;
    }
    const std::uint32_t own = mbuf->pkt_len;
    std::uint64_t before = 0;
    switch (source.reassembler->take(source.classifier, mbuf, now, before, source.reassembly_counts())) {
        case Reassembler::Fate::refused:
            source.counters[outcome]++;
            return true;
        case Reassembler::Fate::held:
            bytes -= own;
            source.unattributed--;
            mbuf = &held_elsewhere;
            kept_[kept_count_++] = mbuf;
            return true;
        case Reassembler::Fate::whole:
            break;
    }
    bytes += before;
    // No device checks the sum of fragments.
    outcome = udp_checksum_is_wrong(*mbuf) ? PortOutcome::bad_checksum : slow_path(source, mbuf, now);
    if (stopped_short_) [[unlikely]]
        return false;
    source.counters[outcome]++;
    return true;
}

template <class Decoder>
void BasicRxAgent<Decoder>::give_up_fragments() noexcept {
    for (Source* const source : sources_)
        source->give_up_fragments();
}

template bool BasicRxAgent<SpeadDecoder>::handle_apart(Source&, rte_mbuf*&, PortOutcome, std::uint64_t,
                                                       std::uint64_t&) noexcept;
template void BasicRxAgent<SpeadDecoder>::give_up_fragments() noexcept;

}  // namespace spead::recv
