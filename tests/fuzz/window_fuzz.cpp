// SPDX-License-Identifier: BSD-3-Clause
// The window of one stream: packets, copies, time, new settings, a consumer that takes heaps, keeps them and
// gives them back in any order. Every byte of every heap was sent at its address, also while the consumer
// keeps the heap. Every packet and every heap is in one counter. All memory comes back.

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "heap/heap_queue.hpp"
#include "heap/window.hpp"
#include "memory/arena.hpp"
#include "stats/snapshot.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/heap_packet.hpp"

namespace {

using namespace spead;
using namespace spead::heap;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using heap::test::Packet;
using heap::test::pattern;

constexpr int kMostSteps = 400;
constexpr std::size_t kArena = std::size_t{1} << 20;
constexpr std::size_t kLargestBlock = std::size_t{64} << 10;
constexpr std::size_t kQueue = 8;
constexpr std::size_t kMostKept = 24;
constexpr std::array kPolicies{FullPolicy::drop_newest, FullPolicy::drop_oldest, FullPolicy::block};

WindowConfig any_config(Choices& choices) {
    WindowConfig c;
    c.substreams = 1 + static_cast<std::uint32_t>(choices.below(3));
    c.max_live = 1 + static_cast<std::uint32_t>(choices.below(6));
    c.max_heap_bytes = 512 + 64 * choices.below(64);
    c.history = choices.flag() ? WindowConfig::kLeastHistory : 0;
    c.history_ticks = 4 * choices.byte();
    c.timeout_ticks = choices.byte();
    const std::uint8_t what = choices.byte();
    c.in_order = (what & 1U) != 0;
    c.stop_on_stop_item = (what & 2U) != 0;
    c.control_heaps = (what & 64U) != 0;
    c.on_full = kPolicies[(what >> 2U) % kPolicies.size()];
    c.guarded = (what & 32U) != 0;
    return c;
}

/// Holds the data that was sent of one heap count, by all heaps that had it.
struct Sent {
    std::vector<bool> bytes;
    std::set<std::uint64_t> words;
    std::set<std::uint64_t> lengths;
};

class Stream {
  public:
    explicit Stream(const WindowConfig& config)
        : lossless_(config.on_full == FullPolicy::block),
          arena_(kArena, kLargestBlock),
          queue_(kQueue, Window::records_needed(config, kQueue)),
          window_(config, PoolPlacer(arena_, arena_.capacity()), queue_, counters_) {}

    void step(Choices& choices) {
        switch (choices.below(16)) {
            case 0:
                commit();
                break;
            case 1:
                // Heaps with copies that are still to come stay.
                window_.hand_over(now_);
                break;
            case 2:
                hand_over();
                break;
            case 3:
                take(choices);
                break;
            case 4:
                give_back(choices);
                break;
            case 5:
                commit();
                now_ += choices.byte();
                window_.expire(now_);
                break;
            case 6:
                change(choices);
                break;
            case 7:
                window_.reclaim();
                break;
            default:
                give(choices);
        }
        check_counters();
    }

    void finish() {
        commit();
        window_.flush(now_);
        hand_over();
        while (HeapHandle heap = queue_.try_pop()) {
            check(heap);
            heap.reset();
            hand_over();
        }
        for (const HeapHandle& heap : kept_) {
            check(heap);
        }
        kept_.clear();
        window_.reclaim();
        hand_over();
        while (HeapHandle heap = queue_.try_pop()) {
            check(heap);
            heap.reset();
            hand_over();
        }
        require(!lossless_ || counters_.heaps_dropped_full == 0, "nothing is dropped where all waits");
        window_.drop_waiting();
        window_.reclaim();
        check_counters();
        require(counters_.heaps_live == 0 && counters_.heaps_waiting == 0, "no heap stays");
        require(window_.records_out() == 0, "every record comes back");
        require(window_.placer().out() == 0 && arena_.in_use() == 0, "heap memory comes back");
    }

  private:
    struct Copy {
        Record* record;
        Packet packet;
    };

