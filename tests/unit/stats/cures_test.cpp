// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/endpoint.hpp"
#include "stats/diagnosis.hpp"
#include "stats/since.hpp"
#include "tests/unit/stats/each_row.hpp"

/// Tests the cures of a run whose settings are known: they name present and proposed values, and commands.
namespace spead::stats::test {
namespace {

class CuresOf : public testing::TestWithParam<CureRow> {};

TEST_P(CuresOf, NameValuesAndCommands) {
    Snapshot s = known();
    GetParam().change(s);
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(name_of(found[0].cause), name_of(GetParam().cause));
    ASSERT_GE(found[0].cures.size(), GetParam().cures.size()) << found[0].sentence();
    for (std::size_t i = 0; i < GetParam().cures.size(); i++)
        EXPECT_EQ(found[0].cures[i].find(GetParam().cures[i]), 0U) << found[0].cures[i] << "\nis not\n"
                                                                   << GetParam().cures[i];
}

INSTANTIATE_TEST_SUITE_P(OfRuns, CuresOf, testing::ValuesIn(kCureRows),
                         [](const auto& row) { return std::string(row.param.name); });
INSTANTIATE_TEST_SUITE_P(OfQueues, CuresOf, testing::ValuesIn(kQueueCureRows),
                         [](const auto& row) { return std::string(row.param.name); });
INSTANTIATE_TEST_SUITE_P(OfConsumers, CuresOf, testing::ValuesIn(kConsumerCureRows),
                         [](const auto& row) { return std::string(row.param.name); });
INSTANTIATE_TEST_SUITE_P(OfOptions, CuresOf, testing::ValuesIn(kOptionCureRows),
                         [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(OfPrograms, CuresOf, testing::ValuesIn(kProgramCureRows),
                         [](const auto& row) { return std::string(row.param.name); });
INSTANTIATE_TEST_SUITE_P(OfPaths, CuresOf, testing::ValuesIn(kPathCureRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Cures, AServiceWritesWhereItsUsersLook) {
    Snapshot s = known();
    with_chunks(s);
    set(s, PacketOutcome::out_of_range);
    s.streams[0].settings.placement = "heap 8192; time: heap [4]";
    setenv("STATE_DIRECTORY", "/var/lib/dpdk-spead/a b:/var/lib/other", 1);
    const std::string sentence = diagnose(s).at(0).sentence();
    unsetenv("STATE_DIRECTORY");
    EXPECT_NE(sentence.find(
                  "capture start s0 '/var/lib/dpdk-spead/a b/s0.pcap' capture.count 20`, then run `tcpdump "
                  "-nXr '/var/lib/dpdk-spead/a b/s0.pcap'`"),
              std::string::npos)
        << sentence;
}

TEST(Cures, AStreamWhoseThreadASlowSinkHoldsIsSentThere) {
    Snapshot s = known();
    s.settings.allowed_cpus = {0, 1};
    s.streams[0].heaps_dropped_full = 77;
    s.streams[0].queue_most = 256;
    s.streams.push_back(s.streams[0]);
    s.streams[0].heaps_delivered = 1000;
    s.streams[1].name = "s1";
    s.streams[1].settings.directory = "/data";
    std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].cures.at(0),
              "see the finding of s1 first: its sink is slow, and one thread may take the heaps of both");
    EXPECT_EQ(
        found[1].what,
        "were thrown away because the consumer, which writes to /data, was slow: up to 256 of 256 places of "
        "the hand-over queue were taken");
    EXPECT_EQ(found[1].cures.at(0).find("see what slows its disk down"), 0U);
    s.settings.allowed_cpus = {0, 1, 2, 3};
    EXPECT_EQ(diagnose(s).at(0).cures.at(1), "do less per heap") << "each has a thread of its own";
}

TEST(Cures, AStreamThatBecomesSilentHasThoseOfASenderThatIsNotSeen) {
    Snapshot s = known();
    s.duration_s = 77.9;
    s.streams[0].health = "silent";
    s.streams[0].last_event = LastEvent{StreamEvent::silent, 70, "no packet for 2.0 s"};
    s.ports[0].joins_groups = true;
    std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, Cause::nothing_came);
    EXPECT_EQ(
        found[0].loss(0),
        "s0: 7 seconds without a packet since it became silent; 1000 packets had come before, from 10.0.0.1");
    EXPECT_EQ(found[0].cures.at(0).find("see whether its packets arrive: `timeout 5 tcpdump -ni eth0"), 0U);
    EXPECT_NE(found[0].cures.at(0).find("ask at 10.0.0.1 whether packets are sent to 239.1.2.3:7148"),
              std::string::npos)
        << found[0].cures.at(0);
    EXPECT_EQ(found[0].cures.at(1).find("check at 10.0.0.1 whether packets are still sent"), 0U);
    EXPECT_NE(found[0].sentence().find("IGMP snooping needs a querier"), std::string::npos);
    EXPECT_EQ(found[0].sentence().find("compare the endpoints"), std::string::npos)
        << "they were right before";
    s.streams[0].endpoints = {"10.0.0.5:7148"};
    EXPECT_EQ(diagnose(s).at(0).cures.at(1),
              "check at 10.0.0.1 whether packets are still sent to these endpoints")
        << "no switch needs a querier for a host's address";
    s.streams[0].endpoints = {"10.0.0.5:7148", "239.1.2.3:7148"};
    EXPECT_NE(diagnose(s).at(0).sentence().find("IGMP snooping"), std::string::npos);
    s.ports[0].strays = {{"239.1.2.9:7148", "10.0.0.1", 77}};
    EXPECT_NE(diagnose(s).at(0).sentence().find("endpoint add s0 239.1.2.9:7148"), std::string::npos);
    s.ports[0].link_down = true;
    found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].loss(0), "s0: 7 seconds without a packet: port p0 has no link");
    s.streams[0].health = "slow";
    EXPECT_TRUE(diagnose(s).empty());
}

