// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_line.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed;

using Words = std::vector<std::string>;

TEST(CommandLine, WithoutADoubleDashEverythingIsOurs) {
    const CommandLine line = parsed("recv --port p 239.1.2.3:7148");
    EXPECT_EQ(line.eal_args, Words{});
    EXPECT_EQ(line.command, Command::recv);
    EXPECT_EQ(line.plan.receives.size(), 1u);
}

TEST(CommandLine, WhatStandsBeforeTheFirstDoubleDashIsEals) {
    const CommandLine line = parsed("-l 0-3 --vdev=net_ring0 -- recv --port p 239.1.2.3:7148");
    EXPECT_EQ(line.eal_args, (Words{"-l", "0-3", "--vdev=net_ring0"}));
    EXPECT_EQ(line.command, Command::recv);
    EXPECT_EQ(parsed("-- loopback").eal_args, Words{});
}

TEST(CommandLine, ASecondDoubleDashEndsOurOptions) {
    const CommandLine line = parsed("-l 0 -- recv --port p -- 239.1.2.3:7148");
    EXPECT_EQ(line.eal_args, (Words{"-l", "0"}));
    EXPECT_EQ(line.plan.receives.size(), 1u);
}

TEST(CommandLine, EachCommandIsKnown) {
    EXPECT_EQ(parsed("recv --port p 239.1.2.3:7148").command, Command::recv);
    EXPECT_EQ(parsed("send --port p 239.1.2.3:7148").command, Command::send);
    EXPECT_EQ(parsed("loopback").command, Command::loopback);
    EXPECT_EQ(parsed("bench assemble").command, Command::bench_assemble);
    EXPECT_EQ(parsed("bench transmit").command, Command::bench_transmit);
}

TEST(CommandLine, APromptAndASocketMakeRoomForChanges) {
    const CommandLine plain = parsed("loopback");
    EXPECT_FALSE(plain.interactive);
    EXPECT_FALSE(plain.plan.runtime.live);
    EXPECT_EQ(plain.plan.runtime.control, "");
    for (const char* words :
         {"-i", "--interactive", "--cmdline-file f", "--control auto", "--control /tmp/s"})
        EXPECT_TRUE(parsed(std::string("loopback ") + words).plan.runtime.live) << words;
    EXPECT_TRUE(parsed("recv -i --port p 239.1.2.3:7148").interactive);
    EXPECT_EQ(parsed("loopback --cmdline-file f").cmdline_file, "f");
    EXPECT_EQ(parsed("loopback --control /tmp/s").plan.runtime.control, "/tmp/s");
    EXPECT_FALSE(parsed("loopback --control off").plan.runtime.live);
    expect_refused("loopback --control=", {"--control", "auto"});
    expect_refused("bench assemble -i", {"-i"});
}

TEST(CommandLine, AttachTakesANameAndACommandBehindADoubleDash) {
    EXPECT_EQ(parsed("attach").command, Command::attach);
    EXPECT_EQ(parsed("attach").attach, AttachOptions{});
    EXPECT_EQ(parsed("attach a").attach, (AttachOptions{"a", {}}));
    const AttachOptions expected{"a", {"show", "stream", "--", "all"}};
    EXPECT_EQ(parsed("attach a -- show stream -- all").attach, expected);
    EXPECT_EQ(parsed("-- attach a -- show stream -- all").attach, expected);
    EXPECT_EQ(parsed("attach -- quit").attach, (AttachOptions{"", {"quit"}}));
    expect_refused("attach a b", {"`b`"});
    expect_refused("attach a --", {"no command"});
}

TEST(CommandLine, CommonOptionsWorkWithEveryCommand) {
    for (const char* command : {"recv --port p 239.1.2.3:7148", "send --port p 239.1.2.3:7148", "loopback",
                                "capture --port p 239.1.2.3:7148 a.pcap", "replay --port p a.pcap",
                                "bench assemble", "bench transmit", "bench link", "bench latency"}) {
        SCOPED_TRACE(command);
        const CommandLine without = parsed(command);
        EXPECT_FALSE(without.quiet);
        EXPECT_FALSE(without.check);
        EXPECT_EQ(without.json_path, "");
        const CommandLine with =
            parsed(std::string(command) + " --quiet --check --json out.json --log-level debug");
        EXPECT_TRUE(with.quiet);
        EXPECT_TRUE(with.check);
        EXPECT_EQ(with.json_path, "out.json");
        EXPECT_EQ(with.plan.runtime.log_level, "debug");
        EXPECT_EQ(parsed(std::string(command) + " --json -").json_path, "-");
        EXPECT_EQ(parsed(std::string(command) + " --json=-").json_path, "-");
    }
}

