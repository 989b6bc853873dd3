// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heap/lent_packets.hpp"
#include "heap/window.hpp"
#include "memory/arena.hpp"
#include "stats/snapshot.hpp"
#include "tests/support/heap_packet.hpp"
#include "tests/support/late_engine.hpp"

namespace spead {

inline void PrintTo(PacketOutcome o, std::ostream* out) {
    *out << (o == heap::Window::kWait ? "(waits)" : name_of(o));
}
inline void PrintTo(HeapEnd e, std::ostream* out) {
    *out << name_of(e);
}

}  // namespace spead

namespace spead::heap::test {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = kKiB * kKiB;

/// Returns a window with small heaps, four live, and a history that does not expire by itself.
inline WindowConfig small_window() {
    WindowConfig c;
    c.max_heap_bytes = 64 * kKiB;
    c.history_ticks = 1'000'000;
    return c;
}

struct RigSizes {
    std::size_t arena = 2 * kMiB;
    std::size_t quota = ~std::size_t{0};  ///< of the arena
    std::size_t queue_heaps = 64;
    std::size_t largest = 256 * kKiB;  ///< block of the arena
};

/// Drives a window with all its surrounding objects as an RX lcore does. After every step it asserts both
/// counter identities; at the end, that every record and every byte of the arena came back.
class Rig {
  public:
    explicit Rig(const WindowConfig& config = small_window(), const RigSizes& sizes = {})
        : config_(config),
          arena_(sizes.arena, sizes.largest),
          queue_(sizes.queue_heaps, Window::records_needed(config, sizes.queue_heaps)),
          window_(config, PoolPlacer(arena_, std::min(sizes.quota, arena_.capacity())), queue_, counters) {}

    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    ~Rig() {
        held_.clear();
        commit();
        if (engine_ != nullptr)
            engine_->finish();
        window_.flush(now);
        check();
        while (HeapHandle h = queue_.try_pop()) {
        }
        window_.reclaim();
        window_.hand_over(now);
        while (HeapHandle h = queue_.try_pop()) {
        }
        window_.drop_waiting();
        window_.reclaim();
        check();
        EXPECT_EQ(window_.records_out(), 0U) << "records did not all come back";
        EXPECT_EQ(window_.placer().out(), 0U) << "the placer still counts blocks";
        EXPECT_EQ(arena_.in_use(), 0U) << "heap memory did not all come back";
        EXPECT_EQ(window_.books().in_use(), 0U) << "books did not all come back";
        EXPECT_EQ(counters.heaps_live, 0U);
        EXPECT_EQ(counters.heaps_waiting, 0U);
        EXPECT_EQ(lent_ ? lent_->out() : 0, 0U) << "lent packets did not all come back";
    }

    /// Lets heaps refer to up to so many packets, instead of copies. Before the first packet.
    LentPackets& lend(std::uint32_t most) {
        lent_ =
            std::make_unique<LentPackets>(most, Window::records_needed(config_, queue_.capacity()),
                                          [](void* const* buffers, std::size_t count) {
                                              for (std::size_t i = 0; i < count; i++)
                                                  delete static_cast<std::vector<std::uint8_t>*>(buffers[i]);
                                          });
        window_.lend_with(*lent_);
        return *lent_;
    }
    const LentPackets& lent() const { return *lent_; }

    /// Leaves all copies to an engine, which outlives the rig. Before the first packet.
    void copied_by(LateEngine& engine) {
        engine_ = &engine;
        window_.copied_by(engine.tickets);
    }

    /// Decides only; the copy waits for commit(), or for the engine.
    PacketOutcome accept(const Packet& p) {
        const Window::Accepted a = decide(p.view());
        EXPECT_EQ(a.outcome == PacketOutcome::placed, a.record != nullptr);
        if (a.outcome == PacketOutcome::placed && !p.payload().empty()) {
            Copy copy{a.record, p.view().offset, p.payload()};
            if (engine_ != nullptr)
                engine_->add(*a.record, arena_.size_of(a.record->payload), copy.offset, copy.bytes);
            else if (!lent_ || !keep(copy))
                copies_.push_back(std::move(copy));
        }
        check();
        return a.outcome;
    }

    /// Makes the waiting copies, then commits them.
    void commit() {
        for (const Copy& c : copies_)
            std::memcpy(c.record->base + c.offset, c.bytes.data(), c.bytes.size());
        copies_.clear();
        window_.commit();
        check();
    }

    /// Gives one packet all the way: accept, copy, commit, hand over.
    PacketOutcome give(const Packet& p) {
        const PacketOutcome o = accept(p);
        commit();
        hand_over();
        return o;
    }

    void hand_over() {
        window_.hand_over(now);
        check();
    }
    void flush() {
        window_.flush(now);
        check();
    }
    void expire(std::uint64_t at) {
        window_.expire(at);
        check();
    }
    void reclaim() {
        window_.reclaim();
        check();
    }

    HeapHandle pop() { return queue_.try_pop(); }
    /// Takes the next heap and keeps it in the consumer's hands until the end, or until release().
    HeapHandle& hold() {
        held_.push_back(queue_.try_pop());
        return held_.back();
    }
    void release() { held_.clear(); }
    std::size_t queued() const { return queue_.size(); }

    Window& window() { return window_; }
    HeapQueue& queue() { return queue_; }
    memory::Arena& arena() { return arena_; }

    std::uint64_t packets(PacketOutcome o) const { return counters[o]; }
    std::uint64_t ended(HeapEnd e) const { return counters.heaps_ended[static_cast<std::size_t>(e)]; }

