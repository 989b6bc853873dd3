// SPDX-License-Identifier: BSD-3-Clause
#include "send/packetiser.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "send/outgoing_heap.hpp"
#include "tests/unit/send/golden_packets.hpp"
#include "tests/unit/send/support.hpp"

namespace spead::send {
namespace {

using test::Bytes;
using test::hex;
using test::packets_of;

std::span<const std::byte> view(const Bytes& bytes) {
    return std::as_bytes(std::span(bytes));
}

TEST(Packetiser, MakesTheGoldenBytesOfAnEmptyHeap) {
    OutgoingHeap heap;
    const auto packets = packets_of(heap.layout(1472, nullptr), 1);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(
        hex(packets[0]),
        "53040305000000058000010000000001800002000000000180000300000000008000040000000001000000000000000000");
}

TEST(Packetiser, MakesTheGoldenBytesOfAStopHeap) {
    OutgoingHeap heap;
    heap.add_stop();
    const auto packets = packets_of(heap.layout(1472, nullptr), 1);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(
        hex(packets[0]),
        "530403050000000680000100000000018000020000000001800003000000000080000400000000018000060000000002"
        "000000000000000000");
}

TEST(Packetiser, MakesTheGoldenBytesOfAStartHeap) {
    OutgoingHeap heap{wire::Flavour(48)};
    heap.add_start();
    const auto packets = packets_of(heap.layout(1472, nullptr), 1);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(
        hex(packets[0]),
        "530402060000000680010000000000018002000000000001800300000000000080040000000000018006000000000000"
        "000000000000000000");
}

/// Builds the heap of a golden case; `memory` keeps the bytes its items refer to.
void fill(OutgoingHeap& heap, const char* items, std::deque<Bytes>& memory) {
    std::istringstream words(items);
    for (std::string word; words >> word;) {
        if (word == "start" || word == "stop") {
            word == "start" ? heap.add_start() : heap.add_stop();
            continue;
        }
        const std::size_t mark = word.find_first_of("=@?");
        const std::uint64_t id = std::stoull(word.substr(0, mark), nullptr, 16);
        const std::string rest = word.substr(mark + 1);
        if (word[mark] == '=') {
            heap.add_immediate(id, std::stoull(rest, nullptr, 16));
            continue;
        }
        const std::size_t plus = rest.find('+');
        const auto seed = static_cast<std::uint32_t>(std::stoul(rest.substr(0, plus)));
        Bytes bytes(std::stoul(rest.substr(plus + 1)));
        for (std::uint32_t i = 0; i < bytes.size(); ++i)
            bytes[i] = golden::pattern(seed, i);
        memory.push_back(std::move(bytes));
        heap.add_item(id, view(memory.back()), word[mark] == '?');
    }
}

TEST(Packetiser, MakesTheSamePacketsAsTheReferenceImplementation) {
    ASSERT_GE(golden::kCases.size(), 20U);
    for (const golden::Case& c : golden::kCases) {
        SCOPED_TRACE(testing::Message() << "64-" << c.address_bits << ", " << c.max_packet_size
                                        << " bytes: \"" << c.items << "\"");
        std::deque<Bytes> memory;
        OutgoingHeap heap{wire::Flavour(c.address_bits)};
        fill(heap, c.items, memory);
        heap.set_repeat_pointers(c.repeat_pointers);
        std::vector<std::string> made;
        for (const Bytes& packet : packets_of(heap.layout(c.max_packet_size, nullptr), c.cnt))
            made.push_back(hex(packet));
        EXPECT_EQ(made, c.packets);
    }
}

// A second packetiser, written from the protocol notes in another way. It first lays out the whole heap as
// one string of payload and one list of pointers. Then it deals them out.

struct ModelItem {
    std::uint64_t id;
    std::optional<std::uint64_t> immediate;
    Bytes value;
};

void append_be(Bytes& out, std::uint64_t v, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;)
        out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}

std::vector<Bytes> model(const std::vector<ModelItem>& items, unsigned address_bits, std::size_t max_packet,
                         std::uint64_t cnt, bool repeat) {
    const std::uint64_t one = 1;
    const auto pointer = [&](bool immediate, std::uint64_t id, std::uint64_t value) {
        return (immediate ? one << 63 : 0) | id << address_bits | value;
    };
    const std::size_t room = max_packet / 8 * 8;
    const std::size_t most = (room - 48) / 8;
    Bytes payload;
    std::vector<std::uint64_t> pointers;
    for (const ModelItem& item : items) {
        if (item.immediate) {
            pointers.push_back(pointer(true, item.id, *item.immediate));
        } else {
            pointers.push_back(pointer(false, item.id, payload.size()));
            payload.insert(payload.end(), item.value.begin(), item.value.end());
        }
    }
    const std::size_t item_packets = items.size() / most + 1;
    if (payload.size() < (item_packets - 1) * 8 + 1) {
        pointers.push_back(pointer(false, 0, payload.size()));
        payload.resize((item_packets - 1) * 8 + 1);
    }
    std::vector<Bytes> packets;
    std::size_t next_pointer = 0;
    for (std::size_t at = 0; at < payload.size();) {
        std::vector<std::uint64_t> here;
        if (repeat) {
            here = pointers;
        } else {
            while (next_pointer < pointers.size() && here.size() < most)
                here.push_back(pointers[next_pointer++]);
        }
        const std::size_t length = std::min(payload.size() - at, room - 40 - 8 * here.size());
        Bytes packet{0x53,
                     4,
                     static_cast<std::uint8_t>(8 - address_bits / 8),
                     static_cast<std::uint8_t>(address_bits / 8),
                     0,
                     0};
        append_be(packet, 4 + here.size(), 2);
        append_be(packet, pointer(true, 1, cnt), 8);
        append_be(packet, pointer(true, 2, payload.size()), 8);
        append_be(packet, pointer(true, 3, at), 8);
        append_be(packet, pointer(true, 4, length), 8);
        for (const std::uint64_t p : here)
            append_be(packet, p, 8);
        packet.insert(packet.end(), payload.begin() + static_cast<std::ptrdiff_t>(at),
                      payload.begin() + static_cast<std::ptrdiff_t>(at + length));
        packets.push_back(std::move(packet));
        at += length;
    }
    EXPECT_EQ(repeat ? pointers.size() : next_pointer, pointers.size());
    return packets;
}

struct RandomHeap {
    std::vector<ModelItem> items;
    unsigned address_bits = 40;
    std::size_t max_packet = 1472;
    std::uint64_t cnt = 1;
    bool repeat = false;
};

class PacketiserProperty : public testing::Test {
  protected:
    std::mt19937_64 random{20};