TEST(CommandLine, HelpTellsOfEveryCommandAndHowEalsOptionsStand) {
    for (const char* line : {"--help", "-h", "-l 0 -- --help"}) {
        const CommandLine help = parsed(line);
        EXPECT_EQ(help.command, Command::help);
        for (const char* part : {"Usage: dpdk-spead [EAL options --] COMMAND", "recv", "send", "loopback",
                                 "run", "bench", "--version", "Examples:"})
            EXPECT_NE(help.text.find(part), std::string::npos) << part;
    }
}

TEST(CommandLine, HelpOfACommandShowsItsOptionsWithUnitsAndDefaults) {
    const std::string recv = parsed("recv --help").text;
    for (const char* part :
         {"Usage: dpdk-spead [EAL options --] recv [options] ENDPOINT...", "--max-packet-size N", "[9200]",
          "--buffer-size SIZE", "[16MiB]", "--heap-timeout TIME", "[off]", "--poll busy|adaptive|interrupt",
          "[adaptive]", "--check"})
        EXPECT_NE(recv.find(part), std::string::npos) << part << " is not in\n" << recv;
    EXPECT_EQ(recv.find("Examples:"), std::string::npos);
    EXPECT_EQ(parsed("recv --help --port p 239.1.2.3:7148").command, Command::help);
    EXPECT_NE(parsed("bench --help").text.find("assemble"), std::string::npos);
    EXPECT_NE(parsed("bench transmit --help").text.find("bench transmit [options]"), std::string::npos);
}

TEST(CommandLine, EveryOptionOfTheHelpStandsInALineOfBearableLength) {
    for (const char* command : {"recv", "send", "loopback", "capture", "replay", "run", "bench assemble",
                                "bench transmit", "bench link", "bench latency"}) {
        std::istringstream text(parsed(std::string(command) + " --help").text);
        for (std::string row; std::getline(text, row);)
            EXPECT_LE(row.size(), 120u) << row;
    }
}

TEST(CommandLine, VersionNamesTheProgramAndDpdk) {
    const CommandLine line = parsed("--version");
    EXPECT_EQ(line.command, Command::version);
    EXPECT_EQ(line.text.find("dpdk-spead "), 0u);
    EXPECT_NE(line.text.find("DPDK "), std::string::npos);
}

TEST(CommandLine, NoCommandOrAnotherIsAnsweredWithTheCommands) {
    expect_refused("",
                   {"no command",
                    "recv, send, loopback, capture, replay, run, info, check, selftest, top, attach or bench",
                    "--help"});
    expect_refused("-l 0 --", {"no command"});
    expect_refused(
        "rcv", {"`rcv` is not a command", "did you mean `recv`",
                "recv, send, loopback, capture, replay, run, info, check, selftest, top, attach or bench"});
    expect_refused("frobnicate", {"`frobnicate` is not a command; give recv"});
    expect_refused("--quiet recv", {"--quiet", "command comes first"});
    expect_refused("bench", {"bench assemble, transmit, link or latency"});
    expect_refused("bench --quiet", {"bench --quiet", "assemble, transmit, link or latency"});
    expect_refused("bench assemblr", {"`bench assemblr`", "did you mean `assemble`"});
}

TEST(CommandLine, NoArgumentsAtAllNotEvenAName) {
    test::expect_usage_error([] { parse_command_line(0, nullptr, {}); }, {"no command"});
}

TEST(CommandLine, EalsOptionsAmongOursAreSentToTheirPlace) {
    expect_refused("-l 0-3 recv 239.1.2.3:7148",
                   {"`-l` is an option of EAL", "before `--`", "dpdk-spead -l 2,4 -- recv"});
    expect_refused("recv --port p 239.1.2.3:7148 --vdev=net_ring0", {"`--vdev` is an option of EAL"});
    expect_refused("recv --port p 239.1.2.3:7148 --no-huge", {"`--no-huge` is an option of EAL"});
    expect_refused("recv --port p 239.1.2.3:7148 -a 0000:81:00.0", {"`-a` is an option of EAL"});
}

TEST(CommandLine, ACommandBeforeTheDoubleDashIsSentToItsPlace) {
    expect_refused("recv --port p 239.1.2.3:7148 -- -l 0",
                   {"`recv` stands before `--`", "dpdk-spead [EAL options] -- recv"});
}

