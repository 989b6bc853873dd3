// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_line.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed;
using test::planned;

using Typed = std::vector<std::string>;

TEST(CommandLine, WithoutADoubleDashEverythingIsOurs) {
    const CommandLine line = parsed("recv --port p 239.1.2.3:7148");
    EXPECT_EQ(line.invocation.eal_args, Typed{});
    EXPECT_EQ(line.name, "recv");
    EXPECT_EQ(test::options_of<RunOptions>(line).plan.receives.size(), 1u);
}

TEST(CommandLine, WhatStandsBeforeTheFirstDoubleDashIsEals) {
    const CommandLine line = parsed("-l 0-3 --vdev=net_ring0 -- recv --port p 239.1.2.3:7148");
    EXPECT_EQ(line.invocation.eal_args, (Typed{"-l", "0-3", "--vdev=net_ring0"}));
    EXPECT_EQ(line.name, "recv");
    EXPECT_EQ(parsed("-- loopback").invocation.eal_args, Typed{});
}

TEST(CommandLine, ASecondDoubleDashEndsOurOptions) {
    const CommandLine line = parsed("-l 0 -- recv --port p -- 239.1.2.3:7148");
    EXPECT_EQ(line.invocation.eal_args, (Typed{"-l", "0"}));
    EXPECT_EQ(test::options_of<RunOptions>(line).plan.receives.size(), 1u);
}

TEST(CommandLine, EachCommandIsKnown) {
    EXPECT_EQ(parsed("recv --port p 239.1.2.3:7148").name, "recv");
    EXPECT_EQ(parsed("send --port p 239.1.2.3:7148").name, "send");
    EXPECT_EQ(parsed("loopback").name, "loopback");
    EXPECT_EQ(parsed("bench assemble").name, "bench assemble");
    EXPECT_EQ(parsed("bench chunks").name, "bench chunks");
    EXPECT_EQ(parsed("bench transmit").name, "bench transmit");
}

TEST(CommandLine, CommonOptionsWorkWithEveryCommand) {
    for (const char* command :
         {"recv --port p 239.1.2.3:7148", "send --port p 239.1.2.3:7148", "loopback",
          "capture --port p 239.1.2.3:7148 a.pcap", "replay --port p a.pcap", "bench assemble",
          "bench chunks", "bench transmit", "bench link", "bench latency", "bench gpu"}) {
        SCOPED_TRACE(command);
        const CommandLine without = parsed(command);
        EXPECT_FALSE(without.invocation.common.quiet);
        EXPECT_FALSE(without.invocation.common.check);
        EXPECT_EQ(without.invocation.common.json_path, "");
        const CommandLine with =
            parsed(std::string(command) + " --quiet --check --json out.json --log-level debug");
        EXPECT_TRUE(with.invocation.common.quiet);
        EXPECT_TRUE(with.invocation.common.check);
        EXPECT_EQ(with.invocation.common.json_path, "out.json");
        EXPECT_EQ(with.invocation.common.log_level, "debug");
        EXPECT_EQ(parsed(std::string(command) + " --json -").invocation.common.json_path, "-");
        EXPECT_EQ(parsed(std::string(command) + " --json=-").invocation.common.json_path, "-");
    }
}

TEST(CommandLine, HelpTellsOfEveryCommandAndHowEalsOptionsStand) {
    for (const char* line : {"--help", "-h", "-l 0 -- --help"}) {
        const CommandLine help = parsed(line);
        EXPECT_EQ(help.command, nullptr);
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
    EXPECT_EQ(parsed("recv --help --port p 239.1.2.3:7148").command, nullptr);
    EXPECT_NE(parsed("bench --help").text.find("assemble"), std::string::npos);
    EXPECT_NE(parsed("bench transmit --help").text.find("bench transmit [options]"), std::string::npos);
}

TEST(CommandLine, EveryOptionOfTheHelpStandsInALineOfBearableLength) {
    for (const char* command :
         {"recv", "send", "loopback", "capture", "replay", "run", "bench assemble", "bench chunks",
          "bench transmit", "bench link", "bench latency", "bench gpu"}) {
        std::istringstream text(parsed(std::string(command) + " --help").text);
        for (std::string row; std::getline(text, row);)
            EXPECT_LE(row.size(), 120u) << row;
    }
}

TEST(CommandLine, VersionNamesTheProgramAndDpdk) {
    const CommandLine line = parsed("--version");
    EXPECT_EQ(line.command, nullptr);
    EXPECT_EQ(line.text.find("dpdk-spead "), 0u);
    EXPECT_NE(line.text.find("DPDK "), std::string::npos);
}

TEST(CommandLine, NoCommandOrAnotherIsAnsweredWithTheCommands) {
    expect_refused(
        "", {"the command is missing",
             "recv, send, loopback, capture, replay, run, plan, info, check, selftest, top, attach or bench",
             "--help"});
    expect_refused("-l 0 --", {"the command is missing"});
    expect_refused(
        "rcv",
        {"`rcv` is not a command", "did you mean `recv`",
         "recv, send, loopback, capture, replay, run, plan, info, check, selftest, top, attach or bench"});
    expect_refused("frobnicate", {"`frobnicate` is not a command; give recv"});
    expect_refused("--quiet recv", {"--quiet", "command comes first"});
    expect_refused("bench", {"bench assemble, chunks, distribute, transmit, link, latency or gpu"});
    expect_refused("bench --quiet",
                   {"bench --quiet", "assemble, chunks, distribute, transmit, link, latency or gpu"});
    expect_refused("bench assemblr", {"`bench assemblr`", "did you mean `assemble`"});
}

TEST(CommandLine, NoArgumentsAtAllNotEvenAName) {
    test::expect_usage_error([] { parse_command_line(0, nullptr, {}); }, {"the command is missing"});
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
                   {"`recv` is before `--`", "dpdk-spead [EAL options] -- recv"});
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
    expect_refused("run --config x 239.1.2.3:7148", {"`239.1.2.3:7148` is an extra argument of run"});
    expect_refused("bench transmit now", {"`now` is an extra argument of bench transmit"});
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
    expect_refused("send --port p 239.1.2.3:7148 --ttl 3 --ttl 4",
                   {"`--ttl` is given more than once; give it once"});
    expect_refused("recv --port p 239.1.2.3:7148 --json a --json b", {"`--json` is given more than once"});
}

TEST(CommandLine, TheLogLevelIsChecked) {
    expect_refused("loopback --log-level loud", {"--log-level: `loud`", "debug"});
    EXPECT_EQ(planned("loopback --log-level pmd.*:debug").runtime.log_level, "pmd.*:debug");
    EXPECT_EQ(planned("loopback").runtime.metrics, std::nullopt);
    EXPECT_EQ(planned("loopback --metrics 9100").runtime.metrics, (ListenAddress{kLoopback, 9100}));
    EXPECT_EQ(planned("loopback --metrics 0.0.0.0:9100").runtime.metrics, (ListenAddress{{0}, 9100}));
}

}  // namespace
}  // namespace spead::app
