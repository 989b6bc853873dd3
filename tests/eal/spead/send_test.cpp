// SPDX-License-Identifier: BSD-3-Clause
#include "spead/send.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/endpoint.hpp"
#include "base/verify_sequence.hpp"
#include "capture/pcap_reader.hpp"
#include "spead/session.hpp"
#include "stats/snapshot.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kHeapBytes = 20'000;

template <typename Function>
std::string refusal(Function&& function) {
    try {
        function();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

stats::Snapshot snapshot() {
    return door::Session::current()->on_engine([](runtime::Engine& engine) { return engine.snapshot(); });
}

/// Asks again and again.
void wait_until(const std::function<bool(const stats::Snapshot&)>& so) {
    while (!so(snapshot()))
        std::this_thread::yield();
}

void fill(std::span<std::byte> payload, std::uint64_t cnt) {
    verify_generate(payload, verify_heap_start(cnt, payload.size() / 4));
}

/// Packets of a capture file, from their IP header on.
std::vector<std::string> packets_in(const std::string& file) {
    std::vector<std::string> packets;
    capture::PcapReader reader(file, "test");
    capture::PcapReader::Record record;
    while (reader.next(record) == capture::PcapReader::Next::record)
        packets.emplace_back(reinterpret_cast<const char*>(record.data) + 14, record.length - 14);
    return packets;
}

std::uint64_t word_at(const std::string& bytes, std::size_t at) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; i++)
        word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
    return word;
}

/// Returns the payload of every heap of a capture file, by heap count; SPEAD-64-48.
std::map<std::uint64_t, std::string> heaps_in(const std::string& file) {
    constexpr std::size_t kIpUdp = 28, kMaxHeap = 1 << 20;
    std::map<std::uint64_t, std::string> heaps;
    for (const std::string& packet : packets_in(file)) {
        std::map<std::uint64_t, std::uint64_t> specials;
        const std::size_t pointers = word_at(packet, kIpUdp) & 0xFFFF;
        for (std::size_t i = 1; i <= pointers; i++) {
            const std::uint64_t raw = word_at(packet, kIpUdp + 8 * i);
            specials.emplace(raw >> 48 & 0x7FFF, raw & 0xFFFF'FFFF'FFFF);
        }
        std::string& heap = heaps[specials[1]];
        const std::size_t from = kIpUdp + 8 * (pointers + 1), offset = specials[3], length = specials[4];
        if (packet.size() < from + length || offset > kMaxHeap) {
            ADD_FAILURE() << "a packet of heap " << specials[1] << " is cut";
            continue;
        }
        heap.resize(std::max(heap.size(), offset + length));
        heap.replace(offset, length, packet, from, length);
    }
    return heaps;
}

/// Of heaps with counts from 1 on that fill() made.
void expect_whole(const std::map<std::uint64_t, std::string>& heaps, std::uint64_t count) {
    for (std::uint64_t cnt = 1; cnt <= count; cnt++) {
        ASSERT_TRUE(heaps.contains(cnt)) << cnt;
        const std::string& payload = heaps.at(cnt);
        EXPECT_EQ(payload.size(), kHeapBytes);
        EXPECT_EQ(verify_check(std::as_bytes(std::span(payload)), verify_heap_start(cnt, kHeapBytes / 4)),
                  kHeapBytes)
            << "heap " << cnt;
    }
}

/// Where packets go that nobody wants. The first 64 KiB of a heap leave at once, the rest at `rate`.
SendConfig to_nowhere(double rate, std::uint32_t max_heaps = 4) {
    SendConfig config;
    config.endpoints = {"239.1.2.3:7148"};
    config.interface = "net_null0";
    config.rate = rate;
    config.max_heaps = max_heaps;
    return config;
}

/// Takes hours at this rate.
constexpr double kHours = 100;
constexpr std::size_t kLong = 1 << 20;

class SendTest : public testing::Test {
  protected:
    Process process;
};

