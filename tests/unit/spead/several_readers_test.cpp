// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <netinet/in.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"
#include "spead/filter.hpp"
#include "spead/readers.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/udp_sender.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests streams with several sources, with sockets of the user's, and the counts of their thread.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using recv::test::Bytes;
using recv::test::frame;
using recv::test::MadeHeap;
using recv::test::many_datagrams;

RecvConfig lazy_stream() {
    RecvConfig c;
    c.memory = std::size_t{4} << 20;
    c.max_heap_bytes = 64 << 10;
    c.max_packet_size = 65507;
    c.prefault = false;
    return c;
}

std::span<const std::byte> bytes_in(const Bytes& b) {
    return {reinterpret_cast<const std::byte*>(b.data()), b.size()};
}

void push_heap(InprocQueue& queue, std::uint64_t cnt) {
    for (const Bytes& d : MadeHeap{.cnt = cnt, .length = 1000}.datagrams())
        ASSERT_TRUE(queue.push(bytes_in(d)));
}

std::uint64_t next_cnt(RecvStream& stream) {
    const std::optional<Heap> heap = stream.get_for(60s);
    if (!heap) {
        ADD_FAILURE() << "no heap came";
        return 0;
    }
    EXPECT_TRUE(heap->complete());
    return heap->cnt();
}

/// Binds a socket of loopback, of either family.
FileDescriptor bound(int family, std::uint16_t& port) {
    FileDescriptor fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    sockaddr_in v4 = recv::test::to_sockaddr({{recv::test::kLoopback}, 0, {}});
    auto* const at = family == AF_INET6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
    socklen_t length = family == AF_INET6 ? sizeof v6 : sizeof v4;
    if (::bind(fd.get(), at, length) != 0 || ::getsockname(fd.get(), at, &length) != 0)
        return {};
    port = ntohs(family == AF_INET6 ? v6.sin6_port : v4.sin_port);
    return fd;
}

TEST(SeveralReaders, AreTakenInTurnWhileTheStreamRuns) {
    InprocQueue first;
    InprocQueue second;
    RecvStream stream(lazy_stream(), Reader::none());
    EXPECT_FALSE(stream.ended());
    stream.add_reader(Reader::queue(first));
    push_heap(first, 1);
    EXPECT_EQ(next_cnt(stream), 1U);
    stream.add_reader(Reader::queue(second));
    // The thread waits for both, so each of them wakes it.
    for (std::uint64_t cnt = 2; cnt < 40; cnt++) {
        push_heap(cnt % 2 == 0 ? first : second, cnt);
        EXPECT_EQ(next_cnt(stream), cnt);
    }
    second.stop();
    EXPECT_FALSE(stream.get_for(60s).has_value());
    EXPECT_TRUE(stream.ended()) << "one that ends, ends the stream";
}

TEST(SeveralReaders, ArePreparedBeforeTheStart) {
    InprocQueue queue;
    RecvConfig c = lazy_stream();
    c.start = false;
    RecvStream stream(c, Reader::none());
    stream.add_reader(Reader::queue(queue));
    std::uint16_t port = 0;
    const FileDescriptor socket = bound(AF_INET, port);
    stream.add_reader(Reader::socket(socket.get()));
    const recv::test::UdpSender sender({{recv::test::kLoopback}, port, {}});
    stream.start();
    push_heap(queue, 1);
    for (const Bytes& d : MadeHeap{.cnt = 2, .length = 1000}.datagrams())
        sender.send(d);
    std::set<std::uint64_t> got{next_cnt(stream), next_cnt(stream)};
    EXPECT_EQ(got, (std::set<std::uint64_t>{1, 2}));
    stream.stop();
}

TEST(SeveralReaders, EndByStopWhileTheyWait) {
    for (const bool with_reader : {false, true}) {
        InprocQueue queue;
        RecvStream stream(lazy_stream(), Reader::none());
        if (with_reader)
            stream.add_reader(Reader::queue(queue));
        std::thread stopper([&stream] { stream.stop(); });
        EXPECT_FALSE(stream.get_for(60s).has_value());
        stopper.join();
        EXPECT_TRUE(stream.ended());
    }
}

