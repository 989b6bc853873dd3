// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "heap/window.hpp"
#include "tests/support/heap_packet.hpp"

namespace spead::heap::test {

/// Models the window in obvious code: a map entry per byte, lists searched from end to end, and memory
/// without limit. Time must not decrease.
class Model {
  public:
    struct Heap {
        std::uint64_t key = 0;
        std::optional<std::uint64_t> length;
        std::map<std::uint64_t, std::uint8_t> bytes;
        std::vector<std::uint64_t> words;
        std::uint64_t item_extent = 0;
        std::uint32_t packets = 0;
        std::uint32_t source = 0;
        std::uint8_t flavour = 0;
        std::uint64_t first_arrival = 0;
        std::uint64_t last_arrival = 0;
        std::uint64_t number = 0;  ///< among the heaps its substream began
        bool control = false;
        bool items = false;
        HeapEnd end = HeapEnd::complete;

        std::uint64_t prefix() const {
            std::uint64_t n = 0;
            for (const auto& [at, value] : bytes)
                if (at == n)
                    n++;
                else
                    break;
            return n;
        }
        std::uint64_t extent() const { return bytes.empty() ? 0 : bytes.rbegin()->first + 1; }
        bool past_end() const { return length && item_extent > *length; }
        bool complete() const { return length && bytes.size() == *length && !past_end(); }
        bool contiguous() const {
            return length ? complete() : bytes.size() == extent() && item_extent <= extent();
        }
        std::vector<Range> missing() const {
            std::vector<Range> out;
            for (std::uint64_t i = 0; i < length.value_or(extent()); i++) {
                if (bytes.count(i) != 0)
                    continue;
                if (out.empty() || out.back().end != i)
                    out.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
                out.back().end++;
            }
            return out;
        }
    };

    explicit Model(const WindowConfig& config) : config_(config), substreams_(config.substreams) {}

    PacketOutcome accept(const Packet& p) {
        const PacketOutcome o = decide(p.view(), p);
        packets[static_cast<std::size_t>(o)]++;
        return o;
    }

    void expire(std::uint64_t now) {
        now_ = now;
        for (Substream& s : substreams_)
            for (std::size_t i = 0; config_.timeout_ticks != 0 && i < s.live.size();)
                if (s.live[i].last_arrival + config_.timeout_ticks < now)
                    finish(s, i, HeapEnd::timed_out);
                else
                    i++;
    }

    void flush() {
        for (Substream& s : substreams_)
            while (!s.live.empty())
                finish(s, 0, HeapEnd::flushed);
    }

    /// Ends the batch: a stop item takes effect.
    void commit() {
        if (stopped_)
            flush();
    }

    std::size_t live() const {
        std::size_t n = 0;
        for (const Substream& s : substreams_)
            n += s.live.size();
        return n;
    }

    std::array<std::uint64_t, kPacketOutcomes> packets{};
    std::array<std::uint64_t, kHeapEnds> heaps_ended{};
    std::uint64_t heaps_started = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stop_items = 0;
    std::deque<Heap> ended;  ///< to be delivered, in this order

  private:
    struct Remembered {
        std::uint64_t key;
        PacketOutcome outcome;  ///< of its packets
        std::uint64_t time;
    };
    struct Substream {
        std::vector<Heap> live;  ///< in order of their beginning
        std::deque<Remembered> history;
        std::uint64_t begun = 0;
    };

    PacketOutcome decide(const PacketView& v, const Packet& p) {
        if (stopped_)
            return PacketOutcome::stopped;
        const bool sized = v.heap_length != kUnknownLength;
        const std::uint64_t end = v.offset + v.payload_length;
        if ((sized ? v.heap_length : end) > config_.max_heap_bytes)
            return PacketOutcome::heap_too_big;
        now_ = v.arrival;
        Substream& s = substreams_[v.key % config_.substreams];
        for (std::size_t i = 0; i < s.live.size(); i++)
            if (s.live[i].key == v.key)
                return add(s, i, v, p);
        if (const Remembered* const r = remembered(s, v.key))
            return r->outcome;
        return start(s, v, p);
    }

    PacketOutcome start(Substream& s, const PacketView& v, const Packet& p) {
        const bool sized = v.heap_length != kUnknownLength;
        const bool only_control =
            (v.flags & PacketView::kControl) != 0 && (v.flags & PacketView::kItems) == 0;
        const bool whole = only_control && v.offset == 0 && (!sized || v.heap_length == v.payload_length);
        if (whole && !config_.control_heaps) {
            remember(s, v.key, PacketOutcome::duplicate);
            see_stop(v);
            return PacketOutcome::control;
        }
        if (config_.in_order && v.offset != 0)
            return PacketOutcome::out_of_order;
        if (!s.live.empty() && s.live.front().number + config_.max_live <= s.begun)
            finish(s, 0, HeapEnd::evicted);
        Heap h;
        h.key = v.key;
        h.flavour = v.flavour;
        h.source = v.source;
        h.first_arrival = v.arrival;
        h.number = s.begun++;
        heaps_started++;
        s.live.push_back(h);
        if (sized || whole)
            s.live.back().length = sized ? v.heap_length : v.payload_length;
        take(s, s.live.size() - 1, v, p);
        return PacketOutcome::placed;
    }

