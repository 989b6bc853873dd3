// SPDX-License-Identifier: BSD-3-Clause
#include "replay/player.hpp"

#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "tests/eal/port/port_rig.hpp"
#include "tests/support/fake_io.hpp"

/// Tests the lcore's side of a replay. The tests choose the port's misbehaviour and the clock's time.
namespace spead::replay {
namespace {

using port::test::Pool;
using spead::test::FakeFaults;
using spead::test::FakeIo;

constexpr double kHz = 1e9;  // a tick is a nanosecond

struct Rig {
    explicit Rig(Timing timing, const FakeFaults& faults = {}, bool external = true)
        : io(pool.get(), faults) {
        config.queue = io.tx_queue();
        config.capabilities.tx_external_buffer = external;
        config.descriptors = 256;
        config.longest_frame = 1514;
        config.timing = timing;
        config.hz = kHz;
        config.windows = 4;
    }
    ~Rig() {
        io.release();
        if (player) {
            EXPECT_EQ(player->mbufs_out(), 0U);
        }
    }
    Player& make() { return *(player = std::make_unique<Player>(config)); }

    /// Makes a window of numbered frames, `gap` ns apart; the first byte of each is its number.
    CaptureWindow& window(std::uint8_t first, std::size_t frames, std::uint64_t gap,
                          std::uint32_t length = 100) {
        memory.push_back(std::make_unique<std::vector<std::byte>>(frames * length));
        CaptureWindow& w = *windows.emplace_back(std::make_unique<CaptureWindow>());
        w.base = memory.back()->data();
        w.refs.initialise();
        for (std::size_t i = 0; i < frames; i++) {
            const auto at = static_cast<std::uint32_t>(i * length);
            w.base[at] = static_cast<std::byte>(first + i);
            w.frames.push_back({i * gap, at, length});
        }
        return w;
    }
    /// Returns the first bytes of the frames that have arrived.
    std::vector<int> arrived() {
        std::vector<int> all;
        rte_mbuf* m[32];
        while (const std::uint16_t n = io.rx_queue().rx_burst(m, 32))
            for (std::uint16_t i = 0; i < n; i++) {
                all.push_back(*rte_pktmbuf_mtod(m[i], std::uint8_t*));
                rte_pktmbuf_free(m[i]);
            }
        return all;
    }
    void until_finished(std::uint64_t step = 1000, int most = 100'000) {
        while (!player->finished() && most-- > 0) {
            player->poll(now);
            now += step;
        }
        EXPECT_TRUE(player->finished());
    }