/// Expects that no socket has the port.
void expect_free(std::uint16_t port) {
    const FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = recv::test::to_sockaddr({{recv::test::kLoopback}, port, {}});
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

TEST(SeveralReaders, OfAStreamThatStartsOnceAreClosedAtItsEnd) {
    enum class End : std::uint8_t { stop, stop_item, stop_before_start };
    for (const End end : {End::stop, End::stop_item, End::stop_before_start}) {
        for (const bool added : {false, true}) {
            std::uint16_t port = 0;
            FileDescriptor socket = bound(AF_INET, port);
            RecvConfig c = lazy_stream();
            c.once = true;
            c.stop_on_stop_item = true;
            c.start = end != End::stop_before_start;
            RecvStream stream(c, added ? Reader::none() : Reader::socket(socket.get()));
            if (added)
                stream.add_reader(Reader::socket(socket.get()));
            socket = FileDescriptor();
            if (end == End::stop_item) {
                const recv::test::UdpSender sender({{recv::test::kLoopback}, port, {}});
                sender.send(recv::test::stop_datagram(9));
            } else {
                stream.stop();
            }
            EXPECT_FALSE(stream.get_for(60s));
            EXPECT_TRUE(stream.ended());
            expect_free(port);
            expect_passing_error([&] { stream.start(); }, {"starts once"});
            // One that comes too late is closed, too.
            FileDescriptor late = bound(AF_INET, port);
            stream.add_reader(Reader::socket(late.get()));
            late = FileDescriptor();
            expect_free(port);
        }
    }
}

TEST(SeveralReaders, RefuseAMixtureWithEndpoints) {
    RecvStream stream(lazy_stream(), Reader::none());
    expect_usage_error([&] { stream.add_reader(Reader::sockets()); }, {"another stream"});
    expect_passing_error([] { static_cast<void>(Reader::socket(-1)); }, {"-1"});
    expect_passing_error([&] { stream.add_reader(Reader::socket(0)); }, {"no UDP socket"});
    expect_passing_error([&] { stream.add_reader(Reader::pcap_packets("/nowhere")); }, {"/nowhere"});
}

TEST(UserSocket, ReceivesWhateverComesToItOverBothFamilies) {
    for (const int family : {AF_INET, AF_INET6}) {
        std::uint16_t port = 0;
        FileDescriptor socket = bound(family, port);
        if (!socket)
            continue;  // without IPv6
        RecvStream stream(lazy_stream(), Reader::socket(socket.get(), 2000));
        socket = FileDescriptor();
        const FileDescriptor sender(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_addr = in6addr_loopback;
        v6.sin6_port = htons(port);
        const sockaddr_in v4 = recv::test::to_sockaddr({{recv::test::kLoopback}, port, {}});
        const auto send = [&](const Bytes& d) {
            const bool six = family == AF_INET6;
            EXPECT_EQ(::sendto(sender.get(), d.data(), d.size(), 0,
                               six ? reinterpret_cast<const sockaddr*>(&v6)
                                   : reinterpret_cast<const sockaddr*>(&v4),
                               six ? sizeof v6 : sizeof v4),
                      static_cast<ssize_t>(d.size()));
        };
        send(Bytes(2500));
        for (const Bytes& d : MadeHeap{.cnt = 7, .length = 1000}.datagrams())
            send(d);
        EXPECT_EQ(next_cnt(stream), 7U);
        EXPECT_EQ(stream.stats().packets_rejected, 1U) << "the longer one";
    }
}

PcapMatch at_port(std::uint16_t port, std::uint16_t source, std::uint16_t destination) {
    PcapMatch match;
    match.port = port;
    match.source_port = source;
    match.destination_port = destination;
    return match;
}

PcapMatch at_host(const char* host) {
    PcapMatch match;
    match.host = host;
    return match;
}

TEST(PcapPackets, TakesWhatMatchesWhereverItWasSent) {
    recv::test::Way other;
    other.port = 7150;
    const ScratchDirectory directory;
    const std::string path = directory.file("in.pcap");
    {
        PcapWriter writer(path);
        for (const Bytes& d : MadeHeap{.cnt = 1, .length = 1000}.datagrams())
            writer.record(frame(d));
        for (const Bytes& d : MadeHeap{.cnt = 2, .length = 1000}.datagrams())
            writer.record(frame(d, other));
        writer.record(Bytes(60));
    }
    const auto counts = [&](const PcapMatch& match) {
        RecvStream stream(lazy_stream(), Reader::pcap_packets(path, match));
        std::vector<std::uint64_t> all;
        for (const Heap& heap : stream)
            all.push_back(heap.cnt());
        return all;
    };
    using Counts = std::vector<std::uint64_t>;
    EXPECT_EQ(counts({}), (Counts{1, 2}));
    EXPECT_EQ(counts(at_port(7150, 0, 0)), (Counts{2}));
    EXPECT_EQ(counts(at_port(0, 0, 7150)), (Counts{2}));
    EXPECT_EQ(counts(at_port(0, 7150, 0)), Counts{});
    EXPECT_EQ(counts(at_host("1.2.3.4")), Counts{});
    expect_usage_error([] { static_cast<void>(Reader::pcap_packets("x", at_host("a"))); }, {"a"});
}

TEST(StreamCounts, TellBurstsWaitsAndHowHeapsEnded) {
    const std::vector<Bytes> datagrams = many_datagrams(20);
    Bytes packets;
    for (std::size_t i = 0; i < datagrams.size(); i++)
        if (i != 0)  // heap 1 lacks its first packet
            packets.insert(packets.end(), datagrams[i].begin(), datagrams[i].end());
    RecvConfig c = lazy_stream();
    c.queue_depth = 2;
    RecvStream stream(c, Reader::buffer(bytes_in(packets)));
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (stream.stats().blocked == 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    EXPECT_GE(stream.stats().heaps_waiting, 2U);
    for (const Heap& heap : stream)
        EXPECT_NE(heap.cnt(), 0U);
    const RecvStats s = stream.stats();
    EXPECT_GE(s.blocked, 1U);
    EXPECT_GE(s.bursts, 1U);
    EXPECT_GE(s.largest_burst, 2U);
    EXPECT_EQ(s.heaps, 19U);
    EXPECT_EQ(s.heaps_evicted + s.heaps_flushed, 1U);
    EXPECT_EQ(s.heaps_incomplete, 1U);
}

TEST(Queue, IsBoundedByBytesAndTakesOneAnyway) {
    InprocQueue queue(100, 1000);
    EXPECT_TRUE(queue.push_for(bytes_in(Bytes(2000)), 0ns));
    EXPECT_FALSE(queue.push_for(bytes_in(Bytes(1)), 0ns));
    EXPECT_EQ(queue.size(), 1U);
}

class SizedOnly : public PacketFilter {
  public:
    bool keep(const Packet& packet) noexcept override { return packet.heap_length().has_value(); }
};

TEST(Filter, SeesWhetherAPacketTellsTheLengthOfItsHeap) {
    Bytes packets;
    for (const Bytes& d : MadeHeap{.cnt = 1, .length = 1000}.datagrams())
        packets.insert(packets.end(), d.begin(), d.end());
    RecvConfig c = lazy_stream();
    c.packet_filter = [] { return std::make_unique<SizedOnly>(); };
    RecvStream stream(c, Reader::buffer(bytes_in(packets)));
    EXPECT_EQ(next_cnt(stream), 1U);
    EXPECT_EQ(stream.stats().packets_filtered, 0U);
}

}  // namespace
}  // namespace spead::test