TEST(CommandLine, AnUnknownOptionIsQuotedWithTheNearest) {
    expect_refused("recv --port p 239.1.2.3:7148 --max-packt-size 9000",
                   {"`--max-packt-size` is not an option of recv", "did you mean `--max-packet-size`",
                    "dpdk-spead recv --help"});
    expect_refused("recv --port p 239.1.2.3:7148 --max-packt-size=9000",
                   {"`--max-packt-size` is not", "did you mean"});
    expect_refused("send --port p 239.1.2.3:7148 --in-order",
                   {"`--in-order` is not an option of send", "dpdk-spead send --help"});
    expect_refused("recv --port p 239.1.2.3:7148 -x", {"`-x` is not an option of recv"});
    expect_refused("bench assemble --payloads 64",
                   {"`--payloads` is not an option of bench assemble", "`--payload`"});
    expect_refused("run --config x 239.1.2.3:7148", {"`239.1.2.3:7148` is too much for run"});
    expect_refused("bench transmit now", {"`now` is too much for bench transmit"});
}

TEST(CommandLine, OptionsAreNotAbbreviated) {
    expect_refused("recv --port p 239.1.2.3:7148 --sub 3",
                   {"`--sub` is not an option", "did you mean `--substreams`"});
}

TEST(CommandLine, AMissingValueIsNoticed) {
    expect_refused("recv 239.1.2.3:7148 --port", {"--port"});
    expect_refused("recv 239.1.2.3:7148 --json --port p", {"--json: its value is missing", "`--port`"});
    expect_refused("recv --port p 239.1.2.3:7148 --max-poll", {"--max-poll"});
    expect_refused("recv --port p 239.1.2.3:7148 --quiet=5", {"`--quiet` takes no value"});
}

TEST(CommandLine, AnOptionGivenTwiceIsRefused) {
    expect_refused("send --port p 239.1.2.3:7148 --ttl 3 --ttl 4", {"--ttl"});
    expect_refused("recv --port p 239.1.2.3:7148 --json a --json b", {"--json"});
}

TEST(CommandLine, TheLogLevelIsChecked) {
    expect_refused("loopback --log-level loud", {"--log-level: `loud`", "debug"});
    EXPECT_EQ(parsed("loopback --log-level pmd.*:debug").plan.runtime.log_level, "pmd.*:debug");
    EXPECT_EQ(parsed("loopback").plan.runtime.metrics, std::nullopt);
    EXPECT_EQ(parsed("loopback --metrics 9100").plan.runtime.metrics, (ListenAddress{kLoopback, 9100}));
    EXPECT_EQ(parsed("loopback --metrics 0.0.0.0:9100").plan.runtime.metrics, (ListenAddress{{0}, 9100}));
}

TEST(CommandLine, AnLcoreThatDoesNotAnswerIsWaitedForAsLongAsTold) {
    EXPECT_EQ(parsed("loopback").plan.runtime.lcore_timeout, std::nullopt);
    EXPECT_EQ(parsed("loopback --lcore-timeout 2min").plan.runtime.lcore_timeout, 120);
    EXPECT_EQ(parsed("loopback --lcore-timeout off").plan.runtime.lcore_timeout, 0);
    expect_refused("loopback --lcore-timeout 500ms", {"--lcore-timeout", "`500ms`", "1s or more"});
    expect_refused("loopback --lcore-timeout never", {"--lcore-timeout", "`never`"});
}

class RunCommand : public testing::Test {
  protected:
    RunCommand()
        : path_(std::filesystem::temp_directory_path() / ("run-" + std::to_string(getpid()) + ".toml")) {
        std::ofstream(path_) << "version = 1\n[runtime]\nlog_level = \"info\"\n[[port]]\nname = "
                                "\"p0\"\ndevice = \"net_ring0\"\n[[receive]]\nname = "
                                "\"s0\"\nport = \"p0\"\nendpoints = [\"239.1.2.3:7148\"]\n";
    }
    ~RunCommand() override { std::filesystem::remove(path_); }

    std::filesystem::path path_;
};

TEST(TopCommand, HasAProcessAndAView) {
    EXPECT_EQ(parsed("top").command, Command::top);
    EXPECT_EQ(parsed("top").top, TopOptions{});
    const TopOptions top = parsed("top capture1 --once --interval 250ms --page loss --sort rate").top;
    EXPECT_EQ(top.process, "capture1");
    EXPECT_TRUE(top.once);
    EXPECT_EQ(top.interval, 0.25);
    EXPECT_EQ(top.view.page, TopPage::loss);
    EXPECT_EQ(top.view.sort, TopSort::rate);
    test::expect_usage_error([] { parsed("top a b"); }, {"`b`"});
    test::expect_usage_error([] { parsed("top --interval 1ms"); }, {"--interval", "100ms"});
    test::expect_usage_error([] { parsed("top --page heaps"); }, {"--page", "`heaps`", "streams"});
}

