// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/format_list.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "wire/packet_format.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

TEST(FormatList, HasEachNameWithItsDeclaration) {
    const std::string list = format_list();
    EXPECT_THAT(list, testing::StartsWith("pst: SKA"));
    EXPECT_THAT(list, HasSubstr("\n\nvdif: VLBI"));
    EXPECT_THAT(list, HasSubstr("\n    field second: u32 at 0"));
}

TEST(FormatList, GivesProgramsTextsThatCanBeParsed) {
    const observe::Json document = format_document();
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["formats"].size(), 5U);
    for (const auto& known : document["formats"])
        EXPECT_NO_THROW(wire::PacketFormat::parse(known["format"].get<std::string>())) << known["name"];
}

}  // namespace
}  // namespace spead::app
