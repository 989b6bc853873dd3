// SPDX-License-Identifier: BSD-3-Clause
/// Tests the XDP program itself. The kernel runs it on frames made here.
#include <array>
#include <cstdint>
#include <linux/if_ether.h>
#include <utility>
#include <vector>

#include "base/ipv6_bytes.hpp"
#include "tests/unit/drivers/xdp_lab.hpp"

namespace spead::drivers::test {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t kGroup = 0xEF010101;  // 239.1.1.1
constexpr std::uint32_t kSource = 0x0A090002;
constexpr std::uint16_t kPort = 7148;
constexpr Ipv6 kGroup6{0xFF15'0000'0000'0000, 1};
constexpr Ipv6 kSource6{0xFD00'0009'0000'0000, 2};

void put16(Bytes& bytes, unsigned value) {
    bytes.push_back(static_cast<std::uint8_t>(value >> 8));
    bytes.push_back(static_cast<std::uint8_t>(value));
}

void put32(Bytes& bytes, std::uint32_t value) {
    put16(bytes, value >> 16);
    put16(bytes, value & 0xFFFF);
}

struct Shape {
    std::vector<std::array<unsigned, 2>> tags = {};  ///< protocol and control word of each
    unsigned ether_type = ETH_P_IP;
    unsigned version = 4;
    unsigned words = 5;  ///< of the IP header
    unsigned fragment = 0x4000;
    unsigned protocol = 17;
    std::uint32_t source = kSource;
    std::uint32_t group = kGroup;
    std::uint16_t port = kPort;
    std::size_t payload = 64;
};

Bytes frame(const Shape& s) {
    Bytes bytes{0x01, 0x00, 0x5E, 0x01, 0x01, 0x01, 0x02, 0, 0, 0, 0, 1};
    for (const auto& tag : s.tags) {
        put16(bytes, tag[0]);
        put16(bytes, tag[1]);
    }
    put16(bytes, s.ether_type);
    const std::size_t options = s.words > 5 ? (s.words - 5) * 4 : 0;
    put16(bytes, s.version << 12 | s.words << 8);
    put16(bytes, static_cast<unsigned>(20 + options + 8 + s.payload));
    put16(bytes, 1);
    put16(bytes, s.fragment);
    put16(bytes, 1 << 8 | s.protocol);
    put16(bytes, 0);  // the program checks no sum
    put32(bytes, s.source);
    put32(bytes, s.group);
    bytes.insert(bytes.end(), options, 1);  // no operation
    put16(bytes, 40000);
    put16(bytes, s.port);
    put16(bytes, static_cast<unsigned>(8 + s.payload));
    put16(bytes, 0);
    bytes.resize(bytes.size() + s.payload);
    return bytes;
}

void put(Bytes& bytes, const Ipv6& address) {
    bytes.resize(bytes.size() + 16);
    store_ipv6(bytes.data() + bytes.size() - 16, address);
}

struct Shape6 {
    std::vector<std::array<unsigned, 2>> tags = {};  ///< protocol and control word of each
    unsigned ether_type = ETH_P_IPV6;
    unsigned version = 6;
    unsigned next_header = 17;
    Bytes extension = {};  ///< whole extension headers; the last one names UDP
    Ipv6 source = kSource6;
    Ipv6 group = kGroup6;
    std::uint16_t port = kPort;
    std::size_t payload = 64;
};

Bytes frame(const Shape6& s) {
    Bytes bytes{0x33, 0x33, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 1};
    for (const auto& tag : s.tags) {
        put16(bytes, tag[0]);
        put16(bytes, tag[1]);
    }
    put16(bytes, s.ether_type);
    put16(bytes, s.version << 12);
    put16(bytes, 0);
    put16(bytes, static_cast<unsigned>(s.extension.size() + 8 + s.payload));
    put16(bytes, s.next_header << 8 | 1);
    put(bytes, s.source);
    put(bytes, s.group);
    bytes.insert(bytes.end(), s.extension.begin(), s.extension.end());
    put16(bytes, 40000);
    put16(bytes, s.port);
    put16(bytes, static_cast<unsigned>(8 + s.payload));
    put16(bytes, 0xBEEF);  // the program checks no sum
    bytes.resize(bytes.size() + s.payload);
    return bytes;
}

class Steer : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "needs root";
        }
        ASSERT_TRUE(steer_.loaded());
        socket_ = ::socket(AF_XDP, SOCK_RAW, 0);
        ASSERT_GE(socket_, 0);
        bind_queue();
    }
    void TearDown() override {
        if (socket_ >= 0) {
            ::close(socket_);
        }
    }