/// Checks the cures of every cause, in a run whose settings are known.
template <std::size_t N>
void check_all(const CauseRow (&rows)[N]) {
    for (const CauseRow& row : rows) {
        Snapshot s = known();
        row.change(s);
        for (const Finding& f : diagnose(s)) {
            EXPECT_FALSE(f.cures.empty()) << row.name;
            for (const std::string& cure : f.cures) {
                EXPECT_FALSE(cure.empty()) << row.name;
                EXPECT_EQ(std::ranges::count(cure, '`') % 2, 0) << cure;
                EXPECT_FALSE(cure.ends_with('.')) << cure;
            }
        }
    }
}

TEST(Cures, EveryCauseHasSomeAndTheirCommandsEnd) {
    check_all(kPortCauseRows);
    check_all(kStreamCauseRows);
    check_all(kNothingCameCauseRows);
    check_all(kFormatCauseRows);
    check_all(kNearLossCauseRows);
}

TEST(Cures, AnInterfaceIsOneWordOfTheShell) {
    Snapshot s = known();
    nothing_came(s);
    s.ports[0].settings.interface = "a;b";
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].sentence().find("`timeout 5 tcpdump -ni 'a;b' -c 20 udp`"), std::string::npos)
        << found[0].sentence();
}

TEST(Cures, PathsOfSeveralInterfacesNameNone) {
    Snapshot s = known();
    nothing_came(s);
    s.ports.push_back(s.ports[0]);
    s.ports[1].name = "p1";
    s.streams[0].path_ports = {"p0", "p1"};
    const auto sentence = [&s] { return diagnose(s).at(0).sentence(); };
    EXPECT_NE(sentence().find("tcpdump -ni eth0"), std::string::npos) << sentence();
    s.ports[1].settings.interface = "eth1";
    EXPECT_EQ(sentence().find("tcpdump"), std::string::npos) << sentence();
    s.streams[0].unowned = {"10.0.0.5"};
    EXPECT_NE(sentence().find("`ip addr add 10.0.0.5 dev INTERFACE`"), std::string::npos) << sentence();
}

