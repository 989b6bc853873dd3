// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "spead/recv.hpp"
#include "spead/send.hpp"
#include "tests/eal/spead/recv_rig.hpp"

/// Tests RecvConfig::second_path: a user's stream with two paths.
namespace spead::test::second_path {
namespace {

using testing::HasSubstr;

constexpr const char* kOther = "net_ring1";

RecvConfig two_paths() {
    RecvConfig c = ring_config();
    c.second_path = RecvConfig::SecondPath{.interface = kOther, .endpoints = {"239.9.9.9:7149"}};
    c.on_full = OnFull::block;
    c.memory = 16 * kMiB;
    return c;
}

std::string refusal(const RecvConfig& c) {
    try {
        const Process process(config());
        const RecvStream stream(process, c);
    } catch (const UsageError& e) {
        return e.what();
    }
    return "accepted";
}

/// Sends heaps on both paths. Every third one goes by the second path alone, and the next one by the first.
class Senders {
  public:
    Senders(const Process& process, std::size_t bytes)
        : first_(process, {.endpoints = {"239.1.2.3:7148"}, .interface = kRing}),
          second_(process, {.endpoints = {"239.9.9.9:7149"}, .interface = kOther}),
          payload_(bytes) {
        for (SendHeap* const heap : {&a_, &b_})
            heap->add(0x1000, std::span<const std::byte>(payload_));
    }
    /// Sends one whose bytes are its count, and waits until it has left.
    void send(std::uint64_t cnt) {
        std::fill(payload_.begin(), payload_.end(), static_cast<std::byte>(cnt));
        if (cnt % 3 != 1)
            first_.send(a_, {.cnt = cnt});
        if (cnt % 3 != 2)
            second_.send(b_, {.cnt = cnt});
        first_.flush();
        second_.flush();
    }

  private:
    SendStream first_;
    SendStream second_;
    std::vector<std::byte> payload_;
    SendHeap a_;
    SendHeap b_;
};

TEST(SecondPath, GivesEveryHeapOnceThatTwoStreamsSend) {
    const Process process(config());
    RecvStream stream(process, two_paths());
    Senders senders(process, 5000);
    constexpr std::uint64_t kHeaps = 200;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        senders.send(cnt);
        const std::optional<Heap> heap = stream.get_for(std::chrono::seconds(10));
        ASSERT_TRUE(heap);
        EXPECT_EQ(heap->cnt(), cnt);
        EXPECT_TRUE(heap->complete());
        EXPECT_EQ(heap->bytes(0x1000).back(), static_cast<std::byte>(cnt));
    }
    stream.stop();
    const RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.heaps, kHeaps);
    EXPECT_EQ(s.packets_late, 0U);
    EXPECT_EQ(s.packets, s.packets_placed + s.packets_duplicate);
    EXPECT_EQ(s.packets_placed * 66, s.packets_duplicate * kHeaps) << "66 heaps came by both";
}

TEST(SecondPath, EndpointsComeAndGoWithTheirTwins) {
    const Process process(config());
    RecvStream stream(process, two_paths());
    const auto refused = [](const auto& change) {
        return testing::ThrowsMessage<UsageError>(HasSubstr(change));
    };
    EXPECT_THAT([&] { stream.add_endpoint("239.1.2.4:7148"); }, refused("give it as the second argument"));
    EXPECT_THAT([&] { stream.add_endpoint("239.1.2.4+1:7148", "239.9.9.10:7149"); },
                refused("has 3 endpoints, and the second has 2"));
    stream.add_endpoint("239.1.2.4+1:7148", "239.9.9.10+1:7149");
    EXPECT_THAT([&] { stream.remove_endpoint("239.9.9.9:7149"); }, refused("is not one of its endpoints"));
    stream.remove_endpoint("239.1.2.3:7148");
    stream.remove_endpoint("239.1.2.5:7148");
    EXPECT_THAT([&] { stream.remove_endpoint("239.1.2.4:7148"); }, refused("is its last endpoint"));
    std::vector<std::byte> payload(5000, std::byte{7});
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(payload));
    std::uint64_t cnt = 0;
    for (const auto& [interface, endpoint] :
         {std::pair(kOther, "239.9.9.9:7149"), std::pair(kOther, "239.9.9.11:7149"),
          std::pair(kRing, "239.1.2.4:7148"), std::pair(kOther, "239.9.9.10:7149")}) {
        SendStream sender(process, {.endpoints = {endpoint}, .interface = interface});
        sender.send(heap, {.cnt = ++cnt});
        sender.flush();
    }
    for (const std::uint64_t expected : {3U, 4U}) {
        const std::optional<Heap> came = stream.get_for(std::chrono::seconds(10));
        ASSERT_TRUE(came);
        EXPECT_EQ(came->cnt(), expected) << "the others are of endpoints that were left";
    }
}

