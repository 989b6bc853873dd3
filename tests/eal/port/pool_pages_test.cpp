// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/pool_pages.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "base/error.hpp"
#include "gpu/gatherer.hpp"
#include "gpu/registered_packets.hpp"
#include "memory/mapping.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

/// Registers packet pools with a driver that plays one (tests/fake_cuda), whose kernels reach registered
/// memory alone.
namespace spead::gpu {
namespace {

class Pools : public testing::Test {
  protected:
    Pools() {
        for (std::size_t i = 0; i < pools.size(); i++)
            pools[i] = rte_pktmbuf_pool_create(("gpu" + std::to_string(i)).c_str(), 255, 0, 0,
                                               RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    }
    ~Pools() override {
        for (rte_mempool* const pool : pools)
            rte_mempool_free(pool);
    }
    std::array<rte_mempool*, 2> pools{};
};

TEST_F(Pools, AreReachedByKernelsWhileTheyAreRegistered) {
    const ContextPointer context = fake_context();
    const DeviceMemory heap(context, 1000 * pools.size());
    memory::Mapping host(8192);
    const Registered registered(context, host.base(), host.length());
    const Gatherer gatherer(context);
    const Stream stream(context);
    auto* const pieces = reinterpret_cast<gather::Piece*>(host.base());
    const int before = fake_objects();
    {
        const std::vector<std::span<std::byte>> pages = pages_of(pools);
        RegisteredPackets reached;
        for (const std::span<std::byte> stretch : pages)
            reached.add(context, stretch);
        EXPECT_GE(pages.size(), 1u);
        EXPECT_EQ(fake_objects(), before + static_cast<int>(pages.size()));
        std::array<rte_mbuf*, 2> packets{};
        for (std::size_t i = 0; i < pools.size(); i++) {
            packets[i] = rte_pktmbuf_alloc(pools[i]);
            ASSERT_NE(packets[i], nullptr);
            EXPECT_TRUE(reached.has(rte_pktmbuf_mtod(packets[i], const std::byte*), 1042));
            std::memset(rte_pktmbuf_append(packets[i], 1042), static_cast<int>(i + 1), 1042);
            pieces[i] = {rte_pktmbuf_mtod_offset(packets[i], const std::byte*, 42),
                         std::bit_cast<std::byte*>(heap.address() + 1000 * i), 1000, 0};
        }
        gatherer.gather(stream, {pieces, pools.size()}, registered.address_of(pieces));
        stream.download(host.base() + 4096, heap.address(), 1000 * pools.size());
        stream.finish();
        for (std::size_t i = 0; i < 1000 * pools.size(); i++)
            ASSERT_EQ(std::to_integer<std::size_t>(host.base()[4096 + i]), i / 1000 + 1) << i;
        for (rte_mbuf* const packet : packets)
            rte_pktmbuf_free(packet);
    }
    EXPECT_EQ(fake_objects(), before);
}

TEST_F(Pools, AreNotRegisteredTwice) {
    const ContextPointer context = fake_context();
    const std::vector<std::span<std::byte>> pages = pages_of(pools);
    std::vector<std::unique_ptr<Registered>> reached;
    for (const std::span<std::byte> stretch : pages)
        reached.push_back(std::make_unique<Registered>(context, stretch.data(), stretch.size()));
    for (const std::span<std::byte> stretch : pages)
        EXPECT_THROW(Registered(context, stretch.data(), stretch.size()), Error);
    EXPECT_EQ(fake_objects(), 1 + static_cast<int>(pages.size()));
}

}  // namespace
}  // namespace spead::gpu
