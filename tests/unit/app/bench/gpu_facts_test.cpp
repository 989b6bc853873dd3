// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/gpu_facts.hpp"

#include <fstream>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

TEST(GpuFacts, FindsTheLargestRangeOfACard) {
    EXPECT_EQ(largest_range("0x0000102002000000 0x0000102002ffffff 0x000000000014220c\n"
                            "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                            "0x0000100000000000 0x0000101fffffffff 0x000000000014220c\n"
                            "0x0000102000000000 0x0000102001ffffff 0x000000000014220c\n"),
              std::uint64_t{128} << 30);
    EXPECT_EQ(largest_range(""), 0u);
    EXPECT_EQ(largest_range("no numbers"), 0u);
}

TEST(GpuFacts, TellsWhatDriverAndKernelKnow) {
    const test::ScratchDirectory root;
    const auto write = [&](const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(root.file(path)).parent_path());
        std::ofstream(root.file(path)) << text;
    };
    write("proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n");
    write("sys/bus/pci/devices/0000:fa:ce.0/resource", "0x1000 0x1fff 0x1\n");
    const GpuFacts facts = gpu_facts(*gpu::fake_context(), port::Sysfs(root.file("")));
    EXPECT_EQ(facts.driver, "580.159.04");
    EXPECT_EQ(facts.window, 4096u);
    EXPECT_THAT(describe(facts), HasSubstr("Fake GPU at 0000:fa:ce.0"));
    EXPECT_THAT(describe(facts), HasSubstr("driver 580.159.04, CUDA 12.0"));
    EXPECT_EQ(to_json(facts)["bar1"], 4096);
    EXPECT_EQ(gpu_facts(*gpu::fake_context(), port::Sysfs(root.file("none"))).driver, "");
}

}  // namespace
}  // namespace spead::app
