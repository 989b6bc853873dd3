// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sink.hpp"

#include <gmock/gmock.h>
#include <span>

#include <gtest/gtest.h>

#include "base/heap_pattern.hpp"
#include "base/verify_sequence.hpp"
#include "gather/engine.hpp"
#include "runtime/heap_items.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Makes one packet with a whole heap of the sequence: items of so many words, ids from 0x1000 on.
struct Sequence {
    std::uint64_t cnt;
    std::vector<std::uint64_t> words;  ///< of each item
    std::size_t gap_before = 0;        ///< bytes before the items, as a descriptor would take

    Packet packet() const {
        std::uint64_t total = 0;
        for (const std::uint64_t w : words)
            total += w;
        std::vector<std::uint64_t> items;
        if (gap_before != 0)
            items.push_back(addressed(wire::item::kDescriptor, 0));
        std::uint64_t at = gap_before;
        for (std::size_t i = 0; i < words.size(); i++) {
            items.push_back(addressed(0x1000 + i, at));
            at += words[i] * 4;
        }
        Packet p(cnt);
        p.whole(at).items(items);
        verify_generate(std::as_writable_bytes(std::span(p.payload()).subspan(gap_before)),
                        verify_heap_start(cnt, total));
        return p;
    }
};

void give(Sink& sink, Rig& rig, const std::vector<Packet>& packets) {
    sink.consume(heap_of(rig, packets));
    sink.show_compared();
}

TEST(VerifySink, CountsHeapsThatHoldTheSequence) {
    Rig rig;
    VerifySink sink("s0");
    std::uint64_t right = 0;
    for (const Sequence& s : {Sequence{1, {1}}, Sequence{2, {1000}}, Sequence{3, {7, 7, 7}},
                              Sequence{4, {10}, 12}, Sequence{0xFFFFFFFFFF, {100, 100}}}) {
        give(sink, rig, {s.packet()});
        EXPECT_EQ(sink.verified(), ++right) << s.cnt;
    }
    EXPECT_EQ(sink.wrong(), 0U);
}

TEST(VerifySink, FindsEverySingleWrongByte) {
    heap::WindowConfig config = heap::test::small_window();
    config.history = 0;
    Rig rig(config);
    VerifySink sink("s0");
    testing::internal::CaptureStderr();
    const Sequence s{9, {5, 5}};
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < 40; at++) {
        Packet p = s.packet();
        p.payload()[at] ^= 0x10;
        give(sink, rig, {p});
        EXPECT_EQ(sink.wrong(), ++wrong) << "byte " << at;
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(sink.verified(), 0U);
}

TEST(VerifySink, FindsTheRightBytesOfAnotherHeap) {
    Rig rig;
    VerifySink sink("s0");
    testing::internal::CaptureStderr();
    Packet p = Sequence{9, {5, 5}}.packet();
    Packet other = Packet(10).whole(40).items(p.words());
    other.payload() = p.payload();
    give(sink, rig, {other});
    EXPECT_EQ(sink.wrong(), 1U);
    testing::internal::GetCapturedStderr();
}

TEST(VerifySink, FollowsTheItemsByTheirIds) {
    Rig rig;
    VerifySink sink("s0");
    // Item 0x1001 lies before item 0x1000: the sequence goes from id to id, wherever they lie.
    Packet p(3);
    p.whole(24).items({addressed(0x1000, 12), addressed(0x1001, 0)});
    const auto bytes = std::as_writable_bytes(std::span(p.payload()));
    verify_generate(bytes.subspan(12, 12), verify_heap_start(3, 6));
    verify_generate(bytes.subspan(0, 12), verify_heap_start(3, 6), 12);
    give(sink, rig, {p});
    EXPECT_EQ(sink.verified(), 1U);
}

