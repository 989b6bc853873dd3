// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/exposition.hpp"

#include <array>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

constexpr std::array<std::string_view, 4> kNames{"spead_a", "spead_b", "spead_last", "spead_ok"};

TEST(Exposition, IsReadAsPrometheusWritesIt) {
    const MetricSamples samples = read_exposition(
        "# HELP spead_a Something.\n# TYPE spead_a counter\n"
        "spead_a{stream=\"vis\",end=\"complete\"} 12\n"
        "spead_a{stream=\"q\\\"\\\\\\n\",} 1.5e3 1700000000\n"
        "spead_b +Inf\nspead_b -3\nother 1\n"
        "spead_last 7\nspead_other 1",
        kNames);
    ASSERT_EQ(samples.size(), 5U);
    const auto a = samples.lower_bound("spead_a");
    EXPECT_EQ(a->second.label("stream"), "vis");
    EXPECT_EQ(a->second.label("end"), "complete");
    EXPECT_EQ(a->second.label("none"), "");
    EXPECT_EQ(a->second.value, 12);
    EXPECT_EQ(std::next(a)->second.label("stream"), "q\"\\\\x0a");
    EXPECT_EQ(std::next(a)->second.value, 1500);
    EXPECT_EQ(samples.find("spead_b")->second.value, std::numeric_limits<double>::infinity());
    EXPECT_EQ(samples.find("spead_last")->second.value, 7);
}

TEST(Exposition, LeavesOutLinesThatAreNoSamples) {
    for (const char* bad :
         {"spead_a", "spead_a ", "spead_a x", "spead_a{", "spead_a{b", "spead_a{b=", "spead_a{b=c} 1",
          "spead_a{b=\"c} 1", "spead_a{b=\"c\\", "spead_a{=\"c\"} 1", "spead_a 1x", "spead_a{b=\"c\"}"})
        EXPECT_EQ(read_exposition(std::string(bad) + "\nspead_ok 1\n", kNames).size(), 1U) << bad;
}

TEST(Exposition, TakesAnyBytes) {
    const std::string seed = "spead_a{stream=\"v\\\"is\",end=\"c\"} 12 5\nspead_b 1e9\n";
    std::mt19937 random(7);
    for (int turn = 0; turn < 20000; turn++) {
        std::string text = seed;
        for (int i = 0; i < 3; i++)
            text[random() % text.size()] = static_cast<char>(random());
        text.resize(random() % (text.size() + 1));
        EXPECT_LE(read_exposition(text, kNames).size(), 8U);
    }
}

}  // namespace
}  // namespace spead::app
