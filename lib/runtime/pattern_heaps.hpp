// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/heap_pattern.hpp"
#include "runtime/heap_contents.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Says in which order a pattern's heaps are sent, and to which endpoints. Pure.
///
/// Each step of time has a heap of each sender of each group. Time is outermost, senders are innermost: so
/// heap count modulo the number of senders tells the sender, as with MeerKAT's F-engines.
class PatternOrder {
  public:
    /// Needs a valid plan with a pattern.
    explicit PatternOrder(const SendPlan& plan);

    /// Returns the senders of each group: the plan's, or the pattern's.
    static std::uint32_t senders_of(const SendPlan& plan) noexcept;

    std::uint64_t heaps_per_step() const noexcept { return std::uint64_t{groups_} * senders_; }
    /// Returns heap `index` of the sender.
    PatternHeap heap(std::uint64_t index) const noexcept;
    /// Returns the index of its endpoint. In P1 each sender has an equal share of the endpoints, which its
    /// heaps take in turn, or several senders share one. In the others each group has an endpoint.
    std::uint32_t endpoint(const PatternHeap& heap) const noexcept;

  private:
    HeapPattern pattern_;
    std::uint32_t endpoints_;
    std::uint32_t groups_;
    std::uint32_t senders_;
    std::uint64_t first_time_;
};

/// Makes the heaps of a pattern (base/heap_pattern.hpp). They have no descriptors. A start after the end of
/// the heaps continues in time.
class PatternHeaps final : public HeapContents {
  public:
    explicit PatternHeaps(const SendPlan& plan);

    std::uint64_t payload_bytes() const override { return payload_bytes_; }
    std::unique_ptr<send::OutgoingHeap> make(std::byte* payload, bool describe) const override;
    bool described() const override { return false; }
    void add_descriptors(send::OutgoingHeap&) const override {}
    void start_again(std::uint64_t sent) override { first_ += sent; }
    std::uint32_t fill(send::OutgoingHeap& heap, std::span<std::byte> payload, std::uint64_t index,
                       std::uint64_t cnt) override;
    /// Returns no more than are left of the time: those of the next wait for their turn.
    std::uint32_t together(std::uint64_t index) const override;

  private:
    HeapPattern pattern_;
    PatternOrder order_;
    std::uint64_t payload_bytes_;
    bool repeat_items_;
    std::uint32_t together_;
    std::uint64_t first_ = 0;  ///< index of this start's first heap
};

}  // namespace spead::runtime