    Pool pool{4095};
    FakeIo io;
    Player::Config config;
    std::unique_ptr<Player> player;
    std::vector<std::unique_ptr<std::vector<std::byte>>> memory;
    std::vector<std::unique_ptr<CaptureWindow>> windows;
    std::uint64_t now = 5'000'000;
};

TEST(Player, SendsEachFrameAtItsTimeNotBefore) {
    Rig rig(Timing::original);
    Player& p = rig.make();
    ASSERT_TRUE(p.play({&rig.window(0, 5, 1000), 0, 0, 1, true}));
    p.end();
    p.poll(rig.now);
    EXPECT_EQ(rig.arrived(), std::vector<int>{0});
    EXPECT_EQ(p.next_time(), rig.now + 1000);
    p.poll(rig.now + 999);
    EXPECT_TRUE(rig.arrived().empty());
    p.poll(rig.now + 1000);
    EXPECT_EQ(rig.arrived(), std::vector<int>{1});
    p.poll(rig.now + 3500);
    EXPECT_EQ(rig.arrived(), (std::vector<int>{2, 3}));
    EXPECT_FALSE(p.finished());
    p.poll(rig.now + 4000 + Player::kLate + 1);
    EXPECT_EQ(rig.arrived(), std::vector<int>{4});
    EXPECT_EQ(p.counters().late, 1U);
    EXPECT_EQ(p.counters().most_late_ns, Player::kLate + 1);
    p.poll(rig.now + 9'000'000);
    EXPECT_TRUE(p.finished());
    EXPECT_EQ(p.counters().packets, 5U);
    EXPECT_EQ(p.counters().bytes, 500U);
    EXPECT_EQ(p.counters().zero_copy, 5U);
    EXPECT_EQ(p.counters().passes, 1U);
    EXPECT_EQ(p.counters().starved, 0U);
}

TEST(Player, SpeedScalesTimes) {
    Rig rig(Timing::original);
    rig.config.speed = 4;
    Player& p = rig.make();
    p.play({&rig.window(0, 3, 1000), 0, 0, 1, true});
    p.end();
    p.poll(rig.now);
    p.poll(rig.now + 249);
    EXPECT_EQ(rig.arrived().size(), 1U);
    p.poll(rig.now + 250);
    EXPECT_EQ(rig.arrived().size(), 1U);
    p.poll(rig.now + 500);
    EXPECT_EQ(rig.arrived().size(), 1U);
}

TEST(Player, PassesFollowEachOtherAfterThePeriod) {
    Rig rig(Timing::original);
    Player& p = rig.make();
    CaptureWindow& w = rig.window(0, 2, 1000);
    p.play({&w, 0, 5000, 3, true});
    p.end();
    std::vector<std::uint64_t> at;
    const std::uint64_t start = rig.now;
    while (!p.finished()) {
        p.poll(rig.now);
        for (std::size_t i = rig.arrived().size(); i > 0; i--)
            at.push_back(rig.now - start);
        rig.now += 100;
    }
    EXPECT_EQ(at, (std::vector<std::uint64_t>{0, 1000, 5000, 6000, 10000, 11000}));
    EXPECT_EQ(p.counters().passes, 3U);
    EXPECT_EQ(p.done(), &w);
    EXPECT_EQ(p.done(), nullptr);
    rig.io.release();
    EXPECT_TRUE(w.refs.drained());
}

TEST(Player, FixedRatesHoldOnAverage) {
    for (const bool packets : {false, true}) {
        Rig rig(packets ? Timing::packets : Timing::bytes);
        rig.config.rate = packets ? 1e6 : 1e8;  // a frame of 100 bytes each microsecond
        Player& p = rig.make();
        p.play({&rig.window(0, 100, 0), 0, 0, 100, true});
        p.end();
        const std::uint64_t start = rig.now;
        while (!p.finished()) {
            p.poll(rig.now);
            rig.arrived();
            rig.now += 100;
        }
        EXPECT_EQ(p.counters().packets, 10'000U);
        // All but the last burst have been waited for.
        EXPECT_NEAR(static_cast<double>(rig.now - start), 10'000e3, 0.1 * 10'000e3);
        EXPECT_EQ(p.counters().late, 0U) << "no time was promised";
    }
}

/// Keeps the port from taking anything for ten seconds, which are not made up for.
TEST(Player, APortThatTookNothingForALongTimeEarnsNoCredit) {
    struct Gate {
        port::TxQueue inner;
        bool open = true;
    };
    Rig rig(Timing::bytes);
    rig.config.rate = 1e6;
    Gate gate{rig.config.queue};
    rig.config.queue.context = &gate;
    rig.config.queue.reap = nullptr;
    rig.config.queue.burst = [](void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t n) {
        const auto& g = *static_cast<Gate*>(context);
        return g.open ? g.inner.tx_burst(mbufs, n) : std::uint16_t{0};
    };
    Player& p = rig.make();
    p.play({&rig.window(0, 100, 0, 1000), 0, 0, -1, true});
    const auto bytes_in = [&](std::uint64_t milliseconds) {
        const std::uint64_t before = p.counters().bytes;
        for (std::uint64_t i = 0; i < milliseconds; i++) {
            p.poll(rig.now);
            rig.arrived();
            rig.now += 1'000'000;
        }
        return static_cast<double>(p.counters().bytes - before);
    };
    EXPECT_NEAR(bytes_in(2000), 2e6, 2e5);
    gate.open = false;
    EXPECT_EQ(bytes_in(10'000), 0);
    gate.open = true;
    EXPECT_NEAR(bytes_in(10'000), 10e6, 2e5);
    p.abandon();
    p.poll(rig.now);
}

TEST(Player, ADriverThatTakesFewOrKeepsManyLosesNothing) {
    for (const bool external : {true, false}) {
        FakeFaults faults;
        faults.most_per_tx_burst = 3;
        faults.hold_segments = 31;
        Rig rig(Timing::greedy, faults, external);
        rig.config.capabilities.late_free_segments = 31;
        Player& p = rig.make();
        CaptureWindow& a = rig.window(0, 100, 0);
        CaptureWindow& b = rig.window(100, 100, 0);
        p.play({&a, 0, 0, 1, false});
        p.play({&b, 0, 0, 1, true});
        p.end();
        rig.until_finished();
        std::vector<int> expected;
        for (int i = 0; i < 200; i++)
            expected.push_back(i);
        EXPECT_EQ(rig.arrived(), expected);
        EXPECT_GT(p.counters().tx_full, 0U);
        EXPECT_EQ(p.counters().zero_copy, external ? 200U : 0U);
        EXPECT_EQ(p.done(), &a);
        EXPECT_EQ(p.done(), &b);
        EXPECT_TRUE(a.refs.drained());
        EXPECT_EQ(b.refs.drained(), !external) << "the driver still has its last packets";
        rig.io.release();
        EXPECT_TRUE(b.refs.drained());
    }
}

/// Makes more references to one window than 16 bits count, over and over.
TEST(Player, LoopsForEverAndIsAbandoned) {
    Rig rig(Timing::greedy);
    Player& p = rig.make();
    CaptureWindow& w = rig.window(0, 10, 0);
    p.play({&w, 0, 1000, -1, true});
    p.end();
    while (p.counters().packets < 200'000) {
        p.poll(rig.now++);
        rig.arrived();
        rig.io.release();
    }
    EXPECT_FALSE(p.finished());
    p.abandon();
    p.poll(rig.now);
    EXPECT_TRUE(p.finished());
    EXPECT_EQ(p.done(), &w);
    EXPECT_GE(p.counters().passes, 19'999U);
    rig.io.release();
    EXPECT_TRUE(w.refs.drained());
}

TEST(Player, AbandoningGivesBackWhatTheDriverDidNotTake) {
    FakeFaults faults;
    faults.most_per_tx_burst = 0;
    Rig rig(Timing::greedy, faults);
    Player& p = rig.make();
    CaptureWindow& a = rig.window(0, 100, 0);
    CaptureWindow& b = rig.window(0, 100, 0);
    p.play({&a, 0, 0, 1, false});
    p.play({&b, 0, 0, 1, true});
    for (int i = 0; i < 10; i++)
        p.poll(rig.now++);
    EXPECT_EQ(p.counters().packets, 0U);
    p.abandon();
    p.poll(rig.now);
    EXPECT_TRUE(p.finished());
    EXPECT_EQ(p.mbufs_out(), 0U);
    EXPECT_EQ(p.done(), &a);
    EXPECT_EQ(p.done(), &b);
    EXPECT_TRUE(a.refs.drained());
}

TEST(Player, AReaderThatIsTooSlowIsCountedOnce) {
    Rig rig(Timing::greedy);
    Player& p = rig.make();
    EXPECT_FALSE(p.poll(rig.now));
    EXPECT_EQ(p.counters().starved, 0U) << "nothing has begun";
    p.play({&rig.window(0, 3, 0), 0, 0, 1, false});
    for (int i = 0; i < 5; i++)
        p.poll(rig.now++);
    EXPECT_EQ(p.counters().starved, 1U);
    p.play({&rig.window(3, 3, 0), 0, 0, 1, true});
    p.end();
    rig.until_finished();
    EXPECT_EQ(rig.arrived().size(), 6U);
    EXPECT_EQ(p.counters().starved, 1U);
}

TEST(Player, AnEmptyWindowIsPassedOverHoweverOften) {
    Rig rig(Timing::original);
    Player& p = rig.make();
    CaptureWindow& empty = rig.window(0, 0, 0);
    p.play({&empty, 0, 0, -1, true});
    p.end();
    rig.until_finished(1000, 100);
    EXPECT_EQ(p.done(), &empty);
}

}  // namespace
}  // namespace spead::replay