    std::uint64_t below(std::uint64_t n) { return random() % n; }

    RandomHeap any() {
        RandomHeap h;
        h.address_bits = 8 * (1 + static_cast<unsigned>(below(7)));
        const std::uint64_t mask = (std::uint64_t{1} << h.address_bits) - 1;
        h.max_packet = below(3) == 0 ? 56 + below(60) : 56 + below(9200 - 55);
        h.cnt = random() & mask;
        const std::size_t most = (h.max_packet / 8 * 8 - 48) / 8;
        // Often near a multiple of what fits a packet.
        std::size_t n = below(2) == 0 || most > 300 ? below(12) : most * below(4) + below(4);
        h.repeat = below(4) == 0;
        if (h.repeat)
            n = std::min(n, most - 1);
        const bool tiny = below(3) == 0;
        std::size_t total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            ModelItem item{5 + below((std::uint64_t{1} << (63 - h.address_bits)) - 5), {}, {}};
            if (below(tiny ? 8 : 3) != 0) {
                item.immediate = random() & mask;
            } else {
                std::size_t length = below(tiny || n > 30 ? 4 : 3000);
                if (total + length + n * 8 + 9 > mask)
                    length = 0;
                total += length;
                item.value.resize(length);
                for (std::uint8_t& b : item.value)
                    b = static_cast<std::uint8_t>(random());
            }
            h.items.push_back(std::move(item));
        }
        return h;
    }

    /// Returns whether the heap can be sent. With a flavour of 8 address bits even the padding may not fit.
    static bool can_be_sent(const RandomHeap& h) {
        const std::size_t most = (h.max_packet / 8 * 8 - 48) / 8;
        return h.items.size() / most * 8 + 1 <= (std::uint64_t{1} << h.address_bits) - 1;
    }

    static void fill(OutgoingHeap& heap, const RandomHeap& h) {
        for (const ModelItem& item : h.items) {
            if (item.immediate)
                heap.add_immediate(item.id, *item.immediate);
            else
                heap.add_item(item.id, view(item.value));
        }
        heap.set_repeat_pointers(h.repeat);
    }
};

