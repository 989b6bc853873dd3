// SPDX-License-Identifier: BSD-3-Clause
#include "send/outgoing_heap.hpp"

#include <array>
#include <cstddef>
#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "wire/descriptor.hpp"

namespace spead::send {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::uint64_t> raw(const HeapLayout& layout) {
    std::vector<std::uint64_t> pointers;
    for (const std::uint64_t p : layout.pointers)
        pointers.push_back(byte_swap(p));
    return pointers;
}

class SendHeap : public testing::Test {
  protected:
    std::array<std::byte, 4096> memory{};
    memory::RegionTable regions;

    std::span<const std::byte> part(std::size_t at, std::size_t length) const {
        return std::span(memory).subspan(at, length);
    }
};

TEST_F(SendHeap, RefusesIdsOfTheProtocolAndIdsThatDoNotFit) {
    OutgoingHeap heap(wire::Flavour(48));
    for (std::uint64_t id = 0; id < 5; ++id)
        EXPECT_THAT(
            [&] { heap.add_item(id, part(0, 8)); },
            ThrowsMessage<Error>(HasSubstr("belongs to the protocol (0 to 4 do); give 0x5 or above")));
    EXPECT_THAT([&] { heap.add_immediate(2, 1); },
                ThrowsMessage<Error>(HasSubstr("belongs to the protocol (0 to 4 do); give 0x5 or above")));
    heap.add_item(0x7FFF, part(0, 8));
    EXPECT_THAT([&] { heap.add_item(0x8000, part(0, 8)); },
                ThrowsMessage<Error>(HasSubstr("the largest is 0x7fff")));
    EXPECT_EQ(heap.items(), 1U);
}

TEST_F(SendHeap, HasBytesThatBelongToNoItem) {
    OutgoingHeap heap;
    heap.add_padding(part(0, 8));
    heap.add_item(0x1000, part(8, 16));
    const HeapLayout& layout = heap.layout(1472, nullptr);
    EXPECT_EQ(layout.payload_length, 24U);
    EXPECT_EQ(raw(layout), (std::vector<std::uint64_t>{0, 0x0010000000000008U}));
    EXPECT_EQ(layout.pieces.size(), 1U) << "they lie side by side";
}

TEST_F(SendHeap, RefusesImmediatesThatDoNotFit) {
    OutgoingHeap heap(wire::Flavour(8));
    heap.add_immediate(0x1000, 255);
    EXPECT_THAT([&] { heap.add_immediate(0x1000, 256); },
                ThrowsMessage<Error>(HasSubstr("the largest is 0xff")));
    EXPECT_EQ(heap.items(), 1U);
}

TEST_F(SendHeap, ReadsAnImmediatesBytesAtEveryLayout) {
    OutgoingHeap heap;
    memory[0] = std::byte{0x12};
    memory[1] = std::byte{0x34};
    heap.add_item(0x1000, part(0, 2), true);
    EXPECT_EQ(raw(heap.layout(1472, nullptr)).at(0), 0x8010000000001234U);
    memory[1] = std::byte{0x99};
    EXPECT_EQ(raw(heap.layout(1472, nullptr)).at(0), 0x8010000000001299U);
}

TEST_F(SendHeap, KeepsItsLayoutUntilSomethingChanges) {
    OutgoingHeap heap;
    const auto item = heap.add_item(0x1000, part(0, 100));
    const auto number = heap.add_immediate(0x1001, 1);
    EXPECT_EQ(heap.layout(1472, nullptr).payload_length, 100U);
    heap.set_item(item, part(0, 200));
    heap.set_immediate(number, 7);
    const HeapLayout& layout = heap.layout(1472, nullptr);
    EXPECT_EQ(layout.payload_length, 200U);
    EXPECT_EQ(raw(layout).at(1), 0x8010010000000007U);
    heap.set_immediate(number, 8);
    EXPECT_EQ(raw(heap.layout(1472, nullptr)).at(1), 0x8010010000000008U);
    EXPECT_EQ(heap.layout(56, nullptr).packet_size, 56U);
}

TEST_F(SendHeap, RefusesHandlesOfAnotherKind) {
    OutgoingHeap heap;
    const auto item = heap.add_item(0x1000, part(0, 100));
    const auto number = heap.add_immediate(0x1001, 1);
    EXPECT_THROW(heap.set_item(number, part(0, 1)), Error);
    EXPECT_THROW(heap.set_immediate(item, 1), Error);
    EXPECT_THROW(heap.set_item(9, part(0, 1)), Error);
    EXPECT_THROW(heap.set_immediate(number, std::uint64_t{1} << 40), Error);
}

TEST_F(SendHeap, RefusesPacketsTooSmallForIt) {
    OutgoingHeap heap;
    for (std::uint64_t i = 0; i < 7; ++i)
        heap.add_immediate(0x1000 + i, i);
    EXPECT_THAT([&] { heap.layout(55, nullptr); }, ThrowsMessage<Error>(HasSubstr("too small: at least 56")));
    EXPECT_THAT([&] { heap.layout(65508, nullptr); }, ThrowsMessage<Error>(HasSubstr("too large")));
    EXPECT_EQ(heap.layout(56, nullptr).packets, 8U);
    heap.set_repeat_pointers(true);
    EXPECT_THAT([&] { heap.layout(104, nullptr); }, ThrowsMessage<Error>(HasSubstr("too small to repeat")));
    EXPECT_EQ(heap.layout(112, nullptr).packets, 1U);
}

TEST_F(SendHeap, RefusesAPayloadTheFlavourCannotSay) {
    OutgoingHeap heap(wire::Flavour(8));
    heap.add_item(0x1000, part(0, 255));
    EXPECT_EQ(heap.layout(1472, nullptr).payload_length, 255U);
    heap.add_item(0x1001, part(0, 1));
    EXPECT_THAT([&] { heap.layout(1472, nullptr); }, ThrowsMessage<Error>(HasSubstr("whose limit is 255")));
}

TEST_F(SendHeap, RefusesAHeapCountThatDoesNotFit) {
    OutgoingHeap heap(wire::Flavour(16));
    heap.set_cnt(0xFFFF);
    EXPECT_THROW(heap.set_cnt(0x10000), Error);
    EXPECT_EQ(heap.cnt(), 0xFFFFU);
}

TEST_F(SendHeap, JoinsItemsThatLieSideBySide) {
    OutgoingHeap heap;
    heap.add_item(0x1000, part(0, 100));
    heap.add_item(0x1001, part(100, 50));
    heap.add_item(0x1002, part(160, 40));
    const HeapLayout& layout = heap.layout(1472, nullptr);
    const std::vector<Piece> expected{{memory.data(), 150, PieceKind::unregistered},
                                      {memory.data() + 160, 40, PieceKind::unregistered}};
    EXPECT_EQ(layout.pieces, expected);
}

TEST_F(SendHeap, CutsPiecesWhereRegionsBeginAndEnd) {
    std::byte* const base = memory.data();
    regions.add({base + 100, 100, memory::MemoryKind::host, -1});
    regions.add({base + 200, 100, memory::MemoryKind::host, -1});
    regions.add({base + 400, 100, memory::MemoryKind::device, -1});
    OutgoingHeap heap;
    heap.add_item(0x1000, part(0, 450));
    const std::vector<Piece> expected{{base, 100, PieceKind::unregistered},
                                      {base + 100, 100, PieceKind::registered},
                                      {base + 200, 100, PieceKind::registered},
                                      {base + 300, 100, PieceKind::unregistered},
                                      {base + 400, 50, PieceKind::device}};
    EXPECT_EQ(heap.layout(1472, &regions).pieces, expected);
    EXPECT_TRUE(heap.layout(1472, &regions).has_device);
    EXPECT_TRUE(heap.layout(1472, &regions).has_unregistered);

    regions.remove(base + 400);
    EXPECT_FALSE(heap.layout(1472, &regions).has_device) << "the layout must follow the regions";
}

TEST_F(SendHeap, JoinsItemsAcrossCallsOnlyInsideOneRegion) {
    std::byte* const base = memory.data();
    regions.add({base, 100, memory::MemoryKind::host, -1});
    regions.add({base + 100, 100, memory::MemoryKind::host, -1});
    OutgoingHeap heap;
    heap.add_item(0x1000, part(0, 60));
    heap.add_item(0x1001, part(60, 40));
    heap.add_item(0x1002, part(100, 100));
    const std::vector<Piece> expected{{base, 100, PieceKind::registered},
                                      {base + 100, 100, PieceKind::registered}};
    EXPECT_EQ(heap.layout(1472, &regions).pieces, expected);
}

TEST_F(SendHeap, RefusesAnImmediateInDeviceMemory) {
    regions.add({memory.data(), memory.size(), memory::MemoryKind::device, -1});
    OutgoingHeap heap;
    heap.add_item(0x1000, part(0, 4), true);
    EXPECT_THAT([&] { heap.layout(1472, &regions); }, ThrowsMessage<Error>(HasSubstr("memory of a GPU")));
}

TEST_F(SendHeap, KeepsACopyOfDescriptors) {
    wire::Descriptor descriptor;
    descriptor.id = 0x1600;
    descriptor.name = "adc";
    descriptor.numpy_header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}";
    OutgoingHeap heap(wire::Flavour(48));
    heap.add_descriptor(descriptor);
    const HeapLayout& layout = heap.layout(1472, &regions);
    ASSERT_EQ(layout.pieces.size(), 1U);
    EXPECT_EQ(layout.pieces[0].kind, PieceKind::owned);
    EXPECT_EQ(raw(layout).at(0), 0x0005000000000000U);
    const auto* const at = reinterpret_cast<const std::uint8_t*>(layout.pieces[0].data);
    const auto back = wire::decode_descriptor({at, layout.pieces[0].length});
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, descriptor);

    descriptor.id = 0x8000;
    EXPECT_THAT([&] { heap.add_descriptor(descriptor); },
                ThrowsMessage<Error>(HasSubstr("item 0x8000 (\"adc\")")));
    EXPECT_EQ(heap.items(), 1U);
}

TEST_F(SendHeap, MayBeMovedWithItsDescriptors) {
    OutgoingHeap first;
    first.add_descriptor(part(0, 40));
    OutgoingHeap second = std::move(first);
    EXPECT_EQ(second.layout(1472, nullptr).payload_length, 40U);
}

}  // namespace
}  // namespace spead::send
