// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <rte_ethdev.h>

#include "base/error.hpp"
#include "tests/eal/runtime/rig.hpp"
#include "tests/support/refusal.hpp"

/// Tests an lcore that does not answer for a while. It is reported and waited for, and its resources stay as
/// they are.
namespace spead::runtime::test {
namespace {

using namespace std::chrono_literals;
using spead::test::refusal;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Reason = Engine::Reason;

/// Makes a run whose only lcore writes to a file that is a pipe, besides all its other work. While nobody
/// reads the pipe, the lcore hangs in the middle of its loop.
class HeldRun {
  public:
    HeldRun() {
        const std::string path = directory_.file("out.pcap");
        plan = loopback(-1);
        plan.sends[0].rate = 5e6;
        plan.ports.push_back({"p1", "net_pcap0,tx_pcap=" + path, 0});
        plan.sends.push_back(send("d1", "239.1.2.4:7148", -1, "p1"));
        plan.sends[1].rate = 5e6;
        plan.end.duration = 120;
        layout_ = layout_of(plan);
        EXPECT_EQ(layout_.workers.size(), 1U);
        EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
        pipe_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        EXPECT_GE(pipe_, 0);
        reader_ = std::thread([this] { read_on(); });
    }
    /// Reads on until the lcore has come to its end, so that the next test finds it free.
    ~HeldRun() {
        let_go();
        while (rte_eal_get_lcore_state(1) == RUNNING)
            std::this_thread::yield();
        engine_.reset();
        over_ = true;
        reader_.join();
        close(pipe_);
    }
    HeldRun(const HeldRun&) = delete;
    HeldRun& operator=(const HeldRun&) = delete;

    Engine& engine() {
        if (!engine_)
            engine_ = std::make_unique<Engine>(plan, layout_, hooks);
        return *engine_;
    }
    /// Returns when the lcore hangs.
    void hold() {
        reads_ = false;
        while (!hangs())
            std::this_thread::yield();
    }
    void let_go() { reads_ = true; }

    Plan plan;
    EngineHooks hooks;

