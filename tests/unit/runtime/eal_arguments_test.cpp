// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "runtime/layout.hpp"
#include "tests/support/fake_machine.hpp"

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(EalOptions, KeepWhatTheUserTyped) {
    const std::vector<std::string> words{"-l", "0,1", "--vdev=net_ring0", "-m", "100"};
    EXPECT_EQ(EalOptions::parse(words).words, words);
}

TEST(EalOptions, AreSortedIntoGroups) {
    struct Case {
        std::vector<std::string> words;
        bool lcores = false, memory = false, amount = false, naming = false, bus = false, log = false;
    };
    const std::vector<Case> cases{
        {.words = {}},
        {.words = {"-l", "0-3"}, .lcores = true},
        {.words = {"-l0-3"}, .lcores = true},
        {.words = {"-c0xf"}, .lcores = true},
        {.words = {"--lcores=0@0"}, .lcores = true},
        {.words = {"--lcores", "0@0"}, .lcores = true},
        {.words = {"--main-lcore=1"}, .lcores = true},
        {.words = {"-S", "1"}, .lcores = true},
        {.words = {"-m", "512"}, .amount = true},
        {.words = {"-m512"}, .amount = true},
        {.words = {"--no-huge"}, .memory = true},
        {.words = {"--in-memory"}, .memory = true},
        {.words = {"--socket-mem=1,1"}, .memory = true},
        {.words = {"--huge-unlink"}, .memory = true},
        {.words = {"--huge-unlink=never"}, .memory = true},
        {.words = {"--file-prefix", "x"}, .naming = true},
        {.words = {"--no-shconf"}, .naming = true},
        {.words = {"-a", "0000:00:00.0"}, .bus = true},
        {.words = {"-a0000:00:00.0"}, .bus = true},
        {.words = {"--no-pci"}, .bus = true},
        {.words = {"--block=0000:00:00.0"}, .bus = true},
        {.words = {"--log-level=8"}, .log = true},
        {.words = {"--log-level", "lib.eal:8"}, .log = true},
        {.words = {"-n", "4", "--vdev", "net_null0", "--iova-mode=pa", "--match"}},
        {.words = {"--lcoresx", "--no-hugex"}},
        {.words = {"-l", "1", "-m1", "--no-pci"}, .lcores = true, .amount = true, .bus = true},
    };
    for (const Case& c : cases) {
        const EalOptions o = EalOptions::parse(c.words);
        SCOPED_TRACE(testing::PrintToString(c.words));
        EXPECT_EQ(o.has_lcores, c.lcores);
        EXPECT_EQ(o.has_memory, c.memory);
        EXPECT_EQ(o.has_amount, c.amount);
        EXPECT_EQ(o.has_naming, c.naming);
        EXPECT_EQ(o.has_bus, c.bus);
        EXPECT_EQ(o.has_log, c.log);
    }
}

TEST(EalOptions, TellTheDevicesThatEalMakes) {
    EXPECT_THAT(EalOptions::parse({"--vdev=net_ring0,a=1", "--vdev", "net_null1", "-l", "1"}).devices,
                ElementsAre("net_ring0,a=1", "net_null1"));
    EXPECT_THAT(EalOptions::parse({"--vdev"}).devices, IsEmpty());
    EXPECT_THAT(EalOptions::parse({"-a", "03:00.0,a=1", "-a04:00.0", "--allow=05:00.0", "--allow", "06:00.0"})
                    .devices,
                ElementsAre("03:00.0,a=1", "04:00.0", "05:00.0", "06:00.0"));
    EXPECT_TRUE(EalOptions::parse({"-b", "03:00.0"}).has_block);
    EXPECT_TRUE(EalOptions::parse({"--no-pci"}).has_no_pci);
    EXPECT_FALSE(EalOptions::parse({"-a", "03:00.0"}).has_block);
}

// Lcores.

/// Returns the arguments on a machine without huge pages, or on one that a test makes up.
std::vector<std::string> arguments(std::vector<std::string> words, BusNeeds bus = {},
                                   const port::Machine& host = spead::test::FakeMachine().view()) {
    return eal_arguments(EalOptions::parse(std::move(words)),
                         {.memory = {{0, 10 * kMebibyte}}, .lcores = "0@0,1@1", .name = "run", .bus = bus},
                         host)
        .words;
}

