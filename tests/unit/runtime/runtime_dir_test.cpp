// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
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

#include "base/open_output.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

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

/// Returns the id of a process that has ended.
pid_t dead_pid() {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
}

int bound_to(const std::filesystem::path& path, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, type, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
}

int listening_at(const std::filesystem::path& path) {
    const int fd = bound_to(path, SOCK_SEQPACKET);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
}

/// Holds a file that another process has locked, as EAL locks a part of its configuration.
class Locked {
  public:
    explicit Locked(const std::filesystem::path& path) {
        int ready[2]{};
        EXPECT_EQ(pipe(ready), 0);
        child_ = fork();
        if (child_ == 0) {
            const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
            struct flock lock {};
            lock.l_type = F_WRLCK;
            lock.l_start = 100;
            lock.l_len = 100;
            const bool whole = fcntl(fd, F_SETLK, &lock) == 0 && write(ready[1], "l", 1) == 1;
            while (whole)
                pause();
            _exit(1);
        }
        close(ready[1]);
        char byte = 0;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
    }
    ~Locked() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

  private:
    pid_t child_ = -1;
};

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
    const std::string whole = fmt::format("mine.{}", dead_pid());
    for (const char* const name : {"config", "fbarray_memzone", "hugepage_info"})
        std::ofstream(make(whole) / name) << "EAL's";
    close(bound_to(fs::path(directory.file(whole)) / "mp_socket", SOCK_DGRAM));
    const std::string asked = fmt::format("mine.{}", dead_pid());
    const int answering = bound_to(make(asked) / "mp_socket", SOCK_DGRAM);
    const std::string locked = fmt::format("mine.{}", dead_pid());
    const Locked lock(make(locked) / "config");
    const std::string full = fmt::format("mine.{}", dead_pid());
    std::ofstream(make(full) / "notes") << "the user's";
    const std::vector<std::string> kept{elsewhere,
                                        asked,
                                        locked,
                                        full,
                                        fmt::format("mine.{}", getpid()),
                                        fmt::format("mine.{}x", dead),
                                        "mine.",
                                        fmt::format("mineral.{}", dead),
                                        fmt::format("yours.{}", dead)};
    for (const std::string& name : kept)
        make(name);

    remove_dead_directories(directory.path(), "");
    EXPECT_EQ(directory.names().size(), kept.size() + 3);
    remove_dead_directories(directory.path(), "mine");
    EXPECT_THAT(directory.names(), testing::UnorderedElementsAreArray(kept));
    EXPECT_TRUE(fs::exists(directory.file(elsewhere + "/" + std::string(kTelemetrySocket))));
    close(alive);
    close(answering);
    remove_dead_directories(directory.file("none"), "mine");
}

TEST_F(RuntimeDir, AProcessThatEndsTakesEalsFilesAlongAndLeavesOthers) {
    namespace fs = std::filesystem;
    const unit_test::Directory directory;
    const fs::path own = directory.file("mine.1");
    fs::create_directory(own);
    for (const char* const name : {"config", "fbarray_memzone", "hugepage_data", "notes"})
        std::ofstream(own / name) << "text";
    close(bound_to(own / "mp_socket", SOCK_DGRAM));
    remove_directory_of_eal(own);
    EXPECT_THAT(std::vector(fs::directory_iterator(own), fs::directory_iterator()),
                testing::ElementsAre(fs::directory_entry(own / "notes")));
    fs::remove(own / "notes");
    remove_directory_of_eal(own);
    EXPECT_FALSE(fs::exists(own));
}

TEST_F(RuntimeDir, NothingIsRemovedThroughALinkOfOthers) {
    namespace fs = std::filesystem;
    const unit_test::Directory directory;
    const std::string name = fmt::format("mine.{}", dead_pid());
    const fs::path victim = fs::path(directory.file("victim")) / name;
    fs::create_directories(victim);
    std::ofstream(victim / "config") << "the user's";
    fs::create_directory_symlink(directory.file("victim"), directory.file("link"));
    fs::create_directory(directory.file("planted"));
    fs::create_directory_symlink(victim, directory.file("planted/" + name));
    {
        const TrustedUsersInstead nobody({});
        remove_dead_directories(directory.file("link"), "mine");
        remove_directory_of_eal(directory.file("link/" + name));
    }
    remove_dead_directories(directory.file("planted"), "mine");
    remove_directory_of_eal(directory.file("planted/" + name));
    EXPECT_TRUE(fs::exists(victim / "config"));
    remove_directory_of_eal(directory.file("link/" + name));
    EXPECT_FALSE(fs::exists(victim));
}

}  // namespace
}  // namespace spead::runtime
