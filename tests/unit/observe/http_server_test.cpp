// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_server.hpp"

#include <arpa/inet.h>
#include <deque>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace spead::observe {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Client {
  public:
    explicit Client(const HttpServer& server) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(server.address().port);
        to.sin_addr.s_addr = htonl(server.address().address.value);
        EXPECT_EQ(connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    }
    const Client& say(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                break;  // it does not want to hear more
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
        return *this;
    }
    std::string answer() const {
        std::string all;
        std::array<char, 65536> bytes;
        for (ssize_t size = 0; (size = ::recv(fd_.get(), bytes.data(), bytes.size(), 0)) > 0;)
            all.append(bytes.data(), static_cast<std::size_t>(size));
        return all;
    }
    int fd() const { return fd_.get(); }

  private:
    FileDescriptor fd_;
};

class HttpServerTest : public testing::Test {
  protected:
    HttpServerTest()
        : server_({kLoopback, 0}, {}, [this](std::string_view path) -> HttpServer::Page {
              if (path == "/big")
                  return {.body = big_};
              if (path == "/dear")
                  throw std::bad_alloc();
              if (path != "/page")
                  return {.status = 404, .body = nullptr};
              return {.type = "text/x", .body = std::make_shared<const std::string>("the page\n")};
          }) {}
    void expect_it_serves() const {
        EXPECT_THAT(Client(server_).say("GET /page HTTP/1.1\r\nHost: x\r\n\r\n").answer(),
                    EndsWith("\r\n\r\nthe page\n"));
    }

    std::shared_ptr<const std::string> big_ = std::make_shared<const std::string>(std::string(32 << 20, 'b'));
    HttpServer server_;
};

TEST_F(HttpServerTest, AnswersWithThePageAndItsLength) {
    const std::string answer = Client(server_).say("GET /page?a=b HTTP/1.1\r\nHost: x\r\n\r\n").answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 9\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nthe page\n"));
    const std::string head = Client(server_).say("HEAD /page HTTP/1.0\r\n\r\n").answer();
    EXPECT_THAT(head, AllOf(HasSubstr("Content-Length: 9\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, RefusesEverythingElse) {
    EXPECT_THAT(Client(server_).say("GET /other HTTP/1.1\r\n\r\n").answer(),
                StartsWith("HTTP/1.1 404 Not Found"));
    EXPECT_THAT(Client(server_).say("POST /page HTTP/1.1\r\n\r\n").answer(),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")));
    for (const char* const bad : {"\r\n\r\n", "GET\r\n\r\n", "GET /page\r\n\r\n", "GET page HTTP/1.1\r\n\r\n",
                                  "GET /pa\tge HTTP/1.1\r\n\r\n", "GET /page HTTP/2\r\n\r\n", "\x01\xff\n\n"})
        EXPECT_THAT(Client(server_).say(bad).answer(), StartsWith("HTTP/1.1 400 ")) << bad;
    EXPECT_THAT(Client(server_).say("GET /" + std::string(HttpServer::kLongestRequest, 'x')).answer(),
                StartsWith("HTTP/1.1 431 "));
    expect_it_serves();
}

TEST_F(HttpServerTest, APageThatCannotBeMadeIsLostAlone) {
    EXPECT_THAT(Client(server_).say("GET /dear HTTP/1.1\r\n\r\n").answer(), StartsWith("HTTP/1.1 500 "));
    expect_it_serves();
}

/// Tests a lowered limit: poll(2) takes no more descriptors than the process may open.
TEST_F(HttpServerTest, GoesOnWhenTheLimitOfDescriptorsWasLowered) {
    std::deque<Client> half;
    for (std::size_t i = 0; i < HttpServer::kMostClients; i++)
        half.emplace_back(server_).say("GET /page HTTP/1.1\r\nX-Slow: ");
    expect_it_serves();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{8, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    half.back().say("X\r\n");
    pollfd end{half.back().fd(), POLLIN, 0};
    const int ended = poll(&end, 1, 20'000);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(ended, 1) << "nobody was sent away";
    expect_it_serves();
}

TEST_F(HttpServerTest, HalfARequestKeepsNobodyWaiting) {
    std::deque<Client> half;
    for (std::size_t i = 0; i < 3 * HttpServer::kMostClients; i++)
        half.emplace_back(server_).say("GET /page HTTP/1.1\r\nX-Slow: ");
    expect_it_serves();
    std::deque<Client> silent;
    for (std::size_t i = 0; i < 3 * HttpServer::kMostClients; i++)
        silent.emplace_back(server_);
    expect_it_serves();
    EXPECT_EQ(half.front().answer(), "") << "the oldest went";
    EXPECT_THAT(silent.back().say("GET /page HTTP/1.1\r\n\r\n").answer(), EndsWith("the page\n"))
        << "has time left";
}

TEST_F(HttpServerTest, WhoeverDoesNotReadKeepsNobodyWaiting) {
    std::deque<Client> lazy;
    for (int i = 0; i < 20; i++)
        lazy.emplace_back(server_).say("GET /big HTTP/1.1\r\n\r\n");
    expect_it_serves();
    const std::string answer = lazy.back().answer();
    EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, big_->size());
}

TEST_F(HttpServerTest, WhoeverSendsWithoutEndIsCutOff) {
    const Client client(server_);
    const std::string much(1 << 20, 'x');
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 50; i++)
        client.say(much);
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB";
    expect_it_serves();
}

TEST_F(HttpServerTest, RestsWhenThereAreNoDescriptorsAndGoesOn) {
    const Client waiting(server_);
    waiting.say("GET /page HTTP/1.1\r\n\r\n").answer();
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_.address().port);
    to.sin_addr.s_addr = htonl(kLoopback.value);
    const rlimit none{static_cast<rlim_t>(probe.get()) + 1, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    connect(probe.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    // It looks again every 200 ms.
    usleep(500'000);
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    setrlimit(RLIMIT_NOFILE, &limit);
    const auto ms = [](const rusage& r) {
        return r.ru_utime.tv_sec * 1000 + r.ru_utime.tv_usec / 1000 + r.ru_stime.tv_sec * 1000 +
               r.ru_stime.tv_usec / 1000;
    };
    EXPECT_LT(ms(after) - ms(before), 200) << "ms of CPU: it did not spin";
    expect_it_serves();
}

TEST(HttpServer, SaysWhyItCannotListen) {
    const HttpServer first({kLoopback, 0}, {}, [](std::string_view) { return HttpServer::Page{}; });
    try {
        const HttpServer second(first.address(), {}, [](std::string_view) { return HttpServer::Page{}; });
        FAIL() << "two on one port";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EADDRINUSE);
    }
}

}  // namespace
}  // namespace spead::observe