TEST(EalArguments, SayEverythingThatTheUserLeavesOpen) {
    const std::vector<std::string> args = arguments({});
    EXPECT_THAT(args, AllOf(Contains("0@0,1@1"), Contains("--no-huge"), Contains("--no-shconf"),
                            Not(Contains("--in-memory"))));
    const auto amount = std::find(args.begin(), args.end(), "-m");
    ASSERT_NE(amount, args.end());
    EXPECT_EQ(*(amount + 1), "10");
    const auto prefix = std::find(args.begin(), args.end(), "--file-prefix");
    ASSERT_NE(prefix, args.end());
    EXPECT_EQ(*(prefix + 1), fmt::format("run.{}", ::getpid()));
    for (const char* const word : {"--main-lcore", "--no-pci", "--iova-mode=va", "--no-telemetry"})
        EXPECT_THAT(args, Contains(word));
}

/// Tests that the user's words come last. There, an option without its value takes no word of ours for it.
TEST(EalArguments, EndWithTheUsersOwn) {
    const std::vector<std::string> own{"--vdev", "net_ring0", "-n", "2"};
    const std::vector<std::string> args = arguments(own);
    ASSERT_GT(args.size(), own.size());
    EXPECT_TRUE(std::equal(own.rbegin(), own.rend(), args.rbegin()));
}

TEST(EalArguments, LeaveAGroupToTheUserWhoSetIt) {
    EXPECT_THAT(arguments({"-l", "0-3"}), AllOf(Not(Contains("--lcores")), Not(Contains("--main-lcore"))));
    EXPECT_THAT(arguments({"--no-huge", "-m", "64"}), Not(Contains("--in-memory")));
    EXPECT_THAT(arguments({"--no-huge", "-m", "64"}), Not(Contains("10")));
    EXPECT_THAT(arguments({"-m", "64"}), Not(Contains("10")));
    EXPECT_THAT(arguments({"--file-prefix=x"}), Not(Contains("--file-prefix")));
    EXPECT_THAT(arguments({"-a", "0000:01:00.0"}), Not(Contains("--no-pci")));
    EXPECT_THAT(arguments({"--log-level=8"}), Not(Contains(HasSubstr("lib.*"))));
    EXPECT_THAT(arguments({"--iova-mode=pa"}), Not(Contains("--iova-mode=va")));
    EXPECT_THAT(arguments({"--telemetry"}), Not(Contains("--no-telemetry")));
}

TEST(EalArguments, TelemetryIsServedWhereAskedForAndThereIsRoomForItsSocket) {
    const auto with = [](std::vector<std::string> words, const std::string& name) {
        const spead::test::FakeMachine machine;
        return eal_arguments(EalOptions::parse(std::move(words)),
                             {.memory = {}, .lcores = "0@0", .name = name, .bus = {}, .telemetry = true},
                             machine.view())
            .words;
    };
    EXPECT_THAT(with({}, "run"), AllOf(Contains("--telemetry"), Not(Contains("--no-telemetry"))));
    EXPECT_THAT(with({"--no-telemetry"}, "run"), Not(Contains("--telemetry")));
    EXPECT_THAT(with({}, std::string(100, 'x')),
                AllOf(Contains("--no-telemetry"), Not(Contains("--telemetry"))));
}

TEST(EalArguments, LeaveNoHugePagesBehindUnderANameOfTheirOwn) {
    const std::string unlink = "--huge-unlink=always";
    EXPECT_THAT(arguments({"--socket-mem", "64"}), AllOf(Contains(unlink), Contains("--file-prefix")));
    EXPECT_THAT(arguments({"--huge-dir=/mnt/huge"}), Contains(unlink));
    EXPECT_THAT(arguments({"--socket-mem=64", "--file-prefix=x"}), Not(Contains(unlink)))
        << "the user's name";
    EXPECT_THAT(arguments({"--socket-mem=64", "--huge-unlink=never"}), Not(Contains(unlink)));
    EXPECT_THAT(arguments({"--socket-mem=64", "--single-file-segments"}), Not(Contains(unlink)));
    EXPECT_THAT(arguments({"--socket-mem=64", "--in-memory"}), Not(Contains(unlink)));
    EXPECT_THAT(arguments({"--no-huge"}), Not(Contains(unlink)));
    EXPECT_THAT(arguments({}), Not(Contains(unlink))) << "--in-memory and --no-huge make no files";
}