TEST(Cures, AStreamOfWhichOnlyFragmentsComeIsToldOfThemAtThePortThatHasThem) {
    Snapshot s = known();
    nothing_came(s);
    s.ports.push_back(s.ports[0]);
    s.ports[1].name = "p1";
    s.ports[1].rx_packets = s.ports[1].rx[static_cast<std::size_t>(PortOutcome::fragment)] = 231;
    s.ports[1].reassembly.wanted = 231;
    s.streams[0].path_ports = {"p0", "p1"};
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].what,
              "without a packet, while port p1 had 231 IP fragments, which are not reassembled");
    EXPECT_EQ(found[0].cures.at(0), "set `reassemble = true` in [[port]] of p1 in /etc/x.toml, and restart");
    EXPECT_NE(found[0].sentence().find("check whether the sender sends"), std::string::npos);
    EXPECT_EQ(found[1].cause, Cause::fragments);
    s.ports[1].reassembly_places = 256;
    EXPECT_EQ(diagnose(s).at(0).what.find("fragments"), std::string::npos)
        << "those are broken, or of others";
    s.ports[1].reassembly.given_up = s.ports[1].reassembly.too_many = 9;
    const std::vector<Finding> rest = diagnose(s);
    const auto fragments = std::ranges::find(rest, Cause::fragments, &Finding::cause);
    ASSERT_NE(fragments, rest.end());
    EXPECT_NE(fragments->what.find("the rest of packets that were given up"), std::string::npos);
}

TEST(Cures, FragmentsThatNobodyCanPutTogetherNeedNoReassembly) {
    Snapshot s = known();
    s.ports[0].rx[static_cast<std::size_t>(PortOutcome::fragment)] = 77;
    std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, Cause::fragments);
    EXPECT_NE(found[0].what.find("whole in one fragment"), std::string::npos) << found[0].what;
    EXPECT_EQ(found[0].sentence().find("reassemble ="), std::string::npos) << found[0].sentence();
    s.ports[0].reassembly.wanted = 7;
    found = diagnose(s);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].count, 7U);
    EXPECT_NE(found[0].sentence().find("reassemble = true"), std::string::npos);
    EXPECT_EQ(found[1].count, 70U);
}

/// Lets rules bring first fragments alone: such a port refuses `reassemble`.
TEST(Cures, FragmentsOfAPortWithRulesNeedTheKernelsSockets) {
    Snapshot s = known();
    s.ports[0].rx[static_cast<std::size_t>(PortOutcome::fragment)] = s.ports[0].reassembly.wanted = 77;
    for (const char* steering : {"software", "rte_flow", "xdp map"}) {
        s.ports[0].steering = steering;
        const std::vector<Finding> found = diagnose(s);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].cures.at(0),
                  std::string_view(steering) == "software"
                      ? "set `reassemble = true` in [[port]] of p0 in /etc/x.toml, and restart"
                      : "set `device = \"net_kernel0,iface=eth0\"` in [[port]] of p0 in /etc/x.toml, and "
                        "restart: the kernel's sockets put fragments together");
    }
}

TEST(Cures, AnOptionThatTheCommandLacksIsNotProposed) {
    Snapshot s = known();
    set(s, PortOutcome::fragment);
    by_options(s);
    s.settings.options = {"--port", "--max-packet-size"};
    EXPECT_EQ(diagnose(s).at(0).cures.at(0),
              "restart with a configuration file (`run --config FILE`) that has `reassemble = true` in "
              "[[port]]");
    s = known();
    set(s, PacketOutcome::header_in_device);
    by_options(s);
    s.streams[0].longest_header = 170;
    s.settings.options = {"--port", "--max-packet-size"};
    EXPECT_EQ(diagnose(s).at(0).cures.at(0),
              "restart with a configuration file (`run --config FILE`) that has `split = 170` in [[port]]");
}

TEST(Cures, NameNoOptionThatTheCommandLacks) {
    each_snapshot([](const char* row, Snapshot s) {
        by_options(s);
        s.settings.by_options = true;
        s.settings.options = {"--duration"};
        for (const Finding& f : diagnose(s))
            for (const std::string& cure : f.cures)
                EXPECT_TRUE(options_in(cure).empty()) << row << ": " << cure;
    });
}