    void check() {
        stats::Snapshot all;
        stats::StreamSnapshot& s = all.streams.emplace_back();
        s.name = "s0";
        s.add(counters, queue_.taken());
        // The port's side of the identities is not in the picture: every packet here came from nowhere.
        stats::PortSnapshot& port = all.ports.emplace_back();
        port.name = "p0";
        port.rx[static_cast<std::size_t>(PortOutcome::stream)] = s.received;
        port.rx_packets = s.received;
        EXPECT_EQ(window_.times().latency.count() + forgotten, s.heaps_handed_over);
        for (const std::string& broken : stats::broken_identities(all))
            ADD_FAILURE() << broken;
        EXPECT_LT(s.received, std::uint64_t{1} << 40) << "a counter went below zero";
        EXPECT_LT(s.heaps_queued, std::uint64_t{1} << 40) << "a counter went below zero";
        EXPECT_LT(s.bytes, std::uint64_t{1} << 50) << "a counter went below zero";
    }

    stats::StreamCounters counters;
    std::uint64_t now = 1;          ///< when heaps are handed over, in ticks
    std::uint64_t forgotten = 0;    ///< heaps handed over before their times were forgotten
    bool short_way = true;          ///< ask accept_next() or accept_whole() first, as the RX lcore does
    std::uint64_t whole_heaps = 0;  ///< packets that accept_whole() took

  private:
    Window::Accepted decide(const PacketView& v) {
        Record* r = nullptr;
        if (short_way)
            r = Window::is_whole(v) ? window_.accept_whole(v) : window_.accept_next(v);
        if (r != nullptr) {
            whole_heaps += Window::is_whole(v) ? 1 : 0;
            return {PacketOutcome::placed, r};
        }
        return window_.accept(v);
    }

    struct Copy {
        Record* record;
        std::uint64_t offset;
        std::vector<std::uint8_t> bytes;
    };

    /// Keeps the packet as an RX lcore does; it lies in memory of its own, which addresses sanitizers watch.
    bool keep(const Copy& c) {
        if (lent_->copies_rest(*c.record))
            return false;
        if (lent_->full())
            window_.reclaim();
        auto buffer = std::make_unique<std::vector<std::uint8_t>>(c.bytes);
        const auto* const from = reinterpret_cast<const std::byte*>(buffer->data());
        if (lent_->keep(*c.record, buffer.get(), from, static_cast<std::uint32_t>(c.offset),
                        static_cast<std::uint32_t>(c.bytes.size()))) {
            static_cast<void>(buffer.release());
            return true;
        }
        counters.lend_full += lent_->copy_rest(*c.record) ? 1 : 0;
        return false;
    }

    WindowConfig config_;
    std::unique_ptr<LentPackets> lent_;
    LateEngine* engine_ = nullptr;  ///< null: the rig copies
    memory::Arena arena_;
    HeapQueue queue_;
    Window window_;
    std::vector<Copy> copies_;
    std::vector<HeapHandle> held_;
};

/// Returns whether bytes [from, to) of the heap are those of Packet::at().
inline ::testing::AssertionResult holds_pattern(const HeapHandle& heap, std::uint64_t from, std::uint64_t to,
                                                std::uint64_t salt = 0) {
    if (heap.payload().size() < to)
        return ::testing::AssertionFailure() << "the payload ends at " << heap.payload().size();
    for (std::uint64_t i = from; i < to; i++)
        if (std::to_integer<std::uint8_t>(heap.payload()[i]) != pattern(heap.cnt(), i, salt))
            return ::testing::AssertionFailure() << "byte " << i << " of heap " << heap.cnt() << " differs";
    return ::testing::AssertionSuccess();
}

/// Returns whether all of the payload is there and right.
inline ::testing::AssertionResult holds_pattern(const HeapHandle& heap) {
    return holds_pattern(heap, 0, heap.payload().size());
}

/// Expects that every received byte is there, and the heap's.
inline void expect_intact(const HeapHandle& h) {
    std::uint64_t at = 0;
    std::uint64_t received = 0;
    std::vector<Range> holes = h.missing();
    holes.push_back({static_cast<std::uint32_t>(h.payload().size()), 0});
    for (const Range& hole : holes) {
        ASSERT_TRUE(holds_pattern(h, at, hole.begin));
        received += hole.begin - at;
        at = hole.end;
    }
    ASSERT_EQ(received, h.received());
    ASSERT_LE(h.extent(), h.payload().size());
}

/// Makes a consumer hold a heap whose item words fill books of `bytes`, 1 KiB to 128 KiB, a power of two.
inline void hold_books(Rig& rig, std::uint64_t key, std::size_t bytes) {
    std::vector<std::uint64_t> words(bytes / 16);
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] = i;
    ASSERT_EQ(rig.give(Packet(key).whole(8).items(words)), PacketOutcome::placed);
    ASSERT_TRUE(rig.hold());
}

inline std::vector<std::uint64_t> words_of(const HeapHandle& heap) {
    return {heap.item_words().begin(), heap.item_words().end()};
}

inline std::vector<Range> ranges(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> list) {
    std::vector<Range> out;
    for (const auto& [begin, end] : list)
        out.push_back({begin, end});
    return out;
}

/// Returns the heap counts of queued heaps, oldest first; the heaps go back.
inline std::vector<std::uint64_t> pop_counts(Rig& rig) {
    std::vector<std::uint64_t> out;
    while (HeapHandle h = rig.pop())
        out.push_back(h.cnt());
    return out;
}

}  // namespace spead::heap::test
