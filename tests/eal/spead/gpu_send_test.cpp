// SPDX-License-Identifier: BSD-3-Clause
// Streams that send from memory of a GPU. The driver is the tests' (tests/fake_cuda), whose memory ends a
// process that touches it.
#include <bit>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <mutex>
#include <optional>
#include <vector>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "gpu/objects.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "port/device_calls.hpp"
#include "spead/chunk.hpp"
#include "spead/chunk_queue.hpp"
#include "spead/recv.hpp"
#include "spead/writers.hpp"
#include "tests/eal/spead/send_rig.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Packets = std::vector<std::vector<std::byte>>;

constexpr std::size_t kNetHeader = 42;
constexpr std::size_t kOnGpu = std::size_t{1} << 20;

/// Fetches and fills memory of the GPU by the driver's copies.
class Copies {
  public:
    void fill(const Memory& memory) {
        verify_generate({bounce_.base(), kOnGpu}, 1);
        stream_.upload(memory.gpu_address(), bounce_.base(), std::min(kOnGpu, memory.bytes().size()));
        stream_.finish();
    }
    std::vector<std::byte> fetch(const std::byte* from, std::size_t length) {
        stream_.download(bounce_.base(), std::bit_cast<gpu::cuda::DevicePointer>(from), length);
        stream_.finish();
        return {bounce_.base(), bounce_.base() + length};
    }

  private:
    gpu::ContextPointer context_ = gpu::fake_context();
    memory::Mapping bounce_{kOnGpu};
    gpu::Registered registered_{context_, bounce_.base(), bounce_.length()};
    gpu::Stream stream_{context_};
};

/// Collects the packets that a port's PMD gets, whose payload may lie in memory of the GPU.
class Tap {
  public:
    Tap(const char* device, const Memory& memory) : memory_(memory) {
        EXPECT_EQ(rte_eth_dev_get_port_by_name(device, &port_), 0);
        callback_ = rte_eth_add_tx_callback(port_, 0, &look, this);
        EXPECT_NE(callback_, nullptr);
    }
    ~Tap() { rte_eth_remove_tx_callback(port_, 0, callback_); }
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

    Packets take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(packets_, {});
    }

  private:
    static std::uint16_t look(std::uint16_t, std::uint16_t, rte_mbuf** packets, std::uint16_t n, void* self) {
        auto& tap = *static_cast<Tap*>(self);
        const std::lock_guard lock(tap.mutex_);
        for (std::uint16_t i = 0; i < n; i++)
            tap.add(*packets[i]);
        return n;
    }
    void add(const rte_mbuf& packet) {
        std::vector<std::byte> bytes;
        const std::span<const std::byte> there = memory_.bytes();
        for (const rte_mbuf* m = &packet; m != nullptr; m = m->next) {
            const auto* const data = rte_pktmbuf_mtod(m, const std::byte*);
            if (data >= there.data() && data < there.data() + there.size()) {
                const std::vector<std::byte> fetched = copies_.fetch(data, m->data_len);
                bytes.insert(bytes.end(), fetched.begin(), fetched.end());
            } else {
                bytes.insert(bytes.end(), data, data + m->data_len);
            }
        }
        packets_.emplace_back(bytes.begin() + kNetHeader, bytes.end());
    }

    const Memory memory_;
    std::uint16_t port_ = 0;
    const rte_eth_rxtx_callback* callback_ = nullptr;
    std::mutex mutex_;
    Copies copies_;
    Packets packets_;
};

class GpuSendTest : public SendTest {
  protected:
    // The front door finds it by its name.
    void* const library = dlopen(gpu::fake_library().c_str(), RTLD_NOW | RTLD_GLOBAL);
    const int objects = gpu::fake_objects();
};

