// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mempool.h>

#include "spead/filter.hpp"
#include "tests/eal/spead/recv_rig.hpp"

/// Tests sending streams that are removed while an lcore of another stream works.
namespace spead::test {
namespace {

using namespace std::chrono_literals;

/// Counts the pools of all senders.
std::size_t pools_of_senders() {
    std::size_t pools = 0;
    rte_mempool_walk(
        [](rte_mempool* pool, void* n) {
            *static_cast<std::size_t*>(n) += std::string_view(pool->name).starts_with("send_");
        },
        &pools);
    return pools;
}

using Clock = std::chrono::steady_clock;

struct Held {
    std::atomic<bool> wanted{false};
    std::atomic<bool> freed_meanwhile{false};
};

/// Holds its lcore in the middle of a burst for a while, or until a sender's pools are freed. It begins a
/// little later than it is asked to: a removal asks all lcores first, and then waits for the heap in flight.
class HoldingFilter final : public PacketFilter {
  public:
    explicit HoldingFilter(Held& held) : held_(held) {}
    bool keep(const Packet&) noexcept override {
        if (held_.wanted.exchange(false))
            begin_ = Clock::now() + 100ms;
        if (!begin_ || Clock::now() < *begin_)
            return true;
        const std::size_t before = pools_of_senders();
        const auto end = *begin_ + 2s;
        while (Clock::now() < end && !held_.freed_meanwhile) {
            held_.freed_meanwhile = pools_of_senders() < before;
            std::this_thread::yield();
        }
        begin_.reset();
        return true;
    }

  private:
    Held& held_;
    std::optional<Clock::time_point> begin_;
};

/// Removes a sender whose heap in flight takes up to a second and a half more.
TEST(SendRemoval, KeepsThePoolsWhileAnotherLcoreMayBeGivingABufferBack) {
    if (config().lcores.size() < 2)
        GTEST_SKIP() << "it needs two CPUs";
    const Process process(config());
    const std::shared_ptr<door::Session> session = door::Session::current();
    Held held;
    RecvConfig receive = ring_config();
    receive.lcores = {cpu_of(1)};
    receive.packet_filter = [&held] { return std::make_unique<HoldingFilter>(held); };
    receive.on_full = OnFull::drop_newest;
    RecvStream receiver(process, receive);
    runtime::SendPlan plan;
    plan.endpoints = parse_endpoints("239.1.2.3:7148");
    plan.endpoint_texts = {"239.1.2.3:7148"};
    plan.lcore = cpu_of(0);
    plan.heaps = -1;
    plan.heap_size = 1'000;
    plan.rate = 1e6;
    session->add(plan, kRing, {});
    plan.heap_size = 300'000;
    plan.rate = 200e3;
    plan.max_heaps = 1;
    const std::string removed = session->add(plan, "net_null0", {});
    const std::size_t pools = pools_of_senders();

    held.wanted = true;
    session->remove_sender(removed);
    EXPECT_FALSE(held.freed_meanwhile);
    while (pools_of_senders() >= pools && process.running())
        std::this_thread::yield();
    EXPECT_TRUE(process.running());
}

}  // namespace
}  // namespace spead::test
