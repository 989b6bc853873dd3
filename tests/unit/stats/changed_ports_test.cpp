// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/stats/watched_run.hpp"

/// Tests what is said of streams without packets after changes of other streams, and of their ports: streams
/// and ports count from different times.
namespace spead::stats {
namespace {

using test::Watched;
using testing::HasSubstr;

void come(Watched& run, std::size_t port, std::uint64_t packets, PortOutcome outcome = PortOutcome::stream) {
    PortSnapshot& p = run.now().ports[port];
    p.rx_packets += packets;
    p.rx[static_cast<std::size_t>(outcome)] += packets;
}

/// Looks until a stream without packets is reported. Returns the sentence.
std::string nothing_came(Watched& run, FindingLog& log, const std::string& stream) {
    for (int i = 0; i < 10; i++) {
        run.pass();
        run.look(log);
    }
    for (const Finding& f : run.look(log))
        if (f.cause == Cause::nothing_came && f.where == stream)
            return f.loss(0);
    return {};
}

TEST(ChangedPorts, PacketsOfOtherStreamsFromBeforeTheirChangeCount) {
    Watched run;
    FindingLog log;
    run.stream().received = 0;
    run.now().streams.push_back(run.stream());
    run.now().streams[1].name = "s1";
    run.now().streams[1].number = 2;
    run.now().streams[1].received = 100;
    come(run, 0, 100);
    EXPECT_THAT(nothing_came(run, log, "s0"), HasSubstr("while other streams of port p0 had some"));
    run.change(log, {"s1", "p0"});
    EXPECT_THAT(nothing_came(run, log, "s0"), HasSubstr("while other streams of port p0 had some"));
    EXPECT_THAT(nothing_came(run, log, "s1"), HasSubstr("and port p0 had none at all"));
}

TEST(ChangedPorts, ThePacketsOfAStreamFromBeforeItsChangeAreNotThoseOfOthers) {
    Watched run;
    FindingLog log;
    run.now().ports.push_back(run.port());
    run.now().ports[1].name = "p1";
    run.stream().path_ports = {"p0", "p1"};
    run.stream().path_endpoints = {{"239.1.2.3:7148"}, {"239.1.2.3:7148"}};
    run.stream().received = 100;
    come(run, 0, 50);
    come(run, 1, 50);
    run.pass();
    run.look(log);
    // The first port was stopped and started.
    run.change(log, {"p0", "s0"});
    EXPECT_THAT(nothing_came(run, log, "s0"), HasSubstr("and ports p0 and p1 had none at all"));
    come(run, 1, 3);
    EXPECT_THAT(nothing_came(run, log, "s0"), HasSubstr("while other streams of ports p0 and p1 had some"));
}

TEST(ChangedPorts, PacketsForNoStreamFromBeforeThePortsChangeAreSaid) {
    Watched run;
    FindingLog log;
    run.stream().received = 0;
    come(run, 0, 100, PortOutcome::unmatched);
    run.pass();
    run.look(log);
    run.change(log, {"p0"});
    EXPECT_THAT(nothing_came(run, log, "s0"), HasSubstr("had packets for no stream, before its last change"));
}

}  // namespace
}  // namespace spead::stats
