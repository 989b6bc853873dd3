// SPDX-License-Identifier: BSD-3-Clause
#include "spead/send_heap.hpp"

#include <array>
#include <cstdint>
#include <gmock/gmock.h>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SendHeap, NumbersItsItems) {
    std::array<std::uint16_t, 8> values{};
    SendHeap heap;
    EXPECT_EQ(heap.add(0x1000, std::span(values)), 0U);
    EXPECT_EQ(heap.add_immediate(0x1001, 7), 1U);
    EXPECT_EQ(heap.add_descriptor({.id = 0x1000, .name = "x", .shape = {8}, .dtype = "<u2"}), 2U);
    EXPECT_EQ(heap.add_stop(), 3U);
    EXPECT_EQ(heap.add(0x1002, std::span(values)), 4U);
    heap.set_immediate(1, 8);
    heap.set_bytes(4, std::as_bytes(std::span(values).first(2)));
    EXPECT_THAT([&] { heap.set_bytes(1, {}); }, ThrowsMessage<Error>(HasSubstr("no item 1 that refers")));
    EXPECT_THAT([&] { heap.set_bytes(5, {}); }, ThrowsMessage<Error>(HasSubstr("no item 5")));
    EXPECT_THAT([&] { heap.set_immediate(0, 1); }, ThrowsMessage<Error>(HasSubstr("no immediate item 0")));
}

TEST(SendHeap, RefusesWhatTheFlavourCannotSay) {
    for (const unsigned bits : {0U, 7U, 44U, 64U})
        EXPECT_THAT([bits] { SendHeap heap(bits); }, ThrowsMessage<UsageError>(HasSubstr("SPEAD-64-")));
    SendHeap heap(56);
    EXPECT_THAT([&] { heap.add_immediate(4, 0); }, ThrowsMessage<Error>(HasSubstr("0 to 4")));
    EXPECT_THAT([&] { heap.add_immediate(0x80, 0); }, ThrowsMessage<Error>(HasSubstr("largest is 0x7f")));
    SendHeap narrow(8);
    EXPECT_THAT([&] { narrow.add_immediate(0x1000, 256); },
                ThrowsMessage<Error>(HasSubstr("largest is 0xff")));
}

TEST(SendHeap, CanBeMoved) {
    SendHeap heap;
    heap.add_immediate(0x1000, 1);
    SendHeap other = std::move(heap);
    EXPECT_EQ(other.add_immediate(0x1001, 1), 1U);
    EXPECT_FALSE(heap.in_flight());  // NOLINT(bugprone-use-after-move)
    EXPECT_THAT([&] { heap.add_stop(); }, ThrowsMessage<UsageError>(HasSubstr("moved")));
    heap = std::move(other);
    EXPECT_EQ(heap.add_immediate(0x1002, 1), 2U);
    heap = SendHeap();
    EXPECT_EQ(heap.add_immediate(0x1002, 1), 0U);
}

}  // namespace
}  // namespace spead
