// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/endpoint.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

using test::numbered_snapshot;

TEST(ReportJson, HasTheNamesOfTheCountersInTheirOrder) {
    stats::Snapshot snapshot = numbered_snapshot();
    snapshot.lcores[0].silent_s = 2.5;
    snapshot.lcores[0].silences = 416;
    snapshot.lcores[0].activity = "it is stopped";
    nlohmann::ordered_json document = report_document(snapshot);
    document.erase("findings");  // the rest of this test's numbers are no run's
    EXPECT_EQ(
        document.dump(),
        R"({"version":1,"duration_s":2.5,"cleared_s":0.5,"capabilities":[],"shard":{"index":0,"count":1,"endpoints":{"all":0,"mine":0}},)"
        R"("streams":[{"name":"s0","endpoints":["239.1.2.0+3:7148","239.2.0.1:7148"],"state":"received","bytes":100,)"
        R"("packets":{"received":101,"placed":110,"duplicate":111,"late":112,"malformed":113,"oversize":114,)"
        R"("heap_too_big":115,"inconsistent":116,"out_of_order":117,"no_memory":118,"filtered":119,"held":120,)"
        R"("captured":121,"control":122,"stopped":123,"capture_full":124,"no_item":125,"bad_length":126,"bad_step":127,)"
        R"("out_of_range":128,"rejected":129,"no_chunk":130,"future":131,"invalid":132,"redundant":133,"header_in_device":134},)"
        R"("heaps":{"started":130,"complete":131,"evicted":132,"timed_out":133,"flushed":134,"live":140,)"
        R"("delivered":141,"unwritten":144,"dropped_full":142,"device_error":148,"queued":143},)"
        R"("info":{"reordered":150,"missing_packets":163,"missing_bytes":164,"interleaved_evictions":151,"stop_items":152,"held_now":180,"hold_refused":181,"rotating_bytes":186,"streaming_now":187,"lent_now":184,"lend_full":185,"verified":153,"wrong":154,)"
        R"("queue_heaps":182,"expected_rate":183.0,)"
        R"("handed_over":155,"dropped_oldest":156,"waiting":157,"ghosts":145,"dropped_ghosts":146,"ghosts_source":"10.0.0.9","at_limit":149,"control_bytes":158,"longest_header":188,)"
        R"("carried":{"live":159,"queued":160,"waiting":161},"active_s":null},)"
        R"("port":"","by_endpoint":[{"endpoint":"239.1.2.0:7148","packets":162,"bytes":163}],)"
        R"("latency":{"count":3,"min_s":1.0,"mean_s":2.0,"p50_s":1.5,"p90_s":4.0,"p99_s":4.0,"p999_s":4.0,)"
        R"("max_s":4.0,"buckets":[[1.5,2],[4.5,1]]},)"
        R"("gap":{"count":0,"min_s":0.0,"mean_s":0.0,"p50_s":0.0,"p90_s":0.0,"p99_s":0.0,"p999_s":0.0,)"
        R"("max_s":0.0,"buckets":[]},)"
        R"("queue":{"heaps":164,"most":165},"pool":{"bytes":166,"most":167},)"
        R"("health":{"state":"losing","events":{"silent":170,"back":171,"losing":172,"slow":173,"recovered":174,"sink_failed":175,"resync":176,"stalled":177,"callback_slow":178,"path_silent":179,"path_back":180,"capture_failed":181},)"
        R"("last_event":{"event":"losing","at_s":1.5,"text":"it loses"}},"sink":{"failure":"no space"}}],)"
        R"("sends":[{"name":"d0","state":"done","heaps":200,"aborted":201,"timed_out":212,"packets":202,"bytes":203,"zero_copy_packets":204,)"
        R"("copied_packets":205,"endpoints":["239.3.0.1:7148"],)"
        R"("info":{"control_heaps":211,"frame_bytes":206,"dropped":207,"scheduled":212,"dummy_packets":213,"unregistered_packets":208,"tx_full":209,)"
        R"("stalls":210,"left_out":215,"outages":214,"outage_s":0.215,"active_s":null},)"
        R"("health":{"state":"stuck","events":{"stuck":216,"unstuck":217},)"
        R"("last_event":{"event":"stuck","at_s":2.5,"text":"it is stuck"}}}],)"
        R"("ports":[{"name":"p0","driver":"net_ring","state":"running",)"
        R"("rx":{"packets":310,"bytes":311,"malformed":301,"not_udp":302,"fragment":303,"bad_checksum":304,)"
        R"("unmatched":305,"igmp":306,"arp":307,"mld":308,"ndp":309,"reassembled":310,"incomplete":311},)"
        R"("tx":{"packets":312,"bytes":313,"dropped":314},"nic":{"missed":315,"no_mbuf":316,"errors":317},)"
        R"("info":{"to_streams":300,"vlan_tagged":318,"multi_segment":319,"oversized_frames":320,"steering":"rte_flow",)"
        R"("hosts_full":321,"host_frames":322,"gather_full":348,)"
        R"("reassembly":{"places":355,"datagrams":349,"given_up":350,"too_many":351,"conflicting":352,"crowded_out":353,)"
        R"("held_now":354},"bursts":330,"full_bursts":331,)"
        R"("burst_sizes":{"1":332,"2":333,"4":334,"8":335,"16":336,"32":337,"64":338},"rx_descriptors":339,)"
        R"("buffers":{"size":340,"fewest_free":341},"rx_active_s":null,"tx_active_s":null},)"
        R"("rules":[{"endpoint":"239.1.2.0:7148","queues":[0,1],"rule":"flow create","hits":323},)"
        R"({"endpoint":"239.1.2.1:7148","queues":[2],"rule":"flow create","hits":null}],)"
        R"("talkers":[{"source":"10.0.0.1","stream":"s0","packets":342,"excess":343},)"
        R"({"source":"10.0.0.2","stream":null,"packets":344,"excess":345}],)"
        R"("other_talkers":346,"unattributed_packets":347}],)"
        R"("lcores":[{"lcore":1,"cpu":5,"state":"silent","poll":"busy","streams":[{"name":"s0","received":101}],"removed":340,)"
        R"("ports":[{"name":"p0","received":310}],"sends":["d0"],"silent_s":2.5,"silences":416,"activity":"it is stopped","bursts":400,"full_bursts":401,)"
        R"("burst_sizes":{"1":402,"2":403,"4":404,"8":405,"16":406,"32":407,"64":408},"loops":409,"busy_loops":410,)"
        R"("busy_s":1.5,"idle_s":2.5,"longest_loop_s":0.5,"sleeps":414}]})");
}