TEST_F(SendTest, HeapsFromRegisteredMemoryAreSentFromIt) {
    constexpr std::size_t kHeaps = 8;
    const test::ScratchDirectory directory;
    const std::string file = directory.file("sent.pcap");
    const Memory memory = Memory::huge(process, kHeaps * kHeapBytes);
    EXPECT_EQ(memory.bytes().size(), kHeaps * kHeapBytes);
    SendStream stream(process, {.endpoints = {"239.1.2.3:7148"},
                                .interface = "net_pcap0,tx_pcap=" + file,
                                .max_packet_size = 8192,
                                .max_heaps = kHeaps});
    EXPECT_EQ(stream.substreams(), 1U);
    std::vector<SendHeap> heaps(kHeaps);
    for (std::size_t i = 0; i < kHeaps; i++)
        heaps[i].add(0x1000, memory.bytes().subspan(i * kHeapBytes, kHeapBytes));
    for (std::uint64_t cnt = 1; cnt <= 100; cnt++) {
        SendHeap& heap = heaps[cnt % kHeaps];
        stream.wait_for(heap);
        fill(memory.bytes().subspan(cnt % kHeaps * kHeapBytes, kHeapBytes), cnt);
        stream.send(heap);
    }
    stream.flush();
    EXPECT_EQ(stream.in_flight(), 0U);
    stream.end();
    const stats::Snapshot now = snapshot();
    EXPECT_THAT(stats::broken_identities(now), IsEmpty());
    EXPECT_GT(now.sends[0].counters.zero_copy_packets, 200U);
    EXPECT_EQ(now.sends[0].counters.unregistered_packets, 0U);
    EXPECT_EQ(now.sends[0].control_heaps, 1U);
    const SendStats sent = stream.stats();
    EXPECT_EQ(sent.heaps, 100U);
    EXPECT_GE(sent.bytes, 100 * kHeapBytes);
    EXPECT_EQ(sent.heaps_aborted, 0U);
    process.stop();
    const auto written = heaps_in(file);
    EXPECT_EQ(written.size(), 101U) << "with the stop heap";
    expect_whole(written, 100);
}

TEST_F(SendTest, MemoryThatIsNotRegisteredIsCopied) {
    const test::ScratchDirectory directory;
    const std::string file = directory.file("sent.pcap");
    // At this rate the last packets of a heap leave some time after the first.
    SendStream stream(process, {.endpoints = {"239.1.2.3:7148"},
                                .interface = "net_pcap0,tx_pcap=" + file,
                                .rate = 4e6,
                                .burst_size = 8192});
    for (std::uint64_t cnt = 1; cnt <= 20; cnt++) {
        // Both are destroyed in flight, the heap first: it waits.
        std::vector<std::byte> payload(kHeapBytes);
        SendHeap heap;
        heap.add(0x1000, std::span<const std::byte>(payload));
        fill(payload, cnt);
        stream.send(heap);
    }
    EXPECT_GT(snapshot().sends[0].counters.unregistered_packets, 0U);
    process.stop();
    expect_whole(heaps_in(file), 20);
}

/// Both name the type in their own order of words, which have the same length.
void replace(std::vector<std::string>& packets, const std::string& from, const std::string& to) {
    ASSERT_EQ(from.size(), to.size());
    std::size_t found = 0;
    for (std::string& packet : packets)
        for (std::size_t at = packet.find(from); at != std::string::npos; at = packet.find(from)) {
            packet.replace(at, from.size(), to);
            found++;
        }
    EXPECT_EQ(found, 4U) << "two items, of the first heap to each endpoint";
}

TEST_F(SendTest, WritesTheBytesThatTheProgramWrites) {
    constexpr std::uint64_t kHeaps = 6;
    const test::ScratchDirectory directory;
    const std::string theirs = directory.file("program.pcap"), ours = directory.file("door.pcap");
    const std::vector<std::string> endpoints{"239.1.2.3+1:7148"};

    runtime::SendPlan plan;
    plan.endpoints = parse_endpoints(endpoints[0]);
    plan.endpoint_texts = endpoints;
    plan.heap_size = kHeapBytes;
    plan.items = 2;
    plan.heaps = kHeaps;
    plan.address_bits = 48;
    plan.verify = true;
    door::Session::current()->add(plan, "net_pcap0,tx_pcap=" + theirs, {});
    wait_until([](const stats::Snapshot& s) { return s.sends[0].control_heaps == 2; });

    SendStream stream(process, {.endpoints = endpoints, .interface = "net_pcap1,tx_pcap=" + ours});
    EXPECT_EQ(stream.substreams(), 2U);
    for (std::uint64_t i = 0; i < kHeaps; i++) {
        std::vector<std::byte> payload(kHeapBytes);
        fill(payload, i + 1);
        SendHeap heap;
        for (std::size_t item = 0; i < 2 && item < 2; item++)
            heap.add_descriptor({.id = 0x1000 + item,
                                 .name = fmt::format("Test item {}", item),
                                 .description = "A test item with arbitrary value",
                                 .shape = {kHeapBytes / 8},
                                 .dtype = ">u4"});
        const std::span<const std::byte> all = payload;
        heap.add(0x1000, all.first(kHeapBytes / 2));
        heap.add(0x1001, all.subspan(kHeapBytes / 2));
        stream.send(heap, {.substream = static_cast<std::uint32_t>(i % 2)});
        stream.wait_for(heap);
    }
    stream.end();
    process.stop();  // closes the files

    std::vector<std::string> expected = packets_in(theirs);
    replace(expected, "{'shape': (2500,), 'fortran_order': False, 'descr': '>u4'}",
            "{'descr': '>u4', 'fortran_order': False, 'shape': (2500,)}");
    const std::vector<std::string> sent = packets_in(ours);
    ASSERT_EQ(sent.size(), expected.size());
    EXPECT_GT(sent.size(), kHeaps * kHeapBytes / 1472);
    for (std::size_t i = 0; i < sent.size(); i++)
        EXPECT_EQ(sent[i], expected[i]) << "packet " << i;
}

