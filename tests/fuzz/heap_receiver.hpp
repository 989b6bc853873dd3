// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "heap/heap_queue.hpp"
#include "heap/window.hpp"
#include "memory/arena.hpp"
#include "recv/spead_decoder.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "wire/net.hpp"

namespace spead::fuzz {

/// Copies a heap as a consumer had it.
struct ReceivedHeap {
    bool complete = false;
    std::uint64_t received = 0;  ///< bytes that came
    std::vector<std::uint8_t> payload;
    std::vector<std::uint64_t> items;  ///< in network order
};

/// Feeds the production decoder and window of one stream with frames that must all be good.
class HeapReceiver {
  public:
    /// Lets up to `live` heaps be open at a time.
    explicit HeapReceiver(std::uint32_t live)
        : config_(config(live)),
          arena_(std::size_t{2} << 20, kLargest),
          queue_(kQueue, heap::Window::records_needed(config_, kQueue)),
          window_(config_, heap::PoolPlacer(arena_, arena_.capacity()), queue_, counters_) {}

    /// Takes one UDP datagram, by its parsed headers.
    void take(std::span<const std::uint8_t> frame, const wire::UdpView& udp) {
        // Nothing behind the datagram may be looked at.
        const ExactCopy datagram(frame.subspan(udp.payload_offset, udp.payload_length));
        heap::PacketView view;
        std::uint32_t payload_at = 0;
        require(decoder_.decode(datagram.data(), datagram.size(), datagram.size(), view, payload_at),
                "every packet is a SPEAD packet");
        view.arrival = ++now_;
        heap::Record* record =
            heap::Window::is_whole(view) ? window_.accept_whole(view) : window_.accept_next(view);
        if (record == nullptr) {
            const auto accepted = window_.accept(view);
            if (accepted.outcome == PacketOutcome::control) {
                window_.commit();
                return;
            }
            require(accepted.outcome == PacketOutcome::placed, "the window takes every packet");
            record = accepted.record;
        }
        require(view.payload_length != 0, "every packet has payload");
        std::memcpy(record->base + view.offset, datagram.data() + payload_at, view.payload_length);
        window_.commit();
        window_.hand_over(now_);
        consume();
    }
    /// Ends what is open.
    void finish() {
        window_.flush(++now_);
        window_.hand_over(now_);
        consume();
        window_.reclaim();
        require(arena_.in_use() == 0, "heap memory comes back");
    }

    const std::map<std::uint64_t, ReceivedHeap>& heaps() const { return heaps_; }

  private:
    static constexpr std::size_t kLargest = std::size_t{256} << 10;
    static constexpr std::size_t kQueue = 64;

    static heap::WindowConfig config(std::uint32_t live) {
        heap::WindowConfig c;
        c.max_live = live;
        c.max_heap_bytes = kLargest;
        c.history = heap::WindowConfig::kLeastHistory;
        return c;
    }

    void consume() {
        while (const heap::HeapHandle h = queue_.try_pop()) {
            ReceivedHeap& heap = heaps_[h.cnt()];
            require(heap.payload.empty(), "a heap comes once");
            heap.complete = h.complete();
            heap.received = h.received();
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(h.payload().data());
            heap.payload.assign(bytes, bytes + h.payload().size());
            heap.items.assign(h.item_words().begin(), h.item_words().end());
        }
        window_.reclaim();
    }

    heap::WindowConfig config_;
    memory::Arena arena_;
    stats::StreamCounters counters_;
    heap::HeapQueue queue_;
    heap::Window window_;
    recv::SpeadDecoder decoder_;
    std::uint64_t now_ = 0;
    std::map<std::uint64_t, ReceivedHeap> heaps_;
};

}  // namespace spead::fuzz
