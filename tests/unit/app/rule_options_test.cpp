// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

/// Refusals of rules in runs by options alone.
namespace spead::app {
namespace {

using test::expect_refused;

TEST(RuleOptions, RulesNameTheOptionsOfTheKeysThatTheyName) {
    const std::string two = "recv --port a --port b --two-paths 239.1.2.3:7148 ";
    expect_refused(two + "--path-skew 2s --history-time 1s", {"(--history-time)", "(--path-skew)"});
    expect_refused(two + "--history 0", {"(--history)", "(--path-skew)"});
    expect_refused(two + "--heap-timeout 10ms", {"(--heap-timeout)", "(--path-skew)"});
    expect_refused(two + "--in-order", {"leave out `in_order` (--in-order)"});
    expect_refused(two + "--stop-on-stop-item", {"(--exit-on-stop)", "(--stop-on-stop-item)"});
    expect_refused(two + "--heap-memory cpu", {"leave out `gather` (--heap-memory)"});
    expect_refused("recv --port a 239.1.2.3:7148 --history-time 0", {"`history` 0 (--history)"});
    expect_refused("recv --port a 239.1.2.3:7148 --format vdif --exit-on-stop",
                   {"(--duration)", "(--heaps)", "(--idle-exit)"});
    expect_refused("send --port a 239.1.2.3:7148 --senders 2", {"give `pattern` (--pattern)"});
    expect_refused("send --port a 239.1.2.3:7148 --pattern p1 --items 2", {"leave `items` (--items) out"});
}

}  // namespace
}  // namespace spead::app
