// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"

namespace spead::config {
namespace {

using runtime::Plan;
using test::expect_usage_error;

constexpr std::string_view kMinimal = R"(version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.2.3:7148"]
)";

TEST(ParseText, AMinimalFileHasTheDefaultsOfThePlan) {
    const Plan plan = parse_text(kMinimal, "a.toml");
    Plan expected;
    expected.ports.push_back({"p0", "net_ring0", 0});
    runtime::ReceivePlan stream;
    stream.name = "s0";
    stream.port = "p0";
    stream.endpoint_texts = {"239.1.2.3:7148"};
    stream.endpoints = parse_endpoints("239.1.2.3:7148");
    expected.receives.push_back(stream);
    EXPECT_EQ(plan, expected);
    EXPECT_EQ(plan.receives[0].max_packet_size, 9200u);
    EXPECT_EQ(plan.receives[0].max_live, 4u);
    EXPECT_EQ(plan.receives[0].history, 1024u);
    EXPECT_EQ(plan.memory.heaps, std::uint64_t{512} << 20);
}

TEST(ParseText, EveryKeyOfACaptureArrivesInThePlan) {
    const Plan plan = parse_text(std::string(kMinimal) + R"([receive.capture]
files = ["/d1/a.pcap", "/d2/a.pcap"]
rotate_size = "1GiB"
rotate_seconds = "10min"
duration = "90s"
snap_length = 96
count = 5
direct_io = true
buffer = "128MiB"
only = true
)",
                                 "a.toml");
    const capture::Options& c = plan.receives[0].capture.value();
    EXPECT_EQ(c.files, (std::vector<std::string>{"/d1/a.pcap", "/d2/a.pcap"}));
    EXPECT_EQ(c.rotate_size, std::uint64_t{1} << 30);
    EXPECT_EQ(c.rotate_seconds, 600);
    EXPECT_EQ(c.duration, 90);
    EXPECT_EQ(c.snap_length, 96u);
    EXPECT_EQ(c.count, 5u);
    EXPECT_TRUE(c.direct_io);
    EXPECT_EQ(c.buffer, std::uint64_t{128} << 20);
    EXPECT_TRUE(c.only);
    expect_usage_error([] { parse_text(std::string(kMinimal) + "[receive.capture]\ncount = 5\n", "a.toml"); },
                       {"files"});
}

TEST(ParseText, AStreamHasChunksIfItHasTheirTable) {
    EXPECT_EQ(parse_text(kMinimal, "a.toml").receives[0].chunk, std::nullopt);
    const Plan plan = parse_text(std::string(kMinimal) + R"([receive.chunk]
placement = "heap 64; time: item 0x1600 / 4096 [8]"
way = "direct"
chunks = 12
window = 3
eviction = "lossless"
timeout = "2s"
patience = "off"
max_jump = 0
back_fill = true
memory = "huge"
)",
                                 "a.toml");
    const runtime::ChunkPlan& c = plan.receives[0].chunk.value();
    EXPECT_EQ(c.placement, "heap 64; time: item 0x1600 / 4096 [8]");
    EXPECT_EQ(c.way, chunk::Way::direct);
    EXPECT_EQ(c.parsed().way, chunk::Way::direct);
    EXPECT_EQ(c.chunks, 12u);
    EXPECT_EQ(c.window, 3u);
    EXPECT_EQ(c.eviction, chunk::Eviction::lossless);
    EXPECT_EQ(c.timeout, 2);
    EXPECT_EQ(c.patience, 0);
    EXPECT_EQ(c.max_jump, 0u);
    EXPECT_EQ(c.jump(), 0u);
    EXPECT_TRUE(c.back_fill);
    EXPECT_EQ(c.memory, runtime::ChunkMemory::huge);
    EXPECT_EQ(parse_text(to_toml(plan), "again"), plan);
    expect_usage_error([] { parse_text(std::string(kMinimal) + "[receive.chunk]\nchunks = 5\n", "a.toml"); },
                       {"placement"});
    expect_usage_error(
        [] { parse_text(std::string(kMinimal) + "[receive.chunk]\nplacment = \"heap 64\"\n", "a.toml"); },
        {"placment", "did you mean `placement`"});
}

