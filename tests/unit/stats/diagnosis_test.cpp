// SPDX-License-Identifier: BSD-3-Clause
#include "stats/diagnosis.hpp"

#include <gtest/gtest.h>

#include "tests/unit/stats/diagnosed_run.hpp"

/// Tests that a diagnosis leaves out normal counts, and losses that another finding explains.
namespace spead::stats::test {
namespace {

TEST(Diagnosis, ACleanRunHasNothing) {
    EXPECT_TRUE(diagnose(clean()).empty());
    EXPECT_TRUE(diagnose(Snapshot{}).empty());
}

TEST(Diagnosis, LossesHereExplainIncompleteHeaps) {
    Snapshot s = clean();
    s.streams[0].heaps_ended[1] = 77;
    s.ports[0].nic.missed = 77;
    ASSERT_EQ(diagnose(s).size(), 1U);
    EXPECT_EQ(diagnose(s)[0].cause, Cause::receive_ring_short);
}

TEST(Diagnosis, PacketsWithAWrongChecksumAreNoOtherPacketsThanUdp) {
    Snapshot s = clean();
    nothing_came(s);
    s.streams[0].endpoints = {"[ff15::1]:7148"};
    s.ports[0].rx_packets = 77;
    set(s, PortOutcome::bad_checksum);
    ASSERT_EQ(diagnose(s).size(), 2U);
    EXPECT_EQ(diagnose(s)[0].what,
              "without a packet, while port p0 had 77 packets with a wrong checksum, or without the one that "
              "IPv6 demands");
    EXPECT_EQ(diagnose(s)[1].cause, Cause::bad_checksums);
}

TEST(Diagnosis, PacketsCutInsideTheirHeaderExplainIncompleteHeaps) {
    Snapshot s = clean();
    s.streams[0].heaps_ended[1] = 77;
    s.streams[0].packets[static_cast<std::size_t>(PacketOutcome::header_in_device)] = 77;
    s.streams[0].received += 77;
    s.streams[0].longest_header = 562;
    ASSERT_EQ(diagnose(s).size(), 1U);
    EXPECT_EQ(diagnose(s)[0].cause, Cause::header_in_device);
}

TEST(Diagnosis, TheSourceOfAFewLongHeadersComesBeforeALargerSplit) {
    Snapshot s = clean();
    s.streams[0].packets[static_cast<std::size_t>(PacketOutcome::header_in_device)] = 77;
    s.streams[0].longest_header = 562;
    s.streams[0].cut_sources.note(0x0A000007);
    const std::vector<Finding> few = diagnose(s);
    ASSERT_EQ(few.size(), 1U);
    EXPECT_NE(few[0].what.find("up to 562 bytes, most of them from 10.0.0.7,"), std::string::npos)
        << few[0].what;
    ASSERT_EQ(few[0].cures.size(), 3U);
    EXPECT_EQ(few[0].cures[0].find("find out what is sent from there"), 0U) << few[0].cures[0];
    EXPECT_EQ(few[0].cures[1].find("if they are right: set `split` to 562"), 0U) << few[0].cures[1];
    s.streams[0].received = 100;
    EXPECT_EQ(diagnose(s)[0].cures[0].find("set `split` to 562"), 0U) << "most packets have such headers";
}

/// Tests that one late packet does not explain a thousand heaps.
TEST(Diagnosis, LossesHereExplainAsManyIncompleteHeapsAsPackets) {
    Snapshot s = clean();
    s.streams[0].heaps_ended[1] = 77;
    s.ports[0].nic.missed = 70;
    PortSnapshot& other = s.ports.emplace_back();
    other.name = "p1";
    other.nic.missed = 1000;
    StreamSnapshot& of_other = s.streams.emplace_back(clean().streams[0]);
    of_other.name = "s1";
    of_other.port = "p1";
    const std::vector<Finding> found = diagnose(s);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].cause, Cause::network_loss);
    EXPECT_EQ(found[0].count, 7U);
    EXPECT_NE(found[0].sentence().find("beyond what was lost or refused here"), std::string::npos);
}

