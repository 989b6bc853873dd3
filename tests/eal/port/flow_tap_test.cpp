// SPDX-License-Identifier: BSD-3-Clause
// rte_flow for real: net_tap, whose rules the kernel's tc flower carries out, in a network namespace of this
// process. A kernel socket sends out of the interface; what a queue then gives is compared. Skipped with the
// reason where the kernel lacks flower (scripts/vm has one that does not).
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <rte_byteorder.h>

#include "drivers/flower.hpp"
#include "port/flow_rules.hpp"
#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint16_t kUdpPort = 7148;
constexpr std::size_t kUntagged = 14 + 20 + 8;  // Ethernet, IPv4 and UDP headers
constexpr std::size_t kTagged = kUntagged + 4;

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// Returns "" if this process has a network namespace and its kernel all that rules need, or else the reason.
const std::string& problem() {
    static const std::string reason = [] {
        if (::unshare(CLONE_NEWNET) != 0) {
            return "a network namespace needs root: " + std::string(std::strerror(errno));
        }
        if (::access("/dev/net/tun", R_OK | W_OK) != 0) {
            return "/dev/net/tun: " + std::string(std::strerror(errno));
        }
        return drivers::why_no_flower();
    }();
    return reason;
}

Rule rule_for(const char* endpoint, std::uint16_t queue) {
    Rule r;
    r.endpoint = parse_endpoints(endpoint).front();
    r.queues = {queue};
    return r;
}

/// Sends UDP datagrams out of an interface, by a kernel socket.
class KernelSocket {
  public:
    explicit KernelSocket(const char* interface) : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        ip_mreqn out{};
        out.imr_ifindex = static_cast<int>(::if_nametoindex(interface));
        EXPECT_NE(out.imr_ifindex, 0) << interface;
        EXPECT_EQ(::setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out), 0);
        int loop = 0;
        ::setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop);
    }
    ~KernelSocket() { ::close(fd_); }
    KernelSocket(const KernelSocket&) = delete;
    KernelSocket& operator=(const KernelSocket&) = delete;

    void send(const char* group, const std::string& text, std::uint16_t port = kUdpPort) const {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = rte_cpu_to_be_16(port);
        to.sin_addr.s_addr = rte_cpu_to_be_32(parse_ipv4(group).value);
        ASSERT_EQ(
            ::sendto(fd_, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to),
            static_cast<ssize_t>(text.size()))
            << std::strerror(errno);
    }

  private:
    int fd_;
};

class FlowTap : public testing::Test {
  protected:
    void SetUp() override {
        if (!problem().empty()) {
            GTEST_SKIP() << problem();
        }
        port = open_port(request("net_tap0,iface=dtap0", 2, 1));
        port->start();
        bring_up("dtap0", "10.9.0.2");
    }

    static void bring_up(const std::string& interface, const std::string& address) {
        ASSERT_TRUE(run("ip addr add " + address + "/24 dev " + interface));
        ASSERT_TRUE(run("ip link set " + interface + " up"));
    }

    /// Returns the texts that a queue gives, up to and with the last one expected. A queue keeps their order,
    /// so an unexpected text that was sent earlier would stand in between.
    std::vector<std::string> texts_until(std::uint16_t queue, const std::string& last,
                                         std::size_t headers = kUntagged) const {
        std::vector<std::string> texts;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{120};
        while (texts.empty() || texts.back() != last) {
            if (std::chrono::steady_clock::now() > end) {
                ADD_FAILURE() << "queue " << queue << " does not give \"" << last << '"';
                break;
            }
            for (const auto& bytes : receive(port->rx_queue(queue), 1)) {
                // A packet too short to be ours shows as an empty text, and fails the comparison.
                texts.emplace_back(
                    bytes.begin() + static_cast<std::ptrdiff_t>(std::min(headers, bytes.size())),
                    bytes.end());
            }
        }
        return texts;
    }

    std::unique_ptr<Port> port;
};

