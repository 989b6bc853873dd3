// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_order.hpp"
#include "send/outgoing_heap.hpp"
#include "send/packetiser.hpp"
#include "send/sender.hpp"
#include "tests/fuzz/fuzz_port.hpp"
#include "tests/fuzz/heap_receiver.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

namespace spead::fuzz {

/// Models the heaps that a sender was given. Checks every packet, every completion and, in the end, the heaps
/// that the production decoder and window made of the packets.
class SenderModel {
  public:
    static constexpr std::uint32_t kFirstGroup = 0xEF0A0A00;

    /// Makes a model whose heaps may time out if `times_out` is set.
    SenderModel(std::uint32_t substreams, std::uint32_t max_heaps, bool times_out) : gives_up_(times_out) {
        for (std::uint32_t i = 0; i < substreams; ++i) {
            receivers_.push_back(std::make_unique<HeapReceiver>(max_heaps));
        }
    }

    /// Records one group, which the sender takes now. `memory` is the memory of the heap's items, besides
    /// that of the heap itself.
    void submit(const send::Submission& s, const send::HeapLayout& layout, std::uint64_t cnt,
                std::uint64_t deadline, std::span<const std::byte> memory, bool only_control) {
        Known& known = heaps_.emplace_back();
        known.cnt = cnt;
        known.substream = s.substream;
        known.group = groups_;
        known.group_begin = group_begin_;
        known.control = s.control;
        known.deadline = s.control ? 0 : deadline;
        known.memory = memory;
        known.only_control = only_control;
        known.packets = packets_of(layout, cnt);
        packets_ += known.packets.size();
        for (const send::Piece& piece : layout.pieces) {
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(piece.data);
            known.payload.insert(known.payload.end(), bytes, bytes + piece.length);
        }
        known.items = without_nulls(layout.pointers, layout.flavour.address_bits());
        known.address_bits = layout.flavour.address_bits();
        require(by_cnt_.emplace(cnt, heaps_.size() - 1).second, "the model's heap counts are unique");
    }
    void end_group() {
        ++groups_;
        group_begin_ = heaps_.size();
    }

    /// Lets heaps be given up from now on.
    void cut() { cut_ = gives_up_ = true; }
    void stop() { stopped_ = gives_up_ = true; }

    /// Checks a frame that the port took.
    void take(std::span<const std::uint8_t> frame, std::uint64_t now) {
        wire::UdpView udp{};
        require(wire::parse_udp(frame.data(), frame.size(), frame.size(), true, udp) == PortOutcome::stream,
                "every frame is a UDP datagram");
        require(udp.payload_offset + udp.payload_length == frame.size(), "and nothing else");
        const std::span<const std::uint8_t> datagram = frame.subspan(udp.payload_offset);
        wire::SpeadPacket packet{};
        require(wire::parse_spead(datagram.data(), datagram.size(), datagram.size(), packet) ==
                    wire::SpeadError::none,
                "every datagram is a SPEAD packet");
        const auto found = by_cnt_.find(packet.heap_cnt);
        require(found != by_cnt_.end(), "every packet is of a heap that was submitted");
        Known& known = heaps_[found->second];
        // Packets of a cut heap that were built, and copied, still go.
        require(!known.completed || known.status == send::SendStatus::aborted,
                "a heap that was completed has no packets left");
        require(
            known.taken < known.packets.size() && std::ranges::equal(datagram, known.packets[known.taken]),
            "the packets of a heap go in order, each once and as they are");
        require(udp.dst_ip == kFirstGroup + known.substream, "packets go where their heap goes");
        require(known.deadline == 0 || now < known.deadline || cut_, "nothing is sent after its time");
        require(known.group >= group_, "groups go one after the other");
        group_ = known.group;
        ++known.taken;
        if (!gives_up_) {
            check_turns(found->second);
        }
        ++taken_;
        bytes_ += datagram.size();
        frame_bytes_ += frame.size();
        receivers_[known.substream]->take(frame, udp);
    }

    /// Checks the next completion.
    void complete(const send::Completion& c, const FuzzPort& port) {
        require(completed_ < heaps_.size(), "no more heaps are completed than were submitted");
        Known& known = heaps_[completed_];
        require(c.cnt == known.cnt && c.substream == known.substream, "heaps are completed in order");
        require(std::bit_cast<std::uintptr_t>(c.user) == completed_ + 1, "the user's pointer comes back");
        known.completed = true;
        known.status = c.status;
        const bool whole = known.taken == known.packets.size();
        switch (c.status) {
            case send::SendStatus::sent:
                require(whole, "a heap that was sent was taken whole");
                break;
            case send::SendStatus::aborted:
                require(!whole && (stopped_ || (cut_ && !known.control)), "heaps are aborted when asked for");
                break;
            case send::SendStatus::timed_out:
                require(!whole && known.deadline != 0 && c.time >= known.deadline, "heaps time out in time");
        }
        ++by_status_[static_cast<std::size_t>(c.status)];
        control_ += c.status == send::SendStatus::sent && known.control ? 1 : 0;
        ++completed_;
        // Other heaps in flight may be made of the same memory.
        const bool shared =
            std::any_of(heaps_.begin() + static_cast<std::ptrdiff_t>(completed_), heaps_.end(),
                        [&](const Known& other) { return other.memory.data() == known.memory.data(); });
        require(shared || !port.keeps_any_of(known.memory), "the memory of a completed heap is the user's");
    }

