// SPDX-License-Identifier: BSD-3-Clause
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "recv/filter_expression.hpp"
#include "tests/eal/recv/rig.hpp"

/// Filters on real mbufs: what they see, what becomes of their answers, and buffers that they hold.
namespace spead::recv::test {
namespace {

/// Does what the test says, and keeps what it is lent.
class TestFilter : public PacketFilter {
  public:
    std::function<FilterAnswer(const FilterPacket&)> answer = [](const FilterPacket&) {
        return FilterAnswer::keep;
    };
    std::vector<HeldPacket> held;

    FilterAnswer look(const FilterPacket& packet) noexcept override { return answer(packet); }
    void lent(HeldPacket packet) noexcept override { held.push_back(std::move(packet)); }
};

TestFilter& filter_on(SpeadLane& lane, std::uint32_t most_held = 0) {
    auto filter = std::make_unique<TestFilter>();
    TestFilter& f = *filter;
    lane.filter = std::make_unique<FilterGate>(std::move(filter), most_held);
    return f;
}

std::string text_of(const FilterPacket& packet) {
    std::array<std::span<const std::byte>, 16> pieces;
    const std::size_t n = packet.payload(pieces);
    EXPECT_LE(n, pieces.size());
    std::string text;
    for (std::size_t i = 0; i < n; i++)
        text.append(reinterpret_cast<const char*>(pieces[i].data()), pieces[i].size());
    return text;
}

std::string payload_of(const MadeHeap& h, std::size_t offset, std::size_t n) {
    std::string text;
    for (std::size_t i = 0; i < n; i++)
        text += static_cast<char>(h.byte(offset + i));
    return text;
}

const wire::Flavour kFlavour(48);

MadeHeap heap_with_items(std::uint64_t cnt) {
    return {.cnt = cnt,
            .items = {kFlavour.make_address(0x1000, 0), kFlavour.make_immediate(0x1600, cnt),
                      kFlavour.make_address(0x1001, 900)}};
}

TEST(Filters, SeeEveryPacketOfEveryShapeBeforeItIsPlaced) {
    struct Case {
        const char* name;
        Way way;
        std::vector<std::size_t> split;
    };
    for (const Case& c : {Case{"usual", {}, {}}, Case{"VLAN", {.tags = {0x8100}}, {}},
                          Case{"chain", {}, {70}}, Case{"long chain", {}, {20, 30, 100, 1}}}) {
        SCOPED_TRACE(c.name);
        OneStream rig;
        TestFilter& filter = filter_on(rig.lane());
        const MadeHeap h = heap_with_items(9);
        std::size_t seen = 0;
        filter.answer = [&](const FilterPacket& p) {
            const std::size_t offset = seen++ % 3 * h.packet;
            EXPECT_EQ(p.heap_count(), 9U + (seen - 1) / 3);
            EXPECT_EQ(p.heap_length(), 1000U);
            EXPECT_EQ(p.offset(), offset);
            EXPECT_EQ(p.payload_length(), std::min<std::size_t>(h.packet, h.length - offset));
            EXPECT_EQ(p.way().source.v4().value, c.way.from);
            EXPECT_EQ(p.way().destination.v4().value, c.way.to);
            EXPECT_EQ(p.way().source_port, c.way.from_port);
            EXPECT_EQ(p.way().destination_port, c.way.port);
            EXPECT_EQ(p.arrival(), rig.now);
            EXPECT_FALSE(p.control());
            EXPECT_EQ(p.items(), offset == 0 ? 3U : 0U);
            const auto item = p.item(0x1600);
            EXPECT_EQ(item.has_value(), offset == 0);
            if (item) {
                EXPECT_TRUE(item->immediate);
                EXPECT_EQ(item->value, p.heap_count());
                EXPECT_FALSE(p.item(0x1001)->immediate);
                EXPECT_EQ(p.item(0x1001)->value, 900U);
            }
            MadeHeap same = h;
            same.cnt = p.heap_count();
            EXPECT_EQ(text_of(p), payload_of(same, offset, p.payload_length()));
            return FilterAnswer::keep;
        };
        // More than one heap, so that the templates have them, too.
        for (std::uint64_t cnt = 9; cnt < 13; cnt++) {
            for (const Bytes& f : heap_with_items(cnt).frames(c.way))
                rig.queue().add(c.split.empty() ? rig.pool.make(f) : rig.queue().chain(f, c.split));
            rig.poll_all();
        }
        EXPECT_EQ(seen, 12U);
        const std::vector<Taken> heaps = rig.take();
        ASSERT_EQ(heaps.size(), 4U);
        for (std::size_t i = 0; i < 4; i++)
            EXPECT_TRUE(is_whole(heaps[i], heap_with_items(9 + i)));
        EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    }
}

TEST(Filters, ThatDropCountAndLeaveHolesOrNothing) {
    OneStream rig;
    TestFilter& filter = filter_on(rig.lane());
    filter.answer = [](const FilterPacket& p) {
        const bool drop = p.heap_count() % 2 == 0 || (p.heap_count() == 5 && p.offset() == 400);
        return drop ? FilterAnswer::drop : FilterAnswer::keep;
    };
    for (std::uint64_t cnt = 1; cnt <= 8; cnt++)
        rig.give(heap_with_items(cnt).frames());
    EXPECT_EQ(rig.count(PacketOutcome::filtered), 4 * 3 + 1U);
    EXPECT_EQ(rig.others(PacketOutcome::filtered), rig.count(PacketOutcome::placed));
    EXPECT_EQ(rig.lane().counters.heaps_started, 4U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 3U);
}

TEST(Filters, DoNotSeeWhatIsMalformedOversizeOrOfAnotherStream) {
    LaneConfig config = lane_config("s0", one_group());
    config.max_packet_size = 500;
    OneStream rig(config);
    TestFilter& filter = filter_on(rig.lane());
    filter.answer = [](const FilterPacket&) {
        ADD_FAILURE() << "it was asked";
        return FilterAnswer::keep;
    };
    MadeHeap large;
    large.packet = 900;
    rig.give(large.frames()[0]);
    Bytes broken = heap_with_items(1).frames()[0];
    broken[wire::kNetHeader] = 0x54;
    rig.give(broken);
    rig.give(heap_with_items(1).frames({.to = 0xEF010299}));
    EXPECT_EQ(rig.count(PacketOutcome::oversize), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::malformed), 1U);
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 3U);
}