TEST_F(FlowTap, EachEndpointArrivesOnTheQueueItsRuleNames) {
    port->add_rule(rule_for("239.1.1.1:7148", 0));
    port->add_rule(rule_for("239.1.1.2:7148", 1));
    const KernelSocket socket("dtap0");
    for (const char* text : {"a", "b", "last"}) {
        socket.send("239.1.1.1", std::string("first ") + text);
        socket.send("239.1.1.2", std::string("second ") + text);
    }

    EXPECT_THAT(texts_until(0, "first last"), ElementsAre("first a", "first b", "first last"));
    EXPECT_THAT(texts_until(1, "second last"), ElementsAre("second a", "second b", "second last"));
}

TEST_F(FlowTap, WhatNoRuleNamesDoesNotArrive) {
    port->add_rule(rule_for("239.1.1.1:7148", 0));
    port->add_rule(rule_for("239.1.1.2:7148", 1));
    const KernelSocket socket("dtap0");
    for (int i = 0; i < 8; ++i) {
        socket.send("239.1.1.3", "another group");
        socket.send("239.129.1.1", "another group with the same MAC address");
        socket.send("239.1.1.1", "another port", 7149);
        socket.send("10.9.0.7", "unicast, which asks by ARP first");
    }
    socket.send("239.1.1.1", "first");
    socket.send("239.1.1.2", "second");

    EXPECT_THAT(texts_until(0, "first"), ElementsAre("first"));
    EXPECT_THAT(texts_until(1, "second"), ElementsAre("second"));
    EXPECT_TRUE(port->capabilities().isolation);
}

TEST_F(FlowTap, RulesComeAndGoWhileTheOthersStay) {
    port->add_rule(rule_for("239.1.1.1:7148", 0));
    port->add_rule(rule_for("239.1.1.2:7148", 1));
    const KernelSocket socket("dtap0");
    socket.send("239.1.1.1", "before");
    port->remove_rule(parse_endpoints("239.1.1.1:7148").front());
    socket.send("239.1.1.1", "without a rule");
    socket.send("239.1.1.2", "with");
    port->add_rule(rule_for("239.1.1.1:7148", 1));
    port->add_rule(rule_for("239.1.1.3:7148", 0));
    socket.send("239.1.1.1", "on the other queue");
    socket.send("239.1.1.3", "after");

    EXPECT_THAT(texts_until(0, "after"), ElementsAre("before", "after"));
    EXPECT_THAT(texts_until(1, "on the other queue"), ElementsAre("with", "on the other queue"));
}

TEST_F(FlowTap, OnlyTheSourceThatAnEndpointNamesArrives) {
    port->add_rule(rule_for("239.1.1.1:7148@10.9.0.99", 0));
    port->add_rule(rule_for("239.1.1.2:7148@10.9.0.2", 1));
    port->add_rule(rule_for("239.1.1.3:7148", 0));
    const KernelSocket socket("dtap0");
    socket.send("239.1.1.1", "from elsewhere");
    socket.send("239.1.1.2", "from here");
    socket.send("239.1.1.3", "from anywhere");

    EXPECT_THAT(texts_until(0, "from anywhere"), ElementsAre("from anywhere"));
    EXPECT_THAT(texts_until(1, "from here"), ElementsAre("from here"));
}