TEST(VerifySink, ReadsWordsThatAreImmediates) {
    Rig rig;
    VerifySink sink("s0");
    const auto packet = [](std::uint64_t cnt, std::uint64_t change) {
        const std::uint64_t first = verify_heap_start(cnt, 3);
        Packet p(cnt);
        p.whole(4).items({immediate(0x1000, verify_word(first) ^ change), addressed(0x1001, 0),
                          immediate(0x1002, verify_word(first + 2))});
        verify_generate(std::as_writable_bytes(std::span(p.payload())), first, 4);
        return p;
    };
    give(sink, rig, {packet(5, 0)});
    EXPECT_EQ(sink.verified(), 1U);
    testing::internal::CaptureStderr();
    give(sink, rig, {packet(6, 1)});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("item 0x1000"));
    EXPECT_EQ(sink.wrong(), 1U);
    testing::internal::CaptureStderr();
    give(sink, rig, {packet(7, std::uint64_t{1} << 32)});
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(sink.wrong(), 2U) << "a word has 32 bits";
}

/// Makes one packet with a heap of a pattern, SPEAD-64-40 as all packets here.
Packet pattern_packet(std::uint64_t cnt, HeapPattern pattern, const PatternHeap& heap) {
    Packet p(cnt);
    std::vector<std::uint64_t> words{addressed(shape_of(pattern).data_id, 0)};
    const PatternItems items = pattern_items(pattern, heap);
    for (const PatternItem& item : items.view())
        words.push_back(immediate(item.id, item.value));
    p.whole(1200).items(words);
    pattern_generate(std::as_writable_bytes(std::span(p.payload())), pattern, heap);
    return p;
}

TEST(VerifySink, ComparesHeapsOfAPattern) {
    Rig rig;
    VerifySink sink("s0");
    std::uint64_t cnt = 0;
    for (const HeapPattern pattern :
         {HeapPattern::p1, HeapPattern::p2, HeapPattern::p3, HeapPattern::p3b, HeapPattern::p4})
        for (std::uint32_t group = 0; group < 3; group++)
            give(sink, rig,
                 {pattern_packet(++cnt, pattern, {100 + cnt, group, pattern == HeapPattern::p4 ? 0U : 5U})});
    EXPECT_EQ(sink.verified(), cnt);
    EXPECT_EQ(sink.wrong(), 0U);
}

TEST(VerifySink, FindsEverySingleWrongByteOfAPattern) {
    heap::WindowConfig config = heap::test::small_window();
    config.history = 0;
    Rig rig(config);
    VerifySink sink("s0");
    testing::internal::CaptureStderr();
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < 1200; at++) {
        Packet p = pattern_packet(9, HeapPattern::p3, {7, 1, 2});
        p.payload()[at] ^= 0x10;
        give(sink, rig, {p});
        ASSERT_EQ(sink.wrong(), ++wrong) << "byte " << at;
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("heap 9: item 0x4300"));
    EXPECT_EQ(sink.verified(), 0U);
}

TEST(VerifySink, FindsItemsThatAreNotThoseOfThePayload) {
    Rig rig;
    VerifySink sink("s0");
    testing::internal::CaptureStderr();
    // The right payload of another heap: of the next time, antenna or channels.
    std::uint64_t cnt = 0;
    for (const PatternHeap& other : {PatternHeap{8, 1, 2}, PatternHeap{7, 1, 3}, PatternHeap{7, 2, 2}}) {
        Packet p = pattern_packet(++cnt, HeapPattern::p3, {7, 1, 2});
        p.payload() = pattern_packet(cnt, HeapPattern::p3, other).payload();
        give(sink, rig, {p});
        EXPECT_EQ(sink.wrong(), cnt);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, AllOf(HasSubstr("0x1600"), HasSubstr("0x4101"), HasSubstr("0x4103")));
    EXPECT_EQ(sink.verified(), 0U);
}

TEST(VerifySink, JudgesNeitherIncompleteHeapsNorHeapsWithoutItems) {
    Rig rig;
    VerifySink sink("s0");
    give(sink, rig, {Packet(1).of(100).at(0, 50).items({addressed(0x1000, 0)})});
    give(sink, rig, {Packet(2).whole(30).items({addressed(wire::item::kDescriptor, 0)})});
    give(sink, rig, {Packet(3).whole(30)});
    EXPECT_EQ(sink.verified() + sink.wrong(), 0U);
}

