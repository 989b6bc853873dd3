// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recv/classifier.hpp"
#include "recv/fragment_table.hpp"
#include "stats/counters.hpp"

struct rte_mbuf;
struct rte_ip_frag_death_row;
struct rte_ip_frag_tbl;

namespace spead::recv {

/// Puts datagrams together that come in IP fragments on one receive queue, by librte_ip_frag.
///
/// That library drops a whole datagram for one duplicate, can neither give up a single datagram nor bound a
/// sender's share, and hashes without a secret. So FragmentTable decides, and the library gets only fragments
/// that fit together. Each datagram has a library's table of its own, which can be emptied at once.
///
/// Fragments that are held are counted nowhere else, as if they were still in the port's queue.
///
/// Made and destroyed by control code, after EAL's start; everything else belongs to the lcore.
class Reassembler {
  public:
    /// Holds the seconds after which a datagram is given up. The 65536 identifications of IPv4 are used again
    /// sooner only above 655,000 datagrams per second between two hosts.
    static constexpr double kPatience = 0.1;

    /// Makes room for so many datagrams in the making, in memory of the NUMA node `socket`. `where`: of
    /// errors. Throws Error.
    Reassembler(std::uint32_t datagrams, int socket, const std::string& where);
    /// Frees the fragments, which are then in no counter: see give_up_all().
    ~Reassembler();
    Reassembler(const Reassembler&) = delete;
    Reassembler& operator=(const Reassembler&) = delete;

    /// Refers to the counts of the source.
    struct Counts {
        stats::RxCounters& of;
        std::uint64_t& unattributed;  ///< packets that the next sample of senders represents
    };
    /// Returns whether a fragment is one that take() would keep, at its best, for these streams.
    static bool is_for(const Classifier& wanted, const rte_mbuf& mbuf) noexcept;
    enum class Fate : std::uint8_t {
        refused,  ///< the caller still has the fragment
        held,     ///< the caller has it no more
        whole     ///< `mbuf` is the datagram, a frame in several segments
    };
    /// Takes a fragment that parse_udp() found, if a stream may want it. Counts what is given up, and what is
    /// now part of a datagram, but not the caller's packet. `bytes`, if it is whole: of the frames that came
    /// before this one.
    Fate take(const Classifier& wanted, rte_mbuf*& mbuf, std::uint64_t now, std::uint64_t& bytes,
              Counts counts) noexcept;
    /// Gives up the datagrams whose patience has ended. Call it every few milliseconds.
    void expire(std::uint64_t now, Counts counts) noexcept;
    /// Gives up all datagrams: at the end, and before the port's pools go.
    void give_up_all(Counts counts) noexcept { expire(FragmentTable::kAtLast, counts); }

  private:
    struct FreeTable {
        void operator()(rte_ip_frag_tbl* table) const noexcept;
    };

    rte_mbuf* put_in(std::uint32_t place, rte_mbuf* mbuf, const wire::FragmentView& fragment) noexcept;
    void give_up(std::uint32_t place, const FragmentTable::Held& held, FragmentTable::Why why,
                 Counts counts) noexcept;
    void empty(std::uint32_t place) noexcept;
    static bool is_wanted(const Classifier& wanted, const wire::FragmentView& fragment) noexcept;

    FragmentTable table_;
    std::vector<std::unique_ptr<rte_ip_frag_tbl, FreeTable>> datagrams_;  ///< by place
    std::unique_ptr<rte_ip_frag_death_row>
        freed_;  ///< buffers that the library gives back; empty between calls
};

}  // namespace spead::recv
