// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/heap_source.hpp"

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

/// A process id that is nobody's.
pid_t dead_pid() {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
}

int listening_at(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
}

TEST_F(RuntimeDir, WhatDeadNamesakesLeftIsRemovedAndNothingElse) {
    namespace fs = std::filesystem;
    const unit_test::Directory directory;
    const auto make = [&](const std::string& name) {
        fs::create_directory(directory.file(name));
        return fs::path(directory.file(name));
    };
    const pid_t dead = dead_pid();
    make(fmt::format("mine.{}", dead));
    const std::string other = fmt::format("mine.{}", dead_pid());
    close(listening_at(make(other) / kTelemetrySocket));
    const std::string elsewhere = fmt::format("mine.{}", dead_pid());
    const int alive = listening_at(make(elsewhere) / kTelemetrySocket);
    const std::string full = fmt::format("mine.{}", dead_pid());
    std::ofstream(make(full) / "config") << "EAL's";
    const std::vector<std::string> kept{elsewhere,
                                        full,
                                        fmt::format("mine.{}", getpid()),
                                        fmt::format("mine.{}x", dead),
                                        "mine.",
                                        fmt::format("mineral.{}", dead),
                                        fmt::format("yours.{}", dead)};
    for (const std::string& name : kept)
        make(name);

    remove_dead_directories(directory.path(), "");
    EXPECT_EQ(directory.names().size(), kept.size() + 2);
    remove_dead_directories(directory.path(), "mine");
    EXPECT_THAT(directory.names(), testing::UnorderedElementsAreArray(kept));
    EXPECT_TRUE(fs::exists(directory.file(elsewhere + "/" + std::string(kTelemetrySocket))));
    close(alive);
    remove_dead_directories(directory.file("none"), "mine");
}

}  // namespace
}  // namespace spead::runtime
