// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

class RuntimeDir : public testing::Test {
  protected:
    RuntimeDir() {
        if (const char* const value = std::getenv("RUNTIME_DIRECTORY"))
            before_ = value;
    }
    ~RuntimeDir() override {
        if (before_)
            setenv("RUNTIME_DIRECTORY", before_->c_str(), 1);
        else
            unsetenv("RUNTIME_DIRECTORY");
    }

  private:
    std::optional<std::string> before_;
};

TEST_F(RuntimeDir, AServiceHasItsOwn) {
    setenv("RUNTIME_DIRECTORY", "/run/dpdk-spead", 1);
    EXPECT_EQ(eal_directory(), "/run/dpdk-spead/dpdk");
}

TEST_F(RuntimeDir, ASocketsPathHas107Characters) {
    setenv("RUNTIME_DIRECTORY", "/run", 1);
    // "/run/dpdk/" PREFIX "/dpdk_telemetry.v2:99"
    EXPECT_TRUE(telemetry_socket_fits(std::string(107 - 10 - 21, 'x')));
    EXPECT_FALSE(telemetry_socket_fits(std::string(107 - 10 - 21 + 1, 'x')));
}

}  // namespace
}  // namespace spead::runtime
