// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Defines deliberate faults of sent packets, for tests and demonstrations. Pure: the fate of a packet
/// follows from its number, the seed and the fractions alone, on every machine.
namespace spead::port {

struct Impairments {
    double loss = 0;            ///< fraction of the packets that are lost
    double duplicate = 0;       ///< fraction, of those that are left, that are sent twice
    double corrupt = 0;         ///< likewise: a bit of the UDP payload is inverted
    double delayed = 0;         ///< likewise: held back for `delay`, so that later ones overtake them
    double delay = 0;           ///< time of the delay in seconds
    std::uint32_t reorder = 0;  ///< size of the groups in which packets change places; 0: none
    std::uint64_t seed = 1;

    static constexpr std::uint32_t kMostReorder = 1024;
    static constexpr double kLongestDelay = 10;

    /// Parses "loss=1%,duplicate=0.5%,corrupt=0.1%,reorder=10,delay=5ms,seed=7", each once at most, in any
    /// order; "" is nothing. Fractions may be written as 0.01, too; `delay=1%:5ms` delays one packet in a
    /// hundred. Throws UsageError.
    static Impairments parse(std::string_view text, const std::string& where);

    bool operator==(const Impairments&) const = default;
};

/// Describes the impairments of a packet. A lost packet has no others; a duplicate is corrupted and delayed
/// with its original.
struct Fate {
    bool lost = false;
    bool duplicated = false;
    bool corrupted = false;
    bool delayed = false;
    std::uint64_t bit = 0;  ///< which bit is inverted, modulo the bits of the payload
};
/// Returns the fate of the packet with this number, counted from 0.
Fate fate_of(const Impairments& impairments, std::uint64_t packet) noexcept;

/// Returns the place, of 0..`place`, with which the packet at `place` of a group is exchanged. Call it for
/// `place` from the last one down to 1 (the shuffle of Fisher and Yates, in Durstenfeld's form). Groups are
/// counted from 0.
std::uint32_t exchange_of(const Impairments& impairments, std::uint64_t group, std::uint32_t place) noexcept;

}  // namespace spead::port