TEST(Filters, OfAnExpressionKeepWhatMatches) {
    OneStream rig;
    rig.lane().filter = std::make_unique<FilterGate>(
        std::make_unique<ExpressionFilter>(
            FilterExpression::parse("control or heap % 4 == 1 and source in 10.0.0.0/24")),
        0);
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
        rig.give(heap_with_items(cnt).frames());
    rig.give(heap_with_items(1001).frames({.from = 0x0A000107}));
    rig.give(frame(stop_datagram(2000)));
    EXPECT_EQ(rig.count(PacketOutcome::placed), 30U);
    EXPECT_EQ(rig.count(PacketOutcome::filtered), 93U);
    EXPECT_EQ(rig.count(PacketOutcome::control), 1U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 10U);
    EXPECT_EQ(rig.lane().stops_seen[0], 1U);
}

TEST(HeldPackets, StayAsTheyAreUntilTheLastHandleIsGivenBack) {
    OneStream rig;
    TestFilter& filter = filter_on(rig.lane(), 10);
    filter.answer = [](const FilterPacket&) { return FilterAnswer::hold_or_drop; };
    const MadeHeap h = heap_with_items(3);
    rig.give(h.frames());
    EXPECT_EQ(rig.count(PacketOutcome::held), 3U);
    EXPECT_EQ(rig.lane().counters.held_now, 3U);
    ASSERT_EQ(filter.held.size(), 3U);
    EXPECT_EQ(rig.pool.in_use(), 3U);

    // Other traffic goes through the pool meanwhile.
    filter.answer = [](const FilterPacket&) { return FilterAnswer::keep; };
    for (std::uint64_t cnt = 100; cnt < 400; cnt++) {
        rig.give(heap_with_items(cnt).frames());
        rig.take();
    }
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_EQ(text_of(*filter.held[i]), payload_of(h, 400 * i, i < 2 ? 400 : 200));
    EXPECT_EQ(filter.held[0]->item(0x1600)->value, 3U);

    HeldPacket copy = filter.held[0];
    HeldPacket moved = std::move(filter.held[1]);
    filter.held.clear();
    rig.agent.housekeep(rig.now);
    EXPECT_EQ(rig.pool.in_use(), 2U);
    EXPECT_EQ(rig.lane().counters.held_now, 2U);
    EXPECT_EQ(text_of(*copy), payload_of(h, 0, 400));
    copy.reset();
    EXPECT_FALSE(copy);
    copy.reset();
    moved = HeldPacket();
    EXPECT_EQ(rig.pool.in_use(), 2U) << "the lcore has not taken them back yet";
    rig.agent.housekeep(rig.now);
    EXPECT_TRUE(rig.pool.full());
    EXPECT_EQ(rig.lane().counters.held_now, 0U);
}

