// SPDX-License-Identifier: BSD-3-Clause
#include "spead/process.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/endpoint.hpp"
#include "spead/session.hpp"
#include "stats/snapshot.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead {
namespace {

using spead::test::refusal;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

runtime::SendPlan sender_of(std::int64_t heaps) {
    runtime::SendPlan s;
    s.endpoints = parse_endpoints("239.1.2.3:7148");
    s.endpoint_texts = {"239.1.2.3:7148"};
    s.heap_size = 4096;
    s.heaps = heaps;
    return s;
}

/// Holds the state of the calling thread that a Process must leave as it was.
struct ThreadState {
    cpu_set_t cpus{};
    sigset_t blocked{};
    struct stat out {};
    struct stat error {};

    ThreadState() {
        sched_getaffinity(0, sizeof cpus, &cpus);
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        fstat(STDOUT_FILENO, &out);
        fstat(STDERR_FILENO, &error);
    }
    void expect_same() const {
        const ThreadState now;
        EXPECT_TRUE(CPU_EQUAL(&now.cpus, &cpus));
        for (int signal = 1; signal < NSIG; signal++)
            EXPECT_EQ(sigismember(&now.blocked, signal), sigismember(&blocked, signal)) << signal;
        EXPECT_EQ(now.out.st_ino, out.st_ino);
        EXPECT_EQ(now.error.st_ino, error.st_ino);
    }
};

/// Tries to start a session while static objects are destroyed. This one was made before the first session,
/// and is destroyed after the last one's end.
struct LateStart {
    bool expected = false;  ///< a session has been started

