// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_options.hpp"

#include <gtest/gtest.h>

#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using test::expect_refused;
using test::parsed_options;
using test::planned;

TEST(RunOptions, APromptAndASocketMakeRoomForChanges) {
    const RunOptions plain = parsed_options<RunOptions>("loopback");
    EXPECT_FALSE(plain.interactive);
    EXPECT_FALSE(plain.plan.runtime.live);
    EXPECT_EQ(plain.plan.runtime.control, "");
    for (const char* words :
         {"-i", "--interactive", "--cmdline-file f", "--control auto", "--control /tmp/s"})
        EXPECT_TRUE(planned(std::string("loopback ") + words).runtime.live) << words;
    EXPECT_TRUE(parsed_options<RunOptions>("recv -i --port p 239.1.2.3:7148").interactive);
    EXPECT_EQ(parsed_options<RunOptions>("loopback --cmdline-file f").cmdline_file, "f");
    EXPECT_EQ(planned("loopback --control /tmp/s").runtime.control, "/tmp/s");
    EXPECT_FALSE(planned("loopback --control off").runtime.live);
    expect_refused("loopback --control=", {"--control", "auto"});
    expect_refused("bench assemble -i", {"-i"});
}

TEST(RunOptions, AnLcoreThatDoesNotAnswerIsWaitedForAsLongAsTold) {
    EXPECT_EQ(planned("loopback").runtime.lcore_timeout, std::nullopt);
    EXPECT_EQ(planned("loopback --lcore-timeout 2min").runtime.lcore_timeout, 120);
    EXPECT_EQ(planned("loopback --lcore-timeout off").runtime.lcore_timeout, 0);
    expect_refused("loopback --lcore-timeout 500ms", {"--lcore-timeout", "`500ms`", "1s or more"});
    expect_refused("loopback --lcore-timeout never", {"--lcore-timeout", "`never`"});
}

TEST(RunOptions, ALogLevelOfTheCommandLineOutlivesTheFilesOwn) {
    const RunOptions options = parsed_options<RunOptions>("loopback --log-level info");
    runtime::RuntimePlan of_file;
    of_file.log_level = "notice";
    options.given.apply_to(of_file);
    EXPECT_EQ(of_file.log_level, "info");
    parsed_options<RunOptions>("loopback").given.apply_to(of_file);
    EXPECT_EQ(of_file.log_level, "info") << "not given: the file's";
}

TEST(RunOptions, EachCommandHasWhatSuitsIt) {
    EXPECT_TRUE(parsed_options<RunOptions>("loopback").loopback) << "it is judged by what comes back";
    EXPECT_FALSE(parsed_options<RunOptions>("send --port p 239.1.2.3:7148").loopback);
    for (const char* option :
         {"-i", "--metrics 9100", "--api-token-file f", "--control auto", "--cmdline-file f"})
        expect_refused(std::string("capture --port p 239.1.2.3:7148 a.pcap ") + option,
                       {"is not an option of capture"});
    EXPECT_EQ(planned("capture --port p 239.1.2.3:7148 a.pcap --lcore-timeout 5s").runtime.lcore_timeout, 5);
    EXPECT_EQ(planned("capture --port p 239.1.2.3:7148 a.pcap --capabilities all").runtime.capabilities,
              runtime::KeptCapabilities::all);
    expect_refused("loopback --capabilities some", {"--capabilities", "`some`"});
}

}  // namespace
}  // namespace spead::app