TEST(HeldPackets, AreBoundedByBuffersAndTheAnswerSaysWhatThen) {
    OneStream rig;
    TestFilter& filter = filter_on(rig.lane(), 5);
    filter.answer = [](const FilterPacket& p) {
        return p.heap_count() == 1 ? FilterAnswer::hold_or_keep : FilterAnswer::hold_or_drop;
    };
    // Two buffers each: two fit, the third is kept.
    for (const Bytes& f : heap_with_items(1).frames())
        rig.queue().add(rig.queue().chain(f, {100}));
    rig.poll_all();
    EXPECT_EQ(rig.count(PacketOutcome::held), 2U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 1U);
    EXPECT_EQ(rig.lane().counters.hold_refused, 1U);
    rig.give(heap_with_items(2).frames());  // one more fits
    EXPECT_EQ(rig.count(PacketOutcome::held), 3U);
    EXPECT_EQ(rig.count(PacketOutcome::filtered), 2U);
    EXPECT_EQ(rig.lane().counters.hold_refused, 3U);
    EXPECT_EQ(rig.pool.in_use(), 5U);

    // A packet that was given back makes room at once.
    filter.held.erase(filter.held.begin());
    rig.give(heap_with_items(4).frames());
    EXPECT_EQ(rig.count(PacketOutcome::held), 5U);
    EXPECT_EQ(rig.count(PacketOutcome::filtered), 3U);
    filter.held.clear();
    rig.agent.housekeep(rig.now);
    EXPECT_TRUE(rig.pool.full());
}

TEST(HeldPackets, OfAFilterThatMayHoldNoneAreNotHeld) {
    OneStream rig;
    filter_on(rig.lane(), 0).answer = [](const FilterPacket& p) {
        return p.offset() == 0 ? FilterAnswer::hold_or_keep : FilterAnswer::hold_or_drop;
    };
    rig.give(heap_with_items(1).frames());
    EXPECT_EQ(rig.count(PacketOutcome::placed), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::filtered), 2U);
    EXPECT_EQ(rig.count(PacketOutcome::held), 0U);
    EXPECT_EQ(rig.lane().counters.hold_refused, 3U);
}

TEST(HeldPackets, ThatNobodyTakesComeBackByThemselves) {
    struct Careless : PacketFilter {
        FilterAnswer look(const FilterPacket&) noexcept override { return FilterAnswer::hold_or_drop; }
    };
    OneStream rig;
    rig.lane().filter = std::make_unique<FilterGate>(std::make_unique<Careless>(), 1);
    for (std::uint64_t cnt = 1; cnt <= 10; cnt++)
        rig.give(heap_with_items(cnt).frames());
    EXPECT_EQ(rig.count(PacketOutcome::held), 30U);
    EXPECT_EQ(rig.lane().counters.hold_refused, 0U);
    rig.agent.housekeep(rig.now);
    EXPECT_TRUE(rig.pool.full());
}