TEST(ReportJson, HasItsListsEvenWhenTheyAreEmpty) {
    EXPECT_EQ(
        report_document({}).dump(),
        R"({"version":1,"duration_s":0.0,"cleared_s":0.0,"capabilities":[],"shard":{"index":0,"count":1,"endpoints":{"all":0,"mine":0}},"streams":[],"sends":[],"ports":[],"lcores":[],"findings":[]})");
}

TEST(ReportJson, ListsTheEnginesOfARun) {
    stats::Snapshot snapshot;
    snapshot.engines = {{"cuda", {"s0"}, 1.5, 1.5, 2, 5.5}, {"fake", {}, 0.2}};
    EXPECT_EQ(
        report_document(snapshot)["engines"].dump(),
        R"([{"name":"cuda","state":"stalled","streams":["s0"],"stalled_s":1.5,"stalls":2,"all_stalled_s":5.5},)"
        R"({"name":"fake","state":"running","streams":[],"stalled_s":0.0,"stalls":0,"all_stalled_s":0.0}])");
}

TEST(ReportJson, IsIndentedTextThatReadsBack) {
    const std::string text = report_json(numbered_snapshot());
    EXPECT_EQ(nlohmann::ordered_json::parse(text), report_document(numbered_snapshot()));
    EXPECT_EQ(text.substr(0, 18), "{\n  \"version\": 1,\n");
    EXPECT_EQ(text.back(), '}');
}

TEST(ReportJson, CountsAbove32BitsAndTheLargestStayExact) {
    stats::Snapshot snapshot = numbered_snapshot();
    snapshot.streams[0].bytes = UINT64_MAX;
    EXPECT_NE(report_json(snapshot).find("\"bytes\": 18446744073709551615"), std::string::npos);
}

TEST(ReportJson, BytesThatAreNoTextCannotCostTheReport) {
    stats::Snapshot snapshot = numbered_snapshot();
    snapshot.ports[0].driver = "net\xff";
    EXPECT_NE(report_json(snapshot).find("net"), std::string::npos);
}

