// SPDX-License-Identifier: BSD-3-Clause
#include "recv/reassembler.hpp"

#include <rte_ip_frag.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_random.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/tick_rate.hpp"
#include "recv/mbufs.hpp"
#include "wire/net.hpp"

namespace spead::recv {

namespace {

static_assert(port::kMostFragments == RTE_LIBRTE_IP_FRAG_MAX_FRAG);

/// Holds the library's time of all fragments: FragmentTable has the clock.
constexpr std::uint64_t kNow = 1;
/// Holds the time at which the library gives everything up.
constexpr std::uint64_t kPast = UINT64_MAX;
constexpr std::uint64_t kLifetime = UINT64_MAX / 2;

/// Keeps the library from logging each table that is made.
class Quiet {
  public:
    Quiet() noexcept { rte_log_set_level(kType, RTE_LOG_WARNING); }
    ~Quiet() { rte_log_set_level(kType, static_cast<std::uint32_t>(before_)); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

  private:
    static constexpr std::uint32_t kType = RTE_LOGTYPE_USER1;  // of DPDK 22.11

    const int before_ = rte_log_get_level(kType);
};

/// Makes the IPv4 header of a whole datagram right: the library leaves its checksum out.
void sum_up(rte_mbuf& mbuf, std::uint16_t l2_length) noexcept {
    std::uint8_t* const header = frame_of(&mbuf) + l2_length;
    store_be16(header + 10, 0);
    store_be16(header + 10, wire::ipv4_checksum(header, std::size_t{header[0] & 0x0FU} * 4));
}

}  // namespace

void Reassembler::FreeTable::operator()(rte_ip_frag_tbl* table) const noexcept {
    rte_ip_frag_table_destroy(table);
}

Reassembler::Reassembler(std::uint32_t datagrams, int socket, const std::string& where)
    : table_(datagrams, static_cast<std::uint64_t>(kPatience * ticks_per_second()), rte_rand()),
      freed_(std::make_unique<rte_ip_frag_death_row>()) {
    const Quiet quiet;
    datagrams_.reserve(table_.places());
    for (std::uint32_t i = 0; i < table_.places(); i++) {
        datagrams_.emplace_back(rte_ip_frag_table_create(1, 1, 1, kLifetime, socket));
        if (!datagrams_.back())
            throw_error(where, "no EAL memory to reassemble {} datagrams; lower `reassemble_datagrams`",
                        table_.places());
    }
}

Reassembler::~Reassembler() = default;

/// Frees what the library holds of a place's datagram.
void Reassembler::empty(std::uint32_t place) noexcept {
    rte_ip_frag_table_del_expired_entries(datagrams_[place].get(), freed_.get(), kPast);
    rte_ip_frag_free_death_row(freed_.get(), 0);
}

void Reassembler::give_up(std::uint32_t place, const FragmentTable::Held& held, FragmentTable::Why why,
                          Counts counts) noexcept {
    if (held.fragments == 0)
        return;
    empty(place);
    const bool wanted = why != FragmentTable::Why::unwanted;
    counts.of[wanted ? PortOutcome::incomplete : PortOutcome::fragment] += held.fragments;
    counts.of.bytes += held.bytes;
    counts.unattributed += held.fragments;
    stats::ReassemblyCounts& c = counts.of.reassembly;
    c.held_now -= held.fragments;
    c.given_up += wanted;
    c.crowded_out += why == FragmentTable::Why::crowded_out;
    c.conflicting += why == FragmentTable::Why::conflicting;
    c.too_many += why == FragmentTable::Why::too_many;
}

/// Gives the fragment to the library. Returns the datagram if it is whole.
rte_mbuf* Reassembler::put_in(std::uint32_t place, rte_mbuf* mbuf,
                              const wire::FragmentView& fragment) noexcept {
    if (const std::uint32_t padding = mbuf->pkt_len - fragment.frame_length(); padding != 0)
        rte_pktmbuf_trim(mbuf, static_cast<std::uint16_t>(padding));
    mbuf->l2_len = fragment.l2_length & 0x7F;
    mbuf->l3_len = fragment.l3_length & 0x1FF;
    std::uint8_t* const header = frame_of(mbuf) + fragment.l2_length;
    if (!fragment.ipv6)
        return rte_ipv4_frag_reassemble_packet(datagrams_[place].get(), freed_.get(), mbuf, kNow,
                                               reinterpret_cast<rte_ipv4_hdr*>(header));
    return rte_ipv6_frag_reassemble_packet(
        datagrams_[place].get(), freed_.get(), mbuf, kNow, reinterpret_cast<rte_ipv6_hdr*>(header),
        reinterpret_cast<rte_ipv6_fragment_ext*>(header + wire::kIpv6Header));
}

/// Returns whether a stream wants the datagram of a first fragment, which has the ports.
bool Reassembler::is_wanted(const Classifier& wanted, const wire::FragmentView& fragment) noexcept {
    wire::UdpView udp{};
    udp.ipv6 = fragment.ipv6;
    udp.dst_port = fragment.dst_port;
    if (fragment.ipv6) {
        udp.src_ip6 = fragment.source.v6();
        udp.dst_ip6 = fragment.destination.v6();
    } else {
        udp.src_ip = fragment.source.v4().value;
        udp.dst_ip = fragment.destination.v4().value;
    }
    return wanted.find(udp) != nullptr;
}

bool Reassembler::is_for(const Classifier& wanted, const rte_mbuf& mbuf) noexcept {
    wire::FragmentView fragment;
    return wire::parse_fragment(rte_pktmbuf_mtod(&mbuf, const std::uint8_t*), mbuf.data_len, fragment) &&
           wanted.has_way(fragment.destination, fragment.source) &&
           (!fragment.is_first() || is_wanted(wanted, fragment));
}

Reassembler::Fate Reassembler::take(const Classifier& wanted, rte_mbuf*& mbuf, std::uint64_t now,
                                    std::uint64_t& bytes, Counts counts) noexcept {
    wire::FragmentView fragment;
    // One buffer for each, so that the most that are held is known; and its headers are written.
    if (mbuf->nb_segs != 1 || !RTE_MBUF_DIRECT(mbuf) || rte_mbuf_refcnt_read(mbuf) != 1 ||
        !wire::parse_fragment(frame_of(mbuf), mbuf->data_len, fragment) ||
        !wanted.has_way(fragment.destination, fragment.source))
        return Fate::refused;
    const std::uint64_t own = mbuf->pkt_len;
    const FragmentTable::Decision decision = fragment.is_first() && !is_wanted(wanted, fragment)
                                                 ? table_.refuse(fragment, now)
                                                 : table_.offer(fragment, own, now);
    give_up(decision.place, decision.given_up, decision.why, counts);
    if (decision.answer == FragmentTable::Decision::Answer::refuse)
        return Fate::refused;
    rte_mbuf* const datagram = put_in(decision.place, mbuf, fragment);
    stats::ReassemblyCounts& c = counts.of.reassembly;
    c.held_now++;
    if (decision.answer == FragmentTable::Decision::Answer::hold)
        return Fate::held;
    if (datagram == nullptr) [[unlikely]] {
        // The library found a fault in what fits together, and has given all of it back.
        give_up(decision.place, decision.whole, FragmentTable::Why::conflicting, counts);
        return Fate::held;
    }
    const std::uint32_t others = decision.whole.fragments - 1;
    counts.of[PortOutcome::reassembled] += others;
    counts.unattributed += others;
    c.held_now -= decision.whole.fragments;
    c.datagrams++;
    bytes = decision.whole.bytes - own;
    // The device judged fragments.
    datagram->ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
    if (!fragment.ipv6)
        sum_up(*datagram, static_cast<std::uint16_t>(datagram->l2_len));
    mbuf = datagram;
    return Fate::whole;
}

void Reassembler::expire(std::uint64_t now, Counts counts) noexcept {
    table_.expire(now, [this, &counts](std::uint32_t place, const FragmentTable::Held& held) {
        give_up(place, held, FragmentTable::Why::late, counts);
    });
}

}  // namespace spead::recv
