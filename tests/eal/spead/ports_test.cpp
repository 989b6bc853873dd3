// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <gmock/gmock.h>
#include <net/if.h>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <rte_ethdev.h>

#include "spead/recv.hpp"
#include "tests/eal/spead/send_rig.hpp"
#include "tests/support/scratch_directory.hpp"

/// Tests the ports of a session: they are open as long as a stream or a sender uses them.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using PortsTest = SendTest;

RecvConfig receiver(const std::string& port) {
    RecvConfig c;
    c.endpoints = {"239.1.2.3:7148"};
    c.interface = port;
    c.memory = 4 << 20;
    c.max_heap_bytes = 64 << 10;
    c.buffer_size = 1 << 20;
    return c;
}

SendConfig sender(const std::string& port) {
    return {.endpoints = {"239.1.2.3:7148"}, .interface = port};
}

/// Returns the states of the ports, in the order in which they came.
std::vector<std::string> states() {
    std::vector<std::string> all;
    const stats::Snapshot now = snapshot();
    EXPECT_THAT(stats::broken_identities(now), IsEmpty());
    for (const stats::PortSnapshot& p : now.ports)
        all.push_back(p.state);
    return all;
}

/// Sends heaps to a stream on the same ring, which takes all of them.
void send_and_receive(const Process& process, const std::string& port, std::uint64_t heaps) {
    RecvStream in(process, receiver(port));
    SendStream out(process, sender(port));
    std::vector<std::byte> payload(kHeapBytes);
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(payload));
    for (std::uint64_t cnt = 1; cnt <= heaps; cnt++) {
        fill(payload, cnt);
        out.send(heap);
        out.wait_for(heap);
        const std::optional<Heap> got = in.get();
        ASSERT_TRUE(got && got->complete());
        EXPECT_EQ(verify_check(got->payload(), verify_heap_start(cnt, kHeapBytes / 4)), kHeapBytes);
    }
}

/// Finds a fault of queues that were made for later streams: a memif server takes no more queues than its
/// own.
TEST_F(PortsTest, OfASenderHaveNoMoreQueuesThanTheirPeer) {
    const ScratchDirectory scratch;
    const std::string socket = ",socket=" + (scratch.path() / "memif").string() + ",role=";
    RecvStream in(process, receiver("net_memif0" + socket + "server"));
    SendStream out(process, sender("net_memif1" + socket + "client"));
    std::vector<std::byte> payload(kHeapBytes);
    fill(payload, 1);
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(payload));
    out.send(heap);
    const std::optional<Heap> got = in.get_for(10s);
    ASSERT_TRUE(got && got->complete());
    EXPECT_EQ(verify_check(got->payload(), verify_heap_start(1, kHeapBytes / 4)), kHeapBytes);
    const std::string refused =
        refusal([&] { RecvStream(process, receiver("net_memif1" + socket + "client")); });
    EXPECT_THAT(refused, HasSubstr("receive queue"));
}

TEST_F(PortsTest, CloseWithTheirLastStreamAndOpenForTheNext) {
    const int before = rte_eth_dev_count_avail();
    std::uint64_t of_one_round = 0;
    for (std::uint64_t round = 1; round <= 4; round++) {
        send_and_receive(process, "net_ring0", 10);
        EXPECT_EQ(rte_eth_dev_count_avail(), before);
        EXPECT_THAT(states(), ElementsAre("closed"));
        const stats::PortSnapshot port = snapshot().ports[0];
        if (round == 1)
            of_one_round = port.tx_packets;
        EXPECT_GT(of_one_round, 10U);
        EXPECT_EQ(port.tx_packets, round * of_one_round) << "its counts go on";
        EXPECT_EQ(port.rx_packets, port.tx_packets);
    }
    std::optional<SendStream> first(std::in_place, process, sender("net_ring0"));
    std::optional<RecvStream> second(std::in_place, process, receiver("net_ring0"));
    first.reset();
    EXPECT_THAT(states(), ElementsAre("running")) << "a stream uses it";
    second.reset();
    EXPECT_THAT(states(), ElementsAre("closed"));
}