    /// Gives one packet of one of a few heaps, within the bounds that a decoder guarantees.
    void give(Choices& choices) {
        if (window_.blocked()) {
            return;
        }
        const std::uint8_t what = choices.byte();
        Packet packet(what < 250 ? what % 16U : std::uint64_t{choices.word32()} << 32 | what);
        const std::uint8_t form = choices.byte();
        std::uint64_t offset = 32U * choices.below(64);
        const std::size_t length = form % 4U == 0 ? choices.byte() : 32;
        if ((form & 4U) != 0) {
            const std::uint64_t told = (form & 8U) != 0 ? 256 + 16U * choices.below(256) : 256;
            packet.of(told);
            offset = offset <= told ? std::min(offset, told - std::min<std::uint64_t>(told, length)) : 0;
        } else if (form >= 240) {
            offset = std::uint64_t{choices.word32()} << 16;
        }
        packet.at(offset, packet.view().heap_length < length ? 0 : length);
        if ((form & 16U) != 0) {
            std::vector<std::uint64_t> words;
            for (std::size_t count = choices.below(24); count > 0; count--) {
                words.push_back(choices.byte());
            }
            packet.items(words).pointing_at(choices.flag() ? choices.word16() : 0);
        }
        if ((form & 32U) != 0 && choices.below(8) == 0) {
            packet.flavour(48);
        }
        if ((form & 64U) != 0 && choices.below(16) == 0) {
            packet.stop();
        }
        now_ += form % 2U;
        packet.time(now_);
        accept(std::move(packet));
    }

    void accept(Packet packet) {
        const PacketView view = packet.view();
        Record* record = Window::is_whole(view) ? window_.accept_whole(view) : window_.accept_next(view);
        given_++;
        if (record == nullptr) {
            const Window::Accepted accepted = window_.accept(view);
            if (accepted.outcome == Window::kWait) {
                // Its source keeps it, and nothing has counted it.
                require(window_.waits(), "packets wait only where nothing may be lost");
                require(accepted.record == nullptr, "what waits has no place");
                given_--;
                return;
            }
            record = accepted.record;
            require((accepted.outcome == PacketOutcome::placed) == (record != nullptr),
                    "what is placed has its place");
        }
        if (record != nullptr) {
            Sent& sent = sent_[view.key];
            sent.words.insert(packet.words().begin(), packet.words().end());
            sent.lengths.insert(view.heap_length);
            if ((view.flags & heap::PacketView::kControl) != 0)
                sent.lengths.insert(view.payload_length);  // alone it is a whole heap
            const std::uint64_t end = view.offset + view.payload_length;
            if (view.payload_length != 0) {
                require(end <= kLargestBlock, "what is placed fits the largest heap");
                sent.bytes.resize(std::max<std::size_t>(sent.bytes.size(), end));
                std::fill(sent.bytes.begin() + static_cast<std::ptrdiff_t>(view.offset),
                          sent.bytes.begin() + static_cast<std::ptrdiff_t>(end), true);
                copies_.push_back({record, std::move(packet)});
            }
        }
        if (++in_batch_ == Window::kMaxBatch) {
            commit();
        }
    }

    void commit() {
        for (const Copy& copy : copies_) {
            std::memcpy(copy.record->base + copy.packet.view().offset, copy.packet.payload().data(),
                        copy.packet.payload().size());
        }
        window_.commit();
        copies_.clear();
        in_batch_ = 0;
    }

    void hand_over() {
        commit();
        window_.hand_over(now_);
    }

    void take(Choices& choices) {
        for (std::size_t most = 1 + choices.below(4); most > 0 && kept_.size() < kMostKept; most--) {
            HeapHandle heap = queue_.try_pop();
            if (!heap) {
                return;
            }
            check(heap);
            kept_.push_back(std::move(heap));
        }
    }
    void give_back(Choices& choices) {
        for (std::size_t most = 1 + choices.below(8); most > 0 && !kept_.empty(); most--) {
            const std::size_t which = choices.below(kept_.size());
            // It has not changed under the consumer's hands.
            check(kept_[which]);
            std::swap(kept_[which], kept_.back());
            kept_.pop_back();
        }
    }

    void change(Choices& choices) {
        commit();
        switch (choices.below(4)) {
            case 0:
                window_.set_timeout(choices.byte());
                break;
            case 1:
                window_.set_quota(kArena >> choices.below(6));
                break;
            case 2:
                window_.set_on_full(kPolicies[choices.below(kPolicies.size())]);
                lossless_ = false;
                break;
            default:
                if (choices.below(16) == 0) {
                    window_.stop();
                } else {
                    window_.flush(now_);
                }
        }
    }

