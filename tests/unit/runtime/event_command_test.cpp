// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/event_command.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"

namespace spead::runtime {
namespace {

/// Makes a directory with a pipe. The program's scripts write to it, and the test reads from it.
class EventCommandTest : public testing::Test {
  protected:
    EventCommandTest() {
        std::string name = testing::TempDir() + "event_command_XXXXXX";
        directory_ = mkdtemp(name.data());
        EXPECT_EQ(mkfifo(fifo().c_str(), 0600), 0);
        // Open at both ends, so that neither waits for the other.
        fd_ = open(fifo().c_str(), O_RDWR | O_CLOEXEC);
    }
    ~EventCommandTest() override {
        close(fd_);
        std::filesystem::remove_all(directory_);
    }
    std::string fifo() const { return directory_ + "/fifo"; }
    /// Returns a command that runs `text` in the shell. `$1` is the pipe.
    std::vector<std::string> script(const std::string& text) const {
        return {"/bin/sh", "-c", text, "sh", fifo()};
    }
    /// Returns the next line that a script writes. The test's time limit ends a wait for a line that never
    /// comes.
    std::string line(EventCommand* command = nullptr) const {
        std::string text;
        for (char c = 0; c != '\n';) {
            pollfd p{fd_, POLLIN, 0};
            while (::poll(&p, 1, 5) == 0)
                if (command != nullptr)
                    command->poll();
            if (read(fd_, &c, 1) != 1)
                break;
            text += c;
        }
        return text;
    }
    static void until_it_ends(EventCommand& command) {
        while (command.running()) {
            usleep(1000);
            command.poll();
        }
    }

    std::string directory_;
    int fd_ = -1;
};

TEST_F(EventCommandTest, RunsTheProgramWithItsArgumentsAndTheEventsVariables) {
    EventCommand command(script("echo \"$SPEAD_EVENT:$SPEAD_TEXT\" > $1"));
    command.run({{"SPEAD_EVENT", "silent"}, {"SPEAD_TEXT", "no 'packet'; $(id)"}});
    EXPECT_EQ(line(), "silent:no 'packet'; $(id)\n") << "no shell of ours reads it";
    until_it_ends(command);
}

TEST_F(EventCommandTest, DoesNotPassOnVariablesOfAnotherEvent) {
    setenv("SPEAD_EVENT", "old", 1);
    setenv("SPEAD_STREAM", "old stream", 1);
    EventCommand command(script("echo \"$SPEAD_EVENT:$SPEAD_STREAM\" > $1"));
    command.run({{"SPEAD_EVENT", "silent"}});
    EXPECT_EQ(line(), "silent:\n");
    until_it_ends(command);
    unsetenv("SPEAD_EVENT");
    unsetenv("SPEAD_STREAM");
}

TEST_F(EventCommandTest, RunsOneAtATimeInOrder) {
    EventCommand command(script("echo begin $N > $1; sleep 0.02; echo end $N > $1"));
    for (int i = 0; i < 3; i++)
        command.run({{"N", std::to_string(i)}});
    EXPECT_TRUE(command.running());
    EXPECT_EQ(command.waiting(), 2U);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(line(&command), "begin " + std::to_string(i) + "\n");
        EXPECT_EQ(line(&command), "end " + std::to_string(i) + "\n");
    }
    until_it_ends(command);
    EXPECT_EQ(command.waiting(), 0U);
}

TEST_F(EventCommandTest, KeepsABoundedNumberOfEvents) {
    EventCommand command(script("read line"));
    for (std::size_t i = 0; i < 3 * EventCommand::kWaiting; i++)
        command.run({});
    EXPECT_LE(command.waiting(), EventCommand::kWaiting);
}

TEST_F(EventCommandTest, FinishesTheEventsThatCame) {
    EventCommand command(script("echo $N > $1"));
    for (int i = 0; i < 3; i++)
        command.run({{"N", std::to_string(i)}});
    EXPECT_EQ(command.finish(std::chrono::minutes(1)), 0U);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(line(), std::to_string(i) + "\n");
    EXPECT_FALSE(command.running());
}

TEST_F(EventCommandTest, FinishesWithinItsBound) {
    EventCommand command(script("sleep 1000"));
    command.run({});
    command.run({});
    EXPECT_EQ(command.finish(std::chrono::milliseconds(20)), 2U) << "the running one, and one that waits";
    EXPECT_TRUE(command.running());
}

TEST_F(EventCommandTest, IsKilledWithWhatItStarted) {
    pid_t child = 0;
    {
        EventCommand command(script("sleep 1000 & echo $! > $1; wait"));
        command.run({});
        child = static_cast<pid_t>(std::stol(line()));
        ASSERT_EQ(kill(child, 0), 0);
    }
    // The process that adopted it may not have reaped it yet: then it is a zombie.
    for (;;) {
        std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
        std::stringstream text;
        text << stat.rdbuf();
        if (text.str().empty() || text.str().find(") Z") != std::string::npos)
            break;
        usleep(1000);
    }
}

TEST_F(EventCommandTest, GetsNoDescriptorOfOurs) {
    // Not close-on-exec, and of a number that no shell takes for its own.
    const int leaky = fcntl(fd_, F_DUPFD, 200);
    ASSERT_GE(leaky, 200);
    EventCommand command(script("ls /proc/$$/fd | tr '\\n' ' ' > $1; echo > $1"));
    command.run({});
    const std::string fds = line();
    close(leaky);
    EXPECT_EQ(fds.find(std::to_string(leaky) + " "), std::string::npos) << fds;
    until_it_ends(command);
}

TEST_F(EventCommandTest, AProgramThatDoesNotExistIsRefused) {
    for (const char* name : {"/no/such/program", "no-such-program-anywhere", "/tmp", ""})
        EXPECT_THAT(test::passing_error_of([&] { EventCommand({name}); }), testing::HasSubstr(name));
    EXPECT_THROW(EventCommand({}), UsageError);
    EXPECT_NO_THROW(EventCommand({"sh"}));
}

}  // namespace
}  // namespace spead::runtime
