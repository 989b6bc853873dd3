// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda_engine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "gpu/objects.hpp"
#include "gpu/peer_memory.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "tests/support/comes.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

/// Runs the engine `cuda` with a driver that plays one (tests/fake_cuda): the CPU may not touch its memory.
namespace spead::gpu::cuda_engine_test {
namespace {

using namespace std::chrono_literals;
using gather::Batch;
using gather::Channel;
using testing::HasSubstr;

constexpr std::size_t kPackets = std::size_t{1} << 20;
constexpr std::size_t kHeaps = std::size_t{1} << 20;

/// Plays an lcore: gives random pieces of packets to a channel, and knows what the heaps have to be.
class Lcore {
  public:
    Lcore(CudaEngine& engine, std::span<std::byte> packets, unsigned seed, std::size_t batches = 8)
        : random_(seed),
          packets_(packets),
          heaps(engine.allocate(kHeaps)),
          channel(engine.connect(batches)) {}

    /// Submits a batch of `pieces`, when one is free. Each byte of a heap is written once. Returns false when
    /// none is free, or no room is left.
    bool submit(std::uint32_t pieces) {
        while (Batch* const done = channel->oldest_done()) {
            EXPECT_EQ(done->number, ++freed_);
            channel->free_oldest();
        }
        if (channel->free_batches() == 0 || expected_.size() + pieces * kLongest > kHeaps)
            return false;
        Batch& b = channel->open();
        for (std::uint32_t i = 0; i < pieces; i++) {
            const auto length = static_cast<std::uint32_t>(1 + random_() % kLongest);
            const std::size_t from = random_() % (packets_.size() - length);
            b.add(packets_.data() + from, heaps->base + expected_.size(), length);
            expected_.insert(expected_.end(), packets_.begin() + static_cast<std::ptrdiff_t>(from),
                             packets_.begin() + static_cast<std::ptrdiff_t>(from + length));
        }
        b.keep(nullptr);
        channel->submit(b);
        submitted++;
        return true;
    }
    bool is_done() const { return channel->done() == submitted; }
    /// Returns whether the heaps hold what they have to.
    bool is_right(CudaEngine& engine) const {
        std::vector<std::byte> got(expected_.size());
        engine.fetch(heaps->base, got);
        return got == expected_;
    }

    std::uint64_t submitted = 0;

  private:
    static constexpr std::size_t kLongest = 3000;
    std::mt19937 random_;
    std::span<std::byte> packets_;
    std::vector<std::byte> expected_;
    std::uint64_t freed_ = 0;

  public:
    const std::shared_ptr<const memory::Region> heaps;
    const std::shared_ptr<Channel> channel;
};

class CudaEngines : public testing::Test {
  protected:
    CudaEngines() {
        std::mt19937 random(7);
        for (std::size_t i = 0; i < kPackets; i++)
            memory.base()[i] = static_cast<std::byte>(random());
    }
    ~CudaEngines() override { EXPECT_EQ(fake_objects(), before_) << "something of the driver's is left"; }
    std::span<std::byte> packets() const { return {memory.base(), kPackets}; }

    const int before_ = fake_objects();
    memory::Mapping memory{kPackets};
};

TEST_F(CudaEngines, BringEveryPieceOfSeveralChannels) {
    for (const auto way : {Gatherer::Way::automatic, Gatherer::Way::copy_engine}) {
        CudaEngine engine(fake_context(), {}, way);
        engine.register_packets(packets());
        engine.register_packets(packets().subspan(5000, 10));
        engine.register_packets({memory.base() + kPackets - 1, 8192});
        std::vector<std::unique_ptr<Lcore>> lcores;
        for (unsigned i = 0; i < 3; i++)
            lcores.push_back(std::make_unique<Lcore>(engine, packets(), i));
        EXPECT_EQ(lcores[0]->heaps->kind, memory::MemoryKind::device);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lcores[1]->heaps->base) % 4096, 0U);
        for (std::uint32_t round = 0; round < 40; round++)
            for (const auto& lcore : lcores)
                ASSERT_TRUE(comes([&] { return lcore->submit(round % 11); }))
                    << "a batch without pieces, too";
        for (const auto& lcore : lcores) {
            ASSERT_TRUE(comes([&] { return lcore->is_done(); }));
            EXPECT_TRUE(lcore->is_right(engine));
        }
        EXPECT_TRUE(engine.stop(20s));
        EXPECT_TRUE(engine.stop(0ms)) << "again";
        EXPECT_NO_THROW(Registered(fake_context(), memory.base(), 4096)) << "it is left to others";
        for (const auto& lcore : lcores) {
            EXPECT_EQ(lcore->channel->state(), Channel::State::ended);
            EXPECT_EQ(lcore->channel->failure(), "");
            EXPECT_TRUE(lcore->is_right(engine)) << "heaps are read after the end, too";
        }
        EXPECT_THAT(engine.connect(2)->failure(), HasSubstr("stopped"));
    }
}

