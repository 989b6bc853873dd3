// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/split_steps.hpp"

#include <array>
#include <gmock/gmock.h>
#include <memory>

#include <gtest/gtest.h>

#include "drivers/table.hpp"
#include "gather/fake_engine.hpp"
#include "tests/eal/port/splitting_card.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Endpoint kTo = parse_endpoints("239.255.77.77:9").front();

port::PlannedPort planned(const char* device, std::span<const port::Driver* const> table) {
    port::PortRequest request;
    request.name = "p0";
    request.device = device;
    request.max_rx_packet = request.max_tx_packet = 1000;
    request.tx_queues = 1;
    request.split = kTriedSplit;
    return port::plan_ports({&request, 1}, table).front();
}

/// Changes the last byte of all that is fetched from a fake engine.
class WrongEngine final : public gather::Engine {
  public:
    std::string_view name() const noexcept override { return "wrong"; }
    memory::MemoryKind kind() const noexcept override { return fake_.kind(); }
    std::shared_ptr<const memory::Region> allocate(std::size_t bytes) override {
        return fake_.allocate(bytes);
    }
    std::shared_ptr<const memory::Region> allocate_packets(std::size_t bytes) override {
        return fake_.allocate_packets(bytes);
    }
    std::byte* writable(const memory::Region& packets) noexcept override { return fake_.writable(packets); }
    std::shared_ptr<gather::Channel> connect(std::size_t batches) override { return fake_.connect(batches); }
    void fetch(const std::byte* from, std::span<std::byte> to) override {
        fake_.fetch(from, to);
        to.back() = ~to.back();
    }
    bool stop(std::chrono::milliseconds patience) override { return fake_.stop(patience); }

  private:
    gather::FakeEngine fake_;
};

TEST(SplitSteps, PacketsOfARingAreComparedInBothParts) {
    for (const char* const to : {"239.255.77.77:9", "[ff15::77]:9"}) {
        port::PlannedPort plan = planned("net_ring0", drivers::table());
        plan.payload_engine = std::make_shared<gather::FakeEngine>();
        const Findings found = try_split(plan, parse_endpoints(to).front());
        ASSERT_EQ(found.size(), 3U) << describe(found);
        EXPECT_THAT(found[0].text, AllOf(HasSubstr("138 bytes"), HasSubstr("engine `fake`")));
        EXPECT_EQ(found[1].text, "48 packets came back in two parts, no byte wrong");
        EXPECT_THAT(found[2].text, HasSubstr("is for tests"));
    }
}

TEST(SplitSteps, AWrongByteInTheEnginesMemoryIsFound) {
    port::PlannedPort plan = planned("net_ring0", drivers::table());
    plan.payload_engine = std::make_shared<WrongEngine>();
    const Findings found = try_split(plan, kTo);
    ASSERT_EQ(found.size(), 3U) << describe(found);
    EXPECT_EQ(found[1].verdict, Verdict::fail);
    EXPECT_THAT(found[1].text, HasSubstr("1 of 128 bytes of a packet's payload are wrong"));
}

TEST(SplitSteps, ASoftwareSplitterCannotWriteAGpusMemory) {
    const int before = gpu::fake_objects();
    const Findings found = try_gpu_split(planned("net_ring0", drivers::table()), kTo, gpu::fake_library());
    ASSERT_EQ(found.size(), 1U) << describe(found);
    EXPECT_EQ(found[0].verdict, Verdict::fail);
    EXPECT_THAT(found[0].text, HasSubstr("engine `cuda`"));
    EXPECT_EQ(gpu::fake_objects(), before);
}

/// Holds a card that cuts, in front of net_null.
class SplitStepsOfACard : public testing::Test {
  protected:
    Finding tried() {
        const std::array<const port::Driver*, 1> table{&driver_};
        return try_gpu_split(planned("net_null0,no-rx=1", table), kTo, gpu::fake_library()).back();
    }

    const port::test::SplittingDriver driver_;
    port::test::SplittingCard card_;
    const port::DeviceCallsInstead instead_{card_};
    const int before_ = gpu::fake_objects();
};

TEST_F(SplitStepsOfACard, MemoryOfTheGpuIsMappedAndTheQueueCuts) {
    const Finding found = tried();
    EXPECT_EQ(found.verdict, Verdict::ok) << found.text;
    EXPECT_THAT(found.text, HasSubstr("`recv --split 138 --heap-memory cuda`"));
    EXPECT_THAT(card_.lengths, testing::ElementsAre(138, 0));
    EXPECT_THAT(card_.calls, testing::IsSupersetOf({"register", "map", "start", "unmap", "unregister"}));
    EXPECT_EQ(gpu::fake_objects(), before_);
}

TEST_F(SplitStepsOfACard, WhatIsMissingIsNamed) {
    card_.maps = false;
    EXPECT_THAT(tried().text, HasSubstr("nvidia-peermem"));
    card_.maps = true;
    card_.cuts = false;
    EXPECT_THAT(tried().text, HasSubstr("RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT"));
    const gpu::FakeWish wish("FAKE_CUDA_FAIL", "cuStreamCreate");
    const Finding found = tried();
    EXPECT_EQ(found.subject, "split: engine");
    EXPECT_THAT(found.text, HasSubstr("cuStreamCreate("));
    EXPECT_EQ(gpu::fake_objects(), before_);
}

}  // namespace
}  // namespace spead::app