    /// Binds the socket to queue 0, where a test run arrives.
    void bind_queue() const {
        const std::uint32_t queue = 0;
        ASSERT_EQ(bpf_map_update_elem(steer_.map(STEER_SOCKETS), &queue, &socket_, 0), 0);
    }
    /// Returns the key of packets to the address; of `source` only, unless it is unspecified.
    static SteerKey key(const IpAddress& address, const IpAddress& source = {}, std::uint16_t port = kPort) {
        const auto store = [](std::uint32_t(&to)[4], const IpAddress& a) {
            if (a.is_v6()) {
                store_ipv6(to, a.v6());
            } else {
                to[0] = __builtin_bswap32(a.v4().value);
            }
        };
        SteerKey k{};
        store(k.address, address);
        store(k.source, source);
        k.port = __builtin_bswap16(port);
        k.version = address.is_v6() ? 6 : 4;
        return k;
    }
    void want(const SteerKey& k, std::uint32_t vlan = STEER_ANY_VLAN) const {
        SteerValue value{};
        value.vlan = vlan;
        const std::vector<SteerValue> values(cpus(), value);
        ASSERT_EQ(bpf_map_update_elem(steer_.map(STEER_ENDPOINTS), &k, values.data(), BPF_ANY), 0);
    }
    void want(std::uint32_t source = 0, std::uint32_t vlan = STEER_ANY_VLAN) const {
        want(key(kGroup, source), vlan);
    }
    std::uint64_t hits(const SteerKey& k) const {
        std::vector<SteerValue> values(cpus());
        EXPECT_EQ(bpf_map_lookup_elem(steer_.map(STEER_ENDPOINTS), &k, values.data()), 0);
        std::uint64_t sum = 0;
        for (const auto& value : values) {
            sum += value.hits;
        }
        return sum;
    }
    std::uint64_t hits(std::uint32_t source = 0) const { return hits(key(kGroup, source)); }
    /// Returns the number of packets that were left to the kernel, and the source of the last.
    std::pair<std::uint64_t, IpAddress> passed(const IpAddress& group, unsigned port) const {
        std::vector<SteerPassed> values(cpus());
        const SteerKey k = key(group, {}, static_cast<std::uint16_t>(port));
        std::pair<std::uint64_t, IpAddress> sum{};
        if (bpf_map_lookup_elem(steer_.map(STEER_PASSED), &k, values.data()) == 0) {
            for (const SteerPassed& value : values) {
                sum.first += value.packets;
                if (value.packets != 0) {
                    sum.second = group.is_v6() ? IpAddress(load_ipv6(value.source))
                                               : IpAddress(__builtin_bswap32(value.source[0]));
                }
            }
        }
        return sum;
    }
    static std::size_t cpus() { return static_cast<std::size_t>(libbpf_num_possible_cpus()); }

    /// Returns the program's action on a frame. The program must leave the frame unchanged.
    std::uint32_t action(const Bytes& bytes) const {
        Bytes out(bytes.size() + 256);
        bpf_test_run_opts run{};
        run.sz = sizeof run;
        run.data_in = bytes.data();
        run.data_size_in = static_cast<std::uint32_t>(bytes.size());
        run.data_out = out.data();
        run.data_size_out = static_cast<std::uint32_t>(out.size());
        EXPECT_EQ(bpf_prog_test_run_opts(steer_.program(), &run), 0);
        out.resize(run.data_size_out);
        EXPECT_EQ(out, bytes);
        return run.retval;
    }
    std::uint32_t action(const Shape& shape) const { return action(frame(shape)); }
    std::uint32_t action(const Shape6& shape) const { return action(frame(shape)); }

    LoadedSteer steer_;
    int socket_ = -1;
};

TEST_F(Steer, AnEndpointsPacketsGoToTheSocketAndAreCounted) {
    EXPECT_EQ(action(Shape{}), XDP_PASS);
    want();
    EXPECT_EQ(action(Shape{}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{}), XDP_REDIRECT);
    EXPECT_EQ(hits(), 2U);
}