TEST_F(CudaEngines, FinishWhatTheyHaveWhenTheyAreStopped) {
    const FakeWish late("FAKE_CUDA_LATE_US", "200");
    CudaEngine engine(fake_context());
    engine.register_packets(packets());
    Lcore lcore(engine, packets(), 1, 100);
    while (lcore.submitted < 100)
        ASSERT_TRUE(lcore.submit(3)) << "more than the driver gets at once";
    EXPECT_TRUE(engine.stop(20s));
    EXPECT_TRUE(lcore.is_done());
    EXPECT_TRUE(lcore.is_right(engine));
}

/// Makes the named call fail while two lcores submit. All that was done before is right.
void expect_named(const std::string& call, std::span<std::byte> packets, Gatherer::Way way) {
    SCOPED_TRACE(call);
    CudaEngine engine(fake_context(), {}, way);
    engine.register_packets(packets);
    Lcore one(engine, packets, 1);
    Lcore other(engine, packets, 2);
    ASSERT_TRUE(one.submit(9));
    ASSERT_TRUE(comes([&] { return one.is_done(); }));
    EXPECT_TRUE(one.is_right(engine));
    const FakeWish late("FAKE_CUDA_LATE_US", "3000");
    const FakeWish wish("FAKE_CUDA_FAIL", call);
    ASSERT_TRUE(comes([&] {
        one.submit(5);
        other.submit(5);
        return one.channel->has_failed() && other.channel->has_failed();
    }));
    const std::string symbol = call.substr(0, call.find(':'));
    for (const Lcore* const lcore : {&one, &other}) {
        EXPECT_THAT(lcore->channel->failure(), HasSubstr("engine cuda: GPU: " + symbol + "("));
        EXPECT_TRUE(comes([&] { return lcore->channel->state() == Channel::State::ended; }));
        EXPECT_EQ(fake_pending(), 0) << "the GPU still writes";
    }
    EXPECT_EQ(engine.connect(2)->failure(), one.channel->failure());
    EXPECT_TRUE(engine.stop(20s));
}

TEST_F(CudaEngines, NameTheCallThatFailsAndEndInOrder) {
    for (const char* const call : {"cuStreamWriteValue32_v2", "cuStreamWriteValue32_v2:3", "cuStreamQuery"})
        expect_named(call, packets(), Gatherer::Way::automatic);
    expect_named(kernels_ptx() == nullptr ? "cuMemcpyAsync" : "cuLaunchKernel:2", packets(),
                 Gatherer::Way::automatic);
    expect_named("cuMemcpyAsync:7", packets(), Gatherer::Way::copy_engine);
}

TEST_F(CudaEngines, AreRefusedWithTheCallThatFails) {
    for (const std::string call : {"cuStreamCreate:3", "cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2",
                                   "cuCtxSetCurrent", "cuDevicePrimaryCtxRetain"}) {
        const FakeWish wish("FAKE_CUDA_FAIL", call);
        try {
            const CudaEngine engine(fake_context());
            FAIL() << call;
        } catch (const Error& e) {
            EXPECT_THAT(e.what(), HasSubstr(call.substr(0, call.find(':')) + "("));
        }
    }
    CudaEngine engine(fake_context());
    for (const auto& [call, use] : std::vector<std::pair<std::string, std::function<void()>>>{
             {"cuMemAlloc_v2", [&] { engine.allocate(1000); }},
             {"cuMemHostRegister_v2", [&] { engine.connect(2); }},
             {"cuMemHostRegister_v2:1", [&] { engine.register_packets(packets()); }}}) {
        const FakeWish wish("FAKE_CUDA_FAIL", call);
        EXPECT_THAT(([&] {
                        try {
                            use();
                            return std::string("no error");
                        } catch (const Error& e) {
                            return std::string(e.what());
                        }
                    }()),
                    HasSubstr(call.substr(0, call.find(':')) + "("));
    }
    engine.register_packets(packets());
    Lcore lcore(engine, packets(), 3);
    ASSERT_TRUE(lcore.submit(9));
    ASSERT_TRUE(comes([&] { return lcore.is_done(); }));
    EXPECT_TRUE(lcore.is_right(engine)) << "refusals leave nothing behind";
    const FakeWish wish("FAKE_CUDA_FAIL", "cuMemcpyDtoHAsync_v2");
    EXPECT_THROW((void)lcore.is_right(engine), Error);
    EXPECT_TRUE(lcore.is_right(engine)) << "a copy for a consumer that fails ends no engine";
    EXPECT_EQ(lcore.channel->failure(), "");
}