TEST(HeldPackets, MayOutliveTheStream) {
    Pool pool;
    const MadeHeap h = heap_with_items(1);
    rte_mbuf* const m = pool.make(h.frames()[0]);
    std::shared_ptr<HeldPackets> lender = HeldPackets::make(4);
    const std::weak_ptr<HeldPackets> watch = lender;
    heap::PacketView view;
    view.payload_length = 10;
    HeldPacket held = lender->lend({view, {}, m, 50});
    rte_pktmbuf_free(m);
    EXPECT_EQ(pool.in_use(), 1U);
    HeldPacket other = held;
    lender.reset();
    EXPECT_EQ(held->payload_length(), 10U);
    EXPECT_EQ(text_of(*held).size(), 10U);
    held.reset();
    EXPECT_FALSE(watch.expired());
    other.reset();
    EXPECT_TRUE(watch.expired());
    // Nobody was left to take it back: that is the main thread's duty before the stream goes.
    EXPECT_EQ(pool.in_use(), 1U);
    rte_pktmbuf_free(m);
}

/// Hands what it is lent to a thread that is slower than the packets come.
class SlowHolder : public PacketFilter {
  public:
    SlowHolder() : thread_([this] { run(); }) {}
    ~SlowHolder() override { finish(); }

    FilterAnswer look(const FilterPacket& p) noexcept override {
        return p.heap_count() % 2 == 0 ? FilterAnswer::hold_or_drop : FilterAnswer::keep;
    }
    void lent(HeldPacket packet) noexcept override {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(packet));
        changed_.notify_one();
    }
    void finish() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
            changed_.notify_one();
        }
        if (thread_.joinable())
            thread_.join();
    }
    std::uint64_t right = 0;  ///< after finish()
    std::uint64_t wrong = 0;

  private:
    void run() {
        for (;;) {
            std::vector<HeldPacket> mine;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return done_ || waiting_.size() >= 20; });
                mine.swap(waiting_);
                if (mine.empty() && done_)
                    return;
            }
            for (const HeldPacket& packet : mine) {
                const HeldPacket second = packet;
                MadeHeap h = heap_with_items(second->heap_count());
                const bool same =
                    text_of(*second) == payload_of(h, second->offset(), second->payload_length());
                (same ? right : wrong)++;
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<HeldPacket> waiting_;
    bool done_ = false;
    std::thread thread_;
};

TEST(HeldPackets, ComeBackFromASlowHolderOnAnotherThread) {
    OneStream rig;
    auto filter = std::make_unique<SlowHolder>();
    SlowHolder& holder = *filter;
    rig.lane().filter = std::make_unique<FilterGate>(std::move(filter), 64);
    for (std::uint64_t cnt = 1; cnt <= 2000; cnt++) {
        rig.give(heap_with_items(cnt).frames());
        if (cnt % 16 == 0)
            rig.agent.housekeep(rig.now);
        rig.take();
    }
    holder.finish();
    rig.agent.housekeep(rig.now);
    EXPECT_TRUE(rig.pool.full());
    EXPECT_EQ(holder.wrong, 0U);
    EXPECT_EQ(holder.right, rig.count(PacketOutcome::held));
    EXPECT_GT(rig.count(PacketOutcome::held), 0U);
    EXPECT_EQ(rig.count(PacketOutcome::held) + rig.count(PacketOutcome::filtered), 3000U);
    EXPECT_EQ(rig.count(PacketOutcome::filtered), rig.lane().counters.hold_refused);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 1000U);
}

}  // namespace
}  // namespace spead::recv::test