    /// Checks the counters, at any time. `waits`: the sender reports that it waits for a packet's time.
    void check(const stats::SendCounters& c, const send::Backlog& left, bool waits) const {
        require(c.packets == taken_ && c.bytes == bytes_ && c.frame_bytes == frame_bytes_,
                "packets and bytes are counted");
        require(c.packets == c.zero_copy_packets + c.copied_packets, "a packet is copied or not");
        require(left.all <= packets_ - taken_ && left.begun <= left.all, "the backlog is what is left");
        require(!waits || left.all != 0, "who has nothing to send does not wait for its time");
    }

    /// Checks the end, when nothing is in flight any more.
    void finish(const stats::SendCounters& c, const send::Backlog& left) {
        check(c, left, false);
        require(completed_ == heaps_.size(), "every heap is completed");
        require(left.all == 0, "no packet is left");
        require(c.heaps + c.control_heaps == status(send::SendStatus::sent) && c.control_heaps == control_ &&
                    c.aborted == status(send::SendStatus::aborted) &&
                    c.timed_out == status(send::SendStatus::timed_out),
                "heaps are counted by what became of them");
        for (const auto& receiver : receivers_) {
            receiver->finish();
        }
        std::size_t delivered = 0;
        for (const Known& known : heaps_) {
            delivered += look(known) ? 1 : 0;
        }
        for (const auto& receiver : receivers_) {
            delivered -= receiver->heaps().size();
        }
        require(delivered == 0, "no heap is received that was not sent");
    }

    /// Returns whether heaps may have been given up, or will be.
    bool gives_up() const { return gives_up_; }

  private:
    struct Known {
        std::uint64_t cnt = 0;
        std::uint32_t substream = 0;
        std::uint64_t group = 0;
        std::size_t group_begin = 0;  ///< its first heap
        std::uint64_t deadline = 0;
        unsigned address_bits = 0;
        bool control = false;
        bool only_control = false;
        bool completed = false;
        send::SendStatus status{};
        std::vector<Input> packets;
        std::size_t taken = 0;
        Input payload;
        std::vector<std::uint64_t> items;  ///< without NULL
        std::span<const std::byte> memory;
    };

    static std::vector<Input> packets_of(const send::HeapLayout& layout, std::uint64_t cnt) {
        std::vector<Input> packets;
        send::Packetiser walk;
        for (walk.start(layout, cnt); !walk.done();) {
            const send::Packetiser::Packet packet = walk.next();
            Input& bytes = packets.emplace_back(packet.header_length);
            walk.write_header(packet, bytes.data());
            walk.for_each_piece(packet, [&](const std::byte* data, std::uint32_t length, send::PieceKind) {
                const auto* const from = reinterpret_cast<const std::uint8_t*>(data);
                bytes.insert(bytes.end(), from, from + length);
            });
            walk.advance(packet);
        }
        return packets;
    }

    /// Returns item pointers in network order, but those that only pad.
    static std::vector<std::uint64_t> without_nulls(std::span<const std::uint64_t> pointers,
                                                    unsigned address_bits) {
        std::vector<std::uint64_t> kept;
        for (const std::uint64_t pointer : pointers) {
            const std::uint64_t id = (byte_swap(pointer) & ~(std::uint64_t{1} << 63)) >> address_bits;
            if (id != wire::item::kNull) {
                kept.push_back(pointer);
            }
        }
        return kept;
    }

    /// Checks the turns of a group: no heap has more packets than those before it, nor two more than others.
    void check_turns(std::size_t index) const {
        const Known& known = heaps_[index];
        for (std::size_t i = known.group_begin; i < heaps_.size() && heaps_[i].group == known.group; ++i) {
            const Known& other = heaps_[i];
            require(other.taken == other.packets.size() || other.taken + (i < index ? 0 : 1) >= known.taken,
                    "heaps of a group take turns");
        }
    }

    /// Returns whether the heap was received; checks its content and status.
    bool look(const Known& known) const {
        const auto& received = receivers_[known.substream]->heaps();
        const auto found = received.find(known.cnt);
        const bool whole = known.taken == known.packets.size();
        require((known.status == send::SendStatus::sent) == whole, "what was taken whole was sent");
        if (found == received.end()) {
            require(known.taken == 0 || known.only_control, "what was sent is received");
            return false;
        }
        const ReceivedHeap& heap = found->second;
        require(heap.complete == whole, "a heap is complete when it was sent");
        if (whole) {
            require(heap.payload == known.payload, "every byte arrives");
            require(without_nulls(heap.items, known.address_bits) == known.items, "every item arrives");
        }
        return true;
    }

    std::uint64_t status(send::SendStatus s) const { return by_status_[static_cast<std::size_t>(s)]; }

    std::vector<std::unique_ptr<HeapReceiver>> receivers_;
    std::deque<Known> heaps_;
    std::map<std::uint64_t, std::size_t> by_cnt_;
    std::uint64_t groups_ = 0;
    std::size_t group_begin_ = 0;
    std::uint64_t group_ = 0;    ///< of the last packet
    std::uint64_t packets_ = 0;  ///< of all heaps
    std::uint64_t taken_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t frame_bytes_ = 0;
    std::size_t completed_ = 0;
    std::array<std::uint64_t, 3> by_status_{};
    std::uint64_t control_ = 0;
    bool gives_up_;
    bool cut_ = false;
    bool stopped_ = false;
};

}  // namespace spead::fuzz