/// Takes each snapshot for one of a run with a file, with a control socket and without.
TEST(Cures, NameNoOptionInARunWithAFile) {
    each_snapshot([](const char* row, Snapshot s) {
        for (const char* const attach : {"", "dpdk-spead attach /run/x.sock --"}) {
            s.settings.attach = attach;
            s.settings.own_prompt = false;
            s.settings.configuration = "/etc/x.toml";
            s.settings.by_options = false;
            for (const Finding& f : diagnose(s)) {
                EXPECT_TRUE(options_in(f.what).empty()) << row << ": " << f.what;
                for (const std::string& cure : f.cures) {
                    EXPECT_TRUE(options_in(cure).empty()) << row << ": " << cure;
                    EXPECT_EQ(cure.find("restart with `--"), cure.npos) << row << ": " << cure;
                }
            }
        }
    });
}

/// Takes each snapshot for one of a program, which has no sink and no engine of its own.
TEST(Cures, NameNeitherOptionsNorKeysOfTheFileInAProgram) {
    std::size_t cures = 0;
    each_snapshot([&cures](const char* row, Snapshot s) {
        StreamSettings& set = s.streams[0].settings;
        set.directory = set.ring = "";
        by_program(s);
        for (const Finding& f : diagnose(s)) {
            EXPECT_TRUE(options_in(f.what).empty()) << row << ": " << f.what;
            if (f.cause == Cause::device_error || f.cause == Cause::engine_too_slow ||
                f.cause == Cause::sink_no_place)
                continue;
            for (const std::string& cure : f.cures) {
                cures++;
                EXPECT_TRUE(options_in(cure).empty()) << row << ": " << cure;
                for (const char* const word : {"`heaps.", "`chunk.", "`sink.", "`--", "[[receive", "[receive",
                                               "[[send", "[memory", "restart with"})
                    EXPECT_EQ(cure.find(word), cure.npos) << row << ": " << cure;
            }
        }
    });
    EXPECT_GT(cures, 100U);
}

TEST(Cures, MemoryOfAnEngineIsThatOfItsStream) {
    Snapshot s = known();
    set(s, PacketOutcome::no_memory);
    s.streams[0].settings.own_memory = true;
    s.streams[0].settings.gather_memory = std::uint64_t{512} << 20;
    EXPECT_EQ(
        diagnose(s).at(0).cures.at(0),
        "set `gather_memory = \"1GiB\"` in [receive.heaps] of s0 in /etc/x.toml (now 512MiB), and restart");
}

TEST(Cures, FragmentsOfAPortThatSplitsNeedItWhole) {
    Snapshot s = known();
    set(s, PortOutcome::fragment);
    s.ports[0].settings.split = 134;
    EXPECT_EQ(diagnose(s).at(0).cures.at(0),
              "set `reassemble = true` in [[port]] of p0 in /etc/x.toml, and restart; the port cannot split "
              "packets "
              "then: leave out `split` of it");
    by_options(s);
    EXPECT_NE(diagnose(s).at(0).cures.at(0).find("leave out --split of it"), std::string::npos);
}

TEST(Cures, NoMoreDatagramsAreProposedThanAPortMayHave) {
    Snapshot s = known();
    s.ports[0].reassembly_places = s.ports[0].settings.reassemble_datagrams = kMostReassembled;
    s.ports[0].reassembly.given_up = s.ports[0].reassembly.crowded_out = 77;
    EXPECT_EQ(diagnose(s).at(0).cures.at(0).find("look for a sender that floods it"), 0U)
        << diagnose(s).at(0).sentence();
}

TEST(Cures, AGroupOfAScopeThatNoEndpointMayHaveIsNotProposed) {
    for (const char* group : {"[ff11::1]:7148", "[ff10::1]:7148", "[ff1f::1]:7148"}) {
        Snapshot s = known();
        strays(s, group, "fd00::9");
        const std::string sentence = diagnose(s).at(0).sentence();
        EXPECT_EQ(sentence.find("endpoint add s0 '["), std::string::npos) << sentence;
        EXPECT_NE(sentence.find("endpoint add s0 ADDRESS:PORT"), std::string::npos) << sentence;
        s.ports[0].strays.push_back({"[ff15::1]:7148", "fd00::9", 7});
        EXPECT_NE(diagnose(s).at(0).sentence().find("endpoint add s0 '[ff15::1]:7148'"), std::string::npos);
    }
}

