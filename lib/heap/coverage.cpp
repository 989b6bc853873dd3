// SPDX-License-Identifier: BSD-3-Clause
#include "heap/coverage.hpp"

#include <algorithm>

namespace spead::heap {

Cover Coverage::add_out_of_order(std::uint64_t begin64, std::uint64_t end64) noexcept {
    if (begin64 < prefix_)
        return end64 <= prefix_ ? Cover::known : Cover::partial;

    const auto begin = static_cast<std::uint32_t>(begin64);
    const auto end = static_cast<std::uint32_t>(end64);
    Range* const last = ranges_ + count_;
    // The first range that ends behind our beginning: ours lies in it, overlaps it, or stands before it.
    Range* const next =
        std::partition_point(ranges_, last, [begin](const Range& r) { return r.end <= begin; });
    if (next != last && next->begin < end)
        return next->begin <= begin && end <= next->end ? Cover::known : Cover::partial;

    const bool touches_next = next != last && next->begin == end;
    if (begin == prefix_) {
        prefix_ = touches_next ? next->end : end;
        if (touches_next) {
            std::copy(next + 1, last, next);
            count_--;
        }
    } else if (next != ranges_ && (next - 1)->end == begin) {
        if (touches_next) {
            (next - 1)->end = next->end;
            std::copy(next + 1, last, next);
            count_--;
        } else {
            (next - 1)->end = end;
        }
    } else if (touches_next) {
        next->begin = begin;
    } else {
        if (count_ == capacity_)
            return Cover::full;
        std::copy_backward(next, last, last + 1);
        *next = {begin, end};
        count_++;
    }
    received_ += end - begin;
    return Cover::added;
}

Cover Coverage::test(std::uint64_t begin, std::uint64_t end) const noexcept {
    if (begin < prefix_)
        return end <= prefix_ ? Cover::known : Cover::partial;
    const Range* const last = ranges_ + count_;
    const Range* const next = std::partition_point(static_cast<const Range*>(ranges_), last,
                                                   [begin](const Range& r) { return r.end <= begin; });
    if (next != last && next->begin < end)
        return next->begin <= begin && end <= next->end ? Cover::known : Cover::partial;
    const bool touches = begin == prefix_ || (next != ranges_ && (next - 1)->end == begin) ||
                         (next != last && next->begin == end);
    return touches || count_ < capacity_ ? Cover::added : Cover::full;
}

void Coverage::move_to(Range* ranges, std::uint32_t capacity) noexcept {
    std::copy(ranges_, ranges_ + count_, ranges);
    ranges_ = ranges;
    capacity_ = capacity;
}

}  // namespace spead::heap
