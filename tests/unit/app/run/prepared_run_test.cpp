// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/prepared_run.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::parsed_options;

TEST(PreparedRun, MakesRoomForChangesWhereThereIsAControlSocket) {
    RunOptions options = parsed_options<RunOptions>("loopback");
    EXPECT_FALSE(PreparedRun(options, {}).run.plan().runtime.live);
    options.config_path = "some.toml";
    EXPECT_TRUE(PreparedRun(options, {}).run.plan().runtime.live) << "`run` has a socket if it can";
    options.plan.runtime.control = "off";
    EXPECT_FALSE(PreparedRun(options, {}).run.plan().runtime.live);
}

TEST(PreparedRun, IsDescribedAsAConfiguration) {
    const RunOptions options = parsed_options<RunOptions>("loopback --heaps 3");
    const PreparedRun prepared(options, {"-m", "512"});
    const std::string text = describe_run(prepared, options.plan);
    EXPECT_EQ(config::parse_text(text, "--check"), options.plan);
    EXPECT_NE(text.find("\n# "), std::string::npos) << "what is no key is a comment";
}

TEST(PreparedRun, ASourceThatCanWaitNeedsMemoryForItsHeaps) {
    const RunOptions lossless = parsed_options<RunOptions>(
        "recv --port net_ring0 --memory 16MiB --max-heap-bytes 16MiB --max-heaps 64 239.1.2.3:7148");
    test::expect_usage_error([&] { PreparedRun(lossless, {}); }, {"receive s0", "--memory"});
    RunOptions loopback = lossless;
    loopback.loopback = true;
    EXPECT_NO_THROW(PreparedRun(loopback, {})) << "no more is in flight than its sender has";
}

}  // namespace
}  // namespace spead::app
