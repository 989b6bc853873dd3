// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace spead::stats {

/// Who sends most, of any number of senders, in fixed memory: "space saving" (Metwally, Agrawal, El Abbadi,
/// 2005). A newcomer takes the place of the entry with the fewest packets and inherits its count as a
/// possible excess, so that whoever sends more than 1/kEntries of all packets is in the table whatever the
/// others do, and no number of made-up addresses makes it grow. The entries add up to all that was added.
///
/// One thread writes; others read copies made between two writes.
class Talkers {
  public:
    static constexpr std::size_t kEntries = 16;
    /// `lane` of packets that no stream wanted.
    static constexpr std::uint16_t kNoLane = 0xFFFF;

    struct Entry {
        std::uint32_t source = 0;  ///< IPv4, host order
        std::uint16_t lane = 0;    ///< of the stream, on the lcore that counts
        std::uint64_t packets = 0;
        std::uint64_t excess = 0;  ///< of them, so many at most may have been others'
    };

    /// `packets` of a stream came from `source`, by a sample.
    void add(std::uint32_t source, std::uint16_t lane, std::uint64_t packets) noexcept {
        const std::uint64_t key = key_of(source, lane);
        for (std::size_t i = 0; i < used_; i++)
            if (keys_[i] == key) {
                counts_[i].packets += packets;
                return;
            }
        if (used_ < kEntries) {
            keys_[used_] = key;
            counts_[used_++] = {packets, 0};
            return;
        }
        const auto fewest =
            std::min_element(counts_.begin(), counts_.end(),
                             [](const Count& a, const Count& b) { return a.packets < b.packets; });
        keys_[static_cast<std::size_t>(fewest - counts_.begin())] = key;
        fewest->excess = fewest->packets;
        fewest->packets += packets;
    }
    /// ... and are not told apart: no IPv4 datagrams.
    void add_others(std::uint64_t packets) noexcept { others_ += packets; }

    /// The lane is no more, and another may come under its number: its packets are of no stream from now on.
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
        }
    }

    std::size_t size() const noexcept { return used_; }
    Entry operator[](std::size_t i) const noexcept {
        return {static_cast<std::uint32_t>(keys_[i] >> 16), static_cast<std::uint16_t>(keys_[i]),
                counts_[i].packets, counts_[i].excess};
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
};

}  // namespace spead::stats
