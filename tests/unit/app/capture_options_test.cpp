// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "app/stream_options.hpp"
#include "config/config.hpp"
#include "tests/unit/app/parsed.hpp"

/// Tests the command `capture`, and the plan that it makes.
namespace spead::app {
namespace {

using runtime::Plan;
using test::expect_refused;
using test::parsed;
using test::planned;

const capture::Options& options_of(const Plan& plan) {
    return plan.receives.at(0).capture.value();
}

TEST(CaptureCommand, AllEndpointsAreOneStreamWhosePacketsEndInTheFile) {
    const CommandLine line =
        parsed("capture --port ens1f0 239.1.2.3:7148 239.1.3.0+3:7148@10.0.0.1 out.pcap");
    EXPECT_EQ(line.name, "capture");
    const Plan& plan = test::options_of<RunOptions>(line).plan;
    ASSERT_EQ(plan.receives.size(), 1U);
    EXPECT_EQ(plan.receives[0].endpoints.size(), 5U);
    EXPECT_EQ(plan.ports.at(0).device, "ens1f0");
    capture::Options expected;
    expected.files = {"out.pcap"};
    expected.only = true;
    EXPECT_EQ(options_of(plan), expected);
    // The plan that --check prints is the same.
    EXPECT_EQ(config::parse_text(config::to_toml(plan), "check"), plan);
}

TEST(CaptureCommand, FilesAreWhatIsNoEndpoint) {
    const auto files = [](const std::string& words) {
        return options_of(planned("capture --port p " + words)).files;
    };
    using Files = std::vector<std::string>;
    EXPECT_EQ(files("239.1.2.3:7148 a.pcap b.pcap"), (Files{"a.pcap", "b.pcap"}));
    EXPECT_EQ(files("239.1.2.3:7148 --file /d1/a --file /d2/b"), (Files{"/d1/a", "/d2/b"}));
    EXPECT_EQ(files("239.1.2.3:7148 2026-11-21.pcap"), (Files{"2026-11-21.pcap"}));
    EXPECT_EQ(files("spead://239.1.2.3:7148 dir/3"), (Files{"dir/3"}));
    EXPECT_EQ(files("[ff15::1]:7148 [ff15::2]+1:7148@[fd00::2] a.pcap"), (Files{"a.pcap"}));
    EXPECT_EQ(files("[ff15::1]:7148 [a].pcap"), (Files{"[a].pcap"}));
}

TEST(CaptureCommand, EachOptionArrivesAtItsPlace) {
    const Plan plan = planned(
        "capture --port p 239.1.2.3:7148 a.pcap --rotate-size 4GiB --rotate-seconds 1h "
        "--snaplen 128 --count 1000 --direct-io --buffer 1GiB --duration 10s --idle-exit 2s "
        "--lcores 1,2 --poll busy --on-full drop_newest");
    const capture::Options& c = options_of(plan);
    EXPECT_EQ(c.rotate_size, std::uint64_t{4} << 30);
    EXPECT_EQ(c.rotate_seconds, 3600);
    EXPECT_EQ(c.snap_length, 128U);
    EXPECT_EQ(c.count, 1000U);
    EXPECT_TRUE(c.direct_io);
    EXPECT_EQ(c.buffer, std::uint64_t{1} << 30);
    EXPECT_EQ(plan.end.duration, 10);
    EXPECT_EQ(plan.end.idle_exit, 2);
    EXPECT_EQ(plan.receives[0].lcores, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(plan.receives[0].on_full, runtime::OnFullSetting::drop_newest);
}

TEST(CaptureCommand, WhatIsMissingOrWrongIsSaid) {
    expect_refused("capture --port p 239.1.2.3:7148", {"capture needs a file"});
    expect_refused("capture --port p a.pcap", {"capture needs an endpoint"});
    expect_refused("capture --port p 239.1.2.3 a.pcap", {"239.1.2.3", "port"});
    expect_refused("capture --port p [ff15::1] a.pcap", {"`[ff15::1]`", "port"});
    expect_refused("capture --port p a.pcap 239.1.2.3:7148", {"capture needs an endpoint"});
    expect_refused("capture --port p 239.1.2.3:7148 a.pcap a.pcap", {"is the file of two captures"});
    expect_refused("capture --port p 239.1.2.3:7148 dir/", {"FILE", "is not a capture file"});
    expect_refused("capture --port p 239.1.2.3:7148 a.pcap --snaplen 0", {"--snaplen"});
    expect_refused("capture --port p 239.1.2.3:7148 a.pcap --snaplen 70000", {"--snaplen"});
    expect_refused("capture --port p 239.1.2.3:7148 a.pcap --buffer 1KiB", {"--buffer"});
    expect_refused("capture --port p --port q 239.1.2.3:7148 a.pcap", {"one port"});
}

}  // namespace
}  // namespace spead::app