    ~LateStart() {
        if (!expected || refusal([] { Process(); }).find("is ending") != std::string::npos)
            return;
        std::fputs("a session was started while static objects were destroyed\n", stderr);
        _exit(1);
    }
};
LateStart late_start;

const test::ScratchDirectory scratch;

/// Asks the session that is left for a refusal, while the process ends. What the library has made since its
/// first start would be destroyed by now, were it ever destroyed.
void ask_at_exit() {
    const std::shared_ptr<door::Session> session = door::Session::current();
    runtime::SendPlan s = sender_of(1);
    s.ttl = 0;
    if (!session || refusal([&] { session->add(s, "net_ring0", {}); }).find("ttl") != std::string::npos)
        return;
    std::fputs("a session that was left running does not answer\n", stderr);
    _exit(1);
}

// In this order, in one process: EAL starts once.

TEST(Process, SaysWhatAnEnvironmentCannotMean) {
    setenv("DPDK_SPEAD_LCORES", "3-1", 1);
    EXPECT_THAT(refusal([] { Process(); }), HasSubstr("DPDK_SPEAD_LCORES: `3-1` runs backwards"));
    setenv("DPDK_SPEAD_LCORES", "1;2", 1);
    EXPECT_THAT(refusal([] { Process(); }), HasSubstr("`1;2` is not a CPU"));
    unsetenv("DPDK_SPEAD_LCORES");
}

TEST(Process, CanBeTriedAgainAfterARefusal) {
    const ThreadState before;
    EXPECT_THAT(refusal([] { Process({.eal = {"--help"}}); }), HasSubstr("ends the process"));
    EXPECT_THAT(refusal([] { Process({.eal = {"--proc-type=secondary"}}); }), HasSubstr("another one's EAL"));
    EXPECT_THAT(refusal([] { Process({.eal = {"--hel"}}); }), HasSubstr("ends the process"));
    EXPECT_THAT(refusal([] { Process({.lcores = {1022}}); }),
                StartsWith("process: `lcores`: CPU 1022 is not"));
    EXPECT_THAT(refusal([] { Process({.main_cpu = 1022}); }),
                StartsWith("process: `main_cpu`: CPU 1022 is not"));
    // EAL would make a path of it.
    EXPECT_THAT(refusal([] { Process({.name = "a/b"}); }), StartsWith("process: `a/b` is not a name"));
    EXPECT_THAT(refusal([] { Process({.name = ""}); }), StartsWith("process: `` is not a name"));
    EXPECT_THAT(refusal([] { Process({.eal = {"--no-such-option"}}); }), HasSubstr("EAL"));
    EXPECT_EQ(door::Session::current(), nullptr);
    before.expect_same();
    // EAL keeps the lcores that it has read.
    EXPECT_THAT(refusal([] { Process({.lcores = {0}}); }), HasSubstr("ask for the same lcores"));

    Process process;
    EXPECT_EQ(std::atexit(ask_at_exit), 0);
    EXPECT_TRUE(process.running());
    before.expect_same();
    EXPECT_THAT(refusal([] { Process(); }), HasSubstr("this process already has a session"));
    const Process same = Process::shared();
    EXPECT_TRUE(same.running());
    process.stop();
    EXPECT_FALSE(same.running());
    process.stop();
    EXPECT_THAT(process.problems(), IsEmpty());
    before.expect_same();
}

TEST(Process, HandsEalOnToTheNextOne) {
    for (int i = 0; i < 3; i++) {
        const Process process;
        EXPECT_TRUE(process.running());
    }
    EXPECT_EQ(door::Session::current(), nullptr);
    EXPECT_THAT(refusal([] {
                    Process({.lcores = {0, 1022}});
                }),
                HasSubstr("EAL was started, once for this process"));
    EXPECT_THAT(refusal([] { Process({.main_cpu = 1022}); }), HasSubstr("the main CPU "));
    EXPECT_THAT(refusal([] { Process({.eal_memory = SIZE_MAX}); }), HasSubstr("`eal_memory` is"));
}

TEST(Process, OpensPortsWhenStreamsAskForThem) {
    const Process process;
    const std::shared_ptr<door::Session> session = door::Session::current();
    ASSERT_NE(session, nullptr);
    EXPECT_THAT(refusal([&] { session->add(sender_of(10), "no-such-interface", {}); }),
                HasSubstr("no-such-interface"));
    EXPECT_EQ(session->on_engine([](auto& engine) { return engine.plan().ports.size(); }), 0);

    const std::string a = session->add(sender_of(100), "net_ring0", {});
    const std::string b = session->add(sender_of(50), "net_ring0", {});
    const std::string c = session->add(sender_of(10), "net_ring1", {});
    EXPECT_EQ(a, "d0");
    EXPECT_EQ(b, "d1");
    EXPECT_EQ(session->on_engine([](auto& engine) { return engine.plan().ports.size(); }), 2);
    std::vector<std::uint64_t> heaps;
    while (heaps != std::vector<std::uint64_t>{100, 50, 10}) {
        heaps.clear();
        const stats::Snapshot now =
            session->on_engine([](runtime::Engine& engine) { return engine.snapshot(); });
        EXPECT_THAT(stats::broken_identities(now), IsEmpty());
        for (const stats::SendSnapshot& s : now.sends)
            heaps.push_back(s.counters.heaps);
        std::this_thread::yield();
    }
    session->remove_sender(a);
    EXPECT_THAT(refusal([&] { session->change_sender(a, [](auto&) {}); }), HasSubstr("has ended"));
    session->change_sender(b, [](runtime::SendPlan& s) { s.rate = 1e6; });
}

TEST(Process, RefusesWhatCannotBe) {
    const Process process;
    const std::shared_ptr<door::Session> session = door::Session::current();
    runtime::SendPlan s = sender_of(1);
    s.ttl = 0;
    EXPECT_THAT(refusal([&] { session->add(s, "net_ring0", {}); }), HasSubstr("ttl"));
    EXPECT_THAT(refusal([&] {
                    session->on_engine([&](auto&) { return session->problems(); });
                    session->on_engine([&](auto&) { session->on_engine([](auto&) {}); });
                }),
                HasSubstr("must not call the session"));
}

TEST(Process, BelongsToTheProcessThatStartedIt) {
    Process process;
    const pid_t child = fork();
    if (child == 0) {
        const bool refused = !process.running() && !refusal([] { Process(); }).empty();
        process.stop();
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(process.running());
}

TEST(Process, MayBeLeftRunningAtTheEnd) {
    // Reachable, so that it is no leak.
    static const Process* left = nullptr;
    left = new Process;
    late_start.expected = true;
    EXPECT_TRUE(left->running());
    static_cast<void>(door::Session::current()->add(sender_of(-1), "net_ring0", {}));
    static_cast<void>(door::Session::current()->add(
        sender_of(-1), "net_memif0,role=server,socket=" + scratch.file("memif"), {}));
}

}  // namespace
}  // namespace spead