TEST_F(PacketiserProperty, AgreesWithTheModelOnRandomHeaps) {
    for (int round = 0; round < 10000; ++round) {
        const RandomHeap h = any();
        if (!can_be_sent(h))
            continue;
        SCOPED_TRACE(testing::Message()
                     << "round " << round << ": " << h.items.size() << " items, packets of " << h.max_packet
                     << ", 64-" << h.address_bits << (h.repeat ? ", repeated" : ""));
        OutgoingHeap heap{wire::Flavour(h.address_bits)};
        fill(heap, h);
        const HeapLayout& layout = heap.layout(h.max_packet, nullptr);
        const auto made = packets_of(layout, h.cnt);
        const auto expected = model(h.items, h.address_bits, h.max_packet, h.cnt, h.repeat);
        ASSERT_EQ(layout.packets, expected.size()) << "the count made without walking is wrong";
        ASSERT_EQ(made, expected);
        for (const Bytes& packet : made)
            ASSERT_LE(packet.size(), h.max_packet);
    }
}

/// Takes runs of random lengths where there are runs, as the sender does, and single packets in between.
TEST_F(PacketiserProperty, MakesTheSamePacketsInRuns) {
    std::uint64_t in_runs = 0;
    for (int round = 0; round < 5000; ++round) {
        const RandomHeap h = any();
        if (!can_be_sent(h))
            continue;
        OutgoingHeap heap{wire::Flavour(h.address_bits)};
        fill(heap, h);
        const HeapLayout& layout = heap.layout(h.max_packet, nullptr);
        const auto expected = packets_of(layout, h.cnt);
        std::vector<Bytes> made;
        Packetiser p;
        p.start(layout, h.cnt);
        Bytes header(p.run_header());
        p.write_header({0, p.run_payload(), p.run_header(), 0, p.run_pointers()}, header.data());
        while (!p.done()) {
            if (p.run().packets == 0 || below(5) == 0) {
                const auto packet = p.next();
                Bytes bytes(packet.header_length);
                p.write_header(packet, bytes.data());
                p.for_each_piece(packet, [&](const std::byte* data, std::uint32_t length, PieceKind) {
                    const auto* const from = reinterpret_cast<const std::uint8_t*>(data);
                    bytes.insert(bytes.end(), from, from + length);
                });
                made.push_back(std::move(bytes));
                p.advance(packet);
                continue;
            }
            const std::uint64_t n = 1 + below(p.run().packets);
            for (std::uint64_t i = 0; i < n; ++i) {
                Bytes bytes = header;
                const std::uint64_t offset = p.offset() + i * p.run_payload();
                store_be64(bytes.data() + Packetiser::kOffsetAt,
                           layout.flavour.make_immediate(wire::item::kPayloadOffset, offset));
                const auto* const from =
                    reinterpret_cast<const std::uint8_t*>(p.run().data) + i * p.run_payload();
                bytes.insert(bytes.end(), from, from + p.run_payload());
                made.push_back(std::move(bytes));
            }
            in_runs += n;
            p.advance_run(n);
        }
        ASSERT_EQ(made, expected) << "round " << round;
    }
    EXPECT_GT(in_runs, 1000U) << "the heaps hardly had runs: the test tests nothing";
}

/// Tests more pointers than a packet holds, with less payload than their packets need. The padding must
/// follow the real bytes in the heap, wherever packets are cut.
TEST(Packetiser, PadsAfterTheRealPayloadWhenPointersTakeSeveralPackets) {
    Bytes data(9);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(0xA0 + i);
    OutgoingHeap heap;
    heap.add_item(0x2000, view(data));
    for (std::uint64_t i = 0; i < 117; ++i)
        heap.add_immediate(0x1000 + i, i);
    const auto packets = packets_of(heap.layout(512, nullptr), 2);
    ASSERT_EQ(packets.size(), 3U);
    Bytes payload;
    for (const Bytes& packet : packets) {
        const std::size_t header = 8 + 8 * static_cast<std::size_t>(load_be16(packet.data() + 6));
        EXPECT_EQ(load_be64(packet.data() + 24) & 0xFFFFFFFFFF, payload.size()) << "PAYLOAD_OFFSET";
        payload.insert(payload.end(), packet.begin() + static_cast<std::ptrdiff_t>(header), packet.end());
    }
    Bytes expected = data;
    expected.resize(17);
    EXPECT_EQ(payload, expected);
}

}  // namespace
}  // namespace spead::send
