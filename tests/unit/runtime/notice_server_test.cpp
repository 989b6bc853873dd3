// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notice_server.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <iterator>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/open_output.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::error_of;
using testing::HasSubstr;

/// Connects to a server, and reads lines with a bound on each wait.
class NoticeClient {
  public:
    explicit NoticeClient(const NoticeAddress& address, int buffer = 0) {
        if (address.path.empty()) {
            sockaddr_in to{};
            to.sin_family = AF_INET;
            to.sin_port = htons(address.tcp.port);
            to.sin_addr.s_addr = htonl(address.tcp.address.value);
            connect_to(AF_INET, &to, sizeof to, buffer);
        } else {
            sockaddr_un to{};
            to.sun_family = AF_UNIX;
            std::strncpy(to.sun_path, address.path.c_str(), sizeof to.sun_path - 1);
            connect_to(AF_UNIX, &to, sizeof to, buffer);
        }
    }

    /// Returns the next line; empty: the server has closed, or nothing came.
    std::string line() {
        std::size_t end = 0;
        while ((end = text_.find('\n')) == std::string::npos) {
            std::array<char, 65536> more{};
            const ssize_t n = ::recv(fd_.get(), more.data(), more.size(), 0);
            if (n <= 0)
                return {};
            text_.append(more.data(), static_cast<std::size_t>(n));
        }
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
    }
    nlohmann::json json() { return nlohmann::json::parse(line()); }
    /// Returns whether line() has something to return, after a moment at most.
    bool has_more() const {
        pollfd p{fd_.get(), POLLIN, 0};
        return text_.find('\n') != std::string::npos || ::poll(&p, 1, 5) > 0;
    }
    void close() { fd_ = FileDescriptor(); }

  private:
    void connect_to(int family, void* address, socklen_t size, int buffer) {
        fd_ = FileDescriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const timeval patience{30, 0};
        setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (buffer != 0)
            setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
        EXPECT_EQ(connect(fd_.get(), static_cast<sockaddr*>(address), size), 0) << std::strerror(errno);
    }

    FileDescriptor fd_;
    std::string text_;
};

/// Sends until the client, which was accepted by then, gets a line. Returns that. The lines are few: others
/// who do not read meanwhile lose none.
std::string first_line(NoticeServer& server, NoticeClient& client) {
    constexpr int kMostLines = 6000;
    for (int i = 0; i == 0 || (i < kMostLines && !client.has_more()); i++)
        server.send(R"({"first":1})");
    return client.line();
}

TEST(NoticeServer, GivesEachClientEachLine) {
    const Directory directory;
    for (const NoticeAddress& address :
         {NoticeAddress{directory.file("s"), {}}, NoticeAddress{"", {kLoopback, 0}}}) {
        NoticeServer server(address);
        NoticeClient first(server.address());
        NoticeClient second(server.address());
        EXPECT_THAT(first_line(server, first), HasSubstr("\"first\":1"));
        EXPECT_THAT(first_line(server, second), HasSubstr("\"first\":1"));
        server.send(R"({"last":"x"})");
        for (NoticeClient* const client : {&first, &second}) {
            nlohmann::json line;
            std::uint64_t number = 0;
            do {
                line = client->json();
                EXPECT_EQ(line["lost"], 0);
                EXPECT_GT(line["notice"].get<std::uint64_t>(), number);
                number = line["notice"];
            } while (!line.contains("last"));
        }
    }
    EXPECT_TRUE(directory.names().empty()) << "the socket is removed";
}