// Small numbers: tap_flow_create_vlan of DPDK 22.11 masks the number with the mask's bytes the wrong way
// round, and of 42 leaves 10.
TEST_F(FlowTap, OnlyTheVlanThatARuleNamesArrives) {
    if (!run("ip link add link dtap0 name dtap0.5 type vlan id 5") ||
        !run("ip link add link dtap0 name dtap0.6 type vlan id 6")) {
        GTEST_SKIP() << "`ip link add ... type vlan` does not work here";
    }
    bring_up("dtap0.5", "10.9.5.2");
    bring_up("dtap0.6", "10.9.6.2");
    for (const std::uint16_t queue : {std::uint16_t{0}, std::uint16_t{1}}) {
        Rule rule = rule_for(queue == 0 ? "239.1.1.1:7148" : "239.1.1.2:7148", queue);
        rule.vlan = 5;
        port->add_rule(rule);
    }
    const KernelSocket plain("dtap0");
    const KernelSocket ours("dtap0.5");
    const KernelSocket other("dtap0.6");
    for (const char* group : {"239.1.1.1", "239.1.1.2"}) {
        plain.send(group, "untagged");
        other.send(group, "of another VLAN");
        ours.send(group, "of ours");
    }

    EXPECT_THAT(texts_until(0, "of ours", kTagged), ElementsAre("of ours"));
    EXPECT_THAT(texts_until(1, "of ours", kTagged), ElementsAre("of ours"));
}

TEST_F(FlowTap, TellsItsRulesAsTheDeviceHasThem) {
    port->add_rule(rule_for("239.1.1.1:7148", 1));

    const auto rules = port->rules();
    ASSERT_EQ(rules.size(), 1U);
    EXPECT_FALSE(rules.front().counted);
    EXPECT_EQ(rules.front().hits, std::nullopt);
    EXPECT_THAT(rules.front().text, HasSubstr("ipv4 dst is 239.1.1.1 / udp dst is 7148 / end actions queue "
                                              "index 1 / end"));
}

TEST_F(FlowTap, ARefusedRuleIsToldInTheWordsOfTestpmdAndChangesNothing) {
    port->add_rule(rule_for("239.1.1.1:7148", 0));

    const std::string error = error_of([&] { port->add_rule(rule_for("239.1.1.2:7148", 9)); });
    EXPECT_THAT(error, HasSubstr("p0"));
    EXPECT_THAT(error, HasSubstr("239.1.1.2:7148"));
    EXPECT_THAT(error,
                HasSubstr("flow create " + std::to_string(port->port_id()) +
                          " ingress pattern eth dst is 01:00:5e:01:01:02 / ipv4 dst is 239.1.1.2 / udp "
                          "dst is 7148 / end actions queue index 9 / end"));
    EXPECT_EQ(port->rules().size(), 1U);
    port->add_rule(rule_for("239.1.1.2:7148", 1));
    const KernelSocket socket("dtap0");
    socket.send("239.1.1.1", "first");
    socket.send("239.1.1.2", "second");
    EXPECT_THAT(texts_until(0, "first"), ElementsAre("first"));
    EXPECT_THAT(texts_until(1, "second"), ElementsAre("second"));
}

TEST_F(FlowTap, StoppingForgetsTheRulesAndStartingIsolatesAgain) {
    port->add_rule(rule_for("239.1.1.1:7148", 0));
    port->stop();
    port->start();
    EXPECT_THAT(port->rules(), IsEmpty());
    ASSERT_TRUE(run("ip link set dtap0 up"));
    const KernelSocket socket("dtap0");
    socket.send("239.1.1.1", "without a rule");
    port->add_rule(rule_for("239.1.1.1:7148", 1));
    port->add_rule(rule_for("239.1.1.2:7148", 0));
    socket.send("239.1.1.1", "first");
    socket.send("239.1.1.2", "second");

    EXPECT_THAT(texts_until(1, "first"), ElementsAre("first"));
    EXPECT_THAT(texts_until(0, "second"), ElementsAre("second"));
}

TEST_F(FlowTap, ClosingLeavesNeitherDescriptorsNorTheInterface) {
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    port.reset();
    const auto before = descriptors();
    for (int i = 0; i < 3; ++i) {
        port = open_port(request("net_tap0,iface=dtap0", 2, 1));
        port->start();
        port->add_rule(rule_for("239.1.1.1:7148", 0));
        port.reset();
        EXPECT_EQ(::if_nametoindex("dtap0"), 0U);
    }
    EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace spead::port::test
