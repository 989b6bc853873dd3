// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notice_server.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/// Sends until the client, which was accepted by then, gets a line. Returns that.
std::string first_line(NoticeServer& server, NoticeClient& client) {
    std::atomic<bool> over{false};
    std::thread sender([&] {
        while (!over) {
            server.send(R"({"first":1})");
            std::this_thread::yield();
        }
    });
    std::string line = client.line();
    over = true;
    sender.join();
    return line;
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