TEST_F(Steer, AnythingElseStaysWithTheKernel) {
    want();
    EXPECT_EQ(action(Shape{.port = kPort + 1}), XDP_PASS);
    EXPECT_EQ(action(Shape{.group = kGroup + 1}), XDP_PASS);
    EXPECT_EQ(action(Shape{.protocol = 6}), XDP_PASS);
    EXPECT_EQ(action(Shape{.protocol = 2}), XDP_PASS);  // IGMP
    EXPECT_EQ(action(Shape{.ether_type = ETH_P_ARP}), XDP_PASS);
    EXPECT_EQ(action(Shape{.ether_type = ETH_P_IPV6}), XDP_PASS);
    EXPECT_EQ(action(Shape{.version = 6}), XDP_PASS);
    EXPECT_EQ(hits(), 0U);
}

TEST_F(Steer, FragmentsStayWithTheKernel) {
    want();
    EXPECT_EQ(action(Shape{.fragment = 0x2000}), XDP_PASS);  // the first of several
    EXPECT_EQ(action(Shape{.fragment = 0x2001}), XDP_PASS);
    EXPECT_EQ(action(Shape{.fragment = 0x00B9}), XDP_PASS);  // the last
    EXPECT_EQ(action(Shape{.fragment = 0x0000}), XDP_REDIRECT);
}

TEST_F(Steer, FragmentedPacketsOfEndpointsAreCountedByTheirFirstFragment) {
    want();
    action(Shape{.fragment = 0x2000});
    action(Shape{.fragment = 0x2001});
    action(Shape{.fragment = 0x00B9});
    action(Shape{.fragment = 0x2000, .protocol = 6});
    EXPECT_EQ(passed(kGroup, kPort), std::pair(std::uint64_t{1}, IpAddress(kSource)));
    EXPECT_EQ(hits(), 0U);
}

TEST_F(Steer, FragmentedPacketsOfIpv6AreCountedByTheirFirstFragment) {
    want(key(kGroup6));
    const auto fragment = [](unsigned next, unsigned offset) {
        return Shape6{
            .next_header = 44,
            .extension = Bytes{static_cast<std::uint8_t>(next), 0, static_cast<std::uint8_t>(offset >> 8),
                               static_cast<std::uint8_t>(offset), 0, 0, 0, 7}};
    };
    EXPECT_EQ(action(fragment(17, 1)), XDP_PASS);
    EXPECT_EQ(action(fragment(17, 0)), XDP_PASS);  // the only one
    EXPECT_EQ(action(fragment(17, 0x05A9)), XDP_PASS);
    EXPECT_EQ(action(fragment(6, 1)), XDP_PASS);
    EXPECT_EQ(passed(kGroup6, kPort), std::pair(std::uint64_t{2}, IpAddress(kSource6)));
    EXPECT_EQ(hits(key(kGroup6)), 0U);
}

TEST_F(Steer, IpOptionsAreSkipped) {
    want();
    for (unsigned words = 6; words <= 15; ++words) {
        EXPECT_EQ(action(Shape{.words = words}), XDP_REDIRECT) << words;
    }
    EXPECT_EQ(action(Shape{.words = 6, .port = kPort + 1}), XDP_PASS);
    EXPECT_EQ(action(Shape{.words = 4}), XDP_PASS);
    EXPECT_EQ(action(Shape{.words = 0}), XDP_PASS);
}

TEST_F(Steer, UpToTwoVlanTagsAreSkipped) {
    want();
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021Q, 10}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021AD, 10}, {ETH_P_8021Q, 20}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021Q, 10}, {ETH_P_8021Q, 20}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021AD, 1}, {ETH_P_8021Q, 2}, {ETH_P_8021Q, 3}}}), XDP_PASS);
}

TEST_F(Steer, ARuleMayBeForOneVlan) {
    want(0, 10);
    EXPECT_EQ(action(Shape{}), XDP_PASS);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021Q, 11}}}), XDP_PASS);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021Q, 10}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021Q, 0xF00A}}}), XDP_REDIRECT);  // priority bits do not count
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021AD, 10}, {ETH_P_8021Q, 20}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{.tags = {{ETH_P_8021AD, 20}, {ETH_P_8021Q, 10}}}),
              XDP_PASS);  // the outermost counts
}

TEST_F(Steer, AnEndpointMayNameItsSource) {
    want(kSource);
    EXPECT_EQ(action(Shape{}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape{.source = kSource + 1}), XDP_PASS);
    EXPECT_EQ(hits(kSource), 1U);
}

