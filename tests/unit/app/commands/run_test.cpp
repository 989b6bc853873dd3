// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "app/run/run_options.hpp"
#include "config/config.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed;
using test::parsed_options;
using test::planned;

using Typed = std::vector<std::string>;

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

TEST_F(RunCommand, LoadsTheFile) {
    const CommandLine line = parsed({"run", "--config", path_.string(), "--check"});
    EXPECT_EQ(line.name, "run");
    EXPECT_TRUE(line.invocation.common.check);
    const runtime::Plan& plan = test::options_of<RunOptions>(line).plan;
    EXPECT_EQ(plan, config::load_file(path_.string()));
    EXPECT_EQ(plan.runtime.log_level, "info");
    EXPECT_EQ(line.invocation.common.log_level, "info") << "what the log is set to";
}

TEST_F(RunCommand, TheCommandLinesLogLevelWins) {
    EXPECT_EQ(planned({"run", "--config", path_.string(), "--log-level", "debug"}).runtime.log_level,
              "debug");
}

TEST_F(RunCommand, TheCommandLinesLcoreTimeoutWins) {
    EXPECT_EQ(planned({"run", "--config", path_.string(), "--lcore-timeout", "off"}).runtime.lcore_timeout,
              0);
}

TEST_F(RunCommand, TheCommandLinesMetricsWin) {
    const std::string text =
        "version = 1\n[runtime]\nmetrics = \"9100\"\n[[port]]\nname = \"p0\"\ndevice = "
        "\"net_null0\"\n[[receive]]\nname = \"s0\"\nport = \"p0\"\nendpoints = "
        "[\"239.1.2.3:7148\"]\n";
    std::ofstream(path_, std::ios::trunc) << text;
    EXPECT_EQ(planned({"run", "--config", path_.string()}).runtime.metrics, (ListenAddress{kLoopback, 9100}));
    EXPECT_EQ(planned({"run", "--config", path_.string(), "--metrics", "9200"}).runtime.metrics,
              (ListenAddress{kLoopback, 9200}));
}

/// Tests the second reading of the file, at SIGHUP. Its values count then, except where an option gave one.
TEST_F(RunCommand, OnlyWhatOptionsGaveIsWrittenOverAnotherPlan) {
    runtime::RuntimePlan file;
    file.control = "off";
    file.metrics = ListenAddress{kLoopback, 9100};
    file.capabilities = runtime::KeptCapabilities::all;
    file.lcore_timeout = 5;
    runtime::RuntimePlan plan = file;
    parsed_options<RunOptions>({"run", "--config", path_.string()}).given.apply_to(plan);
    EXPECT_EQ(plan, file);
    parsed_options<RunOptions>({"run", "--config", path_.string(), "--metrics", "9200", "--lcore-timeout",
                                "off", "--control", "auto", "--capabilities", "needed"})
        .given.apply_to(plan);
    EXPECT_EQ(plan.metrics, (ListenAddress{kLoopback, 9200}));
    EXPECT_EQ(plan.lcore_timeout, 0);
    EXPECT_EQ(plan.control, "auto");
    EXPECT_EQ(plan.capabilities, runtime::KeptCapabilities::needed);
}

TEST_F(RunCommand, HasAControlSocketUnlessItIsTurnedOff) {
    const auto options = [&](const std::string& control) {
        return parsed_options<RunOptions>(
            control.empty() ? Typed{"run", "--config", path_.string()}
                            : Typed{"run", "--config", path_.string(), "--control", control});
    };
    EXPECT_TRUE(options("").wants_control());
    EXPECT_TRUE(options("auto").wants_control());
    EXPECT_TRUE(options("/tmp/s").wants_control());
    EXPECT_FALSE(options("off").wants_control());
    EXPECT_TRUE(options("").by_configuration());
    EXPECT_FALSE(parsed_options<RunOptions>("loopback").wants_control());
    EXPECT_TRUE(parsed_options<RunOptions>("loopback --control auto").wants_control());
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

}  // namespace
}  // namespace spead::app