TEST(NoticeServer, AClientThatReadsNothingLosesLinesAndLearnsHowMany) {
    const Directory directory;
    NoticeServer server({directory.file("s"), {}});
    NoticeClient slow(server.address(), 4096);
    NoticeClient quick(server.address());
    first_line(server, slow);
    first_line(server, quick);
    const std::string large(20'000, 'x');
    std::uint64_t last = 0;
    for (int i = 0; i < 100; i++) {
        server.send(fmt::format("{{\"large\":{},\"x\":\"{}\"}}", i, large));
        nlohmann::json line;
        do {
            line = quick.json();
        } while (line.value("large", -1) != i);
        EXPECT_EQ(line["lost"], 0);
        last = line["notice"];
    }
    // It reads what waits, and then gets a line that says how many are missing.
    std::uint64_t number = 0;
    std::uint64_t lost = 0;
    while (number < last || lost == 0) {
        const nlohmann::json line = slow.json();
        const std::uint64_t here = line["lost"];
        if (number != 0) {
            EXPECT_EQ(line["notice"].get<std::uint64_t>(), number + here + 1);
        }
        number = line["notice"];
        lost += here;
        if (number <= last)
            server.send(R"({"next":1})");
    }
    EXPECT_GT(lost, 50U);
}

TEST(NoticeServer, ServesSixteenAndSaysSoToOthers) {
    const Directory directory;
    NoticeServer server({directory.file("s"), {}});
    std::vector<NoticeClient> clients;
    for (std::size_t i = 0; i < NoticeServer::kMostClients; i++) {
        clients.emplace_back(server.address());
        first_line(server, clients.back());
    }
    NoticeClient more(server.address());
    EXPECT_EQ(more.line(), R"({"refused":"too many clients are connected"})");
    EXPECT_EQ(more.line(), "");
    clients.front().close();
    std::string line;
    do {
        NoticeClient next(server.address());
        line = first_line(server, next);
    } while (line.find("refused") != std::string::npos);
    EXPECT_THAT(line, HasSubstr("notice"));
}

TEST(NoticeServer, SendsTheLastLinesAtItsEnd) {
    const Directory directory;
    std::optional<NoticeServer> server(std::in_place, NoticeAddress{directory.file("s"), {}});
    NoticeClient client(server->address());
    first_line(*server, client);
    server->send(R"({"last":1})");
    server.reset();
    std::string line;
    std::string last;
    while (!(line = client.line()).empty())
        last = line;
    EXPECT_THAT(last, HasSubstr("\"last\":1"));
}

/// Holds a client whose lines cannot all be sent, for it does not read.
TEST(NoticeServer, NobodyWaitsForAClientThatReadsNothing) {
    const Directory directory;
    const NoticeAddress address{directory.file("s"), {}};
    NoticeServer::join_ending();
    auto server = NoticeServer::at(address);
    NoticeClient slow(address, 4096);
    first_line(*server, slow);
    for (int i = 0; i < 30; i++)
        server->send(fmt::format("{{\"large\":{},\"x\":\"{}\"}}", i, std::string(20'000, 'x')));
    server.reset();
    EXPECT_TRUE(directory.names().empty()) << "nobody connects to a server that ends";
    EXPECT_EQ(NoticeServer::join_ending(), 1U) << "whoever left it did not wait for its end";
    EXPECT_EQ(NoticeServer::join_ending(), 0U);
}

/// Leaves a server and takes its address again, as a change of a run does; the other may not have ended yet.
TEST(NoticeServer, AnAddressIsFreeAsSoonAsItIsLeft) {
    const Directory directory;
    for (const NoticeAddress& wanted :
         {NoticeAddress{directory.file("s"), {}}, NoticeAddress{"", {kLoopback, 0}}}) {
        NoticeAddress address = wanted;
        auto server = NoticeServer::at(address);
        address = server->address();
        NoticeClient slow(address, 4096);
        first_line(*server, slow);
        for (int i = 0; i < 30; i++)
            server->send(fmt::format("{{\"x\":\"{}\"}}", std::string(20'000, 'x')));
        server.reset();
        server = NoticeServer::at(address);
        NoticeClient client(address);
        EXPECT_THAT(first_line(*server, client), HasSubstr("notice"));
    }
    NoticeServer::join_ending();
}

/// Lets a thread stand still, in a signal handler, until it is destroyed.
class StandingThread {
  public:
    explicit StandingThread(pid_t thread) {
        EXPECT_EQ(pipe2(gate_.data(), O_CLOEXEC), 0);
        EXPECT_EQ(pipe2(told_.data(), O_CLOEXEC), 0);
        struct sigaction action {};
        action.sa_handler = stand;
        EXPECT_EQ(sigaction(SIGUSR1, &action, &before_), 0);
        EXPECT_EQ(syscall(SYS_tgkill, getpid(), thread, SIGUSR1), 0);
        char stands = 0;
        EXPECT_EQ(::read(told_[0], &stands, 1), 1);
    }
    ~StandingThread() {
        close(gate_[1]);
        char goes_on = 0;
        EXPECT_EQ(::read(told_[0], &goes_on, 1), 1);
        sigaction(SIGUSR1, &before_, nullptr);
        for (const int fd : {gate_[0], told_[0], told_[1]})
            close(fd);
    }
    StandingThread(const StandingThread&) = delete;
    StandingThread& operator=(const StandingThread&) = delete;

  private:
    static void stand(int /*signal*/) {
        const int error = errno;
        char byte = 0;
        EXPECT_EQ(::write(told_[1], &byte, 1), 1);
        EXPECT_EQ(::read(gate_[0], &byte, 1), 0) << "the other end is closed";
        EXPECT_EQ(::write(told_[1], &byte, 1), 1);
        errno = error;
    }

    static std::array<int, 2> gate_;
    static std::array<int, 2> told_;
    struct sigaction before_ {};
};
std::array<int, 2> StandingThread::gate_{};
std::array<int, 2> StandingThread::told_{};

std::set<pid_t> threads_now() {
    std::set<pid_t> all;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
        all.insert(std::stoi(thread.path().filename()));
    return all;
}

TEST(NoticeServer, ThoseWhoLeaveDoNotWaitForEverForAThreadThatStandsStill) {
    const Directory directory;
    NoticeServer::join_ending();
    const std::set<pid_t> before = threads_now();
    auto server = NoticeServer::at({directory.file("s"), {}});
    std::vector<pid_t> made;
    std::ranges::set_difference(threads_now(), before, std::back_inserter(made));
    ASSERT_EQ(made.size(), 1U);
    testing::internal::CaptureStderr();
    {
        const StandingThread standing(made.front());
        server.reset();
        EXPECT_EQ(NoticeServer::join_ending(), 1U);
    }
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr("its thread has not closed the address"));
    EXPECT_THAT(text, HasSubstr("its thread has not ended"));
    EXPECT_EQ(NoticeServer::join_ending(), 1U) << "it goes on, and ends";
    EXPECT_TRUE(directory.names().empty());
}

TEST(NoticeServer, IsSharedWithinTheProcess) {
    const Directory directory;
    const NoticeAddress address{directory.file("s"), {}};
    auto one = NoticeServer::at(address);
    EXPECT_EQ(NoticeServer::at(address), one);
    EXPECT_NE(NoticeServer::at({directory.file("t"), {}}), one);
    one.reset();
    EXPECT_NE(NoticeServer::at(address), nullptr);
}

TEST(NoticeServer, RefusesAnAddressInUseAndTakesOneThatIsLeft) {
    const Directory directory;
    const NoticeAddress address{directory.file("s"), {}};
    {
        const NoticeServer first(address);
        EXPECT_THAT(error_of([&] { NoticeServer second(address); }),
                    HasSubstr(fmt::format("process {} already listens at this path", getpid())));
        struct stat facts {};
        ASSERT_EQ(lstat(address.path.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777U, 0600U);
        const NoticeServer tcp({"", {kLoopback, 0}});
        EXPECT_THAT(error_of([&] { NoticeServer second(tcp.address()); }), HasSubstr("free port"));
    }
    {
        // As a process leaves it that was killed.
        const FileDescriptor left(socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        std::strncpy(to.sun_path, address.path.c_str(), sizeof to.sun_path - 1);
        ASSERT_EQ(bind(left.get(), static_cast<sockaddr*>(static_cast<void*>(&to)), sizeof to), 0);
    }
    { const NoticeServer second(address); }
    std::ofstream(address.path) << "a file";
    EXPECT_THAT(error_of([&] { NoticeServer third(address); }), HasSubstr("it is a file"));
    EXPECT_EQ(text_of(address.path), "a file");
    EXPECT_THAT(error_of([&] {
                    NoticeServer fourth({directory.file("a/b"), {}});
                }),
                HasSubstr("cannot listen"));
}

TEST(NoticeServer, LeavesASocketThatItMayNotConnectTo) {
    const Directory directory;
    const NoticeAddress address{directory.file("s"), {}};
    // It is alive, but connecting as a stream gives an error.
    const FileDescriptor alive(socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, address.path.c_str(), sizeof to.sun_path - 1);
    ASSERT_EQ(bind(alive.get(), static_cast<sockaddr*>(static_cast<void*>(&to)), sizeof to), 0);
    EXPECT_THAT(error_of([&] { NoticeServer server(address); }),
                HasSubstr("a process may listen at this path"));
    EXPECT_TRUE(std::filesystem::is_socket(address.path));
}

TEST(NoticeServer, FollowsNoLinkOfOthers) {
    const Directory directory;
    std::filesystem::create_directory(directory.file("victim"));
    std::filesystem::create_directory_symlink(directory.file("victim"), directory.file("link"));
    const NoticeAddress address{directory.file("link/s"), {}};
    {
        const TrustedUsersInstead nobody({});
        EXPECT_THAT(error_of([&] { NoticeServer server(address); }),
                    HasSubstr("its path leads through `link`"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("victim")));
    { const NoticeServer server(address); }
    std::filesystem::create_symlink(directory.file("victim/s"), directory.file("last"));
    EXPECT_THAT(error_of([&] {
                    NoticeServer server({directory.file("last"), {}});
                }),
                HasSubstr("it is a file, not a socket"));
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("victim")));
}

TEST(NoticeServer, RemovesItsSocketWhereItMadeIt) {
    const Directory directory;
    std::filesystem::create_directory(directory.file("a"));
    {
        const NoticeServer server({directory.file("a/s"), {}});
        std::filesystem::rename(directory.file("a"), directory.file("b"));
        std::filesystem::create_directory(directory.file("a"));
        std::ofstream(directory.file("a/s")) << "another's";
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("b")));
    EXPECT_EQ(text_of(directory.file("a/s")), "another's");
}

TEST(NoticeServer, RefusesANameThatIsTooLong) {
    const Directory directory;
    EXPECT_THAT(error_of([&] {
                    NoticeServer server({directory.file(std::string(100, 'x')), {}});
                }),
                HasSubstr("the name has 100 bytes"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
