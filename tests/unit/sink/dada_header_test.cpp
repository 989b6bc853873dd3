// SPDX-License-Identifier: BSD-3-Clause
#include "sink/dada_header.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/unit/sink/raw_rig.hpp"

namespace spead::sink::test {
namespace {

using spead::test::error_of;
using spead::test::usage_error_of;
using testing::HasSubstr;

using Value = DadaHeader::Value;

TEST(DadaHeader, PutsValuesInThePlaceOfThoseThatItHas) {
    const DadaHeader header("TELESCOPE  X # a name\n  OBS_OFFSET\t5   # ours\n# OBS_OFFSET 6\n\nFREQ 1284.5",
                            "t");
    const std::array values{Value{"OBS_OFFSET", "4096"}, Value{"HDR_SIZE", "4096"}};
    EXPECT_EQ(header.with(values),
              "TELESCOPE  X # a name\n"
              "OBS_OFFSET           4096\n"
              "# OBS_OFFSET 6\n"
              "\n"
              "FREQ 1284.5\n"
              "HDR_SIZE             4096\n");
    EXPECT_EQ(header.value("TELESCOPE"), "X");
    EXPECT_EQ(header.value("OBS_OFFSET"), "5");
    EXPECT_EQ(header.value("HDR_SIZE"), std::nullopt);
}

TEST(DadaHeader, HasEachKeyOnce) {
    const std::array values{Value{"A", "1"}};
    EXPECT_EQ(DadaHeader("A 2\nB 3\nA 4\n", "t").with(values), "A                    1\nB 3\n");
    EXPECT_EQ(DadaHeader().with(values), "A                    1\n");
}

TEST(DadaHeader, RefusesWhatIsNoText) {
    EXPECT_THAT(usage_error_of([] { DadaHeader(std::string("A 1\0", 4), "t"); }),
                HasSubstr("byte 3 is 0x00"));
    EXPECT_THAT(error_of([] { DadaHeader::read("/none/such"); }), HasSubstr("No such file"));
    EXPECT_THAT(error_of([] { DadaHeader::read("/tmp"); }), HasSubstr("cannot read the header's template"));
    EXPECT_THAT(error_of([] { DadaHeader::read("/dev/zero"); }), HasSubstr("it is no file"));
    const unit_test::RawDirectory directory;
    const std::string path = directory.path() + "/large";
    std::ofstream(path) << std::string((1 << 20) + 1, 'a');
    EXPECT_THAT(usage_error_of([&] { DadaHeader::read(path); }), HasSubstr("at most 1048576 bytes"));
    std::ofstream(path) << "A 1\n";
    EXPECT_EQ(DadaHeader::read(path).value("A"), "1");
}

}  // namespace
}  // namespace spead::sink::test
