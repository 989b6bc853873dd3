// SPDX-License-Identifier: BSD-3-Clause
#include "base/privileges.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <iterator>
#include <liburing.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Runs a test in a process of its own, since privileges that are given up never come back. The exit status
/// is 0 when no expectation failed.
void in_a_process(const std::function<void()>& test) {
    EXPECT_EXIT(
        {
            test();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

/// Returns the value of a line of the calling thread's status in /proc, as "CapPrm".
std::uint64_t own_set(const std::string& key) {
    std::ifstream status("/proc/thread-self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key + ":"))
            return std::stoull(line.substr(key.size() + 1), nullptr, 16);
    ADD_FAILURE() << "no " << key;
    return 0;
}

constexpr Privileges kKept{CAP_NET_RAW, CAP_NET_ADMIN};

class PrivilegesDeathTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!permitted_privileges().has(CAP_SETPCAP))
            GTEST_SKIP() << "not root: there is nothing to give up";
        testing::FLAGS_gtest_death_test_style = "threadsafe";
    }
};

TEST(Privileges, HaveTheKernelsNames) {
    EXPECT_THAT((Privileges{CAP_BPF, CAP_CHOWN, CAP_NET_RAW}.names()),
                ElementsAre("CAP_CHOWN", "CAP_NET_RAW", "CAP_BPF"));
    EXPECT_THAT(Privileges().names(), IsEmpty());
    EXPECT_THAT(Privileges::of_bits(std::uint64_t{1} << 50).names(), ElementsAre("capability 50"));
    EXPECT_TRUE((kKept & Privileges{CAP_BPF}).empty());
    EXPECT_EQ((kKept | Privileges{CAP_BPF}).bits(),
              (1ULL << CAP_NET_RAW | 1ULL << CAP_NET_ADMIN | 1ULL << CAP_BPF));
}

TEST_F(PrivilegesDeathTest, EveryThreadKeepsWhatIsKeptAndNothingElse) {
    in_a_process([] {
        std::atomic<bool> end{false};
        std::atomic<int> running{0};
        std::atomic<int> right{0};
        int pipe_ends[2];
        ASSERT_EQ(pipe(pipe_ends), 0);
        const auto look = [&] {
            right += own_set("CapPrm") == kKept.bits() && own_set("CapEff") == kKept.bits() &&
                     own_set("CapBnd") == kKept.bits() && own_set("CapAmb") == 0 && own_set("CapInh") == 0;
        };
        std::vector<std::thread> all;
        // One that polls, as lcores do, one that waits for a descriptor, one that sleeps.
        all.emplace_back([&] {
            for (running++; !end;) {
            }
            look();
        });
        all.emplace_back([&] {
            running++;
            char byte = 0;
            EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1) << "a read goes on after the signal";
            look();
        });
        all.emplace_back([&] {
            for (running++; !end;)
                std::this_thread::sleep_for(1ms);
            look();
        });
        while (running != 3)
            std::this_thread::yield();
        EXPECT_THAT(keep_privileges(kKept, 20s), IsEmpty());
        look();
        std::thread later(look);
        later.join();
        end = true;
        EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
        for (std::thread& t : all)
            t.join();
        EXPECT_EQ(right, 5);
        EXPECT_EQ(permitted_privileges(), kKept);
    });
}

TEST_F(PrivilegesDeathTest, WorkersOfTheKernelAreLeftAlone) {
    in_a_process([] {
        io_uring ring{};
        if (io_uring_queue_init(2, &ring, 0) < 0)
            return;  // this machine has no io_uring
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        char byte = 0;
        io_uring_sqe* const request = io_uring_get_sqe(&ring);
        io_uring_prep_read(request, ends[0], &byte, 1, 0);
        request->flags |= IOSQE_ASYNC;  // by a worker at once
        ASSERT_EQ(io_uring_submit(&ring), 1);
        const auto threads = [] {
            const std::filesystem::directory_iterator tasks("/proc/self/task");
            return std::distance(begin(tasks), end(tasks));
        };
        while (threads() < 2)
            std::this_thread::yield();
        EXPECT_THAT(keep_privileges(kKept, 500ms), IsEmpty());
        EXPECT_EQ(write(ends[1], "x", 1), 1);
        io_uring_cqe* done = nullptr;
        ASSERT_EQ(io_uring_wait_cqe(&ring, &done), 0);
        EXPECT_EQ(done->res, 1);
        io_uring_queue_exit(&ring);
    });
}

TEST_F(PrivilegesDeathTest, WhoeverCannotBeReachedIsNamed) {
    in_a_process([] {
        std::atomic<bool> end{false};
        std::atomic<bool> running{false};
        std::thread deaf([&] {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_BLOCK, &all, nullptr);
            pthread_setname_np(pthread_self(), "deaf");
            for (running = true; !end;)
                std::this_thread::sleep_for(1ms);
            // A late signal does no harm.
            pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
            EXPECT_EQ(own_set("CapPrm"), kKept.bits());
        });
        while (!running)
            std::this_thread::yield();
        EXPECT_THAT(keep_privileges(kKept, 50ms), ElementsAre("deaf"));
        EXPECT_EQ(permitted_privileges(), kKept);
        end = true;
        deaf.join();
    });
}

TEST_F(PrivilegesDeathTest, LessMayBeKeptLaterAndMoreNever) {
    in_a_process([] {
        EXPECT_THAT(keep_privileges(kKept, 20s), IsEmpty());
        EXPECT_THAT(keep_privileges({CAP_NET_RAW, CAP_SYS_ADMIN}, 20s), IsEmpty());
        EXPECT_EQ(permitted_privileges(), Privileges{CAP_NET_RAW});
        EXPECT_THAT(keep_privileges({}, 20s), IsEmpty());
        EXPECT_TRUE(permitted_privileges().empty());
    });
}

/// Returns the same value of a program that this thread runs.
std::uint64_t of_a_program(const std::string& key) {
    FILE* const out = popen(("grep ^" + key + ": /proc/self/status | cut -f2").c_str(), "r");
    char text[64] = "";
    EXPECT_NE(fgets(text, sizeof text, out), nullptr);
    EXPECT_EQ(pclose(out), 0);
    return std::stoull(text, nullptr, 16);
}

TEST_F(PrivilegesDeathTest, AProgramHasNoneWhereTheThreadThatRunsItHasNone) {
    in_a_process([] {
        EXPECT_NE(of_a_program("CapPrm"), 0u) << "root's have them";
        std::thread runs([] {
            EXPECT_TRUE(give_up_privileges_here());
            EXPECT_EQ(of_a_program("CapPrm"), 0u);
            EXPECT_EQ(of_a_program("CapEff"), 0u);
            EXPECT_EQ(of_a_program("NoNewPrivs"), 1u);
        });
        runs.join();
        EXPECT_TRUE(permitted_privileges().has(CAP_NET_RAW)) << "the other threads' are theirs";
        EXPECT_NE(of_a_program("CapPrm"), 0u);
    });
}

TEST_F(PrivilegesDeathTest, ARootsProgramHasNoMoreThanIsKept) {
    in_a_process([] {
        ASSERT_THAT(keep_privileges(kKept, 20s), IsEmpty());
        refuse_new_privileges();
        EXPECT_EQ(own_set("NoNewPrivs"), 1u);
        EXPECT_EQ(of_a_program("CapPrm") & ~kKept.bits(), 0u);
    });
}

}  // namespace
}  // namespace spead