TEST_F(RunCommand, LoadsTheFile) {
    const CommandLine line = parsed({"run", "--config", path_.string(), "--check"});
    EXPECT_EQ(line.command, Command::run);
    EXPECT_TRUE(line.check);
    EXPECT_EQ(line.plan, config::load_file(path_.string()));
    EXPECT_EQ(line.plan.runtime.log_level, "info");
}

TEST_F(RunCommand, TheCommandLinesLogLevelWins) {
    EXPECT_EQ(parsed({"run", "--config", path_.string(), "--log-level", "debug"}).plan.runtime.log_level,
              "debug");
}

TEST_F(RunCommand, TheCommandLinesLcoreTimeoutWins) {
    EXPECT_EQ(
        parsed({"run", "--config", path_.string(), "--lcore-timeout", "off"}).plan.runtime.lcore_timeout, 0);
}

TEST_F(RunCommand, TheCommandLinesMetricsWin) {
    const std::string text =
        "version = 1\n[runtime]\nmetrics = \"9100\"\n[[port]]\nname = \"p0\"\ndevice = "
        "\"net_null0\"\n[[receive]]\nname = \"s0\"\nport = \"p0\"\nendpoints = "
        "[\"239.1.2.3:7148\"]\n";
    std::ofstream(path_, std::ios::trunc) << text;
    EXPECT_EQ(parsed({"run", "--config", path_.string()}).plan.runtime.metrics,
              (ListenAddress{kLoopback, 9100}));
    EXPECT_EQ(parsed({"run", "--config", path_.string(), "--metrics", "9200"}).plan.runtime.metrics,
              (ListenAddress{kLoopback, 9200}));
}

/// The file is read again at SIGHUP: what it says counts then, but for what options have said.
TEST_F(RunCommand, OnlyWhatOptionsGaveIsWrittenOverAnotherPlan) {
    runtime::RuntimePlan file;
    file.control = "off";
    file.metrics = ListenAddress{kLoopback, 9100};
    file.capabilities = runtime::KeptCapabilities::all;
    file.lcore_timeout = 5;
    runtime::RuntimePlan plan = file;
    parsed({"run", "--config", path_.string()}).given.apply_to(plan);
    EXPECT_EQ(plan, file);
    parsed({"run", "--config", path_.string(), "--metrics", "9200", "--lcore-timeout", "off", "--control",
            "auto", "--capabilities", "needed"})
        .given.apply_to(plan);
    EXPECT_EQ(plan.metrics, (ListenAddress{kLoopback, 9200}));
    EXPECT_EQ(plan.lcore_timeout, 0);
    EXPECT_EQ(plan.control, "auto");
    EXPECT_EQ(plan.capabilities, runtime::KeptCapabilities::needed);
}

TEST_F(RunCommand, NeedsAFileThatCanBeRead) {
    expect_refused("run", {"--config: it is missing", "dpdk-spead run --config FILE"});
    EXPECT_THROW(parsed("run --config missing.toml"), Error);
    std::ofstream(path_, std::ios::app) << "rubbish = 1\n";
    test::expect_usage_error(
        [&] {
            parsed({"run", "--config", path_.string()});
        },
        {path_.string() + ":11:1: `rubbish`"});
}

TEST(BenchAssemble, DefaultsCoverThePacketAndHeapSizesOfInterest) {
    const BenchOptions bench = parsed("bench assemble").bench;
    EXPECT_EQ(bench.payload_sizes, (std::vector<std::uint32_t>{64, 256, 1024, 1408, 4096, 8192}));
    EXPECT_EQ(bench.heap_sizes, (std::vector<std::uint64_t>{0, 65536, 4194304}));
    EXPECT_EQ(bench.working_sets, (std::vector<std::uint64_t>{8388608, 1073741824}));
    EXPECT_EQ(bench.streams, std::vector<std::uint32_t>{1});
    EXPECT_EQ(bench.live_heaps, std::vector<std::uint32_t>{4});
    EXPECT_EQ(bench.time, 1.0);
    EXPECT_EQ(bench.rounds, 5u);
    EXPECT_EQ(bench.lcore, std::nullopt);
}