    PacketOutcome add(Substream& s, std::size_t index, const PacketView& v, const Packet& p) {
        Heap& h = s.live[index];
        const std::uint64_t end = v.offset + v.payload_length;
        if (v.flavour != h.flavour)
            return PacketOutcome::inconsistent;
        std::optional<std::uint64_t> length = h.length;
        if (v.heap_length != kUnknownLength) {
            if (h.length && *h.length != v.heap_length)
                return PacketOutcome::inconsistent;
            if (v.heap_length < h.extent())
                return PacketOutcome::inconsistent;
            length = v.heap_length;
        } else if (h.length && end > *h.length) {
            return PacketOutcome::inconsistent;
        }
        if (config_.in_order && v.offset != h.prefix())
            return end <= h.prefix() ? PacketOutcome::duplicate : PacketOutcome::out_of_order;
        if (v.payload_length != 0) {
            std::size_t known = 0;
            for (std::uint64_t i = v.offset; i < end; i++)
                known += h.bytes.count(i);
            if (known == v.payload_length)
                return PacketOutcome::duplicate;
            if (known != 0)
                return PacketOutcome::inconsistent;
        } else {
            const bool news = std::any_of(p.words().begin(), p.words().end(), [&](std::uint64_t w) {
                return std::find(h.words.begin(), h.words.end(), w) == h.words.end();
            });
            if (!news && length == h.length)
                return PacketOutcome::duplicate;
        }
        h.length = length;
        take(s, index, v, p);
        return PacketOutcome::placed;
    }

    /// Adds the packet's contents to the heap, and ends the heap if that was the last.
    void take(Substream& s, std::size_t index, const PacketView& v, const Packet& p) {
        Heap& h = s.live[index];
        for (std::size_t i = 0; i < v.payload_length; i++)
            h.bytes[v.offset + i] = p.payload()[i];
        for (const std::uint64_t w : p.words())
            if (std::find(h.words.begin(), h.words.end(), w) == h.words.end())
                h.words.push_back(w);
        h.item_extent = std::max(h.item_extent, v.item_extent);
        h.last_arrival = v.arrival;
        h.packets++;
        h.control |= (v.flags & PacketView::kControl) != 0;
        h.items |= (v.flags & PacketView::kItems) != 0;
        bytes += v.payload_length;
        see_stop(v);
        if (h.complete())
            finish(s, index, HeapEnd::complete);
    }

    void see_stop(const PacketView& v) {
        if ((v.flags & PacketView::kStop) == 0)
            return;
        stop_items++;
        stopped_ |= config_.stop_on_stop_item;
    }

    void finish(Substream& s, std::size_t index, HeapEnd how) {
        Heap h = s.live[index];
        s.live.erase(s.live.begin() + static_cast<std::ptrdiff_t>(index));
        if (config_.history != 0)
            remember(s, h.key, how == HeapEnd::complete ? PacketOutcome::duplicate : PacketOutcome::late);
        if (how == HeapEnd::complete && h.control && !h.items && !config_.control_heaps) {
            heaps_started--;
            bytes -= h.bytes.size();
            packets[static_cast<std::size_t>(PacketOutcome::placed)] -= h.packets;
            packets[static_cast<std::size_t>(PacketOutcome::control)] += h.packets;
            return;
        }
        h.end = how;
        heaps_ended[static_cast<std::size_t>(how)]++;
        ended.push_back(h);
    }

    void remember(Substream& s, std::uint64_t key, PacketOutcome outcome) {
        if (config_.history == 0)
            return;
        s.history.push_back({key, outcome, now_});
        if (s.history.size() > std::max(config_.history, WindowConfig::kLeastHistory))
            s.history.pop_front();
    }
    const Remembered* remembered(const Substream& s, std::uint64_t key) const {
        for (auto it = s.history.rbegin(); it != s.history.rend(); ++it)
            if (it->key == key)
                return config_.history_ticks == 0 || it->time + config_.history_ticks >= now_ ? &*it
                                                                                              : nullptr;
        return nullptr;
    }

    WindowConfig config_;
    std::vector<Substream> substreams_;
    std::uint64_t now_ = 0;
    bool stopped_ = false;
};

}  // namespace spead::heap::test
