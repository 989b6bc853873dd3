// SPDX-License-Identifier: BSD-3-Clause
// The sender and memory of a GPU: payload that no CPU reads. The driver is the tests' (tests/fake_cuda),
// whose memory ends a process that touches it.
#include <array>
#include <bit>
#include <gmock/gmock.h>
#include <optional>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "drivers/table.hpp"
#include "gpu/objects.hpp"
#include "gpu/peer_memory.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"
#include "tests/eal/send/rig.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::send::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kDeviceBytes = std::size_t{1} << 20;

/// Has memory of the GPU with the same bytes as the rig's memory.
class DeviceTest : public SenderTest {
  protected:
    DeviceTest() {
        std::copy_n(memory.part(0, kDeviceBytes).data(), kDeviceBytes, bounce.base());
        stream.upload(device->address(), bounce.base(), kDeviceBytes);
        stream.finish();
        regions.add(device->region());
        queue.look = [this](const rte_mbuf& m) { queue.frames.push_back(fetched(m)); };
    }
    ~DeviceTest() override { finish(); }

    std::span<const std::byte> part(std::size_t at, std::size_t length) const {
        return device->region().bytes().subspan(at, length);
    }
    bool on_gpu(const std::byte* at) const {
        return at >= device->region().base && at < device->region().end();
    }
    /// Copies a frame, whose segments in memory of the GPU the driver fetches.
    Frame fetched(const rte_mbuf& packet) {
        Frame frame;
        frame.segments = packet.nb_segs;
        frame.flags = packet.ol_flags;
        for (const rte_mbuf* m = &packet; m != nullptr; m = m->next) {
            const auto* data = rte_pktmbuf_mtod(m, const std::byte*);
            if (on_gpu(data)) {
                frame.external = true;
                stream.download(bounce.base(), std::bit_cast<gpu::cuda::DevicePointer>(data), m->data_len);
                stream.finish();
                data = bounce.base();
            }
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(data);
            frame.bytes.insert(frame.bytes.end(), bytes, bytes + m->data_len);
        }
        EXPECT_EQ(frame.bytes.size(), packet.pkt_len);
        return frame;
    }
    /// Returns a heap of the GPU's memory; the next: the same of the CPU's.
    OutgoingHeap& device_heap() {
        return fill(heaps.emplace_back(wire::Flavour(48)), [this](auto at, auto n) { return part(at, n); });
    }
    OutgoingHeap& host_heap() {
        return fill(heaps.emplace_back(wire::Flavour(48)),
                    [this](auto at, auto n) { return memory.part(at, n); });
    }

    gpu::ContextPointer context = gpu::fake_context();
    std::optional<gpu::PeerMemory> device =
        gpu::PeerMemory::allocate(gpu::Driver::load(gpu::fake_library()), kDeviceBytes);
    memory::Mapping bounce{kDeviceBytes};
    gpu::Registered registered{context, bounce.base(), bounce.length()};
    gpu::Stream stream{context};