TEST(VerifySink, LogsTheFirstWrongHeapsWithThePlaceAndThenNoMore) {
    Rig rig;
    VerifySink sink("dsim");
    testing::internal::CaptureStderr();
    for (std::uint64_t cnt = 1; cnt <= 30; cnt++) {
        Packet p = Sequence{cnt, {4, 4}}.packet();
        p.payload()[21] ^= 1;
        give(sink, rig, {p});
    }
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(sink.wrong(), 30U);
    EXPECT_THAT(log,
                AllOf(HasSubstr("stream dsim: heap 1: item 0x1001 differs from the sequence at byte 5 of 16"),
                      HasSubstr("heap 10:"), Not(HasSubstr("heap 11:"))));
}

/// Has heaps of a device, and fetches none in time.
struct LateEngine final : gather::Engine {
    std::string_view name() const noexcept override { return "late"; }
    memory::MemoryKind kind() const noexcept override { return memory::MemoryKind::device; }
    std::shared_ptr<const memory::Region> allocate(std::size_t) override { return nullptr; }
    std::shared_ptr<gather::Channel> connect(std::size_t) override { return nullptr; }
    bool stop(std::chrono::milliseconds) override { return true; }
    void fetch(const std::byte*, std::span<std::byte>) override {
        throw gather::FetchTimedOut("engine x", "late");
    }
};

TEST(VerifySink, LosesOneHeapThatIsNotFetchedInTime) {
    Rig rig;
    VerifySink sink("s0");
    sink.read_with(std::make_shared<LateEngine>());
    EXPECT_FALSE(sink.take(heap_of(rig, {Sequence{1, {1}}.packet()})));
    EXPECT_FALSE(sink.failed());
    sink.lose("no room");
    sink.lose("no room at all");
    const std::vector<stats::SinkLoss> losses = sink.losses();
    ASSERT_EQ(losses.size(), 2U);
    EXPECT_EQ(losses[0].lack, Sink::Lack::room);
    EXPECT_EQ(losses[0].count, 2U);
    EXPECT_EQ(losses[0].why, "no room at all") << "the last one";
    EXPECT_EQ(losses[1].lack, Sink::Lack::engine);
    EXPECT_EQ(losses[1].count, 1U);
    EXPECT_EQ(losses[1].why, "engine x: late");
    sink.read_with(nullptr);
    EXPECT_TRUE(sink.take(heap_of(rig, {Sequence{2, {1}}.packet()})));
    sink.show_compared();
    EXPECT_EQ(sink.verified(), 1U);
}

TEST(NullSink, TakesEverything) {
    Rig rig;
    NullSink sink;
    give(sink, rig, {Packet(1).whole(100)});
    sink.finish();
    EXPECT_EQ(sink.verified() + sink.wrong(), 0U);
}

TEST(MakeSink, MakesWhatThePlanAsksFor) {
    const Directory directory;
    EXPECT_NE(dynamic_cast<NullSink*>(make_sink({}, "s0").get()), nullptr);
    EXPECT_NE(dynamic_cast<VerifySink*>(make_sink({SinkKind::verify, ""}, "s0").get()), nullptr);
    Rig rig;
    const auto sink = make_sink({SinkKind::file, directory.path()}, "s7");
    give(*sink, rig, {Packet(1).whole(4)});
    sink->finish();
    EXPECT_EQ(directory.names(), (std::vector<std::string>{"heaps.jsonl", "s7-1.bin"}));
}

TEST(ItemsOf, ListsTheItemsOfAnIncompleteHeapAsTheyWouldLie) {
    Rig rig;
    const heap::HeapHandle h =
        heap_of(rig, {Packet(1).of(100).at(60, 40).items(
                         {addressed(0x1000, 0), addressed(0x1001, 50), immediate(0x1002, 9)})});
    EXPECT_FALSE(h.complete());
    const std::vector<wire::ItemView> want{
        {0x1000, false, 0, 0, 50}, {0x1001, false, 0, 50, 50}, {0x1002, true, 9, 0, 0}};
    EXPECT_EQ(items_of(h), want);
}

TEST(ItemsOf, EndsAtWhatCameOfAHeapOfUnknownLength) {
    Rig rig;
    const heap::HeapHandle h = heap_of(
        rig, {Packet(1).at(0, 30).items({addressed(0x1000, 10), addressed(0x1001, 40)}).pointing_at(40)});
    const std::vector<wire::ItemView> want{{0x1000, false, 0, 10, 20}};
    EXPECT_EQ(items_of(h), want);
}

}  // namespace
}  // namespace spead::runtime::unit_test
