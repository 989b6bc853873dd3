// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/endpoint.hpp"

namespace spead::stats {

/// Finds the busiest of any number of senders, in fixed memory: "space saving" (Metwally, Agrawal, El Abbadi,
/// 2005). A new sender replaces the entry with the fewest packets and inherits its count as a possible
/// excess. So a sender of more than 1/kEntries of all packets is always in the table, and forged addresses do
/// not make it grow. The sum of the entries is that of all added packets.
///
/// One thread writes; others read copies made between two writes.
class Talkers {
  public:
    static constexpr std::size_t kEntries = 16;
    /// Means packets without a stream, as `lane`.
    static constexpr std::uint16_t kNoLane = 0xFFFF;

    struct Entry {
        std::uint32_t source = 0;  ///< sender_key()
        std::uint16_t lane = 0;    ///< of the stream, on the lcore that counts
        std::uint64_t packets = 0;
        std::uint64_t excess = 0;  ///< of them, at most so many were from others
        Ipv6 address{};            ///< of a sender of IPv6: the first with this key
    };

    /// Adds `packets` of a stream from `source`, by a sample. `address`: that of a sender of IPv6.
    void add(std::uint32_t source, std::uint16_t lane, std::uint64_t packets, Ipv6 address = {}) noexcept {
        const std::uint64_t key = key_of(source, lane);
        for (std::size_t i = 0; i < used_; i++)
            if (keys_[i] == key) {
                counts_[i].packets += packets;
                return;
            }
        if (used_ < kEntries) {
            keys_[used_] = key;
            addresses_[used_] = address;
            counts_[used_++] = {packets, 0};
            return;
        }
        const auto fewest =
            std::min_element(counts_.begin(), counts_.end(),
                             [](const Count& a, const Count& b) { return a.packets < b.packets; });
        keys_[static_cast<std::size_t>(fewest - counts_.begin())] = key;
        addresses_[static_cast<std::size_t>(fewest - counts_.begin())] = address;
        fewest->excess = fewest->packets;
        fewest->packets += packets;
    }
    /// Adds packets without a sender: no IPv4 datagrams.
    void add_others(std::uint64_t packets) noexcept { others_ += packets; }

    /// Removes the lane from the entries, because another may get its number: its packets have no stream from
    /// now on.
    void forget_lane(std::uint16_t lane) noexcept {
        for (std::size_t i = 0; i < used_;) {
            if (static_cast<std::uint16_t>(keys_[i]) != lane) {
                i++;
                continue;
            }
            const std::uint64_t key = keys_[i] | kNoLane;
            const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(used_);
            const auto same = static_cast<std::size_t>(std::find(keys_.begin(), end, key) - keys_.begin());
            keys_[i] = key;
            if (same == used_)
                continue;
            counts_[same].packets += counts_[i].packets;
            counts_[same].excess += counts_[i].excess;
            keys_[i] = keys_[--used_];
            counts_[i] = counts_[used_];
            addresses_[i] = addresses_[used_];
        }
    }

    std::size_t size() const noexcept { return used_; }
    Entry operator[](std::size_t i) const noexcept {
        return {static_cast<std::uint32_t>(keys_[i] >> 16), static_cast<std::uint16_t>(keys_[i]),
                counts_[i].packets, counts_[i].excess, addresses_[i]};
    }
    std::uint64_t others() const noexcept { return others_; }

  private:
    struct Count {
        std::uint64_t packets;
        std::uint64_t excess;
    };

    static constexpr std::uint64_t key_of(std::uint32_t source, std::uint16_t lane) noexcept {
        return std::uint64_t{source} << 16 | lane;
    }

    std::size_t used_ = 0;
    std::uint64_t others_ = 0;
    std::array<std::uint64_t, kEntries> keys_{};
    std::array<Count, kEntries> counts_{};
    std::array<Ipv6, kEntries> addresses_{};
};

}  // namespace spead::stats
