// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/cause_row.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

/// Lists the findings about streams of which nothing came.
namespace spead::stats::test {

inline const CauseRow kNothingCameCauseRows[] = {
    {"NothingCame",
     [](Snapshot& s) { nothing_came(s); },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"port p0 had none at all", "IGMP"}},
    {"NothingCameToAGroupOfIpv6",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].endpoints = {"[ff15::1]:7148"};
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"port p0 had none at all", "(MLD snooping"}},
    {"NothingCameByEitherPath",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].endpoints = {"[ff15::1]:7148", "239.1.2.3:7148"};
         s.streams[0].path_ports = {"p0", "p1"};
         s.ports.push_back(s.ports[0]);
         s.ports[1].name = "p1";
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"ports p0 and p1 had none at all", "(IGMP or MLD snooping"}},
    {"NothingCameByTwoPathsWithoutLinks",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].path_ports = {"p0", "p1"};
         s.ports[0].link_down = true;
         s.ports.push_back(s.ports[0]);
         s.ports[1].name = "p1";
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"ports p0 and p1 have no link"}},
    {"NothingCameByTwoPathsOfWhichOneHasNoLink",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].path_ports = {"p0", "p1"};
         s.ports.push_back(s.ports[0]);
         s.ports[1].name = "p1";
         s.ports[1].link_down = true;
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"port p1 has no link"}},
    {"NothingCameByTwoPathsOnOnePortWithoutALink",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].path_ports = {"p0", "p0"};
         s.ports[0].link_down = true;
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"port p0 has no link"}},
    {"NothingCameAndTheSecondPortLeftMostToTheKernel",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].path_ports = {"p0", "p1"};
         s.ports.push_back(s.ports[0]);
         s.ports[1].name = "p1";
         s.ports[0].passed = {{"239.1.1.1:1", "10.0.0.1", 3}};
         s.ports[1].passed = {{"239.1.1.2:7148", "10.0.0.2", 100000}};
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"(100000) for 239.1.1.2:7148 from 10.0.0.2"}},
    {"NothingCameToThisOne",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].rx_packets = s.ports[0].rx[0] = 5;
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"while other streams of port p0 had some"}},
    {"NothingCameToAGroupOfIpv6ButPacketsThatAreRefused",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].endpoints = {"[ff15::1]:7148"};
         s.ports[0].rx_packets = 9;
         set(s, PortOutcome::not_udp);
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"while port p0 had other packets than UDP, or some behind a routing header"}},
    {"NothingCameWithoutALink",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].link_down = true;
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"port p0 has no link", "cable"}},
    {"NothingCameButWhatTheRulesPassed",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].passed = {{"239.1.2.4:7148", "10.0.0.9", 1234}, {"224.0.0.251:5353", "10.0.0.8", 3}};
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"left UDP packets to the kernel", "(1234) for 239.1.2.4:7148 from 10.0.0.9", "compare the endpoints"}},
    {"NothingCameButFragmentsThatTheRulesPassed",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].endpoints = {"239.1.2.0+7:7148@10.0.0.9"};
         s.ports[0].passed = {{"239.1.2.9:7148", "10.0.0.9", 9999}, {"239.1.2.4:7148", "10.0.0.9", 1234}};
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"while the rules of port p0 left some for 239.1.2.4:7148 to the kernel (1234, the last from 10.0.0.9)",
      "IP fragments", "kernel's sockets put fragments together"}},
    {"NothingCameButPacketsOfAnotherSource",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].endpoints = {"239.1.2.0+7:7148@10.0.0.9"};
         s.ports[0].passed = {{"239.1.2.4:7148", "10.0.0.7", 1234}};
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"left UDP packets to the kernel", "from 10.0.0.7", "compare the endpoints"}},
    {"NobodyHasTheAddress",
     [](Snapshot& s) {
         nothing_came(s);
         s.streams[0].unowned = {"10.0.0.5"};
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"no network interface here has the address 10.0.0.5", "ip addr add"}},
    {"NothingCameButPartsOfDatagrams",
     [](Snapshot& s) {
         nothing_came(s);
         s.ports[0].rx_packets = 77;
         s.ports[0].reassembly_places = 256;
         set(s, PortOutcome::incomplete);
     },
     Cause::nothing_came,
     Stage::network,
     "s0: 77 seconds without a packet",
     {"while port p0 had 77 IP fragments of packets that were never whole"}},
};

}  // namespace spead::stats::test
