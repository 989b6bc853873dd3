// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sleeper.hpp"

#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <rte_config.h>

#include "base/error.hpp"
#include "tests/support/readable.hpp"

namespace spead::runtime {
namespace {

constexpr std::uint64_t kLong = 60'000'000;

/// Stands in for a queue with a packet in it, or without.
class FakeQueue {
  public:
    FakeQueue() : fd_(eventfd(0, EFD_NONBLOCK)) {}
    ~FakeQueue() { ::close(fd_); }
    FakeQueue(const FakeQueue&) = delete;
    FakeQueue& operator=(const FakeQueue&) = delete;

    void packet() const { EXPECT_EQ(eventfd_write(fd_, 1), 0); }
    port::RxEvents events() const { return port::RxEvents({{fd_, 0, 0, false}}); }

  private:
    int fd_;
};

TEST(Sleeper, IsWokenByAPacket) {
    Sleeper s;
    const FakeQueue one;
    const FakeQueue two;
    EXPECT_TRUE(s.empty());
    s.add(one.events());
    s.add(two.events());
    EXPECT_FALSE(s.empty());
    std::thread device([&] { two.packet(); });
    s.arm();
    s.wait(kLong);
    s.disarm();
    device.join();
}

TEST(Sleeper, DoesNotSleepWhilePacketsWait) {
    Sleeper s;
    const FakeQueue queue;
    s.add(queue.events());
    queue.packet();
    for (int i = 0; i < 3; i++)
        s.wait(kLong);
}

TEST(Sleeper, WaitsForTheNextEdgeOfADeviceThatIsArmed) {
    // Its counter is raised and never read: only an edge after the last wait wakes.
    const int fd = eventfd(0, EFD_NONBLOCK);
    Sleeper s;
    s.add(port::RxEvents({{fd, RTE_MAX_ETHPORTS, 0, true}}));
    EXPECT_EQ(eventfd_write(fd, 1), 0);
    s.wait(kLong);
    s.wait(1);
    std::thread device([fd] { EXPECT_EQ(eventfd_write(fd, 1), 0); });
    s.wait(kLong);
    device.join();
    ::close(fd);
}

TEST(Sleeper, IsWokenForItsMailboxOnceEachTime) {
    Sleeper s;
    std::thread control([&] { s.wake(); });
    s.wait(kLong);
    control.join();
    EXPECT_FALSE(spead::test::is_readable(s.wake_descriptor()));
    s.wake();
    s.wake();
    s.wait(kLong);
    EXPECT_FALSE(spead::test::is_readable(s.wake_descriptor()));
}

TEST(Sleeper, WakesAfterTheTimeGiven) {
    const Sleeper s;
    s.wait(0);
    s.wait(1);
}

TEST(Sleeper, ForgetsEvents) {
    Sleeper s;
    const FakeQueue queue;
    s.add(queue.events());
    queue.packet();
    s.clear();
    EXPECT_TRUE(s.empty());
    s.wait(1);
    s.add(queue.events());
}

TEST(Sleeper, RefusesADescriptorThatIsNone) {
    Sleeper s;
    EXPECT_THROW(s.add(port::RxEvents({{-1, 0, 0, false}})), Error);
}

}  // namespace
}  // namespace spead::runtime
