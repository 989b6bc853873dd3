// SPDX-License-Identifier: BSD-3-Clause
#include "heap/books.hpp"

#include <numeric>
#include <span>
#include <sys/mman.h>
#include <utility>

#include <gtest/gtest.h>

#include "heap/item_words.hpp"
#include "tests/support/heap_rig.hpp"

/// Tests the memory of item words and ranges: apart from the payload, bounded, and given back.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;
using Words = std::vector<std::uint64_t>;

Words words_from(std::uint64_t from, std::size_t count) {
    Words out(count);
    std::iota(out.begin(), out.end(), from);
    return out;
}

TEST(Books, HaveRoomForSomeFullHeapsAndAFewWordsOfEachOther) {
    const std::size_t items = item_block_bytes(kMaxItems);
    const std::size_t ranges = kMaxRanges * sizeof(Range);
    for (const std::size_t live : {1U, 2U, 4U, 1000U}) {
        Books books(Books::bytes_for(live, 200));
        EXPECT_EQ(books.capacity(), Books::bytes_for(live, 200)) << "the plan counts what is taken";
        for (std::size_t i = 0; i < std::min(live, Books::kFull); i++) {
            EXPECT_TRUE(books.take(items)) << i << " of " << live;
            EXPECT_TRUE(books.take(ranges)) << i << " of " << live;
        }
        for (std::size_t i = 0; i < 100; i++)
            EXPECT_TRUE(books.take(item_block_bytes(64))) << i;
    }
}

TEST(Books, AreOfTheWindowAndNotOfThePayload) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(1000).at(0, 100).items(words_from(0, 100))), placed);
    EXPECT_EQ(rig.arena().in_use(), 1 * kKiB) << "its payload only";
    EXPECT_EQ(rig.window().books().in_use(), 2 * kKiB);
    for (std::uint64_t i = 0; i <= Record::kInlineRanges; i++)
        EXPECT_EQ(rig.give(Packet(1).of(1000).at(200 + 2 * i, 1)), placed);
    EXPECT_EQ(rig.arena().in_use(), 1 * kKiB);
    EXPECT_EQ(rig.window().books().in_use(), 2 * kKiB + 512);
    rig.flush();
    pop_counts(rig);
    rig.reclaim();
    EXPECT_EQ(rig.window().books().in_use(), 0U);
}

TEST(Books, ThatConsumersHoldAreWaitedForByAStreamThatCanWait) {
    WindowConfig c = small_window();
    c.books_bytes = 128 * kKiB;
    c.on_full = FullPolicy::block;
    Rig rig(c);
    hold_books(rig, 9, 128 * kKiB);
    const Packet p = Packet(1).of(200).at(0, 100).items(words_from(0, 17));
    EXPECT_EQ(rig.accept(p), Window::kWait);
    rig.release();
    EXPECT_EQ(rig.give(p), placed);
}

TEST(Books, OfGhostsAreGivenToOthers) {
    WindowConfig c = small_window();
    c.books_bytes = 128 * kKiB;
    c.guarded = true;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 8; k++)
        EXPECT_EQ(rig.give(Packet(1'000'000 + k).of(1000).at(0, 8).items(words_from(0, 1024)).time(k)),
                  placed);
    EXPECT_EQ(rig.window().books().in_use(), 128 * kKiB);
    EXPECT_EQ(rig.give(Packet(1).whole(8).items(words_from(0, 600)).time(10)), placed);
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
    EXPECT_EQ(rig.counters.heaps_dropped_ghosts, 1U);
}

TEST(Books, OfTheHeapThatWantsMoreAreNotTakenFromIt) {
    WindowConfig c = small_window();
    c.books_bytes = 128 * kKiB;
    c.guarded = true;
    Rig rig(c);
    for (const std::size_t kib : {64U, 32U, 16U, 8U})
        hold_books(rig, 100 + kib, kib * kKiB);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100).items(words_from(0, 512)).time(5)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100, 9).items(words_from(512, 1)).time(6)), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100).time(7)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_EQ(words_of(h), words_from(0, 512));
}

/// Holds memory that faults when the CPU touches it, as memory of a device may.
class Untouchable {
  public:
    explicit Untouchable(std::size_t bytes)
        : bytes_(bytes),
          base_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    ~Untouchable() { munmap(base_, bytes_); }
    Untouchable(const Untouchable&) = delete;
    Untouchable& operator=(const Untouchable&) = delete;

    std::span<std::byte> memory() const { return {static_cast<std::byte*>(base_), bytes_}; }

  private:
    std::size_t bytes_;
    void* base_;
};

TEST(UntouchableDeathTest, MemoryOfTheTestsIsWhatItsNameSays) {
    const Untouchable device(kMiB);
    ASSERT_NE(static_cast<void*>(device.memory().data()), MAP_FAILED);
    EXPECT_DEATH(device.memory()[0] = std::byte{1}, "");
}

TEST(Books, LeavePayloadMemoryUntouched) {
    const Untouchable device(2 * kMiB);
    ASSERT_NE(static_cast<void*>(device.memory().data()), MAP_FAILED);
    memory::Arena arena(device.memory(), 64 * kKiB);
    WindowConfig c = small_window();
    c.guarded = true;
    HeapQueue queue(64, Window::records_needed(c, 64));
    stats::StreamCounters counters;
    Window window(c, PoolPlacer(arena, arena.capacity()), queue, counters);
    std::uint64_t now = 1;
    const auto give = [&](const Packet& p) {
        const PacketView v = p.view();
        Record* r = window.accept_next(v);
        const PacketOutcome outcome = r != nullptr ? placed : window.accept(v).outcome;
        window.commit();
        window.hand_over(now++);
        return outcome;
    };
    std::uint64_t complete = 0;
    for (std::uint64_t k = 0; k < 200; k++) {
        // Many items, and every other byte first: as many holes as there may be, every tenth time.
        const std::uint64_t holes = k % 10 == 0 ? kMaxRanges : 40;
        const std::uint64_t length = 2 * holes + k % 3;
        const std::size_t items = k % 7 == 0 ? kMaxItems : k % 100;
        EXPECT_EQ(give(Packet(k).of(length).at(1, 1).items(words_from(k, items))), placed);
        for (std::uint64_t i = 1; i < holes; i++)
            EXPECT_EQ(give(Packet(k).of(length).at(2 * i + 1, 1)), placed);
        if (k % 2 == 0) {
            for (std::uint64_t i = 0; i < holes; i++)
                EXPECT_EQ(give(Packet(k).of(length).at(2 * i, 1)), placed);
            if (length > 2 * holes) {
                EXPECT_EQ(give(Packet(k).of(length).at(2 * holes, length - 2 * holes)), placed);
            }
        }
        while (const HeapHandle h = queue.try_pop()) {
            EXPECT_EQ(h.item_words().size(), h.cnt() % 7 == 0 ? kMaxItems : h.cnt() % 100);
            EXPECT_GE(h.payload().data(), device.memory().data());
            complete += h.complete();
        }
        window.reclaim();
    }
    EXPECT_EQ(complete, 100U);
    window.flush(now);
    while (const HeapHandle h = queue.try_pop()) {
    }
    window.reclaim();
    EXPECT_EQ(arena.in_use(), 0U);
    EXPECT_EQ(window.books().in_use(), 0U);
}

}  // namespace
}  // namespace spead::heap::test
