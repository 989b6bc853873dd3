// SPDX-License-Identifier: BSD-3-Clause
#include "recv/net_template.hpp"

#include <optional>
#include <tuple>

#include <gtest/gtest.h>

#include "recv/flow_template.hpp"
#include "tests/unit/recv/datagram.hpp"
#include "tests/unit/wire/frames6.hpp"

namespace spead::recv::test {
namespace {

using wire::test::ExactCopy;
using wire::test::Frame6;

constexpr std::uint32_t kLongest = 1000;

/// Holds what both ways find out: lane, endpoint, and the bytes of the datagram.
using Found = std::tuple<std::uint16_t, std::uint16_t, std::size_t>;

/// Asks the parsers, as the lcore does. Reads exactly `frame`.
std::optional<Found> parse(const Bytes& frame, const Classifier& classifier, bool verify = true) {
    const ExactCopy exact(frame);
    wire::UdpView udp;
    if (wire::parse_udp(exact.data(), exact.size(), exact.size(), verify, udp) != PortOutcome::stream)
        return std::nullopt;
    const Target* const t = classifier.find(udp);
    if (t == nullptr || udp.payload_length > kLongest)
        return std::nullopt;
    return Found{t->lane, t->endpoint, udp.payload_length};
}

template <class Ip>
std::optional<Found> match(const BasicNetTemplate<Ip>& net, const Bytes& frame, bool verify = true) {
    const ExactCopy exact(frame);
    std::size_t datagram = 0;
    if (!net.match(exact.data(), exact.size(), verify, datagram))
        return std::nullopt;
    return Found{net.lane(), net.endpoint(), datagram};
}

/// Makes frames of one version of IP, with endpoints for any sender, for the usual one, and for both.
struct Version4 {
    using Ip = Ipv4Frame;
    static Classifier endpoints() { return three_endpoints(); }
    static Bytes make(std::uint32_t group, std::uint32_t from, std::size_t bytes, std::size_t padding = 0) {
        return frame(Bytes(bytes, 0x5A),
                     {.to = 0xEF010203 + group, .from = 0x0A000007 + from, .padding = padding});
    }
    static void mend(Bytes& frame) { sum(frame); }
};
struct Version6 {
    using Ip = Ipv6Frame;
    static Classifier endpoints() {
        Classifier c(1);
        c.add(parse_endpoints("[ff15::1]:7148").front(), {0, 0});
        c.add(parse_endpoints("[ff15::2]:7148@fd00::7").front(), {1, 2});
        c.add(parse_endpoints("[ff15::3]:7148@fd00::7").front(), {2, 0});
        c.add(parse_endpoints("[ff15::3]:7148").front(), {3, 1});
        return c;
    }
    static Bytes make(std::uint32_t group, std::uint32_t from, std::size_t bytes, std::size_t padding = 0) {
        Frame6 f;
        f.to.low = 1 + group;
        f.from.low = 7 + from;
        f.payload = Bytes(bytes, 0x5A);
        Bytes made = f.build();
        made.resize(made.size() + padding);
        return made;
    }
    static void mend(Bytes&) {}
};

template <class Version>
class NetTemplate : public testing::Test {
  protected:
    using Net = BasicNetTemplate<typename Version::Ip>;

    void learn(Net& net, const Bytes& frame) const {
        wire::UdpView udp;
        ASSERT_EQ(wire::parse_udp(frame.data(), frame.size(), frame.size(), true, udp), PortOutcome::stream);
        const Target* const t = classifier_.find(udp);
        ASSERT_NE(t, nullptr);
        net.learn(frame.data(), udp, *t, kLongest);
    }
    /// Requires that a match says what the parsers say. Returns whether it matches.
    bool is_sound(const Net& net, const Bytes& frame, bool verify = true) const {
        const auto got = match(net, frame, verify);
        EXPECT_TRUE(!got || got == parse(frame, classifier_, verify));
        return got.has_value();
    }