  private:
    void read_on() const {
        std::array<char, 65536> bytes;
        while (!over_)
            if (!reads_ || read(pipe_, bytes.data(), bytes.size()) <= 0)
                std::this_thread::yield();
    }
    /// Returns whether a thread is inside write(2) on the pipe: this is the lcore, however DPDK names it.
    bool hangs() const {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            long call = -1;
            std::string fd;
            std::ifstream(task.path() / "syscall") >> call >> fd;
            if (call == SYS_write && is_pipe(std::stoi(fd, nullptr, 16)))
                return true;
        }
        return false;
    }
    bool is_pipe(int fd) const {
        struct stat ours {};
        struct stat theirs {};
        return fstat(pipe_, &ours) == 0 && fstat(fd, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
               ours.st_ino == theirs.st_ino;
    }

    Directory directory_;
    Layout layout_;
    int pipe_ = -1;
    std::atomic<bool> reads_{true};
    std::atomic<bool> over_{false};
    std::thread reader_;
    std::unique_ptr<Engine> engine_;
};

const stats::LcoreSnapshot& lcore_of(const stats::Snapshot& s) {
    return s.lcores.front();
}

TEST(SilentLcore, IsToldOfAndWaitedForAndGoesOn) {
    HeldRun held;
    std::vector<std::string> told;
    held.hooks.on_lcore = [&told](const std::string& what, double) { told.push_back(what); };
    Engine& engine = held.engine();
    engine.start();
    bool was_silent = false;
    std::vector<std::string> refused;
    std::uint64_t before = 0;
    stats::Snapshot seen;
    bool held_it = false;
    const Reason reason = engine.run(-1, [&](const stats::Snapshot& now) {
        expect_identities(now);
        if (!std::exchange(held_it, true)) {
            held.hold();
            return;
        }
        const bool silent = lcore_of(now).silent_s > 0;
        if (silent && !was_silent) {
            seen = now;
            before = now.streams[0].received;
            Plan wanted = engine.plan();
            wanted.sends[0].rate = 1e6;
            refused = {refusal([&] { engine.stop_port("p0"); }), refusal([&] { engine.reconfigure(wanted); }),
                       refusal([&] { engine.dummy("d0", 1); }), refusal([&] { engine.clear(); }),
                       refusal([&] { engine.start_capture("s0", {.files = {"/dev/null"}}); })};
        }
        was_silent |= silent;
        if (was_silent)
            held.let_go();
        if (was_silent && !silent && now.streams[0].received > before + 1000)
            engine.interrupt();
    });
    EXPECT_EQ(reason, Reason::interrupted);
    ASSERT_TRUE(was_silent);
    EXPECT_EQ(lcore_of(seen).silences, 1U);
    EXPECT_THAT(lcore_of(seen).activity, HasSubstr("it sleeps in the kernel"));
    EXPECT_EQ(seen.streams[0].health, "stalled");
    EXPECT_EQ(seen.streams[0].events[static_cast<std::size_t>(stats::StreamEvent::stalled)], 1U);
    EXPECT_FALSE(seen.detailed);
    for (const std::string& why : refused)
        EXPECT_THAT(why,
                    AllOf(HasSubstr("lcore 1 on CPU"), HasSubstr("changes are refused until it answers")));
    EXPECT_THAT(told, ElementsAre(AllOf(HasSubstr("lcore 1 on CPU"), HasSubstr("has not answered for 1.0 s"),
                                        HasSubstr("s0, d0, d1 stand still")),
                                  HasSubstr("answers again")));
    const stats::Snapshot now = engine.snapshot();
    EXPECT_EQ(now.streams[0].health, "");
    EXPECT_EQ(now.streams[0].events[static_cast<std::size_t>(stats::StreamEvent::back)], 1U);
    EXPECT_NO_THROW(engine.clear());
    engine.stop();
    EXPECT_THAT(engine.problems(), IsEmpty());
}

/// Lets the lcore fall silent while a port is being stopped: it may be inside that port.
TEST(SilentLcore, HasNoPortStoppedUnderIt) {
    HeldRun held;
    held.hooks.lcore_patience = 1500ms;
    held.hooks.port_patience = 100ms;
    int waits = 0;
    held.hooks.on_wait = [&] {
        waits++;
        stats::Snapshot then;
        then.lcores.resize(1);
        then.lcores[0].lcore = 1;
        held.engine().mark_silent(then);
        EXPECT_GE(then.lcores[0].silent_s, 1);
    };
    Engine& engine = held.engine();
    engine.start();
    std::string why;
    const Reason reason = engine.run(-1, [&](const stats::Snapshot& now) {
        if (!why.empty())
            return;
        EXPECT_EQ(lcore_of(now).silent_s, 0);
        held.hold();
        why = refusal([&] { engine.stop_port("p1"); });
    });
    EXPECT_EQ(reason, Reason::failure);
    EXPECT_THAT(why, AllOf(HasSubstr("lcore 1 on CPU"), HasSubstr("does not answer")));
    EXPECT_GT(waits, 0) << "views go on meanwhile";
    EXPECT_THAT(engine.problems(), Contains(HasSubstr("has not answered for 1.5 s")));
    for (std::uint16_t id = 0; id < 2; id++) {
        rte_eth_link link{};
        EXPECT_EQ(rte_eth_link_get_nowait(id, &link), 0);
        EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP) << "the port was stopped under its lcore";
    }
    engine.stop();
}

TEST(SilentLcore, IsWaitedForWithoutEndIfAskedTo) {
    HeldRun held;
    held.plan.runtime.lcore_timeout = 0;
    held.hooks.lcore_patience = 1500ms;
    Engine& engine = held.engine();
    engine.start();
    double longest = 0;
    bool held_it = false;
    const Reason reason = engine.run(-1, [&](const stats::Snapshot& now) {
        if (!std::exchange(held_it, true))
            held.hold();
        longest = std::max(longest, lcore_of(now).silent_s);
        if (longest < 2.5)
            return;
        held.let_go();
        engine.interrupt();
    });
    EXPECT_EQ(reason, Reason::interrupted);
    engine.stop();
    EXPECT_THAT(engine.problems(), IsEmpty());
}

}  // namespace
}  // namespace spead::runtime::test
