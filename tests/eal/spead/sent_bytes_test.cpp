// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/endpoint.hpp"
#include "capture/pcap_reader.hpp"
#include "tests/eal/spead/send_rig.hpp"
#include "tests/support/scratch_directory.hpp"

/// Tests the packets of the library's sending streams, as a port writes them into a capture file.
namespace spead::test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using SentBytesTest = SendTest;

/// Returns the packets of a capture file, from their IP header on.
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

/// Checks heaps with counts from 1 on that fill() made.
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

/// Asks again and again.
void wait_until(const std::function<bool(const stats::Snapshot&)>& so) {
    while (!so(snapshot()))
        std::this_thread::yield();
}

TEST_F(SentBytesTest, HeapsFromRegisteredMemoryAreSentFromIt) {
    constexpr std::size_t kHeaps = 8;
    const ScratchDirectory directory;
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

TEST_F(SentBytesTest, MemoryThatIsNotRegisteredIsCopied) {
    const ScratchDirectory directory;
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

/// Returns the heap counts of a capture file's packets, in their order.
std::vector<std::uint64_t> counts_in(const std::string& file) {
    std::vector<std::uint64_t> counts;
    for (const std::string& packet : packets_in(file))
        counts.push_back(word_at(packet, 28 + 8) & 0xFFFF'FFFF'FFFF);
    return counts;
}

TEST_F(SentBytesTest, HeapsOfAGroupAreSentInTurnOrOneAfterTheOther) {
    const ScratchDirectory directory;
    const std::string file = directory.file("sent.pcap");
    SendStream stream(process, {.endpoints = {"239.1.2.3+1:7148"},
                                .interface = "net_pcap0,tx_pcap=" + file,
                                .max_packet_size = 1072,
                                .max_heaps = 3});
    // Of 1, 2 and 3 packets of 1000 bytes.
    std::vector<std::vector<std::byte>> payloads;
    std::vector<SendHeap> heaps(3);
    std::vector<GroupHeap> group;
    for (std::size_t i = 0; i < heaps.size(); i++) {
        payloads.emplace_back((i + 1) * 1000);
        heaps[i].add(0x1000, std::span<const std::byte>(payloads[i]));
        group.push_back({heaps[i], {.substream = static_cast<std::uint32_t>(i % 2)}});
    }
    const auto fill_all = [&](std::uint64_t first) {
        for (std::size_t i = 0; i < heaps.size(); i++)
            fill(payloads[i], first + i);
    };
    fill_all(1);
    stream.send_heaps(group, GroupMode::round_robin);
    stream.flush();
    fill_all(4);
    std::future<std::vector<SendResult>> last = stream.async_send_heaps(group, GroupMode::serial);
    EXPECT_TRUE(heaps[0].in_flight() && heaps[2].in_flight());
    stream.flush();
    EXPECT_THAT(last.get(), ElementsAre(Field(&SendResult::cnt, 4), Field(&SendResult::cnt, 5),
                                        Field(&SendResult::cnt, 6)));
    std::vector<std::uint64_t> counts;
    stream.async_send_heaps(std::span(group).first(2), GroupMode::serial, [&](auto results) {
        for (const SendResult& r : results)
            counts.push_back(r.cnt);
    });
    stream.flush();
    EXPECT_THAT(counts, ElementsAre(7, 8)) << "the function is called once";
    process.stop();

    EXPECT_THAT(counts_in(file), ElementsAre(1, 2, 3, 2, 3, 3, 4, 5, 5, 6, 6, 6, 7, 8, 8));
    const auto written = heaps_in(file);
    for (std::uint64_t cnt = 1; cnt <= 6; cnt++) {
        const std::string& payload = written.at(cnt);
        EXPECT_EQ(payload.size(), 1000 * ((cnt - 1) % 3 + 1)) << cnt;
        EXPECT_EQ(verify_check(std::as_bytes(std::span(payload)), verify_heap_start(cnt, payload.size() / 4)),
                  payload.size())
            << cnt;
    }
}

TEST_F(SentBytesTest, OfAGroupAllHeapsAreSentOrNone) {
    const ScratchDirectory directory;
    const std::string file = directory.file("sent.pcap");
    SendStream stream(process, {.endpoints = {"239.1.2.3:7148"},
                                .interface = "net_pcap0,tx_pcap=" + file,
                                .rate = 1000,
                                .max_heaps = 3});
    const std::vector<std::byte> payload(1000), large(1 << 20);
    std::vector<SendHeap> heaps(4);
    for (std::size_t i = 0; i < 3; i++)
        heaps[i].add(0x1000, std::span<const std::byte>(payload));
    const auto refused = [&](const std::vector<GroupHeap>& group) {
        const std::string words = refusal([&] { stream.send_heaps(group, GroupMode::round_robin); });
        EXPECT_EQ(stream.in_flight(), 0U) << words;
        for (const SendHeap& heap : heaps)
            EXPECT_FALSE(heap.in_flight()) << words;
        return words;
    };
    EXPECT_THAT(refused({}), HasSubstr("the group is empty"));
    EXPECT_THAT(refused({{heaps[0]}, {heaps[3]}}), HasSubstr("heap 1 of the group is empty"));
    EXPECT_THAT(refused({{heaps[0]}, {heaps[1]}, {heaps[0]}}), HasSubstr("twice"));
    EXPECT_THAT(refused({{heaps[0]}, {heaps[1], {.substream = 1}}}), HasSubstr("substream 1"));
    heaps[3].add(0x1000, std::span<const std::byte>(large));
    EXPECT_THAT(refused({{heaps[0]}, {heaps[1]}, {heaps[2]}, {heaps[3]}}), HasSubstr("max_heaps is 3"));

    // It takes hours at this rate, and there is room for two more.
    stream.send(heaps[3]);
    const std::vector<GroupHeap> three{{heaps[0]}, {heaps[1]}, {heaps[2]}};
    EXPECT_FALSE(stream.try_send_heaps(three, GroupMode::serial));
    EXPECT_EQ(stream.in_flight(), 1U);
    EXPECT_TRUE(stream.try_send_heaps(std::span(three).first(2), GroupMode::serial));
    EXPECT_THAT(refusal([&] { stream.send_heaps(three, GroupMode::serial); }), HasSubstr("in flight"));
    bool told = false;
    stream.stop();
    stream.flush();
    EXPECT_FALSE(heaps[0].in_flight());
    EXPECT_THAT(
        refusal([&] { stream.async_send_heaps(three, GroupMode::serial, [&](auto) { told = true; }); }),
        HasSubstr("stopped"));
    EXPECT_FALSE(told);
    EXPECT_EQ(stream.stats().heaps_aborted, 3U);
}

/// Replaces a type, as the program writes it, by the same one in the order of words of the library.
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

TEST_F(SentBytesTest, WritesTheBytesThatTheProgramWrites) {
    constexpr std::uint64_t kHeaps = 6;
    const ScratchDirectory directory;
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

TEST_F(SentBytesTest, MemoryComesAndGoesWhileAStreamSends) {
    const ScratchDirectory directory;
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

}  // namespace
}  // namespace spead::test