TEST_F(SendTest, AHeapInFlightCannotBeChangedOrSentAgain) {
    SendStream stream(process, to_nowhere(kHours)), other(process, to_nowhere(0));
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    const std::size_t count = heap.add_immediate(0x1600, 1);
    const std::size_t data = heap.add(0x1000, std::span(payload));
    EXPECT_FALSE(heap.in_flight());
    stream.wait_for(heap);
    stream.send(heap);
    EXPECT_TRUE(heap.in_flight());
    EXPECT_THAT(refusal([&] { heap.set_immediate(count, 2); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { heap.set_bytes(data, payload); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { heap.add_stop(); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { heap.repeat_pointers(true); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { other.send(heap); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { other.wait_for(heap); }), HasSubstr("another stream"));
    stream.stop();
    EXPECT_THAT(refusal([&] { stream.wait_for(heap); }), HasSubstr("stopped"));
    EXPECT_FALSE(heap.in_flight());
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("stopped"));
    EXPECT_EQ(stream.stats().heaps_aborted, 1U);
    heap.set_immediate(count, 2);
    other.send(heap);
    other.wait_for(heap);
    EXPECT_EQ(other.stats().heaps, 1U);
}

TEST_F(SendTest, RefusesWhatCannotBeSent) {
    SendStream stream(process, to_nowhere(0));
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("empty"));
    heap.add(0x1000, std::span(payload));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.substream = 1}); }), HasSubstr("substream 1"));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.cnt = std::uint64_t{1} << 48}); }),
                HasSubstr("heap count"));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.rate = -1}); }), HasSubstr("rate"));
    EXPECT_EQ(stream.in_flight(), 0U);
    EXPECT_FALSE(heap.in_flight());
    stream.send(heap);
    stream.flush();
    SendConfig config = to_nowhere(0);
    config.ttl = 0;
    EXPECT_THAT(refusal([&] { SendStream(process, config); }), HasSubstr("ttl"));
    config = to_nowhere(0);
    config.endpoints = {"239.1.2.3"};
    EXPECT_NE(refusal([&] { SendStream(process, config); }), "");
    config.endpoints = {};
    EXPECT_NE(refusal([&] { SendStream(process, config); }), "");
    config = to_nowhere(0);
    config.dst_mac = "nobody";
    EXPECT_THAT(refusal([&] { SendStream(process, config); }), HasSubstr("nobody"));
    EXPECT_THAT(refusal([&] { SendStream(process, {.endpoints = {"239.1.1.1:1"}, .interface = "no-such"}); }),
                HasSubstr("no-such"));
}

TEST_F(SendTest, WaitsWhileAsManyAsAllowedAreInFlight) {
    SendStream stream(process, to_nowhere(kHours, 2));
    const std::vector<std::byte> payload(kLong);
    std::array<SendHeap, 3> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, std::span(payload));
    EXPECT_TRUE(stream.try_send(heaps[0]));
    EXPECT_TRUE(stream.try_send(heaps[1]));
    EXPECT_FALSE(stream.try_send(heaps[2]));
    EXPECT_FALSE(heaps[2].in_flight());
    EXPECT_EQ(stream.in_flight(), 2U);
    std::thread faster([&] { stream.set_rate(0); });
    stream.send(heaps[2]);
    faster.join();
    stream.flush();
    stream.set_ttl(9);
    EXPECT_EQ(stream.stats().heaps, 3U);
}