TEST(ParseText, EveryKeyArrivesInThePlan) {
    const Plan plan = parse_text(R"(
version = 1

[runtime]
name = "capture1"
main_cpu = 0
lcores = [1, 2]
on_event = ["/usr/bin/logger", "-t", "spead"]
log_level = "info;pmd.*:debug"
live = true
control = "/run/capture1.sock"
metrics = "10.0.0.1:9100"
api_token_file = "/etc/token"
lcore_timeout = "1min"

[memory]
heaps = "2GiB"

[end]
heaps = 100
duration = "2min"
idle_exit = 2.5
exit_on_stop = true

[[port]]
name = "p0"
device = "ens1f0"
mtu = 9216
address = "10.0.0.9"
address6 = "fd00::9"
timestamps = "hardware"
udp_checksum = true

[[receive]]
name = "fengine"
port = "p0"
endpoints = ["239.10.10.0+15:7148", "239.11.0.1:7148@10.0.0.7"]
lcores = [1, 2]
poll = "busy"
max_poll = 20
max_packet_size = 9000
buffer_size = "32MiB"
substreams = 8
in_order = true
stop_on_stop_item = true
control_heaps = true
enabled = false
filter = "heap % 2 == 1"
held_buffers = 100
lend = 4096
copy = "streaming"
silent_after = "2s"
loss_threshold = 0.01
expected_rate = "8Gbps"
[receive.heaps]
max_live = 5
queue_depth = 512
max_bytes = "64KiB"
timeout = "250ms"
history = 99
history_time = 0.5
on_full = "drop_oldest"
[receive.sink]
kind = "file"
directory = "out"
on_error = "end"

[[receive]]
name = "second"
port = "p0"
endpoints = ["239.12.0.1:7148"]
poll = "interrupt"
heaps.on_full = "block"
heaps.timeout = "off"
sink.kind = "verify"

[[send]]
name = "dsim"
port = "p0"
lcore = 3
endpoints = ["239.20.0.0+7:7148", "10.0.0.5:7148"]
dst_mac = "02:53:50:44:00:05"
rate = "10Gbps"
burst_size = "128KiB"
burst_rate_ratio = 1.25
pacer = "auto"
ttl = 4
dscp = 46
max_packet_size = 8192
heap_size = 65536
items = 2
heaps = 1000
max_heaps = 8
timeout = "250ms"
first_count = 0
count_step = 3
addr_bits = 48
zero_copy = "never"
verify = true
udp_checksum = true
impair = "loss=1%,seed=7"
enabled = false
)",
                                 "a.toml");
    EXPECT_EQ(plan.runtime.name, "capture1");
    EXPECT_EQ(plan.runtime.main_cpu, 0u);
    EXPECT_EQ(plan.runtime.lcores, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(plan.runtime.log_level, "info;pmd.*:debug");
    EXPECT_TRUE(plan.runtime.live);
    EXPECT_EQ(plan.runtime.control, "/run/capture1.sock");
    EXPECT_EQ(plan.runtime.on_event, (std::vector<std::string>{"/usr/bin/logger", "-t", "spead"}));
    EXPECT_EQ(plan.runtime.lcore_timeout, 60);
    EXPECT_EQ(plan.runtime.metrics, (ListenAddress{{0x0A000001}, 9100}));
    EXPECT_EQ(plan.runtime.api_token_file, "/etc/token");
    EXPECT_EQ(plan.memory.heaps, std::uint64_t{2} << 30);
    EXPECT_EQ(plan.end, (runtime::EndPlan{100, 120, 2.5, true}));
    ASSERT_EQ(plan.ports.size(), 1u);
    EXPECT_EQ(plan.ports[0], (runtime::PortPlan{"p0",
                                                "ens1f0",
                                                9216,
                                                {0x0A000009},
                                                {0xFD00000000000000, 9},
                                                {},
                                                runtime::Offload::hardware,
                                                true}));

    ASSERT_EQ(plan.receives.size(), 2u);
    const runtime::ReceivePlan& r = plan.receives[0];
    EXPECT_EQ(r.name, "fengine");
    EXPECT_EQ(r.port, "p0");
    ASSERT_EQ(r.endpoints.size(), 17u);
    EXPECT_EQ(to_string(r.endpoints[15]), "239.10.10.15:7148");
    EXPECT_EQ(to_string(r.endpoints[16]), "239.11.0.1:7148@10.0.0.7");
    EXPECT_EQ(r.endpoint_texts,
              (std::vector<std::string>{"239.10.10.0+15:7148", "239.11.0.1:7148@10.0.0.7"}));
    EXPECT_EQ(r.lcores, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(r.poll, runtime::PollMode::busy);
    EXPECT_EQ(r.max_poll, 20u);
    EXPECT_EQ(r.max_packet_size, 9000u);
    EXPECT_EQ(r.buffer_size, std::uint64_t{32} << 20);
    EXPECT_EQ(r.substreams, 8u);
    EXPECT_TRUE(r.in_order);
    EXPECT_TRUE(r.stop_on_stop_item);
    EXPECT_TRUE(r.control_heaps);
    EXPECT_EQ(r.filter, "heap % 2 == 1");
    EXPECT_EQ(r.held_buffers, 100u);
    EXPECT_EQ(r.lend, 4096u);
    EXPECT_EQ(r.copy, memory::CopySetting::streaming);
    EXPECT_EQ(r.silent_after, 2);
    EXPECT_EQ(r.loss_threshold, 0.01);
    EXPECT_EQ(r.expected_rate, 1e9);
    EXPECT_EQ(r.max_live, 5u);
    EXPECT_EQ(r.queue_depth, 512u);
    EXPECT_EQ(r.max_bytes, 65536u);
    EXPECT_EQ(r.timeout, 0.25);
    EXPECT_EQ(r.history, 99u);
    EXPECT_EQ(r.history_time, 0.5);
    EXPECT_EQ(r.on_full, runtime::OnFullSetting::drop_oldest);
    EXPECT_EQ(r.sink, (runtime::SinkPlan{runtime::SinkKind::file, "out", runtime::OnSinkError::end}));

    EXPECT_EQ(plan.receives[1].poll, runtime::PollMode::interrupt);
    EXPECT_EQ(plan.receives[1].on_full, runtime::OnFullSetting::block);
    EXPECT_EQ(plan.receives[1].timeout, 0);
    EXPECT_EQ(plan.receives[1].sink.kind, runtime::SinkKind::verify);

    ASSERT_EQ(plan.sends.size(), 1u);
    const runtime::SendPlan& s = plan.sends[0];
    EXPECT_EQ(s.name, "dsim");
    EXPECT_EQ(s.port, "p0");
    EXPECT_EQ(s.timeout, 0.25);
    EXPECT_EQ(s.lcore, 3u);
    EXPECT_EQ(s.endpoints.size(), 9u);
    EXPECT_EQ(s.endpoint_texts, (std::vector<std::string>{"239.20.0.0+7:7148", "10.0.0.5:7148"}));
    EXPECT_EQ(s.dst_mac, (MacAddress{0x02, 0x53, 0x50, 0x44, 0x00, 0x05}));
    EXPECT_DOUBLE_EQ(s.rate, 1.25e9);
    EXPECT_EQ(s.burst_size, 131072u);
    EXPECT_EQ(s.burst_rate_ratio, 1.25);
    EXPECT_EQ(s.pacer, runtime::Offload::automatic);
    EXPECT_EQ(s.ttl, 4);
    EXPECT_EQ(s.dscp, 46);
    EXPECT_EQ(s.max_packet_size, 8192u);
    EXPECT_EQ(s.heap_size, 65536u);
    EXPECT_EQ(s.items, 2u);
    EXPECT_EQ(s.heaps, 1000);
    EXPECT_EQ(s.max_heaps, 8u);
    EXPECT_EQ(s.first_count, 0u);
    EXPECT_EQ(s.count_step, 3u);
    EXPECT_EQ(s.address_bits, 48);
    EXPECT_EQ(s.zero_copy, runtime::ZeroCopySetting::never);
    EXPECT_TRUE(s.verify);
    EXPECT_TRUE(s.udp_checksum);
    EXPECT_EQ(s.impair, "loss=1%,seed=7");
    EXPECT_FALSE(s.enabled);
    EXPECT_FALSE(plan.receives[0].enabled);
}

TEST(ParseText, WhatIsNotTomlIsPlaced) {
    expect_usage_error([] { parse_text("version = 1\nname = \n", "a.toml"); }, {"a.toml:2:", "not TOML"});
    expect_usage_error([] { parse_text("version = 1\nversion = 1\n", "a.toml"); },
                       {"a.toml:2:", "not TOML", "version"});
    expect_usage_error([] { parse_text("\xff\xfe", "a.toml"); }, {"a.toml:1:", "not TOML"});
}

TEST(ParseText, AMissingOrOtherVersionIsRefused) {
    expect_usage_error([] { parse_text("", "a.toml"); }, {"a.toml:", "`version` is missing", "version = 1"});
    expect_usage_error([] { parse_text("\nversion = 2\n", "a.toml"); },
                       {"a.toml:2:11", "version 2", "version 1"});
    expect_usage_error([] { parse_text("version = \"1\"\n", "a.toml"); },
                       {"a.toml:1:11", "`version` is a string", "whole number"});
}

TEST(ParseText, AFileWithoutStreamsIsRefused) {
    expect_usage_error([] { parse_text("version = 1\n", "a.toml"); },
                       {"a.toml: ", "no stream to receive", "[[receive]]", "[[send]]"});
}

class LoadFile : public testing::Test {
  protected:
    LoadFile() : directory_(std::filesystem::temp_directory_path() / ("config-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(directory_);
    }
    ~LoadFile() override { std::filesystem::remove_all(directory_); }

    std::string write(const std::string& name, std::string_view text) {
        const std::string path = directory_ / name;
        std::ofstream(path) << text;
        return path;
    }

    std::filesystem::path directory_;
};

TEST_F(LoadFile, ReadsAFileAndNamesItInErrors) {
    EXPECT_EQ(load_file(write("good.toml", kMinimal)), parse_text(kMinimal, ""));
    const std::string bad = write("bad.toml", "version = 1\nrubbish = 1\n");
    expect_usage_error([&] { load_file(bad); }, {bad + ":2:1: `rubbish`"});
}

TEST_F(LoadFile, AFileThatCannotBeReadIsARunTimeErrorWithItsNameAndReason) {
    const std::string missing = directory_ / "missing.toml";
    try {
        load_file(missing);
        FAIL();
    } catch (const UsageError&) {
        FAIL() << "a missing file is not a usage error";
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), missing +
                                                 ": cannot open the configuration: No such file or "
                                                 "directory; give a readable file, such as those "
                                                 "in config/");
    }
    try {
        load_file(directory_);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(directory_.string()), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("Is a directory"), std::string::npos) << error.what();
    }
}

TEST_F(LoadFile, AFileTooLargeToBeAConfigurationIsRefused) {
    const std::string path = write("large.toml", "version = 1\n" + std::string(17 << 20, '#'));
    expect_usage_error([&] { load_file(path); }, {path, "larger than the 16 MiB", "right file"});
}

TEST_F(LoadFile, ExamplesOfTheTreeAreValidPlans) {
    const char* root = std::getenv("DPDK_SPEAD_SOURCE_ROOT");
    ASSERT_NE(root, nullptr) << "set DPDK_SPEAD_SOURCE_ROOT to the top of the tree";
    int loaded = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(root) / "config")) {
        if (entry.path().extension() != ".toml")
            continue;
        SCOPED_TRACE(entry.path());
        const Plan plan = load_file(entry.path());
        EXPECT_EQ(parse_text(to_toml(plan), "printed"), plan);
        loaded++;
    }
    EXPECT_GE(loaded, 3);
}

}  // namespace
}  // namespace spead::config
