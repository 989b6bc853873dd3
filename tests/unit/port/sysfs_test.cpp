// SPDX-License-Identifier: BSD-3-Clause
#include "port/sysfs.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"

namespace spead::port {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Sysfs, ReadsBelowItsRoot) {
    spead::test::FakeMachine machine;
    machine.file("/sys/a/text", " two words \n");
    machine.link("/sys/a/link", "../../elsewhere/last");
    machine.directory("/sys/a/b");
    const Sysfs& files = machine.view().files;
    EXPECT_EQ(files.text("/sys/a/text"), "two words");
    EXPECT_EQ(files.link("/sys/a/link"), "last");
    EXPECT_THAT(files.list("/sys/a"), ElementsAre("b", "link", "text"));
    EXPECT_TRUE(files.exists("/sys/a/b"));
    EXPECT_TRUE(files.writable("/sys/a/text"));
}

TEST(Sysfs, NumbersAreDecimalOrMarkedHexadecimal) {
    spead::test::FakeMachine machine;
    machine.file("/n/decimal", "42\n");
    machine.file("/n/negative", "-7\n");
    machine.file("/n/hex", "0x15b3\n");
    machine.file("/n/first", "100 Gb/s\n");
    machine.file("/n/none", "Unknown\n");
    machine.file("/n/mixed", "12ab\n");
    machine.file("/n/empty", "");
    const Sysfs& files = machine.view().files;
    EXPECT_EQ(files.number("/n/decimal"), 42);
    EXPECT_EQ(files.number("/n/negative"), -7);
    EXPECT_EQ(files.number("/n/hex"), 0x15b3);
    EXPECT_EQ(files.number("/n/first"), 100);
    EXPECT_EQ(files.number("/n/none"), std::nullopt);
    EXPECT_EQ(files.number("/n/mixed"), std::nullopt);
    EXPECT_EQ(files.number("/n/empty"), std::nullopt);
}

TEST(Sysfs, ListsOfCpusHaveNumbersAndRanges) {
    spead::test::FakeMachine machine;
    machine.file("/n/list", "2,4-7\n");
    machine.file("/n/one", "0\n");
    machine.file("/n/empty", "\n");
    machine.file("/n/odd", "1,x,3-,5-4,-,9-99999999999,8\n");
    const Sysfs& files = machine.view().files;
    EXPECT_THAT(files.cpus("/n/list"), ElementsAre(2, 4, 5, 6, 7));
    EXPECT_THAT(files.cpus("/n/one"), ElementsAre(0));
    EXPECT_THAT(files.cpus("/n/empty"), IsEmpty());
    EXPECT_THAT(files.cpus("/n/odd"), ElementsAre(1, 8));
    EXPECT_THAT(files.cpus("/n/nothing"), IsEmpty());
}

TEST(Sysfs, WhatIsNotThereIsAbsent) {
    const spead::test::FakeMachine machine;
    const Sysfs& files = machine.view().files;
    EXPECT_EQ(files.text("/nothing"), std::nullopt);
    EXPECT_EQ(files.text("/sys"), std::nullopt) << "a directory";
    EXPECT_EQ(files.number("/nothing"), std::nullopt);
    EXPECT_EQ(files.link("/sys"), "");
    EXPECT_THAT(files.list("/nothing"), IsEmpty());
    EXPECT_FALSE(files.exists("/nothing"));
    EXPECT_FALSE(files.writable("/nothing"));
}

}  // namespace
}  // namespace spead::port
