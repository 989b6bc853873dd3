// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/outcome.hpp"
#include "heap/record.hpp"

namespace spead::heap {

class HeapQueue;

/// Holds a part of a heap's payload that lies in one piece.
struct Segment {
    std::uint64_t offset = 0;  ///< in the payload
    std::span<const std::byte> bytes{};
};

/// Gives a consumer a received heap: a move-only handle. The memory belongs to the receiving lcore and is
/// valid until the handle is destroyed or assigned, which returns it. It may be destroyed on any thread,
/// before the HeapQueue it came from.
class HeapHandle {
  public:
    HeapHandle() = default;
    HeapHandle(HeapQueue* queue, Record* record) : queue_(queue), record_(record) {}
    HeapHandle(HeapHandle&& other) noexcept
        : queue_(other.queue_), record_(std::exchange(other.record_, nullptr)) {}
    HeapHandle& operator=(HeapHandle&& other) noexcept {
        std::swap(queue_, other.queue_);
        std::swap(record_, other.record_);
        other.reset();
        return *this;
    }
    HeapHandle(const HeapHandle&) = delete;
    HeapHandle& operator=(const HeapHandle&) = delete;
    ~HeapHandle() { reset(); }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    /// Gives the heap back now.
    void reset() noexcept {
        if (record_ != nullptr)
            give_back();
    }
    friend void swap(HeapHandle& a, HeapHandle& b) noexcept {
        std::swap(a.queue_, b.queue_);
        std::swap(a.record_, b.record_);
    }

    std::uint64_t cnt() const noexcept { return record_->key; }
    /// Returns whether all bytes arrived and every item lies within them.
    bool complete() const noexcept { return record_->end == HeapEnd::complete; }
    /// Returns whether there is no hole: complete, or of unknown length with everything up to the last byte
    /// that came.
    bool contiguous() const noexcept { return record_->contiguous(); }
    HeapEnd end() const noexcept { return record_->end; }
    /// Returns whether some item pointer points behind the end of the heap.
    bool item_past_end() const noexcept { return (record_->flags & Record::kItemPastEnd) != 0; }
    bool has_length() const noexcept { return record_->length != kUnknownLength; }
    /// Returns the heap's length by its packets; kUnknownLength if none had it.
    std::uint64_t length() const noexcept { return record_->length; }
    /// Returns the number of bytes that arrived.
    std::uint64_t received() const noexcept { return record_->coverage.received(); }
    /// Returns one past the last byte that arrived.
    std::uint64_t extent() const noexcept { return record_->coverage.extent(); }
    std::uint32_t packets() const noexcept { return record_->packets; }
    /// Returns the address bits of the SPEAD-64-XX flavour.
    std::uint8_t flavour() const noexcept { return record_->flavour; }
    std::uint32_t source() const noexcept { return record_->source; }
    /// Returns the arrival of the first packet with payload, and next of the last one, by the port:
    /// nanoseconds since 1970. 0: the port does not report it, or was not asked to.
    std::uint64_t first_time() const noexcept { return record_->first_time; }
    std::uint64_t last_time() const noexcept { return record_->last_time; }
    /// Returns when the lcore took them: ticks of its clock (TSC).
    std::uint64_t first_arrival() const noexcept { return record_->first_arrival; }
    std::uint64_t last_arrival() const noexcept { return record_->last_arrival; }

    /// Returns the size of the payload: length(), or extent() when the length is unknown.
    std::size_t size() const noexcept { return static_cast<std::size_t>(has_length() ? length() : extent()); }
    /// Returns the payload, size() bytes, in one piece. Bytes of missing() are undefined. If the heap's
    /// packets are lent and more than one, the first call copies them (LentPackets::gather).
    std::span<const std::byte> payload() const noexcept;
    /// Returns the bytes that arrived, in order, where they are: nothing is copied.
    std::vector<Segment> segments() const;
    /// Returns the holes within payload().
    std::vector<Range> missing() const;
    /// Returns the item words as received, big-endian, no value twice; wire::extract_items reads them.
    std::span<const std::uint64_t> item_words() const noexcept {
        return {record_->items, record_->item_count};
    }

  private:
    friend class HeapQueue;
    void give_back() noexcept;

    HeapQueue* queue_ = nullptr;
    Record* record_ = nullptr;
};

}  // namespace spead::heap
