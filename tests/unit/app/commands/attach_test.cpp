// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/attach.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed;
using test::parsed_options;

TEST(AttachCommand, TakesANameAndACommandBehindADoubleDash) {
    EXPECT_EQ(parsed("attach").name, "attach");
    EXPECT_EQ(parsed_options<AttachOptions>("attach"), AttachOptions{});
    EXPECT_EQ(parsed_options<AttachOptions>("attach a"), (AttachOptions{"a", {}}));
    const AttachOptions expected{"a", {"show", "stream", "--", "all"}};
    EXPECT_EQ(parsed_options<AttachOptions>("attach a -- show stream -- all"), expected);
    EXPECT_EQ(parsed_options<AttachOptions>("-- attach a -- show stream -- all"), expected);
    EXPECT_EQ(parsed_options<AttachOptions>("attach -- quit"), (AttachOptions{"", {"quit"}}));
    expect_refused("attach a b", {"`b`"});
    expect_refused("attach a --", {"no command"});
}

}  // namespace
}  // namespace spead::app
