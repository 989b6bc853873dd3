// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace spead::heap {

/// Holds the sources that begin heaps without further packets (ghosts): a few, the worst of them. A source
/// that also completes heaps gets credit for each. Addresses can be forged, so a demoted source only comes
/// last when memory is short.
class Suspects {
  public:
    static constexpr std::uint32_t kDemotedFrom = 32;
    static constexpr std::uint32_t kCredit = 16;  ///< ghosts forgiven for a complete heap

    struct Suspect {
        std::uint32_t source = 0;  ///< IPv4 address
        std::uint32_t score = 0;   ///< unforgiven ghosts; 0: the place is free
        std::uint64_t ghosts = 0;  ///< in all, of those that are counted
    };

    bool any() const noexcept { return any_; }

    /// Notes a ghost. `counts`: reports call it one, too; it is no heap whose other packets were lost.
    void made_ghost(std::uint32_t source, bool counts = true) noexcept {
        Suspect* s = find(source);
        if (s == nullptr) {
            s = std::min_element(list_.begin(), list_.end(),
                                 [](const Suspect& a, const Suspect& b) { return a.score < b.score; });
            // Many sources with a ghost each do not push out one with many.
            if (s->score > 1) {
                s->score--;
                return;
            }
            *s = {source, 0, 0};
        }
        s->score = std::min(s->score + 1, kMostScore);
        s->ghosts += counts;
        any_ = true;
    }
    void made_heap(std::uint32_t source) noexcept {
        if (Suspect* const s = find(source); s != nullptr)
            s->score -= std::min(s->score, kCredit);
    }
    bool demoted(std::uint32_t source) const noexcept {
        return std::any_of(list_.begin(), list_.end(), [source](const Suspect& s) {
            return s.source == source && s.score >= kDemotedFrom;
        });
    }
    /// Returns the source with most ghosts.
    const Suspect& worst() const noexcept {
        return *std::max_element(list_.begin(), list_.end(),
                                 [](const Suspect& a, const Suspect& b) { return a.ghosts < b.ghosts; });
    }

  private:
    static constexpr std::uint32_t kMostScore = 1024;

    Suspect* find(std::uint32_t source) noexcept {
        const auto found = std::find_if(list_.begin(), list_.end(), [source](const Suspect& s) {
            return s.source == source && (s.ghosts != 0 || s.score != 0);
        });
        return found == list_.end() ? nullptr : &*found;
    }

    std::array<Suspect, 8> list_{};
    bool any_ = false;
};

}  // namespace spead::heap