TEST(Cures, APacketSizeIsThatOfTheLongestPacket) {
    Snapshot s = known();
    set(s, PacketOutcome::oversize);
    s.streams[0].settings.max_packet_size = 1472;
    s.streams[0].longest_packet = 8192;
    EXPECT_EQ(diagnose(s).at(0).cures.at(0).find("set `max_packet_size = 8192` in"), 0U)
        << diagnose(s).at(0).sentence();
    s = known();
    s.streams[0].settings.max_packet_size = 1472;
    s.ports[0].rx_oversized_frames = 77;
    s.ports[0].rx_longest_payload = 8200;
    EXPECT_NE(diagnose(s).at(0).sentence().find("`max_packet_size = 8200`"), std::string::npos)
        << diagnose(s).at(0).sentence();
}

TEST(Cures, StraysOfTheSecondPathAreComparedWithItsEndpoints) {
    Snapshot s = known();
    strays(s, "239.1.3.4:7148", "10.0.0.9");
    s.streams[0].path_ports = {"p7", "p0"};
    s.streams[0].path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
    EXPECT_EQ(diagnose(s).at(0).cures.at(0),
              "compare the endpoints with the sender's destinations: s0 receives 239.1.3.3:7148 by p0");
    s.streams[0].path_endpoints[1] = s.streams[0].path_endpoints[0];
    EXPECT_EQ(diagnose(s).at(0).cures.at(0),
              "compare the endpoints with the sender's destinations: s0 receives 239.1.2.3:7148");
}

TEST(Cures, AnIpv6SenderIsNamedByItsAddress) {
    Snapshot s = known();
    s.streams[0].heaps_ended[2] = 77;
    s.ports[0].talkers = {{"fd00::7", "s0", 1000, 0, sender_key(IpAddress(Ipv6{0xFD00ULL << 48, 7}))}};
    EXPECT_NE(diagnose(s).at(0).sentence().find("at fd00::7, look"), std::string::npos)
        << diagnose(s).at(0).sentence();
    s.streams[0].heaps_ended[2] = 0;
    s.streams[0].heaps_started = 1000;
    s.streams[0].heaps_ghosts = s.streams[0].heaps_ended[1] = 77;
    s.streams[0].ghosts_source = s.ports[0].talkers[0].key;
    s.streams[0].ghosts_of_source = 70;
    EXPECT_NE(diagnose(s).at(0).what.find("most of them from fd00::7"), std::string::npos)
        << diagnose(s).at(0).what;
}

TEST(Cures, AFormatThatPacketsFitIsSetAtThePrompt) {
    Snapshot s = known();
    s.streams[0].fits_format = "vdif";
    set(s, PacketOutcome::malformed);
    EXPECT_EQ(diagnose(s).at(0).cures.at(0),
              "a sample of these packets fits the format `vdif`: run `dpdk-spead attach /run/x.sock -- "
              "stream set s0 format "
              "vdif`; to keep it, set `format = \"vdif\"` in [[receive]] of s0 in /etc/x.toml");
}

TEST(Cures, AStrayThatWasAddedIsNotProposedAgain) {
    Snapshot s = known();
    strays(s, "239.1.2.4:7148", "10.0.0.9");
    const Snapshot before = s;
    s.ports[0].rx[static_cast<std::size_t>(PortOutcome::unmatched)] += 70;
    s.ports[0].strays.push_back({"239.1.2.5:7148", "10.0.0.9", 70});
    const std::vector<Finding> found = diagnose(since_changes(s, before));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].cures.at(1).find("endpoint add s0 239.1.2.5:7148`"), std::string::npos)
        << found[0].sentence();
}

}  // namespace
}  // namespace spead::stats::test
