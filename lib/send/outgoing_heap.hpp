// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "memory/region.hpp"
#include "send/heap_layout.hpp"
#include "wire/descriptor.hpp"
#include "wire/flavour.hpp"

namespace spead::send {

/// Holds a user's heap to send: items that refer to the user's memory, in order.
///
/// One thread builds and submits it. From the submission until its completion is polled the heap is in
/// flight: neither the heap nor the memory of its items may change, move or be freed (changing the heap
/// throws). Afterwards it may be changed and sent again; that costs nothing when only the bytes behind the
/// items changed. A heap may be submitted several times to one sender; two senders must not share it.
///
/// Errors are thrown as spead::Error and leave the heap as it was.
class OutgoingHeap {
  public:
    /// Names an item of this heap for set_item and set_immediate.
    using Handle = std::size_t;

    explicit OutgoingHeap(wire::Flavour flavour = {}) noexcept : flavour_(flavour) {}
    OutgoingHeap(OutgoingHeap&&) noexcept = default;
    OutgoingHeap& operator=(OutgoingHeap&&) noexcept = default;

    wire::Flavour flavour() const noexcept { return flavour_; }
    std::size_t items() const noexcept { return items_.size(); }

    /// Adds an item whose value is `data`. With `allow_immediate`, a value of at most address_bits/8 bytes
    /// travels inside the item pointer: its bytes, right-aligned, are read when the heap is submitted. Ids 0
    /// to 4 belong to the protocol and are refused, as are ids above the flavour's.
    Handle add_item(std::uint64_t id, std::span<const std::byte> data, bool allow_immediate = false);
    /// Adds an item whose value is the integer itself, which must fit address_bits.
    Handle add_immediate(std::uint64_t id, std::uint64_t value);
    /// Adds bytes of the payload that belong to no item.
    Handle add_padding(std::span<const std::byte> data);
    /// Adds an encoded descriptor (a SPEAD packet of this heap's flavour); the heap keeps a copy of the
    /// bytes.
    Handle add_descriptor(std::span<const std::byte> encoded);
    /// Encodes `descriptor` for this heap's flavour (bug_compat: wire::kBugCompat...) and adds it.
    Handle add_descriptor(const wire::Descriptor& descriptor, unsigned bug_compat = 0);
    /// Adds stream control: the stream starts; the next: it ends.
    Handle add_start() { return add_immediate(wire::item::kStreamCtrl, wire::stream_ctrl::kStart); }
    Handle add_stop() { return add_immediate(wire::item::kStreamCtrl, wire::stream_ctrl::kStop); }

    /// Points an item of add_item to other memory, of any length.
    void set_item(Handle item, std::span<const std::byte> data);
    void set_immediate(Handle item, std::uint64_t value);

    /// Sets whether every packet carries all item pointers, so that a receiver understands the heap without
    /// its first packet.
    void set_repeat_pointers(bool repeat);
    bool repeat_pointers() const noexcept { return repeat_pointers_; }

    /// Sets the heap's own heap count, sent instead of the sender's sequence and without advancing it.
    void set_cnt(std::optional<std::uint64_t> cnt);
    std::optional<std::uint64_t> cnt() const noexcept { return cnt_; }

    bool in_flight() const noexcept { return in_flight_ != 0; }

    /// Returns the heap cut for packets of `max_packet_size` bytes (UDP payload), with its memory looked up
    /// in `regions` (null: none). Kept until the heap, the size or the regions change; never made again while
    /// the heap is in flight. Throws when the packets are too small for the heap or the payload is too long
    /// for the flavour. Allocates only when something changed.
    const HeapLayout& layout(std::size_t max_packet_size, const memory::RegionTable* regions);

    /// Returns whether layout() would return the present one without a look at any item. `generation` is that
    /// of `regions`, or 0.
    bool laid_out(std::size_t max_packet_size, const memory::RegionTable* regions,
                  std::uint64_t generation) const noexcept {
        return !stale_ && !reads_immediates_ && max_packet_size == layout_packet_size_ &&
               regions == layout_regions_ && generation == layout_generation_;
    }

    /// Returns the bytes of all packets of the present layout, headers included; 0 before the first layout.
    std::uint64_t packet_bytes() const noexcept {
        const std::uint64_t pointers =
            layout_.pointers.size() * (layout_.repeat_pointers ? layout_.packets : 1);
        return layout_.payload_length + layout_.packets * kPacketPrefix + pointers * wire::kItemPointer;
    }

  private:
    friend class DatagramSender;
    friend class Sender;

    enum class Kind : std::uint8_t { memory, maybe_immediate, immediate, owned };
    struct Item {
        std::uint64_t id = 0;
        std::span<const std::byte> data;
        std::uint64_t value = 0;
        Kind kind = Kind::memory;
    };

    Handle add(Item item);
    void changing();
    bool inlined(const Item& item) const noexcept;
    std::uint64_t pointer_of(const Item& item, std::uint64_t offset) const noexcept;
    void refresh_immediates() noexcept;
    void make_layout(std::size_t max_packet_size, const memory::RegionTable* regions);
    void append_pieces(std::span<const std::byte> data, bool owned, const memory::RegionTable* regions);

    wire::Flavour flavour_;
    bool repeat_pointers_ = false;
    bool stale_ = true;              ///< layout_ must be made again
    bool reads_immediates_ = false;  ///< an immediate's bytes are user memory, read at each submission
    std::uint32_t in_flight_ = 0;
    std::optional<std::uint64_t> cnt_;
    std::uint64_t layout_generation_ = 0;
    const memory::RegionTable* layout_regions_ = nullptr;
    std::size_t layout_packet_size_ = 0;
    HeapLayout layout_;  // a submission reads no more than its begin and the members above
    std::vector<Item> items_;
    std::deque<std::vector<std::byte>> owned_;  ///< encoded descriptors
    std::vector<std::byte> padding_;            ///< zeros
    memory::RegionTable::Cache region_cache_ = 0;
};

}  // namespace spead::send
