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

/// Who sent a packet, and where to.
struct PacketWay {
    Ipv4 source;
    Ipv4 destination;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
};

/// What an item pointer says.
struct ItemPointer {
    bool immediate = false;   ///< `value` is the item's value, else the heap's byte where it starts
    std::uint64_t value = 0;  ///< host order
};

/// One well-formed packet of a stream, before its payload goes anywhere. Looked at where it lies: valid
/// during PacketFilter::look, and for as long as a HeldPacket that shows it. Any thread may read a held one.
class FilterPacket {
  public:
    FilterPacket() = default;
    /// `payload_at`: bytes of the frame in `mbuf` before the payload.
    FilterPacket(const heap::PacketView& view, const PacketWay& way, const rte_mbuf* mbuf,
                 std::uint32_t payload_at) noexcept
        : view_(view), way_(way), mbuf_(mbuf), payload_at_(payload_at) {}

    const PacketWay& way() const noexcept { return way_; }
    std::uint64_t heap_count() const noexcept { return view_.key; }
    /// heap::kUnknownLength where the packet does not tell.
    std::uint64_t heap_length() const noexcept { return view_.heap_length; }
    /// Where in the heap the payload belongs.
    std::uint64_t offset() const noexcept { return view_.offset; }
    std::uint32_t payload_length() const noexcept { return view_.payload_length; }
    /// Ticks of the lcore's clock.
    std::uint64_t arrival() const noexcept { return view_.arrival; }
    /// The packet carries stream control (a start or a stop).
    bool control() const noexcept { return (view_.flags & heap::PacketView::kControl) != 0; }

    /// The first item pointer with this id. The four that belong to the packet (heap count, heap length,
    /// payload offset and length as immediates) are not among them.
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

    /// The payload where the port put it, in pieces as the port cut it (usually one). Fills `pieces` as far
    /// as they go and returns how many there are.
    std::size_t payload(std::span<std::span<const std::byte>> pieces) const noexcept;
    const rte_mbuf* mbuf() const noexcept { return mbuf_; }

  private:
    friend class HeldPackets;
    /// The item pointers stay readable only where they lie in the mbuf; elsewhere they are left out.
    void keep_items_of_mbuf() noexcept;

    heap::PacketView view_;
    PacketWay way_;
    const rte_mbuf* mbuf_ = nullptr;
    std::uint32_t payload_at_ = 0;
};

enum class FilterAnswer : std::uint8_t {
    keep,          ///< goes on into its heap
    drop,          ///< counted as `filtered`
    hold_or_keep,  ///< the filter takes the buffer over (`held`); when it has its fill of them, keep
    hold_or_drop   ///< the same, else drop
};

/// What a user does with the packets of one stream before they are placed. One object for each lcore that the
/// stream has. Outcomes before it: oversize and malformed packets never get here.
class PacketFilter {
  public:
    PacketFilter() = default;
    virtual ~PacketFilter() = default;
    PacketFilter(const PacketFilter&) = delete;
    PacketFilter& operator=(const PacketFilter&) = delete;

    /// On the lcore, for every packet: must not lock, allocate, wait or throw.
    virtual FilterAnswer look(const FilterPacket& packet) noexcept = 0;

    /// On the lcore, at once after a `hold...` that was granted: the handle, to be given back (destroyed) on
    /// any thread, soon. A filter that does not take it gives it back.
    virtual void lent(HeldPacket packet) noexcept;

    /// On the main thread, at the end of the run: no more packets come, and what is held must be given back
    /// now, before the port stops.
    virtual void ending() noexcept {}
};

}  // namespace spead::recv