/// Returns the snapshot of a run in which all went well.
stats::Snapshot clean_snapshot() {
    stats::Snapshot snapshot;
    snapshot.duration_s = 2;
    stats::StreamSnapshot stream;
    stream.name = "s0";
    stream.endpoints = {"239.1.2.3:7148"};
    stream.bytes = 2500000000;
    stream.received = stream.packets[0] = 2000000;
    stream.heaps_started = stream.heaps_ended[0] = stream.heaps_delivered = 596;
    snapshot.streams.push_back(stream);
    stats::PortSnapshot port;
    port.name = "p0";
    port.driver = "net_memif";
    port.rx_packets = port.rx[0] = 2000000;
    port.rx_bytes = 2600000000;
    snapshot.ports.push_back(port);
    return snapshot;
}

TEST(ReportJson, TellsWhatWasLostAndWhy) {
    stats::Snapshot snapshot = clean_snapshot();
    snapshot.streams[0].packets[static_cast<std::size_t>(PacketOutcome::oversize)] = 7;
    EXPECT_EQ(
        report_document(snapshot)["findings"].dump(),
        R"([{"cause":"packets_too_large","kind":"loss","stage":"packet","where":"s0","count":7,"unit":"packets",)"
        R"("what":"were larger than --max-packet-size","cures":["raise --max-packet-size"],)"
        R"("first_s":0.0,"last_s":0.0,"until_s":null,)"
        R"("sentence":"s0: 7 packets were larger than --max-packet-size; raise --max-packet-size"}])");
}

TEST(ReportTable, OfACleanRunHoldsTheMainCountsOnly) {
    EXPECT_EQ(report_table(clean_snapshot()),
              "after 2.00 s\n"
              "\n"
              "stream  endpoints        payload       rate  packet rate  received   placed\n"
              "s0      239.1.2.3:7148  2.33 GiB  10.0 Gb/s    1.00 Mpps   2000000  2000000\n"
              "\n"
              "heaps  started  complete  delivered\n"
              "s0         596       596        596\n"
              "\n"
              "port  driver     rx packets    rx rate\n"
              "p0    net_memif     2000000  10.4 Gb/s\n");
}

TEST(ReportTable, OfASenderHoldsWhatWasSent) {
    stats::Snapshot snapshot;
    snapshot.duration_s = 1;
    stats::SendSnapshot send;
    send.name = "d0";
    send.endpoints = {"239.1.2.0+3:7148", "239.2.0.1:7148", "239.3.0.1:7148"};
    send.counters.heaps = 10;
    send.counters.packets = send.counters.zero_copy_packets = 1000;
    send.counters.bytes = 1250000;
    snapshot.sends.push_back(send);
    stats::PortSnapshot port;
    port.name = "p0";
    port.driver = "net_null";
    port.tx_packets = 1000;
    port.tx_bytes = 1250000;
    snapshot.ports.push_back(port);
    EXPECT_EQ(
        report_table(snapshot),
        "after 1.00 s\n"
        "\n"
        "sender  endpoints                     payload       rate  packet rate  heaps  packets  zero copy\n"
        "d0      239.1.2.0+3:7148 and 2 more  1.19 MiB  10.0 Mb/s    1.00 kpps     10     1000       1000\n"
        "\n"
        "port  driver    tx packets    tx rate\n"
        "p0    net_null        1000  10.0 Mb/s\n");
}

TEST(ReportTable, RatesAreFromTheFirstPacketToTheLast) {
    stats::Snapshot snapshot = clean_snapshot();
    // A tenth of the run: ten times the rate. The port saw packets of others all the time.
    snapshot.ticks_per_second = 1000;
    snapshot.streams[0].active = {500, 700};
    EXPECT_NE(report_table(snapshot).find("100 Gb/s    10.0 Mpps"), std::string::npos)
        << report_table(snapshot);
    EXPECT_NE(report_table(snapshot).find("10.4 Gb/s"), std::string::npos);
    EXPECT_EQ(report_document(snapshot)["streams"][0]["info"]["active_s"], 0.2);
    EXPECT_TRUE(report_document(snapshot)["ports"][0]["info"]["rx_active_s"].is_null());
    snapshot.streams[0].active = {500, 500};
    EXPECT_NE(report_table(snapshot).find("2.33 GiB     -            -"), std::string::npos)
        << "one burst has no rate: " << report_table(snapshot);
    // Between two looks it is the time between them that counts.
    stats::Snapshot before = clean_snapshot();
    before.duration_s = 1;
    before.streams[0].bytes = 0;
    before.streams[0].received = 0;
    EXPECT_NE(report_tables(snapshot, &before).packets.find("20.0 Gb/s    2.00 Mpps"), std::string::npos);
}