TEST_F(SendTest, CompletionsComeAsFuturesAndToFunctions) {
    SendStream stream(process, to_nowhere(0, 8));
    const std::vector<std::byte> payload(5000);
    std::array<SendHeap, 6> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, std::span(payload));
    std::future<SendResult> first = stream.async_send(heaps[0]);
    std::vector<std::uint64_t> counts;
    const std::thread::id self = std::this_thread::get_id();
    // A function may send the next one.
    std::size_t next = 2;
    std::function<void(const SendResult&)> done = [&](const SendResult& result) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(result.status, SendStatus::sent);
        counts.push_back(result.cnt);
        if (next < heaps.size())
            stream.async_send(heaps[next++], done);
    };
    stream.async_send(heaps[1], done);
    while (counts.size() < 5)
        stream.flush();
    EXPECT_THAT(counts, ElementsAre(2, 3, 4, 5, 6));
    EXPECT_EQ(first.get().cnt, 1U);
    // What a function throws reaches the caller, and the stream goes on.
    stream.async_send(heaps[0], [](const SendResult&) { throw Error("of the user"); });
    EXPECT_THAT(refusal([&] { stream.flush(); }), HasSubstr("of the user"));
    stream.send(heaps[0]);
    stream.flush();
}

TEST_F(SendTest, TheDescriptorBecomesReadableWithACompletion) {
    SendStream stream(process, to_nowhere(kHours));
    const int fd = stream.fd();
    const auto readable = [fd](int patience_ms) {
        pollfd p{fd, POLLIN, 0};
        return ::poll(&p, 1, patience_ms) == 1;
    };
    EXPECT_EQ(stream.poll(), 0U);
    EXPECT_FALSE(readable(0));
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.set_rate(kHours);
    stream.send(heap);
    EXPECT_EQ(stream.poll(), 0U);
    EXPECT_FALSE(readable(0));
    // From here on it may be readable early, for a completion that was taken before the lcore announced it.
    const auto wait = [&] {
        std::size_t taken = 0;
        while ((taken = stream.poll()) == 0)
            ASSERT_TRUE(readable(10'000));
        EXPECT_EQ(taken, 1U);
    };
    stream.set_rate(0);
    wait();
    for (int round = 0; round < 100; round++) {
        stream.send(heap);
        wait();
        // A wait in between takes nothing of it away.
        stream.send(heap);
        stream.flush();
    }
    stream.set_rate(kHours);
    stream.send(heap);
    stream.stop();
    wait();
}

TEST_F(SendTest, StoppedHeapsAreAborted) {
    SendStream stream(process, to_nowhere(kHours, 3));
    const std::vector<std::byte> payload(kLong);
    std::array<SendHeap, 3> heaps;
    std::vector<std::future<SendResult>> results;
    for (SendHeap& heap : heaps) {
        heap.add(0x1000, std::span(payload));
        results.push_back(stream.async_send(heap));
    }
    stream.stop();
    stream.flush();
    for (auto& result : results)
        EXPECT_EQ(result.get().status, SendStatus::aborted);
    EXPECT_THAT(refusal([&] { stream.end(); }), HasSubstr("stopped"));
}

TEST_F(SendTest, HeapsTimeOut) {
    SendConfig config = to_nowhere(kHours);
    config.timeout = std::chrono::milliseconds(20);
    SendStream stream(process, config);
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.send(heap);
    EXPECT_THAT(refusal([&] { stream.wait_for(heap); }), HasSubstr("time"));
}

TEST_F(SendTest, MemoryStaysRegisteredForHeapsInFlight) {
    std::vector<std::byte> buffer(kLong + 8192);
    auto* const base = buffer.data();
    SendStream stream(process, to_nowhere(kHours));
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(buffer).first(kLong));
    {
        const Memory memory(process, base, kLong);
        EXPECT_THAT(refusal([&] { Memory(process, base + 100, 100); }), HasSubstr("overlaps"));
        EXPECT_THAT(refusal([&] { Memory(process, base + kLong - 1, 100); }), HasSubstr("overlaps"));
        const Memory beside(process, base + kLong, 100);
        stream.send(heap);
    }
    EXPECT_THAT(refusal([&] { Memory(process, base, kLong); }), HasSubstr("registered already"))
        << "the heap in flight has it";
    stream.stop();
    EXPECT_TRUE(refusal([&] { stream.wait_for(heap); }).find("stopped") != std::string::npos);
    const Memory again(process, base, kLong);
    EXPECT_THAT(refusal([&] { Memory(process, nullptr, 10); }), HasSubstr("no range"));
    EXPECT_THAT(refusal([&] { Memory(process, base, 0); }), HasSubstr("no range"));
    EXPECT_THAT(refusal([&] { Memory::huge(process, 0); }), HasSubstr("0 bytes"));
    EXPECT_THAT(refusal([&] { Memory::huge(process, std::size_t{1} << 60); }), HasSubstr("ask for less"));
}

TEST_F(SendTest, MemoryComesAndGoesWhileAStreamSends) {
    const test::ScratchDirectory directory;
    const std::string file = directory.file("sent.pcap");
    SendStream stream(process, {.endpoints = {"239.1.2.3:7148"}, .interface = "net_pcap0,tx_pcap=" + file});
    std::vector<std::byte> buffer(kHeapBytes);
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(buffer));
    for (std::uint64_t cnt = 1; cnt <= 30; cnt++) {
        std::optional<Memory> memory;
        if (cnt % 3 != 0)
            memory.emplace(process, buffer.data(), buffer.size());
        fill(buffer, cnt);
        stream.send(heap);
        if (cnt % 5 == 0)
            memory.reset();  // the heap in flight keeps it
        stream.wait_for(heap);
    }
    const stats::SendCounters sent = snapshot().sends[0].counters;
    EXPECT_GT(sent.zero_copy_packets, 0U);
    EXPECT_GT(sent.unregistered_packets, 0U);
    process.stop();
    expect_whole(heaps_in(file), 30);
}

