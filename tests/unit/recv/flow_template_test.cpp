// SPDX-License-Identifier: BSD-3-Clause
#include "recv/flow_template.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "recv/spead_decoder.hpp"
#include "tests/unit/recv/datagram.hpp"

namespace spead::recv::test {
namespace {

using wire::test::ExactCopy;
using wire::test::Packet;
namespace item = wire::item;

constexpr std::uint32_t kMaxPacket = 9200;

/// Learns as the lcore does, from a frame that the parsers accept and that has no tag and no options.
bool learn(FlowTemplate& flow, const Bytes& frame, const Classifier& classifier,
           std::uint32_t max_packet = kMaxPacket) {
    wire::UdpView udp;
    wire::SpeadPacket p;
    if (wire::parse_udp(frame.data(), frame.size(), frame.size(), true, udp) != PortOutcome::stream) {
        ADD_FAILURE() << "the frame to learn from is refused";
        return false;
    }
    const Target* const t = classifier.find(udp.dst_ip, udp.dst_port, udp.src_ip);
    const std::uint8_t* const datagram = frame.data() + udp.payload_offset;
    if (t == nullptr ||
        wire::parse_spead(datagram, udp.payload_length, udp.payload_length, p) != wire::SpeadError::none) {
        ADD_FAILURE() << "the frame to learn from is nobody's, or no SPEAD";
        return false;
    }
    return flow.learn(frame.data(), udp, p, t->by_source, t->lane, t->endpoint, max_packet);
}

/// Returns the template's result in the terms of judge(); nothing when it does not match. Reads exactly
/// `frame`.
std::optional<Judged> match(const FlowTemplate& flow, const Bytes& frame, bool verify = true) {
    const ExactCopy exact(frame);
    Judged j;
    if (!flow.match(exact.data(), exact.size(), verify, j.view))
        return std::nullopt;
    j.lane = flow.lane();
    j.endpoint = flow.endpoint();
    j.payload_at = flow.payload_at();
    j.view.item_extent = flow.item_extent(exact.data());
    j.items.assign(j.view.items, j.view.items + std::size_t{j.view.item_count} * 8);
    return j;
}

std::optional<Judged> judge(const Bytes& frame, const Classifier& classifier, bool verify = true,
                            std::uint32_t max_packet = kMaxPacket) {
    return test::judge(frame.data(), frame.size(), verify, classifier, max_packet);
}

Bytes data_frame(std::uint64_t cnt, std::uint64_t offset, const Way& way = {}, std::size_t length = 60) {
    Packet p;
    p.flavour = wire::Flavour(48);
    p.payload.assign(length, static_cast<std::uint8_t>(cnt));
    p.specials(cnt, 100000, offset).address(0x1000, 0).immediate(0x1001, cnt);
    return frame(p.build(), way);
}

TEST(FlowTemplate, MatchesNothingBeforeItHasLearned) {
    const FlowTemplate flow{};
    heap::PacketView view;
    const Bytes f = data_frame(1, 0);
    EXPECT_FALSE(flow.match(f.data(), f.size(), false, view));
    EXPECT_FALSE(flow.match(f.data(), 0, false, view));
}

TEST(FlowTemplate, MatchesPacketsThatDifferInValuesOnly) {
    const Classifier classifier = three_endpoints();
    FlowTemplate flow;
    ASSERT_TRUE(learn(flow, data_frame(1, 0), classifier));
    for (const Bytes& f :
         {data_frame(1, 0), data_frame(1, 60), data_frame(0xFFFFFFFFFFFF, 99940),
          data_frame(2, 0, {.from = 0x01020304}), data_frame(2, 0, {.from_port = 1}),
          data_frame(2, 0, {.id = 0xFFFF}), data_frame(2, 0, {.padding = 18}), data_frame(3, 100, {}, 1),
          data_frame(3, 100, {}, 0), data_frame(3, 100, {}, 9000)}) {
        const std::optional<Judged> got = match(flow, f);
        ASSERT_TRUE(got.has_value());
        EXPECT_EQ(got, judge(f, classifier));
    }
}

TEST(FlowTemplate, LeavesToTheParsersWhatItHasNotLearned) {
    const Classifier classifier = three_endpoints();
    FlowTemplate flow;
    ASSERT_TRUE(learn(flow, data_frame(1, 0), classifier));
    Packet without_items;
    without_items.flavour = wire::Flavour(48);
    without_items.payload.assign(60, 0);
    without_items.specials(1, 100000, 0);
    for (const Bytes& f : {data_frame(1, 0, {.to = 0xEF010204}), data_frame(1, 0, {.port = 7149}),
                           data_frame(1, 0, {.ttl = 5}), data_frame(1, 0, {.tos = 8}),
                           data_frame(1, 0, {.tags = {wire::kEtherTypeVlan}}), data_frame(1, 0, {.ihl = 6}),
                           frame(without_items.build())})
        EXPECT_FALSE(match(flow, f).has_value());
}

TEST(FlowTemplate, DoesNotLearnShapesThatAreNotUsual) {
    const Classifier classifier = three_endpoints();
    const auto learns = [&](const Packet& p, const Way& way = {}) {
        FlowTemplate flow;
        const Bytes f = frame(p.build(), way);
        EXPECT_TRUE(learn(flow, data_frame(1, 0), classifier));
        const bool yes = learn(flow, f, classifier);
        EXPECT_EQ(match(flow, f).has_value(), yes) << "a refused shape must leave nothing behind";
        EXPECT_TRUE(yes || !match(flow, data_frame(1, 0)).has_value()) << "nor what was known before";
        return yes;
    };
    Packet p;
    p.payload = {1};
    p.specials(1, 1, 0);
    EXPECT_TRUE(learns(p));
    EXPECT_FALSE(learns(p, {.tags = {wire::kEtherTypeVlan}}));
    EXPECT_FALSE(learns(p, {.ihl = 15}));

    Packet control = p;
    control.immediate(item::kStreamCtrl, 2);
    EXPECT_FALSE(learns(control));

    Packet late = p;
    late.address(0x1000, 0).immediate(item::kHeapCnt, 4);
    EXPECT_FALSE(learns(late));

    Packet most = p;
    while (most.pointers.size() < FlowTemplate::kMaxPointers)
        most.immediate(0x1000 + most.pointers.size(), 1);
    EXPECT_TRUE(learns(most));
    most.immediate(0x2000, 1);
    EXPECT_FALSE(learns(most));
}

TEST(FlowTemplate, MatchesOneSenderOnlyWhereTheAnswerDependsOnTheSource) {
    const Classifier classifier = three_endpoints();
    FlowTemplate flow;
    const Way to_both{.to = 0xEF010205};
    const Way other_sender{.to = 0xEF010205, .from = 0x0A000008};
    ASSERT_TRUE(learn(flow, data_frame(1, 0, to_both), classifier));
    EXPECT_EQ(match(flow, data_frame(2, 0, to_both))->lane, 2);
    EXPECT_FALSE(match(flow, data_frame(2, 0, other_sender)).has_value());
    ASSERT_TRUE(learn(flow, data_frame(1, 0, other_sender), classifier));
    EXPECT_EQ(match(flow, data_frame(2, 0, other_sender))->lane, 3);
    EXPECT_FALSE(match(flow, data_frame(2, 0, to_both)).has_value());
}

TEST(FlowTemplate, MatchesNoPacketAboveTheLaneSLimit) {
    const Classifier classifier = three_endpoints();
    FlowTemplate flow;
    const std::uint32_t most = 8 + 6 * 8 + 60;
    ASSERT_TRUE(learn(flow, data_frame(1, 0), classifier, most));
    EXPECT_TRUE(match(flow, data_frame(1, 0, {}, 60)).has_value());
    EXPECT_FALSE(match(flow, data_frame(1, 0, {}, 61)).has_value());
}

TEST(FlowTemplate, LooksAtTheHeaderChecksumOnlyWhenAsked) {
    const Classifier classifier = three_endpoints();
    FlowTemplate flow;
    ASSERT_TRUE(learn(flow, data_frame(1, 0), classifier));
    for (unsigned value = 0; value <= 0xFFFF; value++) {
        Bytes f = data_frame(1, 0, {.id = 0x1234});
        const std::uint16_t right = load_be16(&f[24]);
        store_be16(&f[24], static_cast<std::uint16_t>(value));
        heap::PacketView view;
        ASSERT_EQ(flow.match(f.data(), f.size(), true, view), value == right) << value;
        ASSERT_TRUE(flow.match(f.data(), f.size(), false, view));
    }
}

/// Tests many checksums: every identification and source changes the sum. The template accepts exactly those
/// that the parser accepts.
TEST(FlowTemplate, AgreesWithTheParserAboutEverySum) {
    const Classifier classifier = three_endpoints();
    FlowTemplate flow;
    ASSERT_TRUE(learn(flow, data_frame(1, 0), classifier));
    Random random(11);
    const auto edge = [&] {
        static constexpr std::array<std::uint16_t, 6> edges{0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF};
        return random() % 2 == 0 ? edges[random() % edges.size()] : static_cast<std::uint16_t>(random());
    };
    for (int i = 0; i < 20000; i++) {
        Bytes f = data_frame(1, 0);
        store_be16(&f[18], edge());
        store_be16(&f[26], edge());
        store_be16(&f[28], edge());
        sum(f);
        if (random() % 2 == 0)
            store_be16(&f[24], static_cast<std::uint16_t>(
                                   load_be16(&f[24]) ^ (random() % 2 == 0 ? 0xFFFF : 1U << random() % 16)));
        ASSERT_EQ(match(flow, f), judge(f, classifier));
    }
}

/// Tests the main property of a template. If a template matches, the parsers accept the frame with the same
/// result. If the parsers refuse a frame or give it to another lane, no template matches.
class AnyFrame : public testing::TestWithParam<std::uint32_t> {
  protected:
    void expect_sound(const FlowTemplate& flow, const Bytes& f) {
        for (const bool verify : {true, false}) {
            const std::optional<Judged> got = match(flow, f, verify);
            looked_at_++;
            if (!got)
                continue;
            matched_++;
            ASSERT_EQ(got, judge(f, classifier_, verify));
        }
    }