TEST(ReportTable, WhatIsMissingStandsWithItsShare) {
    stats::Snapshot snapshot = clean_snapshot();
    EXPECT_EQ(report_table(snapshot).find("missing"), std::string::npos);
    snapshot.streams[0].missing_packets = 20000;
    snapshot.streams[0].missing_bytes = 1024;
    const std::string text = report_table(snapshot);
    EXPECT_NE(text.find("20000 (0.99 %)"), std::string::npos) << text;
    EXPECT_NE(text.find("1 KiB (< 0.01 %)"), std::string::npos) << text;
}

TEST(ReportTable, AdviceIsInTheWordsOfTheConfigurationWhereThereIsOne) {
    stats::Snapshot snapshot = clean_snapshot();
    snapshot.streams[0].packets[static_cast<std::size_t>(PacketOutcome::oversize)] = 7;
    snapshot.by_configuration = true;
    snapshot.settings.configuration = "/etc/x.toml";
    EXPECT_EQ(report_advice(snapshot),
              std::vector<std::string>{"s0: 7 packets were larger than `max_packet_size`\n"
                                       "    - raise `max_packet_size`"});
    EXPECT_EQ(report_document(snapshot)["findings"][0]["what"], "were larger than `max_packet_size`");
}

TEST(ReportTable, ShowsEveryCountThatIsNotZero) {
    const std::string text = report_table(numbered_snapshot());
    for (const std::string_view name : kPacketOutcomeNames)
        EXPECT_NE(text.find(name), std::string::npos) << name;
    for (const std::string_view name : kHeapEndNames)
        EXPECT_NE(text.find(name), std::string::npos) << name;
    for (std::size_t i = 1; i < kPortOutcomes; i++)
        EXPECT_NE(text.find(kPortOutcomeNames[i]), std::string::npos) << kPortOutcomeNames[i];
    for (const char* name :
         {"live", "dropped_full", "queued", "(verified)", "(wrong)", "(interleaved evictions)", "aborted",
          "(oversized frames)", "copied", "tx dropped", "nic missed", "nic no_mbuf", "nic errors"})
        EXPECT_NE(text.find(name), std::string::npos) << name;
    for (const unsigned number : {101u, 110u, 123u, 134u, 143u, 154u, 201u, 205u, 307u, 314u, 317u})
        EXPECT_NE(text.find(std::to_string(number)), std::string::npos) << number;
}

TEST(ReportTable, ARunThatTookNoTimeHasNoRates) {
    stats::Snapshot snapshot = clean_snapshot();
    snapshot.duration_s = 0;
    const std::string text = report_table(snapshot);
    EXPECT_EQ(text.find("inf"), std::string::npos);
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_NE(text.find("after 0 s"), std::string::npos);
}

TEST(ReportAdvice, ACleanRunNeedsNone) {
    EXPECT_EQ(report_advice(clean_snapshot()), std::vector<std::string>{});
}