TEST_F(SendTest, TwoStreamsShareAPort) {
    SendStream first(process, to_nowhere(0)), second(process, to_nowhere(0));
    EXPECT_NE(first.name(), second.name());
    const std::vector<std::byte> payload(kHeapBytes);
    std::array<SendHeap, 2> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, std::span(payload));
    for (int i = 0; i < 50; i++) {
        first.wait_for(heaps[0]);
        first.send(heaps[0]);
        second.wait_for(heaps[1]);
        second.send(heaps[1]);
    }
    second.flush();
    EXPECT_EQ(second.stats().heaps, 50U);
    { const SendStream gone = std::move(second); }
    first.send(heaps[1]);
    first.flush();
    EXPECT_EQ(first.stats().heaps, 51U);
    EXPECT_EQ(snapshot().ports.size(), 1U);
}

TEST_F(SendTest, ASessionThatEndsReleasesAThreadThatWaits) {
    SendStream stream(process, to_nowhere(kHours, 1));
    const Memory memory = Memory::huge(process, kLong);
    std::array<SendHeap, 2> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, memory.as<const std::byte>());
    std::future<SendResult> result = stream.async_send(heaps[0]);
    std::thread ends([&] { process.stop(); });
    EXPECT_NE(refusal([&] { stream.send(heaps[1]); }), "");
    ends.join();
    stream.flush();
    EXPECT_EQ(result.get().status, SendStatus::aborted);
    EXPECT_THAT(refusal([&] { stream.send(heaps[1]); }), HasSubstr("ended"));
    EXPECT_THAT(refusal([&] { stream.end(); }), HasSubstr("ended"));
    EXPECT_NE(refusal([&] { stream.set_rate(1); }), "");
    EXPECT_NE(refusal([&] { stream.set_ttl(1); }), "");
    EXPECT_EQ(stream.stats().heaps_aborted, 1U);
    EXPECT_EQ(stream.poll(), 0U);
    EXPECT_NE(refusal([&] { SendStream(process, to_nowhere(0)); }), "");
    EXPECT_NE(refusal([&] { Memory::huge(process, 1); }), "");
    EXPECT_EQ(memory.bytes().size(), kLong);
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{1});
}

TEST_F(SendTest, HeapsAndMemoryOutliveTheirStreamAndSession) {
    std::optional<Memory> memory(Memory::huge(process, kLong));
    SendHeap heap;
    heap.add(0x1000, memory->as<const std::byte>());
    {
        SendStream stream(process, to_nowhere(0));
        stream.send(heap);
    }
    EXPECT_FALSE(heap.in_flight());
    process.stop();
    {
        const Process next;
        SendStream stream(next, to_nowhere(0));
        stream.send(heap);
        stream.wait_for(heap);
        EXPECT_GT(snapshot().sends[0].counters.unregistered_packets, 0U) << "of the former session's memory";
    }
    memory.reset();
}

/// Streams are made, used from threads of their own, and destroyed, while memory comes and goes.
TEST_F(SendTest, ManyThreadsSendAtOnce) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 5; round++) {
                const Memory memory = Memory::huge(process, kHeapBytes);
                SendStream stream(process, to_nowhere(0, 2));
                std::array<SendHeap, 3> heaps;
                for (SendHeap& heap : heaps)
                    heap.add(0x1000, memory.as<const std::byte>());
                for (int i = 0; i < 60; i++) {
                    SendHeap& heap = heaps[static_cast<std::size_t>(i) % heaps.size()];
                    stream.wait_for(heap);
                    stream.send(heap);
                }
                if (t == 0)
                    stream.stop();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_THAT(snapshot().sends, IsEmpty());
}

}  // namespace
}  // namespace spead
