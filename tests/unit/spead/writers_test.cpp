// SPDX-License-Identifier: BSD-3-Clause
#include "spead/writers.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "tests/support/refusal.hpp"
#include "tests/support/udp_sender.hpp"

/// Tests senders without EAL, in a process that never starts EAL.
namespace spead::test {
namespace {

using namespace std::chrono_literals;

using Packets = std::vector<std::vector<std::byte>>;

std::vector<std::byte> joined(const Packets& packets) {
    std::vector<std::byte> all;
    for (const std::vector<std::byte>& p : packets)
        all.insert(all.end(), p.begin(), p.end());
    return all;
}

std::vector<std::byte> some_bytes(std::size_t n, unsigned seed = 1) {
    std::vector<std::byte> bytes(n);
    for (std::size_t i = 0; i < n; i++)
        bytes[i] = static_cast<std::byte>((i + seed) * 2654435761U >> 16);
    return bytes;
}

SendHeap heap_of(const std::vector<std::byte>& bytes) {
    SendHeap heap;
    heap.add(0x1000, std::span(bytes));
    return heap;
}

/// Sends more than the socket of loopback holds only as fast as it is read.
SendConfig to_memory() {
    SendConfig c;
    c.max_packet_size = 1000;
    return c;
}

TEST(LocalSend, MakesThePacketsOfAHeap) {
    const std::vector<std::byte> bytes = some_bytes(10'000);
    SendHeap heap = heap_of(bytes);
    const std::vector<std::byte> wanted = joined(heap.packets(7, 1000));
    const PacketBytes memory;
    SendStream stream(to_memory(), Writer::memory(memory));
    std::vector<SendResult> results;
    stream.async_send(heap, [&results](const SendResult& r) { results.push_back(r); }, {.cnt = 7});
    stream.wait_for(heap);
    EXPECT_EQ(memory.bytes(), wanted);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].status, SendStatus::sent);
    EXPECT_EQ(results[0].cnt, 7U);
    EXPECT_EQ(results[0].bytes, wanted.size());
    const SendStats s = stream.stats();
    EXPECT_EQ(s.heaps, 1U);
    EXPECT_EQ(s.packets, 11U);
    EXPECT_EQ(s.bytes, wanted.size());
    EXPECT_EQ(s.packets_dropped, 0U);
    EXPECT_EQ(rte_get_tsc_hz(), 0U) << "EAL was started";
}

TEST(LocalSend, EndsWithoutWaiting) {
    PacketBytes memory;
    SendConfig c = to_memory();
    c.max_heaps = 1;
    const std::vector<std::byte> bytes = some_bytes(2 * c.burst_size);
    SendHeap heap = heap_of(bytes);
    SendStream stream(c, Writer::memory(memory));
    std::vector<SendResult> results;
    const auto done = [&results](const SendResult& r) { results.push_back(r); };
    ASSERT_TRUE(stream.try_send(heap, {.rate = 1}));  // waits for most of a day after its first burst
    EXPECT_FALSE(stream.try_end(0, done));
    EXPECT_TRUE(results.empty());
    stream.stop();
    stream.flush();

    SendStream other(c, Writer::memory(memory));
    ASSERT_TRUE(other.try_end(0, done));
    other.flush();
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].status, SendStatus::sent);
    EXPECT_EQ(other.stats().heaps, 0U);
    EXPECT_EQ(other.stats().packets, 1U);
    EXPECT_THROW(other.try_end(7, done), Error);
    other.stop();
    EXPECT_THROW(other.try_end(0, done), Error);
}

TEST(LocalSend, CountsItsHeapsInTheSequence) {
    const std::vector<std::byte> bytes = some_bytes(100);
    SendHeap heap = heap_of(bytes);
    std::vector<std::byte> wanted;
    for (const std::uint64_t cnt : {5U, 8U, 77U, 11U, 100U, 90U}) {
        const std::vector<std::byte> packets = joined(heap.packets(cnt, 1000));
        wanted.insert(wanted.end(), packets.begin(), packets.end());
    }
    PacketBytes memory;
    SendConfig c = to_memory();
    c.first_cnt = 5;
    c.cnt_step = 3;
    SendStream stream(c, Writer::memory(memory));
    const auto send = [&](std::optional<std::uint64_t> cnt) {
        stream.send(heap, {.cnt = cnt});
        stream.wait_for(heap);
    };
    send({});
    send({});
    send(77);
    send({});
    stream.set_cnt_sequence(100, static_cast<std::uint64_t>(-10));
    send({});
    send({});
    EXPECT_EQ(memory.take(), wanted);
    EXPECT_EQ(memory.size(), 0U);
}