  private:
    /// Adds items of every kind: tiny ones, pieces in one packet, bytes of the heap's own between them.
    template <class Part>
    OutgoingHeap& fill(OutgoingHeap& heap, Part&& part) {
        heap.add_item(0x1600, part(3, 7));
        heap.add_item(0x1601, part(1000, 5000));
        heap.add_immediate(0x1602, 17);
        heap.add_item(0x1603, part(9001, 90'000));
        heap.add_descriptor(memory.part(0, 90));
        heap.add_item(0x1604, part(200'000, 3 * 1424));
        return heap;
    }
};

TEST_F(DeviceTest, PacketsAreThoseOfTheSameHeapInTheCpusMemory) {
    for (const std::uint32_t size : {56U, 1472U, 8972U})
        for (const std::uint64_t heaps_in_turn : {1U, 3U}) {
            config.max_packet_size = size;
            OutgoingHeap& on_gpu = device_heap();
            OutgoingHeap& on_cpu = host_heap();
            std::vector<Submission> group(heaps_in_turn, {.heap = &on_gpu, .cnt = 5});
            ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
            ASSERT_TRUE(run());
            const std::vector<Bytes> device_packets = payloads();
            queue.frames.clear();
            for (Submission& one : group)
                one.heap = &on_cpu;
            ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
            ASSERT_TRUE(run());
            EXPECT_EQ(device_packets, payloads()) << size;
            EXPECT_GT(sender().counters().zero_copy_packets, 0U);
            queue.frames.clear();
            finish();
            queue.taken = 0;
        }
}

TEST_F(DeviceTest, HeapsOfOnePacketAreSentFromTheGpu) {
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    h.add_item(0x1600, part(1, 100));
    OutgoingHeap& same = heaps.emplace_back(wire::Flavour(48));
    same.add_item(0x1600, memory.part(1, 100));
    ASSERT_TRUE(sender().submit({.heap = &h, .cnt = 9}));
    ASSERT_TRUE(run());
    EXPECT_TRUE(queue.frames.at(0).external);
    EXPECT_EQ(queue.frames.at(0).payload(), expected(same, 9).at(0));
}

TEST_F(DeviceTest, DummiesAreMadeOfItWithoutALook) {
    OutgoingHeap& h = device_heap();
    ASSERT_TRUE(sender().submit({&h}));
    queue.accept = [](std::uint16_t) { return std::uint16_t{0}; };
    poll();
    const DummyResult result = sender().dummy(100);
    queue.accept = [](std::uint16_t n) { return n; };
    EXPECT_EQ(result.packets, 100U);
    EXPECT_TRUE(result.of_heap);
    ASSERT_TRUE(run());
}

/// Tests that a driver's flag is on every segment of packets with the GPU's memory, and on no other packet.
TEST_F(DeviceTest, PacketsHaveTheFlagThatKeepsTheDriverFromReading) {
    constexpr std::uint64_t kFlag = std::uint64_t{1} << 40;
    config.capabilities.tx_device_flags = kFlag;
    std::uint64_t with = 0, without = 0;
    queue.look = [&](const rte_mbuf& packet) {
        bool device_packet = false;
        for (const rte_mbuf* m = &packet; m != nullptr; m = m->next)
            device_packet |= on_gpu(rte_pktmbuf_mtod(m, const std::byte*));
        for (const rte_mbuf* m = &packet; m != nullptr; m = m->next)
            if (m == &packet || on_gpu(rte_pktmbuf_mtod(m, const std::byte*))) {
                EXPECT_EQ((m->ol_flags & kFlag) != 0, device_packet);
            }
        (device_packet ? with : without)++;
    };
    OutgoingHeap& mixed = heaps.emplace_back(wire::Flavour(48));
    mixed.add_item(0x1600, part(0, 50));
    mixed.add_item(0x1601, memory.part(0, 100));
    mixed.add_item(0x1602, part(100, 40));
    OutgoingHeap& single = heaps.emplace_back(wire::Flavour(48));
    single.add_item(0x1600, part(1, 100));
    for (OutgoingHeap* const h : {&device_heap(), &host_heap(), &mixed, &single, &heap(5000)}) {
        ASSERT_TRUE(sender().submit({h}));
        ASSERT_TRUE(run());
    }
    EXPECT_GT(with, 60U);
    EXPECT_GT(without, 60U);
}

TEST_F(DeviceTest, IsRefusedWhereTheCpuWouldReadIt) {
    config.port_name = "port p0 (net_fake)";
    const auto refused = [this](const std::function<void(SenderConfig&)>& change) {
        const SenderConfig good = config;
        change(config);
        OutgoingHeap& h = device_heap();
        const std::string said = error_of([&] { sender().submit({&h}); });
        EXPECT_FALSE(h.in_flight());
        finish();
        config = good;
        return said;
    };
    const auto names = [](const char* cause, const char* fix) {
        return AllOf(HasSubstr("send test"), HasSubstr("memory of a GPU"), HasSubstr(cause), HasSubstr(fix));
    };
    EXPECT_THAT(refused([](SenderConfig& c) { c.zero_copy = ZeroCopy::never; }),
                names("zero_copy is \"never\"", "\"auto\""));
    EXPECT_THAT(refused([](SenderConfig& c) { c.capabilities.tx_device_memory = false; }),
                names("the driver of port p0 (net_fake) reads the packets", "net_mlx5"));
    EXPECT_THAT(refused([](SenderConfig& c) { c.no_device_memory = "it rains"; }), names("it rains", ""));
    EXPECT_THAT(refused([](SenderConfig& c) { c.udp_checksum = true; }),
                names("the CPU makes the UDP checksums", "udp_checksum is true: leave it out"));
    EXPECT_THAT(refused([](SenderConfig& c) {
                    c.destinations = {{parse_endpoints("[ff15::a]:7148").front()}};
                    c.source_ip = parse_ip("fd00::1");
                }),
                names("the CPU makes the UDP checksums", "IPv4 endpoints"));
}

TEST_F(DeviceTest, ChecksumsOfThePortDoNotMatter) {
    config.udp_checksum = true;
    config.capabilities.tx_offloads = RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    ASSERT_TRUE(sender().submit({&device_heap()}));
    ASSERT_TRUE(run());
    for (const Frame& frame : queue.frames)
        EXPECT_NE(frame.flags & RTE_MBUF_F_TX_UDP_CKSUM, 0U);
}

TEST_F(DeviceTest, IsRefusedInTooManyPieces) {
    OutgoingHeap& pieces = heaps.emplace_back(wire::Flavour(48));
    for (std::size_t i = 0; i < 5; ++i)
        pieces.add_item(0x1600 + i, part(i * 1000, 10));
    EXPECT_THAT(error_of([&] { sender().submit({&pieces}); }), HasSubstr("5 pieces; at most 3"));
    OutgoingHeap& small = heaps.emplace_back(wire::Flavour(48));
    small.add_item(0x1600, part(0, 4), true);
    EXPECT_THAT(error_of([&] { sender().submit({&small}); }), HasSubstr("cannot be an immediate"));
}

/// Tests drivers that keep the last segments until more are sent. They keep heaps of the GPU's memory, which
/// cannot be copied. These complete when others follow, and when the port stops.
TEST_F(DeviceTest, TheLastHeapsStayInFlightAtADriverThatFreesLate) {
    config.capabilities.late_free_segments = 31;
    queue.keep = 31;
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    h.add_item(0x1600, part(0, 20'000));
    ASSERT_TRUE(sender().submit({&h}));
    EXPECT_FALSE(run(100));
    EXPECT_TRUE(completions.empty());
    ASSERT_TRUE(sender().submit({&heap(60'000)}));
    (void)run(100);
    ASSERT_EQ(completions.size(), 2U) << "the second is copied at its end, and completes";
    OutgoingHeap& last = heaps.emplace_back(wire::Flavour(48));
    last.add_item(0x1600, part(0, 20'000));
    ASSERT_TRUE(sender().submit({&last}));
    EXPECT_FALSE(run(100));
    queue.release();
    EXPECT_TRUE(sender().collect(now));
    take_completions();
    EXPECT_EQ(completions.size(), 3U);
}

/// Sends over net_ring: the received segments are the GPU's memory itself, and the driver fetches them.
class DeviceOnRing : public DeviceTest {
  protected:
    DeviceOnRing() {
        port::PortRequest request;
        request.name = "p0";
        request.device = "net_ring0";
        request.max_rx_packet = request.max_tx_packet = 1472;
        request.tx_queues = 1;
        opened = port::Port::open(request, drivers::table());
        opened->start();
        config.queue = opened->tx_queue(0);
        config.capabilities = opened->capabilities();
        config.tx_descriptors = opened->tx_sizes().descriptors;
        config.source_mac = opened->mac();
        config.source_ip = opened->source_address();
        registration.emplace(device->region().base, device->region().length, memory::MemoryKind::device);
        registration->map(*opened);
    }
    std::size_t receive() {
        std::array<rte_mbuf*, 32> mbufs{};
        const std::uint16_t n = opened->rx_queue(0).rx_burst(mbufs.data(), mbufs.size());
        for (std::uint16_t i = 0; i < n; ++i) {
            queue.frames.push_back(fetched(*mbufs[i]));
            rte_pktmbuf_free(mbufs[i]);
        }
        return n;
    }

    std::unique_ptr<port::Port> opened;
    std::optional<port::RegionRegistration> registration;
};

TEST_F(DeviceOnRing, EveryByteComesBack) {
    ASSERT_TRUE(opened->capabilities().tx_device_memory);
    Sender s(config);
    OutgoingHeap& h = device_heap();
    ASSERT_TRUE(s.submit({&h}));
    std::array<Completion, 4> some;
    std::size_t done = 0;
    while (done == 0) {
        s.poll(rte_rdtsc());
        receive();
        done = s.poll_completions(some);
    }
    EXPECT_EQ(some[0].status, SendStatus::sent);
    EXPECT_EQ(payloads(), expected(host_heap(), 1));
    EXPECT_EQ(s.mbufs_out(), 0U);
}

TEST_F(DeviceOnRing, APortThatStopsGivesTheMemoryBack) {
    std::optional<Sender> s(config);
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    h.add_item(0x1600, part(0, kDeviceBytes));
    for (int i = 0; i < 4; ++i)
        h.add_item(0x1601, part(0, kDeviceBytes));
    ASSERT_TRUE(s->submit({&h}));
    for (int i = 0; i < 100; ++i)
        s->poll(rte_rdtsc());
    EXPECT_GT(s->counters().tx_full, 0U);
    s->request_stop();
    s->poll(rte_rdtsc());
    EXPECT_FALSE(s->idle()) << "the ring still refers to the memory";
    opened->stop();
    EXPECT_TRUE(s->collect(rte_rdtsc()));
    std::array<Completion, 4> some;
    ASSERT_EQ(s->poll_completions(some), 1U);
    EXPECT_EQ(some[0].status, SendStatus::aborted);
    EXPECT_EQ(s->mbufs_out(), 0U);
    s.reset();
    // As it is opened again: unmapped, and mapped for the new device.
    registration.reset();
    opened->close();
    regions.remove(device->region().base);
    device.reset();
}

}  // namespace
}  // namespace spead::send::test