TEST(EalArguments, WithACardEalTouchesNoneByItself) {
    const std::vector<std::string> args = arguments({"--in-memory"}, {.pci = true});
    EXPECT_THAT(args, Not(Contains("--no-pci")));
    const auto allowed = std::find(args.begin(), args.end(), "-a");
    ASSERT_NE(allowed, args.end());
    EXPECT_EQ(*(allowed + 1), "0000:00:00.0") << "no network card is there";
    EXPECT_THAT(arguments({"--in-memory", "-a", "03:00.0"}, {.pci = true}), Not(Contains("0000:00:00.0")))
        << "the user's own list";
}

TEST(EalArguments, TakeHugePagesWhereThereAreEnough) {
    spead::test::FakeMachine machine;
    machine.huge_pages(0, 2048, 64, 5);
    EXPECT_THAT(arguments({}, {}, machine.view()),
                AllOf(Contains("--in-memory"), Contains("--single-file-segments"),
                      Contains("--socket-mem=10"), Not(Contains("--no-huge")), Not(Contains("--no-shconf"))));
    EXPECT_THAT(arguments({"-m", "64"}, {}, machine.view()),
                AllOf(Contains("--in-memory"), Not(Contains(HasSubstr("--socket-mem")))));
    EXPECT_THAT(arguments({"--no-huge"}, {}, machine.view()), Not(Contains("--in-memory")));
}

TEST(EalArguments, SayWhyHugePagesStayUnused) {
    spead::test::FakeMachine machine;
    const auto made = [&machine] {
        return eal_arguments({}, {.memory = {{0, 10 * kMebibyte}}, .lcores = "0@0", .name = "run", .bus = {}},
                             machine.view());
    };
    EXPECT_THAT(made().remarks, IsEmpty()) << "none are reserved: nobody expects any";
    machine.huge_pages(0, 2048, 64, 4);
    EXPECT_THAT(made().words, Contains("--no-huge"));
    EXPECT_THAT(made().remarks, ElementsAre(AllOf(HasSubstr("8 MiB are free (4 of 64 of 2 MiB free)"),
                                                  HasSubstr("`sysctl -w vm.nr_hugepages=65`"))));
}

TEST(EalArguments, ACardTakesHugePages) {
    EXPECT_THAT(
        [] { arguments({}, {.pci = true}); },
        ThrowsMessage<Error>(AllOf(HasSubstr("a card needs huge pages: 10 MiB of huge pages"),
                                   HasSubstr("none are reserved; run `sysctl -w vm.nr_hugepages=5`"))));
    spead::test::FakeMachine machine;
    machine.huge_pages(0, 2048, 5, 5);
    EXPECT_THAT(arguments({}, {.pci = true}, machine.view()), Contains("--in-memory"));
}

TEST(EalArguments, APeerThatMapsTheMemoryGetsItAsOneFile) {
    const BusNeeds shared{.shared_memory = true};
    for (const char* const option : {"--in-memory", "--socket-mem=64", "--legacy-mem"})
        EXPECT_THAT([&] { arguments({option}, shared); },
                    ThrowsMessage<UsageError>(HasSubstr("add --single-file-segments")))
            << option;
    EXPECT_NO_THROW(arguments({"--in-memory", "--single-file-segments"}, shared));
    EXPECT_NO_THROW(arguments({"--no-huge"}, shared));
    EXPECT_NO_THROW(arguments({"--in-memory"})) << "nobody maps it";
}

TEST(EalArguments, WhatKeepsEalFromACardIsRefusedBesideOne) {
    for (const char* const option : {"--no-pci", "-b", "--block=0000:04:00.0"}) {
        EXPECT_THAT(
            [&] {
                arguments({"--in-memory", option}, {.pci = true});
            },
            ThrowsMessage<UsageError>(HasSubstr("leave it out")))
            << option;
        EXPECT_NO_THROW(arguments({"--in-memory", option})) << option;
    }
}

TEST(EalArguments, ACardWithoutIommuTakesPhysicalAddresses) {
    const auto with = [](BusNeeds needs) { return arguments({"--in-memory"}, needs); };
    EXPECT_THAT(with({true, true}), Contains("--iova-mode=pa"));
    EXPECT_THAT(with({true, false}), Contains("--iova-mode=va"));
}

TEST(BusNeeds, AreThoseOfAnyPort) {
    port::PlannedPort ordinary;
    port::PlannedPort card;
    card.device.pci = card.device.physical_addresses = true;
    EXPECT_FALSE(BusNeeds::of({&ordinary, 1}).pci);
    const std::array both{ordinary, card};
    EXPECT_TRUE(BusNeeds::of(both).pci);
    EXPECT_TRUE(BusNeeds::of(both).physical_addresses);
}

}  // namespace
}  // namespace spead::runtime