TEST_F(CudaEngines, EndAtAPacketThatTheGpuDoesNotReachAndKeepItsContext) {
    CudaEngine engine(fake_context());
    engine.register_packets(packets().first(8192));
    Lcore known(engine, packets().first(8192), 1);
    Lcore unknown(engine, packets().subspan(8192), 2);
    ASSERT_TRUE(known.submit(9));
    ASSERT_TRUE(comes([&] { return known.is_done(); }));
    ASSERT_TRUE(unknown.submit(1));
    ASSERT_TRUE(comes([&] { return known.channel->state() == Channel::State::ended; }));
    EXPECT_THAT(unknown.channel->failure(), HasSubstr("not registered with the driver"));
    EXPECT_EQ(unknown.channel->done(), 0U);
    EXPECT_TRUE(known.is_right(engine));
}

TEST_F(CudaEngines, ThatStandStillAreLeftAloneWithTheirMemory) {
    std::weak_ptr<const Channel> batches;
    std::weak_ptr<const memory::Region> heaps;
    {
        const FakeWish stalled("FAKE_CUDA_STALL", "1");
        CudaEngine engine(fake_context());
        engine.register_packets(packets());
        {
            Lcore lcore(engine, packets(), 1);
            for (int i = 0; i < 8; i++)
                ASSERT_TRUE(lcore.submit(2));
            EXPECT_FALSE(lcore.submit(2)) << "its batches are bounded";
            batches = lcore.channel;
            heaps = lcore.heaps;
            const auto begun = std::chrono::steady_clock::now();
            EXPECT_FALSE(engine.stop(50ms));
            EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
            EXPECT_EQ(lcore.channel->state(), Channel::State::running);
        }
        EXPECT_FALSE(batches.expired());
        EXPECT_FALSE(heaps.expired()) << "the GPU may still write there";
    }
    EXPECT_FALSE(heaps.expired());
    // It goes on: then all of that comes back.
    EXPECT_TRUE(comes([&] { return batches.expired() && heaps.expired() && fake_objects() == before_; }));
}

TEST_F(CudaEngines, WaitAtTheirEndForAFetchThatWasGivenUp) {
    CudaEngine engine(fake_context());
    engine.register_packets(packets());
    Lcore lcore(engine, packets(), 1);
    ASSERT_TRUE(lcore.submit(9));
    ASSERT_TRUE(comes([&] { return lcore.is_done(); }));
    {
        const FakeWish stalled("FAKE_CUDA_STALL", "1");
        EXPECT_THROW((void)lcore.is_right(engine), gather::FetchTimedOut)
            << "after CudaEngine::kLongestFetch";
        EXPECT_EQ(fake_pending(), 1) << "the GPU has its copy still";
        engine.end_fetches();
        EXPECT_THROW((void)lcore.is_right(engine), gather::FetchTimedOut);
        EXPECT_EQ(fake_pending(), 1) << "nobody waits for another one when the run ends";
        EXPECT_FALSE(engine.stop(50ms)) << "it may still write into memory of the engine";
    }
    EXPECT_TRUE(engine.stop(20s));
    EXPECT_EQ(fake_pending(), 0);
}

TEST(CudaEngine, TakesPacketsFromItsOwnMemoryThatCardsWrite) {
    const ContextPointer context = fake_context();
    CudaEngine engine(context);
    const auto packets = engine.allocate_packets(3 * PeerMemory::kPage / 2);
    EXPECT_EQ(packets->kind, memory::MemoryKind::device);
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(packets->base) % PeerMemory::kPage, 0U);
    EXPECT_EQ(packets->length, 2 * PeerMemory::kPage);
    EXPECT_EQ(engine.writable(*packets), nullptr) << "no CPU writes there";
    memory::Mapping host(kPackets);
    for (std::size_t i = 0; i < kPackets; i++)
        host.base()[i] = static_cast<std::byte>(i * 7 + i / 256);
    const Registered registered(context, host.base(), kPackets);
    const Stream card(context);
    card.upload(std::bit_cast<cuda::DevicePointer>(packets->base), host.base(), kPackets);
    card.finish();
    const auto heaps = engine.allocate(kHeaps);
    const auto channel = engine.connect(2);
    Batch& b = channel->open();
    b.add(packets->base + 7, heaps->base + 100, 5000);
    b.add(packets->base + 100'000, heaps->base + 5100, 3001);
    b.keep(nullptr);
    channel->submit(b);
    ASSERT_TRUE(comes([&] { return channel->done() == 1; })) << channel->failure();
    std::vector<std::byte> got(8001);
    engine.fetch(heaps->base + 100, got);
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + 5000, host.base() + 7));
    EXPECT_TRUE(std::equal(got.begin() + 5000, got.end(), host.base() + 100'000));
    EXPECT_TRUE(engine.stop(2000ms));
}

TEST(CudaEngine, RefusesMemoryForCardsWhoseWritesTheGpuDoesNotOrder) {
    const FakeWish wish("FAKE_CUDA_UNORDERED", "1");
    CudaEngine engine(fake_context());
    try {
        engine.allocate_packets(1);
        FAIL();
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("Fake GPU"), HasSubstr("leave out `split`")));
    }
}

}  // namespace
}  // namespace spead::gpu::cuda_engine_test