TEST(LocalSend, SendsGroupsInTurnOrOneAfterTheOther) {
    const std::vector<std::byte> bytes = some_bytes(3000);
    SendHeap small = heap_of(some_bytes(1)), one = heap_of(bytes), two = heap_of(bytes);
    const std::vector<std::byte> few = some_bytes(10);
    small.set_bytes(0, few);
    const Packets a = one.packets(1, 1000), b = small.packets(2, 1000), c = two.packets(3, 1000);
    ASSERT_EQ(a.size(), 4U);
    for (const GroupMode mode : {GroupMode::serial, GroupMode::round_robin}) {
        const Packets wanted = mode == GroupMode::serial
                                   ? Packets{a[0], a[1], a[2], a[3], b[0], c[0], c[1], c[2], c[3]}
                                   : Packets{a[0], b[0], c[0], a[1], c[1], a[2], c[2], a[3], c[3]};
        const PacketBytes memory;
        SendStream stream(to_memory(), Writer::memory(memory));
        const std::array<GroupHeap, 3> group{{{one}, {small}, {two}}};
        std::vector<SendStatus> results;
        stream.async_send_heaps(group, mode, [&results](std::span<const SendResult> r) {
            for (const SendResult& result : r)
                results.push_back(result.status);
        });
        stream.flush();
        EXPECT_EQ(memory.bytes(), joined(wanted));
        EXPECT_EQ(results, std::vector<SendStatus>(3, SendStatus::sent));
    }
}

TEST(LocalSend, CopiesPacketsOfManyPieces) {
    const std::vector<std::byte> bytes = some_bytes(4000);
    SendHeap heap;
    for (std::size_t i = 0; i < 400; i++)
        heap.add(0x1000 + i, std::span(bytes).subspan(i * 10, 7));
    const PacketBytes memory;
    SendStream stream(to_memory(), Writer::memory(memory));
    stream.send(heap);
    stream.flush();
    EXPECT_EQ(memory.bytes(), joined(heap.packets(1, 1000)));
}

TEST(LocalSend, SendsHeapsThatAreEmptyIfTheyMayBe) {
    const PacketBytes memory;
    SendStream stream(to_memory(), Writer::memory(memory));
    SendHeap heap;
    expect_passing_error([&] { stream.send(heap); }, {"empty"});
    heap.may_be_empty(true);
    stream.send(heap);
    stream.flush();
    EXPECT_EQ(memory.size(), 49U);
}

