// SPDX-License-Identifier: BSD-3-Clause
// Plans of configuration files beside the streams of a program, in one session.

#include <chrono>
#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "spead/process.hpp"
#include "spead/recv.hpp"
#include "tests/support/refusal.hpp"

namespace spead {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string loopback(const std::string& device, const std::string& port, int heaps) {
    return R"(version = 1
[memory]
heaps = "64MiB"
[[port]]
name = ")" +
           port +
           R"("
device = ")" +
           device + R"("
[[receive]]
name = "back"
port = ")" +
           port + R"("
endpoints = ["239.10.10.0:7148"]
[receive.heaps]
max_bytes = "1MiB"
[receive.sink]
kind = "verify"
[[send]]
name = "out"
port = ")" +
           port + R"("
endpoints = ["239.10.10.0:7148"]
heap_size = "64KiB"
heaps = )" +
           std::to_string(heaps) + "\nverify = true\n";
}

/// Returns a count of the stream in the report; 0 while the stream is not there.
std::uint64_t count(const Process& process, const std::string& stream, const std::string& name) {
    const nlohmann::json report = nlohmann::json::parse(process.report());
    for (const nlohmann::json& one : report.at("streams"))
        if (one.at("name") == stream)
            return one.at("heaps").at(name).get<std::uint64_t>();
    return 0;
}

bool reaches(const Process& process, const std::string& stream, std::uint64_t heaps) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (count(process, stream, "complete") < heaps)
        if (std::chrono::steady_clock::now() > until)
            return false;
    return true;
}

// In this order, in one process.

TEST(Apply, RunsAPlanBesideAStream) {
    Process process;
    RecvStream beside(process,
                      {.endpoints = {"239.10.10.9:7148"}, .interface = "net_ring0", .memory = 16 << 20});
    process.apply(loopback("net_ring0", "in", 100));
    EXPECT_TRUE(reaches(process, "back", 100));
    // The port is the stream's, under the name that it has there.
    EXPECT_EQ(nlohmann::json::parse(process.report()).at("ports").size(), 1U);
    // Another plan, whose port has the same name: the stream goes on.
    process.apply("");
    process.apply(loopback("net_ring1", "in", 50));
    EXPECT_TRUE(reaches(process, "back", 50));
    EXPECT_FALSE(beside.ended());
    process.apply("");
    EXPECT_EQ(count(process, "back", "complete"), 0U);
    EXPECT_EQ(count(process, "out", "complete"), 0U);
    EXPECT_FALSE(beside.ended());
}

TEST(Apply, RefusesAndChangesNothing) {
    Process process;
    EXPECT_THAT(test::error_of([&] { process.apply(loopback("no_such_device0", "in", 10)); }),
                HasSubstr("no_such_device0"));
    process.apply(loopback("net_ring0", "in", 10));
    EXPECT_TRUE(reaches(process, "back", 10));
    EXPECT_THAT(test::usage_error_of([&] { process.apply("version = 1\nrecieve = 3\n", "mine.toml"); }),
                HasSubstr("mine.toml:2"));
    EXPECT_EQ(count(process, "back", "complete"), 10U);
    process.stop();
    EXPECT_THAT(test::error_of([&] { process.apply(""); }), HasSubstr("has ended"));
}

}  // namespace
}  // namespace spead