TEST(SecondPath, OneListOfEndpointsIsThatOfBothPaths) {
    const Process process(config());
    RecvConfig c = two_paths();
    c.second_path->endpoints = {};
    RecvStream stream(process, c);
    EXPECT_THAT([&] { stream.add_endpoint("239.1.2.4:7148", "239.9.9.9:7149"); },
                testing::ThrowsMessage<UsageError>(HasSubstr("both paths have the same endpoints")));
    stream.add_endpoint("239.1.2.4:7148");
    SendStream sender(process, {.endpoints = {"239.1.2.4:7148"}, .interface = kOther});
    std::vector<std::byte> payload(5000, std::byte{7});
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(payload));
    sender.send(heap, {.cnt = 9});
    const std::optional<Heap> came = stream.get_for(std::chrono::seconds(10));
    ASSERT_TRUE(came);
    EXPECT_EQ(came->cnt(), 9U);
}

/// Tests it with packets of SPEAD whose header is declared: eight bytes, and the item with the heap count.
TEST(SecondPath, GivesPacketsOfADeclaredFormatOnce) {
    const Process process(config());
    RecvConfig c = two_paths();
    c.format = "header 16; field cnt: u64 at 8 & 0xFFFFFFFF; item 0x1600: cnt; count cnt";
    RecvStream stream(process, c);
    Senders senders(process, 1000);
    constexpr std::uint64_t kHeaps = 60;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        senders.send(cnt);
        const std::optional<Heap> heap = stream.get_for(std::chrono::seconds(10));
        ASSERT_TRUE(heap);
        EXPECT_EQ(heap->cnt(), cnt);
        EXPECT_EQ(heap->immediate(0x1600), cnt);
        EXPECT_EQ(heap->payload().back(), static_cast<std::byte>(cnt));
    }
    stream.stop();
    const RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets_placed, kHeaps);
    EXPECT_EQ(s.packets_duplicate, kHeaps / 3);
}

TEST(SecondPath, RefusalsHaveTheNamesOfTheHeader) {
    RecvConfig c = two_paths();
    c.second_path->endpoints = {"239.9.9.9+1:7149"};
    EXPECT_THAT(refusal(c), HasSubstr("the first path of stream `s0` has 1 endpoints, and the second has 2"));
    c.second_path->endpoints = {};
    c.second_path->interface = kRing;
    EXPECT_THAT(refusal(c),
                AllOf(HasSubstr("with the same endpoints"), HasSubstr("`second_path.endpoints`")));
    c = two_paths();
    c.in_order = true;
    EXPECT_THAT(refusal(c), HasSubstr("leave out `in_order`"));
    c = two_paths();
    c.second_path->skew = std::chrono::nanoseconds(-1);
    EXPECT_THAT(refusal(c), HasSubstr("`second_path.skew` is negative"));
    c = two_paths();
    c.backend = Backend::kernel;
    EXPECT_THAT([&] { RecvStream{c}; },
                testing::ThrowsMessage<UsageError>(HasSubstr("the stream has no port")));
}

}  // namespace
}  // namespace spead::test::second_path