TEST_F(PortsTest, OfOthersGoOnMeanwhile) {
    RecvStream in(process, receiver("net_ring1"));
    SendStream out(process, sender("net_ring1"));
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> sent{0};
    std::uint64_t received = 0, incomplete = 0;
    std::thread sending([&] {
        const std::vector<std::byte> payload(kHeapBytes);
        SendHeap heap;
        heap.add(0x1000, std::span(payload));
        while (!over) {
            out.send(heap);
            out.wait_for(heap);
            sent++;
        }
        out.end();
    });
    std::thread receiving([&] {
        while (const std::optional<Heap> heap = in.get()) {
            received++;
            incomplete += heap->complete() ? 0U : 1U;
        }
    });
    for (int round = 0; round < 5; round++) {
        const std::uint64_t before = sent;
        send_and_receive(process, "net_ring0", 3);
        EXPECT_THAT(states(), ElementsAre("running", "closed"));
        while (sent < before + 10)
            std::this_thread::yield();
    }
    over = true;
    sending.join();
    while (in.stats().heaps_waiting != 0)
        std::this_thread::yield();
    in.stop();
    receiving.join();
    EXPECT_EQ(received, sent);
    EXPECT_EQ(incomplete, 0U);
}

TEST_F(PortsTest, AreClosedAgainWhenTheStreamCannotBe) {
    send_and_receive(process, "net_ring0", 1);
    RecvConfig config = receiver("net_ring0");
    config.memory = std::size_t{1} << 50;
    for (int i = 0; i < 3; i++) {
        EXPECT_NE(refusal([&] { RecvStream(process, config); }), "");
        while (states() != std::vector<std::string>{"closed"})
            std::this_thread::yield();
    }
    send_and_receive(process, "net_ring0", 5);
}

TEST_F(PortsTest, ThatWriteFilesEndThemWithTheirLastStream) {
    const ScratchDirectory directory;
    const std::string file = directory.file("sent.pcap"), port = "net_pcap0,tx_pcap=" + file;
    const std::vector<std::byte> payload(1000);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    std::optional<SendStream> stream(std::in_place, process, sender(port));
    stream->send(heap);
    stream->flush();
    stream.reset();
    EXPECT_THAT(states(), ElementsAre("closed"));
    EXPECT_EQ(snapshot().ports[0].tx_packets, 1U);
    EXPECT_GT(std::filesystem::file_size(file), 1000U);
    EXPECT_TRUE(std::filesystem::remove(file)) << "it is the user's now";
    stream.emplace(process, sender(port));
    EXPECT_THAT(states(), ElementsAre("running"));
    process.stop();
    EXPECT_THAT(process.problems(), IsEmpty());
}

// Our own host of such a port reports to the network that groups are left before the port is closed.
TEST_F(PortsTest, WithAHostOfOurOwnAreClosedOnceItHasLeftItsGroups) {
    const std::string netdev = fmt::format("spt{}", getpid());
    const RecvConfig config = receiver("net_tap0,iface=" + netdev);
    std::uint64_t frames = 0;
    for (int round = 0; round < 2; round++) {
        std::optional<RecvStream> stream;
        const std::string why_not = refusal([&] { stream.emplace(process, config); });
        if (!stream && round == 0)
            GTEST_SKIP() << why_not;
        ASSERT_TRUE(stream) << why_not;
        EXPECT_NE(if_nametoindex(netdev.c_str()), 0U);
        const std::uint64_t joined = snapshot().ports[0].tx_host_frames;
        EXPECT_GT(joined, frames);
        stream.reset();
        while (states() != std::vector<std::string>{"closed"})
            std::this_thread::yield();
        EXPECT_EQ(if_nametoindex(netdev.c_str()), 0U);
        frames = snapshot().ports[0].tx_host_frames;
        EXPECT_GT(frames, joined) << "it has said that it leaves";
    }
}

}  // namespace
}  // namespace spead::test