TEST_F(Steer, WhatIsTruncatedStaysWithTheKernel) {
    want();
    for (const Shape& shape :
         {Shape{}, Shape{.tags = {{ETH_P_8021AD, 10}, {ETH_P_8021Q, 20}}}, Shape{.words = 15}}) {
        const Bytes whole = frame(shape);
        const std::size_t headers = whole.size() - shape.payload;
        for (std::size_t length = ETH_HLEN; length < headers; ++length) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            ASSERT_EQ(action(cut), XDP_PASS) << length << " of " << whole.size();
        }
        const Bytes bare(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(headers));
        EXPECT_EQ(action(bare), XDP_REDIRECT);
    }
}

TEST_F(Steer, WithoutASocketOnItsQueueAPacketStaysWithTheKernel) {
    want();
    const std::uint32_t queue = 0;
    ASSERT_EQ(bpf_map_delete_elem(steer_.map(STEER_SOCKETS), &queue), 0);
    EXPECT_EQ(action(Shape{}), XDP_PASS);
    EXPECT_EQ(hits(), 0U);
}

TEST_F(Steer, UdpThatIsLeftToTheKernelIsCountedByItsEndpoint) {
    want(kSource);
    action(Shape{.source = kSource + 1});
    action(Shape{.source = kSource + 2});
    action(Shape{.port = kPort + 1});
    action(Shape{.protocol = 6});
    action(Shape{.fragment = 0x2001});
    EXPECT_EQ(action(Shape{}), XDP_REDIRECT);
    EXPECT_EQ(passed(kGroup, kPort).first, 2U);
    EXPECT_NE(passed(kGroup, kPort).second, IpAddress(kSource));
    EXPECT_EQ(passed(kGroup, kPort + 1), std::pair(std::uint64_t{1}, IpAddress(kSource)));
    EXPECT_EQ(passed(kGroup + 1, kPort), std::pair(std::uint64_t{0}, IpAddress{}));
}

TEST_F(Steer, MadeUpEndpointsDoNotMakeTheTableGrow) {
    for (std::uint32_t i = 0; i < 10 * STEER_MAX_PASSED; ++i) {
        EXPECT_EQ(action(Shape{.group = kGroup + i}), XDP_PASS);
    }
    std::uint32_t counted = 0;
    for (std::uint32_t i = 0; i < 10 * STEER_MAX_PASSED; ++i) {
        counted += passed(kGroup + i, kPort).first != 0 ? 1 : 0;
    }
    EXPECT_EQ(counted, STEER_MAX_PASSED);
    EXPECT_EQ(passed(kGroup, kPort).first, 1U) << "those that came first are counted";
}

TEST_F(Steer, AClosedSocketLeavesTheMap) {
    want();
    EXPECT_EQ(action(Shape{}), XDP_REDIRECT);
    ::close(socket_);
    socket_ = -1;
    EXPECT_EQ(action(Shape{}), XDP_PASS);
}

TEST_F(Steer, AnIpv6EndpointsPacketsGoToTheSocketAndAreCounted) {
    EXPECT_EQ(action(Shape6{}), XDP_PASS);
    want(key(kGroup6));
    EXPECT_EQ(action(Shape6{}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape6{.source = {0xFE80'0000'0000'0000, 7}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape6{.tags = {{ETH_P_8021AD, 10}, {ETH_P_8021Q, 20}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape6{.tags = {{ETH_P_8021AD, 1}, {ETH_P_8021Q, 2}, {ETH_P_8021Q, 3}}}), XDP_PASS);
    EXPECT_EQ(hits(key(kGroup6)), 3U);
}

TEST_F(Steer, AnythingElseOfIpv6StaysWithTheKernel) {
    want(key(kGroup6));
    want();
    EXPECT_EQ(action(Shape6{.port = kPort + 1}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.group = {kGroup6.high, kGroup6.low + 1}}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.group = {kGroup6.high + 1, kGroup6.low}}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.next_header = 6}), XDP_PASS);   // TCP
    EXPECT_EQ(action(Shape6{.next_header = 58}), XDP_PASS);  // ICMPv6: NDP, MLD
    EXPECT_EQ(action(Shape6{.ether_type = ETH_P_IP}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.version = 4}), XDP_PASS);
    EXPECT_EQ(hits(key(kGroup6)), 0U);
    EXPECT_EQ(action(Shape{}), XDP_REDIRECT) << "IPv4 beside it";
    EXPECT_EQ(action(Shape6{}), XDP_REDIRECT);
}

/// Returns an extension header of options, of `bytes`, before the next header.
Bytes options(unsigned next, std::size_t bytes = 8) {
    Bytes header(bytes);
    header[0] = static_cast<std::uint8_t>(next);
    header[1] = static_cast<std::uint8_t>(bytes / 8 - 1);
    header[2] = 1;
    header[3] = static_cast<std::uint8_t>(bytes - 4);
    return header;
}

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