    const Classifier classifier_ = Version::endpoints();
};

using Versions = testing::Types<Version4, Version6>;
TYPED_TEST_SUITE(NetTemplate, Versions);

TYPED_TEST(NetTemplate, MatchesNothingBeforeItHasLearntAndAfterItForgot) {
    typename TestFixture::Net net;
    const Bytes f = TypeParam::make(0, 0, 100);
    EXPECT_FALSE(match(net, f));
    EXPECT_FALSE(match(net, Bytes(200, 0), false));
    this->learn(net, f);
    EXPECT_TRUE(match(net, f));
    net.forget();
    EXPECT_FALSE(match(net, f));
}

TYPED_TEST(NetTemplate, MatchesDatagramsOfAnyLengthUpToTheLongest) {
    typename TestFixture::Net net;
    this->learn(net, TypeParam::make(0, 0, 100));
    for (const std::size_t bytes : {0U, 1U, 99U, 101U, kLongest})
        for (const std::size_t padding : {0U, 18U})
            EXPECT_EQ(match(net, TypeParam::make(0, 5, bytes, padding)), (Found{0, 0, bytes})) << bytes;
    EXPECT_FALSE(match(net, TypeParam::make(0, 0, kLongest + 1)));
}

TYPED_TEST(NetTemplate, KnowsTheSenderWhereThatTells) {
    for (std::uint32_t group = 0; group < 3; group++)
        for (std::uint32_t from = 0; from < 2; from++) {
            const Bytes right = TypeParam::make(group, from, 100);
            if (!parse(right, this->classifier_))
                continue;
            typename TestFixture::Net net;
            this->learn(net, right);
            EXPECT_TRUE(match(net, right));
            for (std::uint32_t other = 0; other < 4; other++)
                for (std::uint32_t sender = 0; sender < 3; sender++)
                    this->is_sound(net, TypeParam::make(other, sender, 90));
        }
}

TYPED_TEST(NetTemplate, SaysWhatTheParsersSayOfEveryDamage) {
    constexpr std::size_t kHeader = TypeParam::Ip::kHeader;
    std::size_t matches = 0;
    std::size_t looks = 0;
    for (std::uint32_t group = 0; group < 3; group++) {
        const Bytes right = TypeParam::make(group, 0, 60, 7);
        typename TestFixture::Net net;
        this->learn(net, right);
        for (std::size_t at = 0; at < kHeader; at++)
            for (int value = 0; value < 256; value++) {
                Bytes f = right;
                f[at] = static_cast<std::uint8_t>(value);
                matches += this->is_sound(net, f) + this->is_sound(net, f, false);
                TypeParam::mend(f);
                matches += this->is_sound(net, f);
                looks += 3;
            }
        for (std::size_t length = 0; length <= right.size(); length++)
            this->is_sound(net, Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length)));
        // Lengths that contradict each other, and those that do not.
        for (std::size_t ip = 0; ip < 120; ip++)
            for (std::size_t udp = 0; udp < 120; udp++) {
                Bytes f = right;
                store_be16(&f[TypeParam::Ip::kLength], static_cast<std::uint16_t>(ip));
                store_be16(&f[TypeParam::Ip::kUdp + 4], static_cast<std::uint16_t>(udp));
                TypeParam::mend(f);
                this->is_sound(net, f);
            }
    }
    EXPECT_GT(matches, looks / 20) << "too few matches for this to tell anything";
    EXPECT_LT(matches, looks * 19 / 20);
}

TYPED_TEST(NetTemplate, LearnsNoFrameOfAnotherShape) {
    typename TestFixture::Net net;
    const Bytes f = TypeParam::make(0, 0, 100);
    wire::UdpView udp;
    ASSERT_EQ(wire::parse_udp(f.data(), f.size(), f.size(), true, udp), PortOutcome::stream);
    const Target target{0, 0};
    for (auto spoil :
         {+[](wire::UdpView& u) { u.ipv6 = !u.ipv6; }, +[](wire::UdpView& u) { u.vlan_tags = 1; },
          +[](wire::UdpView& u) { u.payload_offset += 4; }}) {
        this->learn(net, f);
        wire::UdpView other = udp;
        spoil(other);
        net.learn(f.data(), other, target, kLongest);
        EXPECT_FALSE(match(net, f)) << "nothing is left of what it knew, either";
    }
}

TEST(FlowCacheOfFormats, HasATemplateForEachPlaceThatIsForgottenToo) {
    const Classifier classifier = Version4::endpoints();
    const Bytes f = Version4::make(0, 0, 100);
    wire::UdpView udp;
    ASSERT_EQ(wire::parse_udp(f.data(), f.size(), f.size(), true, udp), PortOutcome::stream);
    FlowCache cache(4);
    EXPECT_FALSE(cache.knows_formats());
    cache.learn_format(f.data(), udp, *classifier.find(udp), kLongest);
    EXPECT_TRUE(cache.knows_formats());
    EXPECT_TRUE(match(cache.of_format(f.data()), f));
    cache.forget();
    EXPECT_FALSE(match(cache.of_format(f.data()), f));
}

}  // namespace
}  // namespace spead::recv::test