/// Adds items in the memory, or in a copy of it.
void add_items(SendHeap& heap, std::span<const std::byte> memory) {
    heap.add(0x1600, memory.subspan(1, 3));
    heap.add(0x1601, memory.subspan(4097, 100'001));
    heap.add_immediate(0x1602, 5);
    heap.add(0x1603, memory.subspan(300'000, 1424 * 2));
}

TEST_F(GpuSendTest, PacketsAreThoseOfTheSameHeapInTheCpusMemory) {
    // One stream knows the memory from its beginning, the other later.
    SendStream early(process, to_nowhere(0));
    const Memory memory = Memory::cuda_device(process, kOnGpu);
    ASSERT_TRUE(memory.on_gpu());
    ASSERT_EQ(memory.bytes().size(), kOnGpu);
    EXPECT_EQ(memory.gpu_address(), std::bit_cast<std::uintptr_t>(memory.bytes().data()));
    EXPECT_EQ(memory.pages(), "");
    Copies().fill(memory);
    std::vector<std::byte> same(kOnGpu);
    verify_generate(same, 1);
    SendStream late(process, to_nowhere(0));
    SendHeap heap, expected;
    add_items(heap, memory.bytes());
    add_items(expected, same);
    for (SendStream* const stream : {&early, &late}) {
        std::optional<Tap> tap;
        if (stream == &early)
            tap.emplace("net_null0", memory);
        for (int i = 0; i < 20; i++) {
            stream->send(heap, {.cnt = 77});
            stream->wait_for(heap);
            if (tap) {
                ASSERT_EQ(tap->take(), expected.packets(77, 1472));
            }
        }
        EXPECT_EQ(stream->stats().heaps, 20U);
    }
    const stats::SendCounters c = snapshot().sends[0].counters;
    EXPECT_EQ(c.unregistered_packets, 0U);
}

TEST_F(GpuSendTest, TheUsersMemoryIsRegisteredByItsAddress) {
    SendStream stream(process, to_nowhere(0));
    const gpu::DeviceMemory users(gpu::fake_context(), kOnGpu);
    SendHeap heap;
    heap.add_on_gpu(0x1600, users.address() + 5, 10'000);
    heap.add_on_gpu(0x1601, users.address(), 0);
    EXPECT_THAT(refusal([&] { stream.send(heap); }),
                AllOf(HasSubstr("memory of a GPU"), HasSubstr("knows 0"), HasSubstr("Memory::cuda_device")));
    {
        const Memory part = Memory::cuda_device(process, users.address(), 4096);
        EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("knows 4091"));
        const Memory rest = Memory::cuda_device(process, users.address() + 4096, kOnGpu - 4096);
        stream.send(heap);
        stream.wait_for(heap);
        SendHeap without;
        without.add(0x1600, part.bytes());
        stream.send(without);
        stream.wait_for(without);
        EXPECT_THAT(refusal([&] { Memory::cuda_device(process, users.address() + 100, 10); }),
                    HasSubstr("overlaps"));
    }
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("knows 0"));
    EXPECT_EQ(stream.stats().heaps, 2U);
}

TEST_F(GpuSendTest, MemoryIsFreedAfterItsLastHeapInFlight) {
    SendStream stream(process, to_nowhere(kHours));
    SendHeap heap;
    {
        const Memory memory = Memory::cuda_device(process, kOnGpu);
        heap.add(0x1600, memory.bytes());
        stream.send(heap);
    }
    EXPECT_EQ(gpu::fake_objects(), objects + 2) << "the heap in flight has it";
    stream.stop();
    EXPECT_THAT(refusal([&] { stream.wait_for(heap); }), HasSubstr("stopped"));
    EXPECT_EQ(gpu::fake_objects(), objects);
    SendStream other(process, to_nowhere(0));
    // The heap has addresses alone, which no port knows any more. They would be copied from.
    EXPECT_THAT(refusal([&] { other.send(heap); }), HasSubstr("knows 0"));
    EXPECT_THAT(refusal([&] { (void)heap.packets(1, 1472); }), HasSubstr("memory of a GPU"));
    std::vector<std::byte> own(100);
    heap.set_bytes(0, own);
    other.send(heap);
    other.wait_for(heap);
    SendHeap again;
    again.add_on_gpu(0x1600, 0x7f0000000000, 100);
    EXPECT_THAT(refusal([&] { other.send(again); }), HasSubstr("knows 0"));
}

TEST_F(GpuSendTest, ASessionThatEndsGivesUpHeapsInFlight) {
    std::optional<SendStream> stream(std::in_place, process, to_nowhere(kHours));
    std::optional<Memory> memory(Memory::cuda_device(process, kOnGpu));
    SendHeap heap;
    heap.add(0x1600, memory->bytes());
    stream->send(heap);
    process.stop();
    EXPECT_NE(refusal([&] { stream->wait_for(heap); }), "");
    {
        const Process next;
        SendStream other(next, to_nowhere(0));
        // It would be copied if it were the CPU's.
        EXPECT_THAT(refusal([&] { other.send(heap); }), HasSubstr("the stream's session knows 0"));
        EXPECT_FALSE(heap.in_flight());
    }
    stream.reset();
    EXPECT_EQ(gpu::fake_objects(), objects + 2);
    memory.reset();
    EXPECT_EQ(gpu::fake_objects(), objects);
}

TEST_F(GpuSendTest, IsRefusedByNameWhereTheCpuWouldReadIt) {
    const Memory memory = Memory::cuda_device(process, kOnGpu);
    SendHeap heap;
    heap.add(0x1600, memory.bytes().first(10'000));
    const auto refused = [&heap](SendStream& stream) {
        const std::string said = refusal([&] { stream.send(heap); });
        EXPECT_FALSE(heap.in_flight());
        const GroupHeap group{heap};
        EXPECT_EQ(refusal([&] { stream.send_heaps({&group, 1}, GroupMode::serial); }), said);
        return said;
    };
    {
        const ScratchDirectory scratch;
        SendConfig config = to_nowhere(0);
        config.interface = "net_pcap0,tx_pcap=" + (scratch.path() / "out.pcap").string();
        SendStream stream(process, config);
        EXPECT_THAT(refused(stream),
                    AllOf(HasSubstr("(net_pcap)"), HasSubstr("reads the packets that it sends"),
                          HasSubstr("net_mlx5")));
    }
    {
        RecvConfig receiver;
        receiver.endpoints = {"239.1.2.3:7148"};
        receiver.interface = "net_ring0";
        receiver.memory = 4 << 20;
        receiver.max_heap_bytes = 64 << 10;
        receiver.buffer_size = 1 << 20;
        const RecvStream in(process, receiver);
        SendConfig config = to_nowhere(0);
        config.interface = "net_ring0";
        SendStream stream(process, config);
        EXPECT_THAT(refused(stream), AllOf(HasSubstr("(net_ring)"), HasSubstr("come back to streams")));
    }
    {
        SendConfig config = to_nowhere(0);
        config.udp_checksum = true;
        SendStream stream(process, config);
        EXPECT_THAT(refused(stream), AllOf(HasSubstr("(net_null)"), HasSubstr("udp_checksum is true")));
    }
    SendStream sockets(SendConfig{.endpoints = {"127.0.0.1:7148"}});
    EXPECT_THAT(refused(sockets), AllOf(HasSubstr("sockets of the kernel"), HasSubstr("net_mlx5")));
    const PacketBytes bytes;
    SendStream into_memory(SendConfig{.endpoints = {"127.0.0.1:7148"}}, Writer::memory(bytes));
    EXPECT_THAT(refused(into_memory), HasSubstr("memory of a GPU"));
    EXPECT_THAT(refusal([&] { (void)heap.packets(1, 1472); }), HasSubstr("memory of a GPU"));
}

/// Writes down what happens to the ports' devices and the memory that they know.
class Recorded final : public port::DeviceCalls {
  public:
    std::vector<std::string> calls;

    int close(std::uint16_t port) override {
        calls.emplace_back("close");
        return DeviceCalls::close(port);
    }
    int stop(std::uint16_t port) override {
        calls.emplace_back("stop");
        return DeviceCalls::stop(port);
    }
    int dma_map(rte_device* device, void* base, std::uint64_t iova, std::size_t length) override {
        calls.emplace_back("map");
        return DeviceCalls::dma_map(device, base, iova, length);
    }
    int dma_unmap(rte_device* device, void* base, std::uint64_t iova, std::size_t length) override {
        calls.emplace_back("unmap");
        return DeviceCalls::dma_unmap(device, base, iova, length);
    }
};

TEST_F(GpuSendTest, APortThatIsOpenedAgainKnowsTheMemoryAgain) {
    Recorded recorded;
    const port::DeviceCallsInstead instead(recorded);
    const Memory memory = Memory::cuda_device(process, kOnGpu);
    SendHeap heap;
    heap.add(0x1600, memory.bytes());
    for (int round = 0; round < 3; round++) {
        recorded.calls.clear();
        {
            SendStream stream(process, to_nowhere(0));
            stream.send(heap);
            stream.wait_for(heap);
        }
        EXPECT_THAT(recorded.calls, testing::ElementsAre("map", "unmap", "stop", "close"));
    }
    process.stop();
}

TEST_F(GpuSendTest, IsNoMemoryForSmallItemsAndChunks) {
    const Memory memory = Memory::cuda_device(process, kOnGpu);
    SendStream stream(process, to_nowhere(0));
    SendHeap heap;
    heap.add_small(0x1600, memory.bytes().first(4));
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("cannot be an immediate"));
    const Placement placement = Placement::parse("heap 1024; time: item 0x1600 [4]");
    std::vector<std::uint8_t> present(placement.present_bytes());
    ChunkRing ring(process, 2);
    EXPECT_THAT(
        refusal([&] { ring.add(placement, memory, memory.bytes().first(placement.bytes()), present); }),
        HasSubstr("lcores write chunks"));
    LooseChunk chunk;
    EXPECT_THAT(refusal([&] { chunk.set_memory(memory.bytes().first(placement.bytes()), present); }),
                HasSubstr("memory of a GPU"));
}

TEST_F(GpuSendTest, ACallOfTheDriverThatFailsIsNamedAndLeavesNothing) {
    SendStream stream(process, to_nowhere(0));
    const gpu::DeviceMemory users(gpu::fake_context(), kOnGpu);
    const int before = gpu::fake_objects();
    const auto refused = [&](const std::string& call, auto&& make) {
        const gpu::FakeWish wish("FAKE_CUDA_FAIL", call);
        EXPECT_THAT(refusal(make), HasSubstr("GPU: " + call + "(")) << call;
        EXPECT_EQ(gpu::fake_objects(), before) << call;
    };
    for (const char* const call : {"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
                                   "cuMemAlloc_v2", "cuPointerSetAttribute"})
        refused(call, [&] { Memory::cuda_device(process, kOnGpu); });
    for (const char* const call :
         {"cuCtxPushCurrent_v2", "cuPointerGetAttribute", "cuMemGetAddressRange_v2", "cuPointerSetAttribute"})
        refused(call, [&] { Memory::cuda_device(process, users.address(), kOnGpu); });
    EXPECT_THAT(refusal([&] { Memory::cuda_device(process, 0); }), HasSubstr("0 bytes"));
    EXPECT_THAT(refusal([&] { Memory::cuda_device(process, std::size_t{8} << 30); }),
                HasSubstr("cuMemAlloc_v2("));
    const Memory memory = Memory::cuda_device(process, kOnGpu);
    SendHeap heap;
    heap.add(0x1600, memory.bytes());
    stream.send(heap);
    stream.wait_for(heap);
}

}  // namespace
}  // namespace spead::test