TEST(LocalSend, ReachesAStreamThroughItsQueues) {
    const std::vector<InprocQueue> queues{InprocQueue(2), InprocQueue(2)};
    const std::vector<std::byte> bytes = some_bytes(100'000);
    SendHeap first = heap_of(bytes), second = heap_of(bytes);
    SendStream stream(to_memory(), Writer::queues(queues));
    EXPECT_EQ(stream.substreams(), 2U);
    RecvConfig c;
    c.memory = 4 << 20;
    c.stop_on_stop_item = true;
    RecvStream zero(c, Reader::queue(queues[0])), one(c, Reader::queue(queues[1]));
    stream.send(first);
    stream.send(second, {.substream = 1});
    for (RecvStream* const to : {&zero, &one}) {
        const std::optional<Heap> heap = to->get_for(60s);
        ASSERT_TRUE(heap);
        EXPECT_TRUE(std::ranges::equal(heap->payload(), bytes));
    }
    stream.end();
    EXPECT_EQ(zero.get_for(60s), std::nullopt);
    EXPECT_EQ(one.get_for(60s), std::nullopt);
    expect_passing_error([&] { stream.send(first, {.substream = 2}); }, {"substream 2"});
    InprocQueue ended = queues[0];
    ended.stop();
    stream.send(first);
    expect_passing_error([&] { stream.wait_for(first); }, {std::strerror(EPIPE)});
    EXPECT_EQ(stream.stats().heaps_refused, 1U);
    EXPECT_GE(stream.stats().packets_dropped, 1U);
}

/// Holds a socket of loopback that receives.
struct Receiving {
    explicit Receiving(int family = AF_INET) : fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        if (family == AF_INET6) {
            sockaddr_in6 six{};
            six.sin6_family = AF_INET6;
            six.sin6_addr = in6addr_loopback;
            std::memcpy(&address, &six, length = sizeof six);
        } else {
            const sockaddr_in four = recv::test::to_sockaddr({{recv::test::kLoopback}, 0, {}});
            std::memcpy(&address, &four, length = sizeof four);
        }
        bound = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0;
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length);
        const int size = 4 << 20;
        ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    std::vector<std::byte> destination() const {
        const auto* const at = reinterpret_cast<const std::byte*>(&address);
        return {at, at + length};
    }
    std::string text() const {
        sockaddr_in four{};
        std::memcpy(&four, &address, sizeof four);
        return (address.ss_family == AF_INET ? "127.0.0.1:" : "[::1]:") +
               std::to_string(ntohs(four.sin_port));
    }
    Packets take(std::size_t n) const {
        Packets all;
        while (all.size() < n) {
            pollfd p{fd.get(), POLLIN, 0};
            if (::poll(&p, 1, 20'000) != 1)
                break;
            std::vector<std::byte> packet(65536);
            packet.resize(static_cast<std::size_t>(::recv(fd.get(), packet.data(), packet.size(), 0)));
            all.push_back(std::move(packet));
        }
        return all;
    }

    FileDescriptor fd;
    sockaddr_storage address{};
    socklen_t length = 0;
    bool bound = false;
};

TEST(LocalSend, SendsThroughASocketOfTheKernel) {
    const Receiving zero, one;
    const std::vector<std::byte> bytes = some_bytes(20'000);
    SendHeap heap = heap_of(bytes);
    SendConfig c = to_memory();
    c.endpoints = {zero.text(), one.text()};
    c.interface = "lo";
    SendStream stream(c);
    for (const Receiving* const to : {&zero, &one}) {
        stream.send(heap, {.substream = to == &one ? 1U : 0U, .cnt = 9});
        stream.wait_for(heap);
        const Packets wanted = heap.packets(9, 1000);
        EXPECT_EQ(to->take(wanted.size()), wanted);
    }
    stream.set_ttl(3);
    stream.set_rate(1e9);
    expect_usage_error([&] { stream.set_rate(-1); }, {"rate"});
}

TEST(LocalSend, SendsThroughASocketOfTheUser) {
    for (const int family : {AF_INET, AF_INET6}) {
        const Receiving to(family);
        if (!to.bound)
            continue;  // no IPv6 here
        FileDescriptor fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const Writer writer = Writer::socket(fd.get(), {to.destination()});
        fd = {};
        const std::vector<std::byte> bytes = some_bytes(5000);
        SendHeap heap = heap_of(bytes);
        SendStream stream(to_memory(), writer);
        stream.send(heap);
        stream.flush();
        const Packets wanted = heap.packets(1, 1000);
        EXPECT_EQ(to.take(wanted.size()), wanted);
    }
}

TEST(LocalSend, MakesPacketsForAnMtuOf1500) {
    for (const int family : {AF_INET, AF_INET6}) {
        const Receiving to(family);
        if (!to.bound)
            continue;  // no IPv6 here
        const std::size_t size = family == AF_INET ? 1472 : 1452;
        const std::vector<std::byte> bytes = some_bytes(5000);
        SendHeap heap = heap_of(bytes);
        const Packets wanted = heap.packets(1, size);
        const FileDescriptor fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        SendStream by_socket({}, Writer::socket(fd.get(), {to.destination()}));
        by_socket.send(heap);
        by_socket.flush();
        EXPECT_EQ(to.take(wanted.size()), wanted);
        SendConfig c;
        c.endpoints = {to.text()};
        SendStream by_endpoint(c);
        by_endpoint.send(heap, {.cnt = 1});
        by_endpoint.flush();
        EXPECT_EQ(to.take(wanted.size()), wanted);
    }
}

TEST(LocalSend, TellsWhatTheKernelRefuses) {
    // IPv4 carries no such packet in one piece, and this socket may not cut it.
    const Receiving to;
    const FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int never = IP_PMTUDISC_DO;
    ASSERT_EQ(::setsockopt(fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, &never, sizeof never), 0);
    SendConfig c;
    c.max_packet_size = 65507;
    SendStream stream(c, Writer::socket(fd.get(), {to.destination()}));
    const std::vector<std::byte> bytes = some_bytes(200'000);
    SendHeap heap = heap_of(bytes);
    std::future<SendResult> result = stream.async_send(heap);
    stream.flush();
    // The MTU of loopback is 65536 or less.
    const SendResult r = result.get();
    const SendStats s = stream.stats();
    if (r.status == SendStatus::sent) {
        EXPECT_EQ(s.packets, 4U);
        return;
    }
    EXPECT_EQ(r.status, SendStatus::refused);
    EXPECT_EQ(r.error, EMSGSIZE);
    EXPECT_EQ(s.heaps_refused, 1U);
    EXPECT_EQ(s.packets_dropped, 4U);
}

TEST(LocalSend, KeepsToTheRateAndGivesUpWhatIsLeft) {
    SendConfig c = to_memory();
    c.rate = 1;  // the first burst leaves at once
    c.max_heaps = 2;
    const std::vector<std::byte> bytes = some_bytes(1 << 20);
    SendHeap one = heap_of(bytes), two = heap_of(bytes), three = heap_of(bytes);
    const PacketBytes memory;
    SendStream stream(c, Writer::memory(memory));
    std::future<SendResult> first = stream.async_send(one);
    std::future<SendResult> second = stream.async_send(two);
    EXPECT_FALSE(stream.try_send(three));
    EXPECT_EQ(stream.in_flight(), 2U);
    EXPECT_TRUE(one.in_flight());
    expect_passing_error([&] { one.add_immediate(0x1001, 1); }, {"in flight"});
    stream.stop();
    stream.flush();
    EXPECT_EQ(first.get().status, SendStatus::aborted);
    EXPECT_EQ(second.get().status, SendStatus::aborted);
    expect_passing_error([&] { stream.send(three); }, {"stopped"});
    const SendStats s = stream.stats();
    EXPECT_EQ(s.heaps_aborted, 2U);
    EXPECT_EQ(s.bytes, memory.size());
    EXPECT_LT(memory.size(), 100'000U);
}

TEST(LocalSend, ChangesTheRateOfAWaitThatRuns) {
    SendConfig c = to_memory();
    c.rate = 1;
    const std::vector<std::byte> bytes = some_bytes(1 << 20);
    SendHeap heap = heap_of(bytes);
    const PacketBytes memory;
    SendStream stream(c, Writer::memory(memory));
    pollfd p{stream.fd(), POLLIN, 0};
    stream.send(heap);
    stream.set_rate(0);
    EXPECT_EQ(::poll(&p, 1, 60'000), 1);
    EXPECT_EQ(stream.poll(), 1U);
    EXPECT_EQ(memory.bytes(), joined(heap.packets(1, 1000)));
}

TEST(LocalSend, TimesOut) {
    SendConfig c = to_memory();
    c.rate = 1;
    c.timeout = 1ms;
    const std::vector<std::byte> bytes = some_bytes(1 << 20);
    SendHeap one = heap_of(bytes), two = heap_of(bytes);
    const PacketBytes memory;
    SendStream stream(c, Writer::memory(memory));
    for (int i = 0; i < 20; i++) {
        std::future<SendResult> first = stream.async_send(one), second = stream.async_send(two);
        stream.flush();
        EXPECT_EQ(first.get().status, SendStatus::timed_out);
        EXPECT_EQ(second.get().status, SendStatus::timed_out);
    }
    EXPECT_EQ(stream.stats().heaps_timed_out, 40U);
}

TEST(LocalSend, RefusesWhatIsNone) {
    SendConfig c;
    expect_usage_error([&] { SendStream stream(c); }, {"endpoint"});
    c.endpoints = {"239.1.2.3:7148"};
    c.interface = "no-such-interface";
    expect_passing_error([&] { SendStream stream(c); }, {"no-such-interface"});
    c.interface = "lo";
    c.max_heaps = 0;
    expect_usage_error([&] { SendStream stream(c); }, {"max_heaps"});
    expect_usage_error([] { Writer::queues({}); }, {"no queue"});
    expect_usage_error([] { Writer::socket(0, {}); }, {"destination"});
    expect_passing_error([] { Writer::socket(-1, {}); }, {"descriptor -1"});
    c = {};
    expect_passing_error(
        [&] { SendStream stream(c, Writer::socket(STDIN_FILENO, {Receiving().destination()})); }, {"socket"});
}

TEST(LocalSend, IsItsParentsAfterAFork) {
    const std::vector<std::byte> bytes = some_bytes(1 << 20);
    SendConfig c = to_memory();
    c.rate = 1;
    const PacketBytes memory;
    auto stream = std::make_unique<SendStream>(c, Writer::memory(memory));
    SendHeap heap = heap_of(bytes);
    stream->send(heap);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused = !refusal([&] { stream->flush(); }).empty();
        stream.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    stream->stop();
}

}  // namespace
}  // namespace spead::test