TEST(BenchAssemble, EveryOptionArrives) {
    const BenchOptions bench = parsed(
                                   "bench assemble --payload 1024,8192 --heap-size packet,64KiB --set 4MiB "
                                   "--streams 1,64 --live-heaps 4,1024 --time 250ms "
                                   "--rounds 3 --lcore 2")
                                   .bench;
    EXPECT_EQ(bench.payload_sizes, (std::vector<std::uint32_t>{1024, 8192}));
    EXPECT_EQ(bench.heap_sizes, (std::vector<std::uint64_t>{0, 65536}));
    EXPECT_EQ(bench.working_sets, std::vector<std::uint64_t>{4194304});
    EXPECT_EQ(bench.streams, (std::vector<std::uint32_t>{1, 64}));
    EXPECT_EQ(bench.live_heaps, (std::vector<std::uint32_t>{4, 1024}));
    EXPECT_EQ(bench.time, 0.25);
    EXPECT_EQ(bench.rounds, 3u);
    EXPECT_EQ(bench.lcore, 2u);
}

TEST(BenchTransmit, EveryOptionArrives) {
    EXPECT_EQ(parsed("bench transmit").bench.device, "net_null0");
    const BenchOptions bench =
        parsed("bench transmit --device net_memif0 --zero-copy never --rate 10Gbps --payload 64").bench;
    EXPECT_EQ(bench.device, "net_memif0");
    EXPECT_EQ(bench.zero_copy, runtime::ZeroCopy::never);
    EXPECT_EQ(bench.rate, 1.25e9);
    EXPECT_EQ(bench.payload_sizes, std::vector<std::uint32_t>{64});
    EXPECT_EQ(bench.working_sets, std::vector<std::uint64_t>{});
}

TEST(Bench, WrongValuesAreNamed) {
    expect_refused("bench assemble --payload 64,,8", {"--payload: `` is not a whole number from 1 to 65400"});
    expect_refused("bench assemble --payload 0", {"--payload: `0`"});
    expect_refused("bench assemble --heap-size 64K", {"--heap-size: `64K`"});
    expect_refused("bench assemble --heap-size 1KiB --payload 2048",
                   {"--heap-size", "1 KiB", "2048", "`packet`"});
    expect_refused("bench assemble --set packet", {"--set: `packet`"});
    expect_refused("bench assemble --time 0", {"--time", "no time"});
    expect_refused("bench transmit --set 1MiB", {"`--set` is not an option of bench transmit"});
}

TEST(Info, TakesPortsOrTheTable) {
    const CommandLine line = parsed("-a 03:00.0 -- info ens1f0 net_ring0,a=b --json");
    EXPECT_EQ(line.command, Command::info);
    EXPECT_EQ(line.info.ports, (std::vector<std::string>{"ens1f0", "net_ring0,a=b"}));
    EXPECT_TRUE(line.info.json);
    EXPECT_FALSE(line.info.drivers);
    EXPECT_TRUE(parsed("info --drivers").info.drivers);
    expect_refused("info --driver", {"--driver", "--drivers"});
}

TEST(Check, NamesPortsOrAFile) {
    const CommandLine line = parsed("check ens1f0 10.0.0.5 --json");
    EXPECT_EQ(line.command, Command::check);
    EXPECT_TRUE(line.json);
    ASSERT_EQ(line.plan.ports.size(), 2U);
    EXPECT_EQ(line.plan.ports[1].device, "10.0.0.5");
    EXPECT_EQ(line.plan.receives[1].port, "p1");
    EXPECT_NE(line.plan.receives[0].endpoints, line.plan.receives[1].endpoints);
    expect_refused("check ens1f0 --config x.toml", {"--config", "ens1f0"});
}

TEST(Check, WithNothingNamedTakesTheUsualPortOrNone) {
    EXPECT_TRUE(parsed("check").plan.ports.empty());
    EXPECT_EQ(parsed("check", {{"DPDK_SPEAD_INTERFACE", "ens2"}}).plan.ports.at(0).device, "ens2");
    const auto lone = [] { return port::LonePort{"ens1f0", {}}; };
    EXPECT_EQ(parsed({"check"}, {}, lone).plan.ports.at(0).device, "ens1f0");
    const auto none = [] { return port::LonePort{{}, "ens1f0, ens2 could all be meant"}; };
    EXPECT_EQ(parsed({"check"}, {}, none).remarks,
              std::vector<std::string>{"no port is named: ens1f0, ens2 could all be meant"});
}

}  // namespace
}  // namespace spead::app