TEST_F(Steer, ShortOptionsOfIpv6ArePassedOver) {
    want(key(kGroup6));
    const Shape6 shapes[] = {{.next_header = 0, .extension = options(17)},
                             {.next_header = 60, .extension = options(17)},
                             {.next_header = 60, .extension = options(17, 64)},
                             {.next_header = 0, .extension = options(60, 32) + options(17, 32)},
                             {.next_header = 60, .extension = options(60) + options(60) + options(17)}};
    for (const Shape6& shape : shapes) {
        EXPECT_EQ(action(shape), XDP_REDIRECT) << shape.extension.size();
        const Bytes whole = frame(shape);
        const std::size_t headers = whole.size() - shape.payload;
        for (std::size_t length = ETH_HLEN; length < headers; ++length) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            ASSERT_EQ(action(cut), XDP_PASS) << length << " of " << whole.size();
        }
    }
    EXPECT_EQ(hits(key(kGroup6)), std::size(shapes));
}

TEST_F(Steer, OtherExtensionHeadersStayWithTheKernel) {
    want(key(kGroup6));
    const Bytes fragment{17, 0, 0, 1, 0, 0, 0, 7};
    EXPECT_EQ(action(Shape6{.next_header = 44, .extension = fragment}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.next_header = 60, .extension = options(44) + fragment}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.next_header = 43, .extension = options(17)}), XDP_PASS) << "routing";
    EXPECT_EQ(action(Shape6{.next_header = 60, .extension = options(17, 72)}), XDP_PASS) << "long";
    EXPECT_EQ(action(Shape6{.next_header = 60, .extension = options(60, 64) + options(17)}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.next_header = 60, .extension = options(0) + options(17)}), XDP_PASS)
        << "hop-by-hop options that are not first";
    EXPECT_EQ(action(Shape6{.next_header = 0, .extension = options(6)}), XDP_PASS) << "TCP";
    EXPECT_EQ(hits(key(kGroup6)), 0U);
}

TEST_F(Steer, AnIpv6EndpointMayNameItsSourceAndItsVlan) {
    want(key(kGroup6, kSource6), 10);
    const Shape6 from_another{.tags = {{ETH_P_8021Q, 10}}, .source = {kSource6.high, kSource6.low + 1}};
    EXPECT_EQ(action(Shape6{.tags = {{ETH_P_8021Q, 10}}}), XDP_REDIRECT);
    EXPECT_EQ(action(Shape6{}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.tags = {{ETH_P_8021Q, 11}}}), XDP_PASS);
    EXPECT_EQ(action(from_another), XDP_PASS);
    EXPECT_EQ(hits(key(kGroup6, kSource6)), 1U);
    EXPECT_EQ(passed(kGroup6, kPort), std::pair(std::uint64_t{3}, IpAddress(from_another.source)));
}

/// Tests addresses whose first words are alike.
TEST_F(Steer, OneVersionNeverPassesForTheOther) {
    want();
    const std::uint64_t high = std::uint64_t{kGroup} << 32;
    EXPECT_EQ(action(Shape6{.group = {high, 0}}), XDP_PASS);
    EXPECT_EQ(action(Shape6{.group = IpAddress(kGroup).v6()}), XDP_PASS) << "mapped";
    const SteerKey alike = key(Ipv6{std::uint64_t{kGroup + 1} << 32, 0});
    want(alike);
    EXPECT_EQ(action(Shape{.group = kGroup + 1}), XDP_PASS);
    EXPECT_EQ(hits() + hits(alike), 0U);
}

TEST_F(Steer, WhatIsTruncatedOfIpv6StaysWithTheKernel) {
    want(key(kGroup6));
    for (const Shape6& shape : {Shape6{}, Shape6{.tags = {{ETH_P_8021AD, 10}, {ETH_P_8021Q, 20}}}}) {
        const Bytes whole = frame(shape);
        const std::size_t headers = whole.size() - shape.payload;
        for (std::size_t length = ETH_HLEN; length < headers; ++length) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            ASSERT_EQ(action(cut), XDP_PASS) << length << " of " << whole.size();
        }
        const Bytes bare(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(headers));
        EXPECT_EQ(action(bare), XDP_REDIRECT);
    }
}

}  // namespace

}  // namespace spead::drivers::test
