// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_pair.hpp"
#include "app/bench/latency_origin.hpp"
#include "app/bench/return_sink.hpp"
#include "tests/eal/app/bench/end.hpp"
#include "tests/support/delay_io.hpp"

/// Tests the measurements of bench latency, on a clock of the test's and over a cable of known length.
namespace spead::app {
namespace {

using spead::test::DelayIo;
using test::End;
using test::kBack;
using test::kThere;

constexpr std::uint64_t kHz = 1'000'000'000;  // a tick is a nanosecond
constexpr std::uint64_t kStep = 100;
/// Bounds the wait for turns: a stage acts in its turn, and heaps are handed over one poll after they end.
constexpr std::uint64_t kTurns = 20 * kStep;

class Latency : public testing::Test {
  protected:
    static runtime::SendPlan plan_of(std::uint64_t heap) {
        runtime::SendPlan p;
        p.heap_size = heap;
        p.max_heaps = 64;
        p.max_packet_size = bench_packet_size(1024, heap, 2);
        return p;
    }

    LatencyOrigin::Result measure(std::uint64_t delay_there, std::uint64_t delay_back, std::uint64_t interval,
                                  std::uint64_t heap = 4096) {
        std::uint64_t now = 1'000'000;
        const port::test::Pool pool(4095);
        DelayIo there(pool.get(), now, delay_there);
        DelayIo back(pool.get(), now, delay_back);
        const runtime::SendPlan plan = plan_of(heap);
        End near(kBack, kThere, back.rx_queue(), there.tx_queue(), plan, true);
        End far(kThere, kBack, there.rx_queue(), back.tx_queue(), plan, true);
        ReflectingSink reflect;
        reflect.send_with(far.heaps);
        MeasuredRow row;
        ReturnSink returned(row, [&now] { return now; });

        LatencyOrigin::Options o;
        o.hz = kHz;
        o.interval = interval;
        o.warm_up = 1'000'000;
        o.time = 10'000'000;
        o.patience = 5'000'000;
        LatencyOrigin origin(o, [&](std::uint64_t cnt, std::uint64_t stamp) {
            return near.heaps.send(cnt, 0, [stamp](std::span<std::byte> p) { store_be(p.data(), stamp); });
        });
        row.origin = &origin;
        while (origin.step(now)) {
            now += kStep;
            near.turn(now, returned);
            far.turn(now, reflect);
        }
        return origin.result();
    }
};

void expect_delay(const LatencyOrigin::Result& r, std::uint64_t delay) {
    EXPECT_GT(r.nanoseconds.count(), 0U);
    EXPECT_EQ(r.lost(), 0U);
    EXPECT_GE(r.nanoseconds.min(), delay);
    EXPECT_LE(r.nanoseconds.max(), delay + kTurns);
    for (const double percent : {50.0, 99.0, 99.99}) {
        EXPECT_GE(r.nanoseconds.percentile(percent), delay);
        EXPECT_LE(static_cast<double>(r.nanoseconds.percentile(percent)),
                  static_cast<double>(delay + kTurns) * (1 + stats::FineHistogram::kRelativeError));
    }
}

TEST_F(Latency, PingPongOverACableOfKnownLength) {
    const auto r = measure(30'000, 20'000, 0);
    expect_delay(r, 50'000);
    EXPECT_NEAR(static_cast<double>(r.sent), 200, 10) << "10 ms in round trips of 50 us";
}

TEST_F(Latency, OtherDelaysAreTold) {
    expect_delay(measure(0, 0, 0), 0);
    expect_delay(measure(400'000, 1'000, 0), 401'000);
}

TEST_F(Latency, UnderLoadWithManyHeapsOnTheWay) {
    const auto r = measure(200'000, 200'000, 20'000);
    EXPECT_EQ(r.sent, 500U);
    expect_delay(r, 400'000);
}

TEST_F(Latency, HeapsOfOnePacketAndOfNothingButTheirStamp) {
    expect_delay(measure(10'000, 10'000, 50'000, 1024), 20'000);
    expect_delay(measure(10'000, 10'000, 50'000, 8), 20'000);
}

}  // namespace
}  // namespace spead::app