    const Classifier classifier_ = three_endpoints();
    std::uint64_t looked_at_ = 0;
    std::uint64_t matched_ = 0;
};

TEST_P(AnyFrame, IsNeverMatchedUnlessTheParsersSayTheSame) {
    Random random(GetParam());
    std::size_t learned = 0;
    for (int round = 0; round < 12; round++) {
        const Packet packet = any_packet(random);
        const Way way{.to = 0xEF010203 + random() % 3,
                      .tos = static_cast<std::uint8_t>(random()),
                      .ttl = static_cast<std::uint8_t>(random()),
                      .id = static_cast<std::uint16_t>(random()),
                      .padding = random() % 20};
        const Bytes right = frame(packet.build(), way);
        FlowTemplate flow;
        if (!learn(flow, right, classifier_))
            continue;
        learned++;
        const std::size_t headers = flow.payload_at();
        ASSERT_EQ(match(flow, right), judge(right, classifier_));
        ASSERT_TRUE(match(flow, right).has_value());

        // Each byte of the headers in turn, as it is and with a right sum.
        for (std::size_t at = 0; at < headers; at++)
            for (int change = 0; change < 10; change++) {
                Bytes f = right;
                f[at] = static_cast<std::uint8_t>(change < 8 ? f[at] ^ 1U << change : random());
                expect_sound(flow, f);
                sum(f);
                expect_sound(flow, f);
            }
        // Every length of the frame.
        for (std::size_t length = 0; length <= right.size(); length++)
            expect_sound(flow, Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length)));
        // Lengths that contradict each other.
        for (int i = 0; i < 300; i++) {
            Bytes f = right;
            for (const std::size_t at : {std::size_t{16}, std::size_t{38}})
                if (random() % 2 == 0) {
                    const auto value = static_cast<std::uint16_t>(load_be16(&f[at]) + random() % 9 - 4);
                    store_be16(&f[at], random() % 8 == 0 ? static_cast<std::uint16_t>(random()) : value);
                }
            for (std::size_t p = 0; p < packet.pointers.size(); p++)
                if (random() % 4 == 0) {
                    std::uint8_t* const pointer = &f[50 + 8 * p];
                    const std::uint64_t mask = packet.flavour.value_mask();
                    const std::uint64_t raw = load_be64(pointer);
                    const std::uint64_t value =
                        random() % 4 == 0 ? random() * std::uint64_t{random()} : raw + random() % 9 - 4;
                    store_be64(pointer, (raw & ~mask) | (value & mask));
                }
            f.resize(f.size() + random() % 5);
            sum(f);
            expect_sound(flow, f);
        }
        // Another packet of the same destination, and any other.
        for (int i = 0; i < 100; i++) {
            Way other = way;
            if (random() % 2 == 0)
                other.to = 0xEF010203 + random() % 4;
            if (random() % 2 == 0)
                other.from = 0x0A000007 + random() % 2;
            if (random() % 4 == 0)
                other.tags = {wire::kEtherTypeQinQ, wire::kEtherTypeVlan};
            if (random() % 4 == 0)
                other.ihl = 5 + random() % 11;
            expect_sound(flow, frame(random() % 2 == 0 ? packet.build() : any_packet(random).build(), other));
        }
    }
    EXPECT_GT(learned, 3U);
    EXPECT_GT(matched_, looked_at_ / 20) << "too few matches for this to tell anything";
    EXPECT_LT(matched_, looked_at_ / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyFrame, testing::Range(1U, 25U));

TEST(FlowCache, FindsTheSamePlaceForADestinationWhoeverSends) {
    FlowCache cache(100);
    const Bytes a = data_frame(1, 0);
    const FlowTemplate* const place = &cache.usual(a.data());
    for (std::uint32_t i = 0; i < 50; i++) {
        const Bytes b =
            data_frame(i, i, {.from = 0x0A000000 + i, .from_port = static_cast<std::uint16_t>(i * 977)});
        EXPECT_EQ(&cache.usual(b.data()), place);
    }
}

TEST(FlowCache, KeepsTwoShapesOfADestinationAndPrefersTheLastThatFitted) {
    FlowCache cache(100);
    const Bytes a = data_frame(1, 0);
    const Bytes elsewhere = data_frame(1, 0, {.to = 0xEF0A0A77});
    const FlowTemplate* const first = &cache.usual(a.data());
    const FlowTemplate* const second = &cache.other(a.data());
    EXPECT_NE(first, second);
    EXPECT_EQ(&cache.usual(a.data()), first) << "looking changes nothing";
    EXPECT_EQ(&cache.turn(a.data()), second);
    EXPECT_EQ(&cache.usual(a.data()), second);
    EXPECT_EQ(&cache.other(a.data()), first);
    const FlowTemplate* const there = &cache.usual(elsewhere.data());
    EXPECT_NE(there, first);
    EXPECT_NE(there, second);
    EXPECT_EQ(&cache.usual(a.data()), second);
    EXPECT_EQ(&cache.turn(a.data()), first);
}

/// Tests the destination of all zeros. The cache remembers the last destination as a number, which is zero at
/// first.
TEST(FlowCache, KnowsNothingOfTheDestinationOfZeros) {
    FlowCache cache(1);
    const Bytes zeros(200, 0);
    EXPECT_FALSE(match(cache.usual(zeros.data()), zeros).has_value());
}

/// Tests that the groups of one stream, which are neighbours, do not all take the same place.
TEST(FlowCache, GivesMostOfManyNeighbouringGroupsAPlaceOfTheirOwn) {
    for (const std::uint32_t groups : {1U, 4U, 16U, 64U, 256U}) {
        FlowCache cache(groups);
        std::vector<const FlowTemplate*> places;
        for (std::uint32_t g = 0; g < groups; g++) {
            const Bytes f = data_frame(1, 0, {.to = 0xEF0A0A00 + g});
            places.push_back(&cache.usual(f.data()));
        }
        std::sort(places.begin(), places.end());
        const auto different = std::unique(places.begin(), places.end()) - places.begin();
        EXPECT_GE(different * 4, static_cast<std::ptrdiff_t>(groups) * 3) << groups;
    }
}

TEST(FlowCache, ForgetsEverything) {
    const Classifier classifier = three_endpoints();
    FlowCache cache(8);
    const Bytes f = data_frame(1, 0);
    for (FlowTemplate* t : {&cache.usual(f.data()), &cache.other(f.data())}) {
        ASSERT_TRUE(learn(*t, f, classifier));
        ASSERT_TRUE(match(*t, f).has_value());
    }
    cache.forget();
    for (const FlowTemplate* t : {&cache.usual(f.data()), &cache.other(f.data())})
        EXPECT_FALSE(match(*t, f).has_value());
}

/// Uses the cache as the lcore does: it looks in the cache, else asks the parsers and learns. The answer is
/// always the parsers'.
TEST(FlowCache, AnswersAsTheParsersWouldHoweverItIsFilled) {
    std::uint64_t short_cuts = 0;
    for (std::uint32_t seed = 1; seed <= 30; seed++) {
        Random random(seed);
        const Classifier classifier = three_endpoints();
        FlowCache cache(1 + random() % 3);
        std::vector<Packet> shapes(1 + random() % 4);
        for (Packet& shape : shapes)
            shape = any_packet(random);
        for (int i = 0; i < 500; i++) {
            Packet p = shapes[random() % shapes.size()];
            for (std::uint64_t& pointer : p.pointers)
                if (p.flavour.id(pointer) == item::kHeapCnt)
                    pointer = p.flavour.make_immediate(item::kHeapCnt, random());
            Bytes f = frame(p.build(), {.to = 0xEF010203 + random() % 4, .from = 0x0A000007 + random() % 3});
            if (random() % 10 == 0)
                f[random() % f.size()] ^= static_cast<std::uint8_t>(random());
            const bool verify = random() % 2 == 0;
            std::optional<Judged> got = match(cache.usual(f.data()), f, verify);
            if (!got) {
                got = match(cache.other(f.data()), f, verify);
                if (got)
                    cache.turn(f.data());
            }
            const std::optional<Judged> want = judge(f, classifier, verify);
            if (got) {
                short_cuts++;
                ASSERT_EQ(got, want) << "seed " << seed << ", packet " << i;
                continue;
            }
            wire::UdpView udp;
            if (want && wire::parse_udp(f.data(), f.size(), f.size(), verify, udp) == PortOutcome::stream &&
                udp.payload_offset == wire::kNetHeader)
                SpeadDecoder::learn(cache.turn(f.data()), f.data(), udp,
                                    *classifier.find(udp.dst_ip, udp.dst_port, udp.src_ip), kMaxPacket);
        }
    }
    EXPECT_GT(short_cuts, 3000U) << "of 15000 packets; too few for this to tell anything";
}

}  // namespace
}  // namespace spead::recv::test
