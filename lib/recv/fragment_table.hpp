// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/endpoint.hpp"
#include "port/sizes.hpp"
#include "wire/fragment.hpp"

namespace spead::recv {

/// Decides about the IP fragments of one receive queue: which of them belong together, and which datagrams
/// are given up. It holds no packets, only what is known of them; recv/reassembler.hpp has the packets.
///
/// A datagram has a place from its first fragment to arrive until it is whole, or given up. Places are in
/// sets, and a secret hash of both addresses selects the set. If all places of a set are taken, the sender
/// with most of them loses its oldest datagram. So a sender that floods the table crowds out its own.
///
/// Made by control code, then for one lcore. Nothing but the constructor allocates or throws.
class FragmentTable {
  public:
    static constexpr std::uint32_t kMost = port::kMostFragments;
    /// Limits the fragments of a datagram that are neither its first nor its last: the library has places for
    /// these two apart.
    static constexpr std::uint32_t kMostMiddle = kMost - 2;

    /// Makes port::reassembly_places(datagrams) places. A datagram that is not whole within `patience` ticks
    /// is given up. `seed`: of the hash; a number that senders do not know.
    FragmentTable(std::uint32_t datagrams, std::uint64_t patience, std::uint64_t seed);

    /// Counts the fragments that a place holds, and the bytes of their frames.
    struct Held {
        std::uint32_t fragments = 0;
        std::uint64_t bytes = 0;
    };
    enum class Why : std::uint8_t { late, crowded_out, conflicting, too_many, unwanted };
    struct Decision {
        enum class Answer : std::uint8_t { refuse, hold, whole };
        Answer answer = Answer::refuse;
        std::uint32_t place = 0;  ///< of its datagram; not if it is refused and nothing is given up
        Held given_up{};          ///< held there before, and to be freed first
        Why why{};                ///< it is given up
        Held whole{};             ///< the datagram, with this fragment
    };

    /// Decides about a fragment whose frame has `bytes`. Refused are: a duplicate; one that overlaps others,
    /// or contradicts them about the end, and one too many, with which the whole datagram is given up
    /// (RFC 5722); further ones of such a datagram, and of one that is whole, as long as its place is free.
    Decision offer(const wire::FragmentView& fragment, std::uint64_t bytes, std::uint64_t now) noexcept;
    /// Refuses the datagram of a fragment, because no stream wants it, and its further fragments.
    Decision refuse(const wire::FragmentView& fragment, std::uint64_t now) noexcept;

    /// Gives up the datagrams whose patience has ended; all: `now` is kAtLast. Calls `free(place, held)` for
    /// each.
    static constexpr std::uint64_t kAtLast = UINT64_MAX;
    template <class Free>
    void expire(std::uint64_t now, Free&& free) noexcept {
        for (std::uint32_t i = 0; open_ != 0 && i < places_.size(); i++)
            if (places_[i].state == State::open && (now == kAtLast || is_late(places_[i], now)))
                free(i, close(places_[i], State::free));
    }

    std::uint32_t places() const noexcept { return static_cast<std::uint32_t>(places_.size()); }
    /// Returns the datagrams in the making.
    std::uint32_t open() const noexcept { return open_; }

  private:
    enum class State : std::uint8_t {
        free,
        open,
        over  ///< whole or refused: further fragments are refused
    };
    struct Piece {
        std::uint32_t begin, end;
    };
    struct Place {
        IpAddress source, destination;
        std::uint64_t since = 0;  ///< ticks: when it was taken
        std::uint64_t bytes = 0;  ///< of frames
        std::uint32_t id = 0;
        std::uint32_t covered = 0;  ///< bytes of the datagram
        std::uint32_t end = 0;      ///< of the datagram; 0: unknown
        std::uint32_t furthest = 0;
        std::uint8_t pieces = 0;
        std::uint8_t middle = 0;  ///< of the pieces
        State state = State::free;
        std::array<Piece, kMost> piece{};
    };

    bool is_late(const Place& p, std::uint64_t now) const noexcept { return p.since + patience_ < now; }
    Held close(Place& place, State state) noexcept;
    Place* find(Place* set, const wire::FragmentView& fragment) noexcept;
    Place* set_of(const wire::FragmentView& fragment) noexcept;
    Place& take(Place* set, std::uint64_t now, Decision& decision) noexcept;
    Place& place_of(const wire::FragmentView& fragment, std::uint64_t now, Decision& decision) noexcept;

    std::vector<Place> places_;
    std::uint64_t patience_;
    std::uint64_t seed_;
    std::uint64_t set_mask_;
    std::uint32_t open_ = 0;
};

}  // namespace spead::recv
