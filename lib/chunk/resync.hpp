// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace spead::chunk {

/// Holds which sources sent packets lately, for all lcores of a window. Any lcore notes a source, of some
/// packets of each batch; whichever has the turn counts. A source is known by a keyed hash of its address, so
/// few sources may count as one.
class ActiveSources {
  public:
    static constexpr std::size_t kPlaces = 1024;

    /// Takes the ticks of a second, at least 1.
    explicit ActiveSources(std::uint64_t second_ticks) noexcept;

    std::size_t place_of(std::uint32_t source) const noexcept;
    void note(std::uint32_t source, std::uint64_t now) noexcept {
        seen_[place_of(source)].store(now / second_ticks_ + 1, std::memory_order_relaxed);
    }
    /// Returns the sources that were noted in this second of the clock or the one before.
    std::size_t count(std::uint64_t now) const noexcept;

  private:
    std::uint64_t second_ticks_;
    std::uint64_t key_;
    std::array<std::atomic<std::uint64_t>, kPlaces> seen_{};  ///< second + 1; 0: never
};

/// Chooses the packets of a batch whose sources an lcore notes: the first one, and every kNoteEvery-th.
class NoteTurn {
  public:
    /// Chooses none from the second batch on if not `on`.
    explicit NoteTurn(bool on = true) noexcept : step_(on ? 1 : 0) {}

    bool is_due() const noexcept { return left_ == 0; }
    /// Goes on to the next packet.
    void pass() noexcept { left_ = (is_due() ? kNoteEvery : left_) - step_; }
    void begin_batch() noexcept { left_ = 1 - step_; }

  private:
    /// Shares no factor with a burst, so that no sender that takes turns with others is passed over.
    static constexpr std::uint32_t kNoteEvery = 13;

    std::uint32_t step_;
    std::uint32_t left_ = 0;  ///< packets until the next one
};

/// Decides whether the time of a stream has jumped, from packets far from the open chunks.
///
/// Such packets vote for the chunk ids near theirs. A candidate wins with kPackets packets of at least half
/// of the active sources, and of two if two are active, within a second. So one sender with a wrong clock, or
/// packets with forged times, cannot move the window away from the others. There are a few candidates; a vote
/// for none of them weakens all (Misra and Gries), so a flood of forged times cannot keep a true one out
/// as long as it has a tenth of these packets.
class Resync {
  public:
    static constexpr std::uint32_t kPackets = 64;

    /// Takes how many ids are near each other, and the ticks of a second.
    Resync(std::uint64_t near, std::uint64_t second_ticks) noexcept : near_(near), second_(second_ticks) {}

    /// Counts the votes of `packets` packets for `id`, of a source at `place` (ActiveSources::place_of),
    /// while `active` sources are active. Returns true when its candidate wins; then all candidates are
    /// forgotten.
    bool vote(std::int64_t id, std::size_t place, std::size_t active, std::uint64_t now,
              std::uint32_t packets = 1) noexcept;

  private:
    static constexpr std::size_t kCandidates = 9;

    struct Candidate {
        std::int64_t id = 0;
        std::uint32_t weight = 0;  ///< 0: free
        std::uint32_t packets = 0;
        std::uint64_t since = 0;  ///< ticks
        std::bitset<ActiveSources::kPlaces> sources;
    };

    std::uint64_t near_;
    std::uint64_t second_;
    std::array<Candidate, kCandidates> candidates_;
};

}  // namespace spead::chunk
