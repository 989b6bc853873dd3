// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/uploader.hpp"

#include <cstring>
#include <gmock/gmock.h>
#include <vector>

#include <gtest/gtest.h>

#include "memory/mapping.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::gpu {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::size_t kChunk = 65536;
constexpr std::size_t kChunks = 8;

class Uploads : public testing::Test {
  protected:
    Uploads() {
        for (std::size_t i = 0; i < kChunks * kChunk; i++)
            host.base()[i] = static_cast<std::byte>(i * 7 + i / kChunk);
    }
    Uploader::Upload chunk(std::size_t i) const {
        return {host.base() + i * kChunk, device.address() + (kChunks - 1 - i) * kChunk, kChunk};
    }

    ContextPointer context = fake_context();
    memory::Mapping host{2 * kChunks * kChunk};
    Registered registered{context, host.base(), host.length()};
    DeviceMemory device{context, kChunks* kChunk};
};

TEST_F(Uploads, CopyWholeChunksInTheOrderOfTheirTickets) {
    const FakeWish late("FAKE_CUDA_LATE_US", "300");
    Uploader uploader(context, 3);
    std::vector<Uploader::Ticket> tickets;
    for (std::size_t i = 0; i < kChunks; i++)
        tickets.push_back(uploader.submit(chunk(i)));
    EXPECT_EQ(tickets.front(), 1u);
    EXPECT_EQ(tickets.back(), kChunks);
    ASSERT_TRUE(uploader.wait(tickets.back(), 10s));
    for (const Uploader::Ticket ticket : tickets)
        EXPECT_TRUE(uploader.done(ticket));
    EXPECT_FALSE(uploader.done(tickets.back() + 1));

    const Stream stream(context);
    std::byte* const fetched = host.base() + kChunks * kChunk;
    stream.download(fetched, device.address(), kChunks * kChunk);
    stream.finish();
    for (std::size_t i = 0; i < kChunks; i++)
        EXPECT_EQ(std::memcmp(fetched + (kChunks - 1 - i) * kChunk, host.base() + i * kChunk, kChunk), 0)
            << i;
}

TEST_F(Uploads, WaitBehindThoseOnTheirWay) {
    Uploader uploader(context, 2);
    {
        const FakeWish stalled("FAKE_CUDA_STALL", "1");
        for (std::size_t i = 0; i < kChunks; i++)
            EXPECT_NE(uploader.submit(chunk(i)), 0u);
        EXPECT_FALSE(uploader.wait(1, 20ms));
        EXPECT_EQ(uploader.last_done(), 0u);
    }
    EXPECT_TRUE(uploader.wait(kChunks, 10s));
}

TEST_F(Uploads, AreRefusedBeyondTheirNumber) {
    FakeWish stalled("FAKE_CUDA_STALL", "1");
    {
        Uploader uploader(context, 2);
        std::size_t taken = 0;
        while (taken < 2 * Uploader::kMostWaiting && uploader.submit(chunk(0)) != 0)
            taken++;
        EXPECT_GE(taken, Uploader::kMostWaiting);
        EXPECT_LE(taken, Uploader::kMostWaiting + 2);
        stalled.end();
    }
}

TEST_F(Uploads, EndWithTheFirstFailureAndItsName) {
    Uploader uploader(context, 3);
    ASSERT_TRUE(uploader.wait(uploader.submit(chunk(0)), 10s));
    const FakeWish wish("FAKE_CUDA_FAIL", "cuMemcpyHtoDAsync_v2");
    const Uploader::Ticket failed = uploader.submit(chunk(1));
    EXPECT_FALSE(uploader.wait(failed, 10s));
    EXPECT_THAT(uploader.error().value_or(""), HasSubstr("cuMemcpyHtoDAsync_v2("));
    EXPECT_EQ(uploader.submit(chunk(2)), 0u);
    EXPECT_TRUE(uploader.done(1));
}

TEST_F(Uploads, SayThatTheyHaveFailedWhenTheGpuReadsNothingAnyMore) {
    Uploader uploader(context, 8);
    const FakeWish late("FAKE_CUDA_LATE_US", "20000");
    const FakeWish wish("FAKE_CUDA_FAIL", "cuMemcpyHtoDAsync_v2:4");
    Uploader::Ticket last = 0;
    for (std::size_t i = 0; i < 4; i++)
        last = uploader.submit(chunk(i));
    EXPECT_FALSE(uploader.wait(last, 10s));
    EXPECT_TRUE(uploader.error().has_value());
    EXPECT_EQ(fake_pending(), 0) << "the chunks are the caller's again";
    EXPECT_TRUE(uploader.done(3)) << "those before were uploaded";
}

TEST_F(Uploads, RunTheirThreadWhereTheyAreTold) {
    std::atomic<bool> placed{false};
    const Uploader uploader(context, 1, [&] { placed = true; });
    for (int i = 0; i < 1000 && !placed; i++)
        std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(placed);
}

}  // namespace
}  // namespace spead::gpu