TEST(Diagnosis, NobodyMissesThePacketsOfAPortThatOnlySends) {
    Snapshot s = clean();
    s.ports.emplace_back(s.ports[0]).name = "p1";
    s.ports[1].nic.missed = 77;
    EXPECT_TRUE(diagnose(s).empty());
}

TEST(Diagnosis, SocketsMissWrongChecksumsToo) {
    Snapshot s = clean();
    s.ports[0].nic.missed = 77;
    s.ports[0].driver = "net_kernel";
    ASSERT_EQ(diagnose(s).size(), 1U);
    EXPECT_NE(diagnose(s)[0].sentence().find("UdpInCsumErrors"), std::string::npos);
    s.ports[0].driver = "net_af_packet";
    EXPECT_EQ(diagnose(s)[0].sentence().find("UdpInCsumErrors"), std::string::npos);
}

TEST(Diagnosis, AStreamThatIsStoppedOrOfAnotherPortIsNotWaitedFor) {
    Snapshot s = clean();
    nothing_came(s);
    s.streams[0].state = "stopped";
    EXPECT_TRUE(diagnose(s).empty());
    s.streams[0].state = "received";
    s.streams[0].changed_s = 77;
    EXPECT_TRUE(diagnose(s).empty()) << "it was changed a second ago, nearly";
    s.ports[0].name = "p1";
    set(s, PortOutcome::unmatched);
    s.ports[0].rx[0] = 100;
    EXPECT_TRUE(diagnose(s).empty()) << "others' packets on a port that the stream is not on";
}

TEST(Diagnosis, FramesThatASenderShouldCutAreNotToldAsTooLargeForTheStream) {
    Snapshot s = clean();
    set(s, PacketOutcome::oversize);
    s.ports[0].rx_oversized_frames = 80;
    ASSERT_EQ(diagnose(s).size(), 1U);
    EXPECT_EQ(diagnose(s)[0].cause, Cause::gso_frames);
}

TEST(Diagnosis, AnLcoreThatIsLessThanHalfBusyIsNeverBlamed) {
    for (int full = 0; full <= 500; full += 50)
        for (std::uint64_t busy = 0; busy < 5'000'000'000; busy += 490'000'000)
            for (const std::uint64_t longest : {0ULL, 1'000'000ULL, 50'000'000ULL}) {
                Snapshot s = clean();
                s.ports[0].nic.missed = 77;
                s.ports[0].rx_full_bursts = static_cast<std::uint64_t>(full);
                s.lcores[0].counters.busy_cycles = busy;
                s.lcores[0].counters.longest_loop = longest;
                ASSERT_EQ(diagnose(s).size(), 1U);
                EXPECT_NE(diagnose(s)[0].cause, Cause::lcore_too_slow) << full << " " << busy;
            }
}

TEST(Diagnosis, HeapsThatTheEndOfTheRunCutOffAreNoLoss) {
    Snapshot s = clean();
    s.streams[0].heaps_ended[3] = 3;
    EXPECT_TRUE(diagnose(s).empty());
}

TEST(Diagnosis, OtherTrafficOnAPortWhoseStreamsReceiveIsNormal) {
    Snapshot s = clean();
    set(s, PortOutcome::unmatched);
    EXPECT_TRUE(diagnose(s).empty());
    s.ports[0].rx[static_cast<std::size_t>(PortOutcome::unmatched)] = 1001;
    ASSERT_EQ(diagnose(s).size(), 1U) << "more than what streams got is not";
    EXPECT_EQ(diagnose(s)[0].sentence().find("received nothing"), std::string::npos);
}

TEST(Diagnosis, OfTheTimeBetweenTwoSnapshotsTellsOnlyThat) {
    Snapshot earlier = clean();
    earlier.streams[0].heaps_dropped_full = 50;
    Snapshot now = earlier;
    now.duration_s = 20;
    now.streams[0].received += 1;
    EXPECT_TRUE(diagnose(now, earlier).empty());
    now.streams[0].heaps_dropped_full = 57;
    ASSERT_EQ(diagnose(now, earlier).size(), 1U);
    EXPECT_EQ(diagnose(now, earlier)[0].count, 7U);
}

}  // namespace
}  // namespace spead::stats::test
