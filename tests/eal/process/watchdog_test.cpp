// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <map>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "process/service_notifier.hpp"
#include "tests/eal/runtime/rig.hpp"

/// Tests keep-alives: they come from a run's tick, and so only while every lcore answers.
namespace spead::process {
namespace {

using runtime::Engine;
using runtime::Plan;
using runtime::test::Directory;
using testing::Contains;
using testing::HasSubstr;

/// Stands in for a service manager's socket. Its watchdog is so short that every tick sends a keep-alive.
class Manager {
  public:
    explicit Manager(const std::string& path)
        : path_(path), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        path_.copy(where.sun_path, sizeof where.sun_path - 1);
        EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
    }
    ~Manager() { close(fd_); }
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    const char* operator()(const char* name) const {
        const std::string_view key = name;
        return key == "NOTIFY_SOCKET" ? path_.c_str() : key == "WATCHDOG_USEC" ? "2" : nullptr;
    }
    int keep_alives() {
        int n = 0;
        std::array<char, 256> text{};
        for (ssize_t length = 0; (length = ::recv(fd_, text.data(), text.size(), 0)) > 0;)
            n += std::string_view(text.data(), static_cast<std::size_t>(length)) == "WATCHDOG=1" ? 1 : 0;
        return n;
    }

  private:
    std::string path_;
    int fd_;
};

TEST(Watchdog, IsFedByEveryTickOfARunThatIsWell) {
    const Directory directory;
    Manager manager(directory.file("notify"));
    ServiceNotifier service([&](const char* name) { return manager(name); }, getpid());
    Plan plan = runtime::test::loopback(-1);
    plan.sends[0].rate = 100'000;
    plan.end.duration = 1;
    Engine engine(plan, runtime::test::layout_of(plan));
    engine.start();
    int ticks = 0;
    engine.run(-1, [&](const stats::Snapshot&) {
        ticks++;
        service.alive(ServiceNotifier::Clock::now());
    });
    engine.stop();
    EXPECT_GT(ticks, 0);
    EXPECT_EQ(manager.keep_alives(), ticks);
}

/// Lets the lcore write to a pipe that nobody reads, so that it hangs there.
TEST(Watchdog, StarvesWhenAnLcoreHangs) {
    const Directory directory;
    Manager manager(directory.file("notify"));
    ServiceNotifier service([&](const char* name) { return manager(name); }, getpid());
    const std::string path = directory.file("out.pcap");
    Plan plan = runtime::test::loopback(-1);
    plan.receives.clear();
    plan.sends[0].rate = 500'000;
    plan.sends[0].burst_size = 1472;
    plan.ports[0].device = "net_pcap0,tx_pcap=" + path;
    plan.end.duration = 60;
    const runtime::Layout layout = runtime::test::layout_of(plan);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    runtime::EngineHooks hooks;
    hooks.port_patience = std::chrono::milliseconds(100);
    hooks.lcore_patience = std::chrono::milliseconds(1500);
    {
        Engine engine(plan, layout, hooks);
        engine.start();
        int ticks = 0;
        const auto reason = engine.run(-1, [&](const stats::Snapshot&) {
            ticks++;
            service.alive(ServiceNotifier::Clock::now());
        });
        EXPECT_EQ(reason, Engine::Reason::failure);
        EXPECT_THAT(engine.problems(), Contains(HasSubstr("has not answered for 1.5 s")));
        // The pipe is full after a fraction of a second; the loop turned on for two more, waiting for the
        // lcore.
        EXPECT_EQ(manager.keep_alives(), ticks) << "and none of its own accord";
        engine.stop();
        EXPECT_EQ(manager.keep_alives(), 0);
        std::array<char, 65536> bytes;
        while (rte_eal_get_lcore_state(1) == RUNNING)
            if (read(reader, bytes.data(), bytes.size()) <= 0)
                std::this_thread::yield();
    }
    close(reader);
}

}  // namespace
}  // namespace spead::process
