// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/byte_order.hpp"
#include "base/endpoint.hpp"
#include "heap/packet_view.hpp"
#include "wire/flavour.hpp"

struct rte_mbuf;

namespace spead::recv {

class HeldPacket;

/// Holds the sender and destination of a packet.
struct PacketWay {
    IpAddress source;
    IpAddress destination;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
};

/// Holds the content of an item pointer.
struct ItemPointer {
    bool immediate = false;   ///< `value` is the item's value, else its start byte in the heap
    std::uint64_t value = 0;  ///< host order
};

/// Gives access to one well-formed packet of a stream before its payload is placed. The data is not copied:
/// it is valid during PacketFilter::look, and as long as a HeldPacket refers to it. Any thread may read a
/// held one.
class FilterPacket {
  public:
    FilterPacket() = default;
    /// Takes the packet. `payload_at`: bytes of the frame in `mbuf` before the payload.
    FilterPacket(const heap::PacketView& view, const PacketWay& way, const rte_mbuf* mbuf,
                 std::uint32_t payload_at) noexcept
        : view_(view), way_(way), mbuf_(mbuf), payload_at_(payload_at) {}

    const PacketWay& way() const noexcept { return way_; }
    std::uint64_t heap_count() const noexcept { return view_.key; }
    /// Returns the heap's length; heap::kUnknownLength if the packet has none.
    std::uint64_t heap_length() const noexcept { return view_.heap_length; }
    /// Returns the offset of the payload in the heap.
    std::uint64_t offset() const noexcept { return view_.offset; }
    std::uint32_t payload_length() const noexcept { return view_.payload_length; }
    /// Returns the arrival in ticks of the lcore's clock.
    std::uint64_t arrival() const noexcept { return view_.arrival; }
    /// Returns whether the packet carries stream control (a start or a stop).
    bool control() const noexcept { return (view_.flags & heap::PacketView::kControl) != 0; }

    /// Returns the first item pointer with this id. The four that belong to the packet (heap count, heap
    /// length, payload offset and length as immediates) are excluded.
    std::optional<ItemPointer> item(std::uint64_t id) const noexcept {
        const wire::Flavour flavour(view_.flavour);
        for (std::uint32_t i = 0; i < view_.item_count; i++) {
            const std::uint64_t raw = load_be64(view_.items + std::size_t{i} * 8);
            if (flavour.id(raw) == id)
                return ItemPointer{flavour.is_immediate(raw), flavour.value(raw)};
        }
        return std::nullopt;
    }
    std::uint32_t items() const noexcept { return view_.item_count; }

    /// Returns the payload in the port's buffers, in as many pieces as the port made (usually one). Fills
    /// `pieces` as far as they go and returns how many there are.
    std::size_t payload(std::span<std::span<const std::byte>> pieces) const noexcept;
    const rte_mbuf* mbuf() const noexcept { return mbuf_; }

  private:
    friend class HeldPackets;
    /// Keeps the item pointers that lie in the mbuf readable, and omits others.
    void keep_items_of_mbuf() noexcept;

    heap::PacketView view_;
    PacketWay way_;
    const rte_mbuf* mbuf_ = nullptr;
    std::uint32_t payload_at_ = 0;
};

enum class FilterAnswer : std::uint8_t {
    keep,          ///< place it into its heap
    drop,          ///< counted as `filtered`
    hold_or_keep,  ///< the filter takes the buffer over (`held`); keep it when the filter has its limit
    hold_or_drop   ///< the same, but drop it then
};

/// Handles the packets of one stream before they are placed, in a user's code. One object for each lcore of
/// the stream. Oversize and malformed packets are counted before and never get here.
class PacketFilter {
  public:
    PacketFilter() = default;
    virtual ~PacketFilter() = default;
    PacketFilter(const PacketFilter&) = delete;
    PacketFilter& operator=(const PacketFilter&) = delete;

    /// Decides about a packet. On the lcore, for every packet: must not lock, allocate, wait or throw.
    virtual FilterAnswer look(const FilterPacket& packet) noexcept = 0;

    /// Receives the handle at once after a granted `hold...`, on the lcore. It must be given back (destroyed)
    /// soon, on any thread. A filter that does not take it gives it back.
    virtual void lent(HeldPacket packet) noexcept;

    /// Ends the filter, on the main thread at the end of the run: no more packets come. Held packets must be
    /// given back now, before the port stops.
    virtual void ending() noexcept {}
};

}  // namespace spead::recv