TEST(ReportAdvice, EachLossNamesTheStreamTheCountAndTheOption) {
    struct Row {
        void (*change)(stats::Snapshot&);
        std::vector<std::string> parts;
    };
    const auto outcome = [](stats::Snapshot& s, PacketOutcome o) {
        s.streams[0].packets[static_cast<std::size_t>(o)] = 77;
    };
    static const auto set = outcome;
    const Row rows[] = {
        {[](stats::Snapshot& s) { s.streams[0].heaps_interleaved_evictions = 77; },
         {"s0: 77", "interleave", "--max-heaps", "--substreams"}},
        {[](stats::Snapshot& s) {
             s.streams[0].heaps_delivered = 1000;
             s.streams[0].heaps_dropped_full = 77;
         },
         {"s0: 77", "--ring-heaps"}},
        {[](stats::Snapshot& s) { set(s, PacketOutcome::oversize); }, {"s0: 77", "--max-packet-size"}},
        {[](stats::Snapshot& s) { set(s, PacketOutcome::heap_too_big); }, {"s0: 77", "--max-heap-bytes"}},
        {[](stats::Snapshot& s) { set(s, PacketOutcome::no_memory); }, {"s0: 77", "--memory"}},
        {[](stats::Snapshot& s) { set(s, PacketOutcome::out_of_order); }, {"s0: 77", "--in-order"}},
        {[](stats::Snapshot& s) { s.ports[0].nic.missed = 77; }, {"p0: 77", "--buffer-size"}},
        {[](stats::Snapshot& s) { s.ports[0].nic.no_mbuf = 77; }, {"p0: 77", "--buffer-size"}},
        {[](stats::Snapshot& s) { s.ports[0].rx_oversized_frames = 77; },
         {"p0: 77 frames", "ethtool -K", "tx-udp-segmentation off"}},
    };
    for (const Row& row : rows) {
        stats::Snapshot snapshot = clean_snapshot();
        row.change(snapshot);
        const auto advice = report_advice(snapshot);
        ASSERT_EQ(advice.size(), 1u);
        for (const std::string& part : row.parts)
            EXPECT_NE(advice[0].find(part), std::string::npos) << part << " is not in: " << advice[0];
        EXPECT_NE(report_table(snapshot).find(advice[0] + "\n"), std::string::npos);
    }
}

TEST(Report, RemovedStreamsAreOneMore) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    EXPECT_FALSE(report_document(snapshot).contains("removed"));
    EXPECT_EQ(report_table(snapshot).find("(removed)"), std::string::npos);
    snapshot.removed.received = 4711;
    snapshot.removed.packets[0] = 4711;
    const auto document = report_document(snapshot);
    EXPECT_EQ(document["removed"]["packets"]["received"], 4711);
    EXPECT_EQ(document["streams"].size(), 1u);
    EXPECT_NE(report_table(snapshot).find("(removed)"), std::string::npos);
    // Rates of what was removed before.
    stats::Snapshot before = snapshot;
    before.duration_s = snapshot.duration_s - 1;
    EXPECT_NE(report_tables(snapshot, &before).packets.find("0 pps"), std::string::npos);
}

TEST(ReportTable, SaysWhatIsStoppedAndHowStreamsAre) {
    stats::Snapshot snapshot = clean_snapshot();
    snapshot.streams[0].state = "received";
    snapshot.ports[0].state = "running";
    EXPECT_EQ(report_table(snapshot).find("state"), std::string::npos) << "nothing to say";
    snapshot.streams[0].health = "losing";
    EXPECT_NE(report_table(snapshot).find("s0      239.1.2.3:7148  losing"), std::string::npos);
    snapshot.streams[0].state = "stopped";
    snapshot.ports[0].state = "detached";
    EXPECT_NE(report_table(snapshot).find("s0      239.1.2.3:7148  stopped"), std::string::npos);
    EXPECT_NE(report_table(snapshot).find("p0    net_memif  detached"), std::string::npos);
}

TEST(ReportTable, RatesAreOfTheSameStreams) {
    stats::Snapshot before = clean_snapshot();
    before.streams[0].number = 1;
    stats::Snapshot now = before;
    now.duration_s += 1;
    now.streams[0].number = 2;
    now.streams[0].received = 100;
    now.streams[0].bytes = 125'000;
    now.removed.add(before.streams[0]);
    now.removed.received += 300;
    now.removed.bytes += 375'000;
    const std::string packets = report_tables(now, &before).packets;
    EXPECT_NE(packets.find("1.00 Mb/s      100 pps"), std::string::npos)
        << packets << "a new one counts from 0";
    EXPECT_NE(packets.find("3.00 Mb/s      300 pps"), std::string::npos)
        << packets << "what was removed came before";
}

TEST(Report, ASenderOfIpv6HasItsAddressOrNone) {
    stats::Snapshot s = numbered_snapshot();
    const IpAddress address(Ipv6{0xFD00ULL << 48, 7});
    s.streams[0].ghosts_source = sender_key(address);
    const auto source = [&s] { return report_document(s)["streams"][0]["info"]["ghosts_source"]; };
    EXPECT_TRUE(source().is_null()) << source();
    s.ports[0].talkers.push_back({"fd00::7", "s0", 1, 0, sender_key(address)});
    EXPECT_EQ(source(), "fd00::7");
}

}  // namespace
}  // namespace spead::observe