    void check(const HeapHandle& heap) const {
        const auto found = sent_.find(heap.cnt());
        require(found != sent_.end(), "a heap has a packet");
        const Sent& sent = found->second;
        require(heap.packets() > 0, "a heap counts its packets");
        require(sent.lengths.contains(heap.length()), "a heap's length was told by a packet");
        const auto payload = heap.payload();
        std::vector<bool> there(payload.size(), true);
        std::uint64_t holes = 0;
        for (const Range& range : heap.missing()) {
            require(range.begin < range.end && range.end <= payload.size(), "holes lie in the payload");
            std::fill(there.begin() + static_cast<std::ptrdiff_t>(range.begin),
                      there.begin() + static_cast<std::ptrdiff_t>(range.end), false);
            holes += range.end - range.begin;
        }
        require(holes + heap.received() == payload.size(), "what is not missing came");
        require(heap.complete() == (holes == 0 && heap.has_length() && !heap.item_past_end()),
                "a heap is complete when all of it came");
        for (std::size_t at = 0; at < payload.size(); at++) {
            if (there[at]) {
                require(at < sent.bytes.size() && sent.bytes[at], "a byte that came was sent");
                require(std::to_integer<std::uint8_t>(payload[at]) == pattern(heap.cnt(), at),
                        "a byte is at its place");
            }
        }
        std::set<std::uint64_t> words;
        for (const std::uint64_t word : heap.item_words()) {
            require(sent.words.contains(word), "an item pointer came with a packet");
            require(words.insert(word).second, "no item pointer is there twice");
        }
    }

    void check_counters() {
        stats::Snapshot all;
        stats::StreamSnapshot& stream = all.streams.emplace_back();
        stream.name = "s0";
        stream.add(counters_, queue_.taken());
        stats::PortSnapshot& port = all.ports.emplace_back();
        port.name = "p0";
        port.rx[static_cast<std::size_t>(PortOutcome::stream)] = stream.received;
        port.rx_packets = stream.received;
        for (const std::string& broken : stats::broken_identities(all)) {
            require(false, "the counters' identities hold", broken);
        }
        require(stream.received == given_, "every packet is in one counter");
        require(stream.bytes <= given_ * kLargestBlock, "no counter goes below zero");
    }

    bool lossless_;
    std::uint64_t now_ = 1;
    std::uint64_t given_ = 0;
    std::size_t in_batch_ = 0;
    std::map<std::uint64_t, Sent> sent_;
    std::vector<Copy> copies_;
    stats::StreamCounters counters_;
    memory::Arena arena_;
    HeapQueue queue_;
    Window window_;
    std::vector<HeapHandle> kept_;  ///< in the consumer's hands; gone before the queue
};

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    std::mt19937 random(1);
    // Whole heaps of 256 bytes through windows of every kind, handed over and taken now and then.
    for (unsigned kind = 0; kind < 24; kind++) {
        const auto byte = [](unsigned value) { return static_cast<std::uint8_t>(value); };
        Input input{byte(kind), byte(kind / 2), 60, byte(kind / 4), 100, byte(kind % 3 == 0 ? 0 : 90),
                    byte(kind)};
        for (unsigned heap = 0; heap < 12; heap++) {
            for (unsigned at = 0; at < 8; at++) {
                input.insert(input.end(), {8, byte(heap % 16), 5, byte(kind % 4 == 3 ? 7 - at : at)});
            }
            input.insert(input.end(), {1, 3, byte(heap), 4, byte(kind + heap)});
            input.insert(input.end(), {byte(heap % 16)});
        }
        inputs.push_back(input);
    }
    // Anything.
    for (int i = 0; i < 16; i++) {
        Input input(600);
        for (std::uint8_t& value : input) {
            value = static_cast<std::uint8_t>(random());
        }
        inputs.push_back(input);
    }
    return inputs;
}

/// Reads the configuration from the first bytes, and the steps from the others.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    Stream stream(any_config(choices));
    for (int i = 0; i < kMostSteps && !choices.empty(); i++) {
        stream.step(choices);
    }
    stream.finish();
    return 0;
}
