// SPDX-License-Identifier: BSD-3-Clause
#include "process/service_notifier.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <map>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace spead::process {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;

/// Stands in for the service manager.
class Manager {
  public:
    /// Binds to a path, or to an abstract address if it begins with @.
    explicit Manager(const std::string& address) : address_(address) {
        fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        std::string name = address;
        if (name[0] == '@')
            name[0] = '\0';
        name.copy(where.sun_path, sizeof where.sun_path - 1);
        const std::size_t length = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '\0' ? 0 : 1);
        EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&where), static_cast<socklen_t>(length)), 0)
            << address;
    }
    ~Manager() {
        close(fd_);
        if (address_[0] == '/')
            unlink(address_.c_str());
    }
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    std::vector<std::string> messages() {
        std::vector<std::string> all;
        std::array<char, 4096> buffer{};
        for (ssize_t n = 0; (n = ::recv(fd_, buffer.data(), buffer.size(), 0)) >= 0;)
            all.emplace_back(buffer.data(), static_cast<std::size_t>(n));
        return all;
    }

  private:
    std::string address_;
    int fd_;
};

std::string path() {
    static int count = 0;
    return (std::filesystem::temp_directory_path() / fmt::format("notify-{}-{}", getpid(), count++)).string();
}

using Variables = std::map<std::string, std::string>;
ServiceNotifier::Environment environment(const Variables& variables) {
    return [variables](const char* name) -> const char* {
        static thread_local std::string value;
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : (value = found->second).c_str();
    };
}

const ServiceNotifier::Clock::time_point kStart{1000s};

TEST(ServiceNotifier, WithoutAManagerNothingHappens) {
    for (const Variables& v :
         {Variables{}, Variables{{"NOTIFY_SOCKET", ""}}, Variables{{"WATCHDOG_USEC", "1000000"}}}) {
        ServiceNotifier service(environment(v), 7);
        EXPECT_FALSE(service.active());
        service.ready();
        service.status("fine", kStart);
        service.alive(kStart);
        service.stopping();
    }
}

TEST(ServiceNotifier, ALifeOverPathsAndAbstractAddresses) {
    for (const std::string& address : {path(), fmt::format("@spead-notify-{}", getpid())}) {
        Manager manager(address);
        ServiceNotifier service(environment({{"NOTIFY_SOCKET", address}}), 7);
        EXPECT_TRUE(service.active());
        EXPECT_FALSE(service.watchdog());
        service.ready();
        service.status("rx 1.00 Gb/s", kStart);
        service.alive(kStart);
        service.notify_reloading();
        service.ready();
        service.stopping();
        EXPECT_THAT(manager.messages(), ElementsAre("READY=1", "STATUS=rx 1.00 Gb/s",
                                                    MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+"),
                                                    "READY=1", MatchesRegex("STOPPING=1\nSTATUS=.*")))
            << address;
    }
}

TEST(ServiceNotifier, KeepAlivesComeAtHalfTheWatchdogsTimeAndOnlyWhenTheLoopTurns) {
    const std::string address = path();
    Manager manager(address);
    ServiceNotifier service(environment({{"NOTIFY_SOCKET", address}, {"WATCHDOG_USEC", "2000000"}}), 7);
    ASSERT_EQ(service.watchdog(), 2s);
    for (auto t = 0ms; t < 10s; t += 200ms)
        service.alive(kStart + t);
    EXPECT_EQ(manager.messages().size(), 10U);
    // The loop hangs for a minute. Only the loop sends messages.
    EXPECT_THAT(manager.messages(), IsEmpty());
    service.alive(kStart + 70s);
    service.alive(kStart + 70s + 1ms);
    EXPECT_THAT(manager.messages(), ElementsAre("WATCHDOG=1"));
}

TEST(ServiceNotifier, AWatchdogOfAnotherProcessIsNotOurs) {
    const std::string address = path();
    Manager manager(address);
    const auto watchdog = [&](const std::string& pid, const std::string& microseconds) {
        return ServiceNotifier(
                   environment(
                       {{"NOTIFY_SOCKET", address}, {"WATCHDOG_USEC", microseconds}, {"WATCHDOG_PID", pid}}),
                   7)
            .watchdog();
    };
    EXPECT_EQ(watchdog("7", "5000000"), 5s);
    EXPECT_EQ(watchdog("8", "5000000"), std::nullopt);
    EXPECT_EQ(watchdog("7", "0"), std::nullopt);
    EXPECT_EQ(watchdog("7", "soon"), std::nullopt);
    EXPECT_EQ(watchdog("7", "5s"), std::nullopt);
    EXPECT_NE(watchdog("7", "18446744073709551615"), std::nullopt) << "for ever, and no overflow";
}

TEST(ServiceNotifier, StatusIsSentWhenItChangesAndAtMostEverySecond) {
    const std::string address = path();
    Manager manager(address);
    ServiceNotifier service(environment({{"NOTIFY_SOCKET", address}}), 7);
    service.status("a", kStart);
    service.status("b", kStart + 999ms);
    service.status("a", kStart + 2s);
    service.status("c\nREADY=1", kStart + 3s);
    EXPECT_THAT(manager.messages(), ElementsAre("STATUS=a", "STATUS=c READY=1"));
}

TEST(ServiceNotifier, AManagerThatHasGoneHoldsNothingUp) {
    const std::string address = path();
    { const Manager manager(address); }
    ServiceNotifier service(environment({{"NOTIFY_SOCKET", address}, {"WATCHDOG_USEC", "2000000"}}), 7);
    for (int i = 0; i < 1000; i++)
        service.alive(kStart + i * 1s);
}

TEST(ServiceNotifier, AddressesThatCannotBeAreRefused) {
    for (const std::string& address :
         {std::string("relative"), "/" + std::string(200, 'x'), std::string("vsock:2:1")})
        EXPECT_FALSE(ServiceNotifier(environment({{"NOTIFY_SOCKET", address}}), 7).active()) << address;
}

}  // namespace
}  // namespace spead::process
