// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_server.hpp"

#include <arpa/inet.h>
#include <deque>
#include <fcntl.h>
#include <future>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/file_descriptor.hpp"
#include "port/log_capture.hpp"

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
        : server_({kLoopback, 0}, {}, [this](const HttpRequest& request) { return route(request); }) {}
    HttpRoute route(const HttpRequest& request) const {
        const std::string& path = request.path;
        if (path == "/big")
            return HttpAnswer{.body = big_};
        if (path == "/dear")
            throw std::bad_alloc();
        if (path == "/echo")
            return HttpLater{[](const HttpRequest& whole, const HttpReply& reply) {
                std::thread([whole, reply] {
                    reply({.body = std::make_shared<const std::string>(whole.body)});
                }).detach();
            }};
        if (path == "/known")
            return HttpAnswer{.status = request.if_none_match == "\"5\"" ? 304 : 200,
                              .body = std::make_shared<const std::string>("five\n"),
                              .fields = {{"ETag", "\"5\""}}};
        if (path == "/never")
            return HttpLater{[](const HttpRequest&, const HttpReply&) {}};
        if (path == "/stream")
            return HttpStream{.interval = std::chrono::milliseconds(1),
                              .next = [n = 0](std::size_t left_out) mutable {
                                  return fmt::format("data: {} {}\n\n", ++n, left_out);
                              }};
        if (path == "/flood")
            return HttpStream{.interval = std::chrono::milliseconds(1),
                              .next = [big = big_](std::size_t left_out) {
                                  return fmt::format("data: {}\ndata: {}\n\n", left_out, *big);
                              }};
        if (path != "/page")
            return HttpAnswer{.status = 404};
        if (!request.reads())
            return method_answer(request, "GET, HEAD");
        return HttpAnswer{.type = "text/x", .body = std::make_shared<const std::string>("the page\n")};
    }
    void expect_it_serves() const {
        EXPECT_THAT(Client(server_).say("GET /page HTTP/1.1\r\nHost: x\r\n\r\n").answer(),
                    EndsWith("\r\n\r\nthe page\n"));
    }

    std::shared_ptr<const std::string> big_ = std::make_shared<const std::string>(std::string(32 << 20, 'b'));
    HttpServer server_;
};

TEST_F(HttpServerTest, AnAnswerThatTheClientKnowsHasNoBody) {
    EXPECT_THAT(
        Client(server_).say("GET /known HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"5\"\r\n\r\n").answer(),
        AllOf(StartsWith("HTTP/1.1 304 Not Modified\r\nETag: \"5\"\r\n"), EndsWith("\r\n\r\n"),
              Not(HasSubstr("\nContent-")), Not(HasSubstr("five"))));
    EXPECT_THAT(
        Client(server_).say("GET /known HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"6\"\r\n\r\n").answer(),
        AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nfive\n")));
}

TEST_F(HttpServerTest, NoBrowserGuessesTypes) {
    for (const char* const path : {"/page", "/nothing"})
        EXPECT_THAT(Client(server_).say(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path)).answer(),
                    HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
}

TEST_F(HttpServerTest, AnswersWithThePageAndItsLength) {
    const std::string answer = Client(server_).say("GET /page?a=b HTTP/1.1\r\nHost: x\r\n\r\n").answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 9\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nthe page\n"));
    const std::string head = Client(server_).say("HEAD /page HTTP/1.0\r\n\r\n").answer();
    EXPECT_THAT(head, AllOf(HasSubstr("Content-Length: 9\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, RefusesEverythingElse) {
    EXPECT_THAT(Client(server_).say("GET /other HTTP/1.1\r\nHost: x\r\n\r\n").answer(),
                StartsWith("HTTP/1.1 404 Not Found"));
    EXPECT_THAT(Client(server_).say("POST /page HTTP/1.1\r\nHost: x\r\n\r\n").answer(),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")));
    for (const char* const bad :
         {"\r\n\r\n", "GET\r\n\r\n", "GET /page\r\n\r\n", "GET page HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET /pa\tge HTTP/1.1\r\nHost: x\r\n\r\n", "GET /page HTTP/2\r\n\r\n", "\x01\xff\n\n",
          "GET /page HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
          "GET /page HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
          "GET /page HTTP/1.1\r\nHost: x\r\nno field\r\n\r\n"})
        EXPECT_THAT(Client(server_).say(bad).answer(), StartsWith("HTTP/1.1 400 ")) << bad;
    EXPECT_THAT(Client(server_).say("GET /" + std::string(http_limits::kLongestHead, 'x')).answer(),
                StartsWith("HTTP/1.1 431 "));
    expect_it_serves();
}

TEST_F(HttpServerTest, NeedsAHostAsItsVersionDoes) {
    for (const char* const fields : {"", "Accept: */*\r\n", "X-Host: x\r\n"})
        EXPECT_THAT(Client(server_).say(fmt::format("GET /page HTTP/1.1\r\n{}\r\n", fields)).answer(),
                    AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("no field `Host`")));
    EXPECT_THAT(Client(server_).say("GET /page HTTP/1.0\r\n\r\n").answer(), EndsWith("the page\n"));
    EXPECT_THAT(Client(server_).say("GET /page HTTP/1.1\r\nHost:\r\n\r\n").answer(), EndsWith("the page\n"));
}

TEST_F(HttpServerTest, RefusesSeveralFieldsThatDecide) {
    for (const char* const field : {"Host", "Origin", "Authorization", "Content-Type", "If-Match"})
        EXPECT_THAT(Client(server_)
                        .say(fmt::format("GET /page HTTP/1.1\r\nHost: x\r\n{0}: x\r\n{0}: y\r\n\r\n", field))
                        .answer(),
                    AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr(fmt::format("several fields `{}`", field))));
    expect_it_serves();
}

TEST_F(HttpServerTest, LogsWhoAsksForTooMuchButNoFloodOfThem) {
    port::LogCapture log;
    const std::string head = fmt::format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                                         http_limits::kLongestBody + 1);
    for (int i = 0; i < 20; i++)
        EXPECT_THAT(Client(server_).say(head).answer(), StartsWith("HTTP/1.1 413 "));
    const std::string said = log.take_reason();
    EXPECT_THAT(said, AllOf(HasSubstr("http: 127.0.0.1:"), HasSubstr("asked for `POST /echo` in vain: 413")));
    EXPECT_LT(said.size(), 1000U) << said;
}

TEST_F(HttpServerTest, LogsThePathOfAHeadThatIsTooLong) {
    port::LogCapture log;
    const std::string much(http_limits::kLongestHead, 'x');
    EXPECT_THAT(Client(server_).say("GET /page?a=b HTTP/1.1\r\nHost: x\r\nX-Long: " + much).answer(),
                StartsWith("HTTP/1.1 431 "));
    EXPECT_THAT(log.take_reason(), HasSubstr("asked for `GET /page` in vain: 431"));
}

TEST_F(HttpServerTest, APageThatCannotBeMadeIsLostAlone) {
    EXPECT_THAT(Client(server_).say("GET /dear HTTP/1.1\r\nHost: x\r\n\r\n").answer(),
                StartsWith("HTTP/1.1 500 "));
    expect_it_serves();
}

TEST_F(HttpServerTest, AnswersLaterWithTheWholeBody) {
    const std::string body(100'000, 'b');
    const std::string answer =
        Client(server_)
            .say(fmt::format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                             body))
            .answer();
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\n" + body)));
    EXPECT_THAT(Client(server_)
                    .say("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                    .answer(),
                EndsWith("\r\n\r\nabcde"));
    EXPECT_THAT(
        Client(server_)
            .say("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
            .answer(),
        AllOf(StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "), EndsWith("\r\n\r\nhi")));
}

TEST_F(HttpServerTest, RefusesBodiesThatAreTooLong) {
    EXPECT_THAT(
        Client(server_).say("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2147483648\r\n\r\n").answer(),
        StartsWith("HTTP/1.1 413 "));
    const std::string much(http_limits::kLongestBody + 1, 'x');
    EXPECT_THAT(Client(server_)
                    .say(fmt::format(
                        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n",
                        much.size(), much))
                    .answer(),
                StartsWith("HTTP/1.1 413 "));
    expect_it_serves();
}

TEST_F(HttpServerTest, StreamsUntilTheClientGoes) {
    const Client client(server_);
    client.say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string all;
    std::array<char, 4096> bytes;
    while (all.find("data: 5 ") == std::string::npos) {
        const ssize_t size = ::recv(client.fd(), bytes.data(), bytes.size(), 0);
        ASSERT_GT(size, 0);
        all.append(bytes.data(), static_cast<std::size_t>(size));
    }
    EXPECT_THAT(all, AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"),
                           HasSubstr("\r\n\r\ndata: 1 0\n\n")));
}

TEST_F(HttpServerTest, HasRoomForFewStreams) {
    std::deque<Client> streams;
    std::array<char, 64> bytes;
    for (std::size_t i = 0; i < http_limits::kMostStreams; i++) {
        streams.emplace_back(server_).say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        ASSERT_GT(::recv(streams.back().fd(), bytes.data(), bytes.size(), 0), 0);
    }
    port::LogCapture log;
    for (int i = 0; i < 3; i++)
        EXPECT_THAT(Client(server_).say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n").answer(),
                    StartsWith("HTTP/1.1 503 "));
    const std::string said = log.take_reason();
    EXPECT_THAT(said, HasSubstr("asked for `GET /stream` in vain: 503"));
    EXPECT_EQ(said.find("in vain"), said.rfind("in vain")) << "browsers ask again and again: " << said;
    std::deque<Client> silent;
    for (std::size_t i = 0; i < 3 * http_limits::kMostClients; i++)
        silent.emplace_back(server_);
    expect_it_serves();
    std::array<char, 65536> more;
    for (const Client& stream : streams)
        EXPECT_GT(::recv(stream.fd(), more.data(), more.size(), 0), 0) << "silent clients took its place";
}

/// Reads the next short line of data, past the long ones.
class ShortLines {
  public:
    explicit ShortLines(const Client& client) : client_(client) {}
    std::string next() {
        for (;;) {
            for (std::size_t end; (end = rest_.find('\n')) != std::string_view::npos;) {
                const std::string line =
                    std::exchange(line_, {}) + std::string(rest_.substr(0, std::min(end, kShort)));
                rest_.remove_prefix(end + 1);
                if (line.starts_with("data: ") && line.size() < kShort)
                    return line;
            }
            if (line_.size() < kShort)
                line_ += rest_.substr(0, kShort);
            const ssize_t size = ::recv(client_.fd(), bytes_.data(), bytes_.size(), 0);
            if (size <= 0)
                return "the end";
            rest_ = {bytes_.data(), static_cast<std::size_t>(size)};
        }
    }

  private:
    static constexpr std::size_t kShort = 40;
    const Client& client_;
    std::vector<char> bytes_ = std::vector<char>(1 << 20);
    std::string_view rest_;
    std::string line_;
};

TEST_F(HttpServerTest, ASlowReaderOfAStreamIsToldWhatItMissed) {
    const Client slow(server_);
    slow.say("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    ShortLines lines(slow);
    EXPECT_EQ(lines.next(), "data: 0");
    // Nobody takes 32 MiB in a millisecond.
    EXPECT_THAT(lines.next(), testing::MatchesRegex("data: [1-9][0-9]*"));
    expect_it_serves();
}

TEST_F(HttpServerTest, EndsWhileAnswersAreOwed) {
    const Client owed(server_);
    owed.say("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
    const Client stream(server_);
    stream.say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_it_serves();
}

TEST(HttpServer, DiscardsAReplyThatComesAfterItsEnd) {
    HttpReply kept;
    std::promise<void> begun;
    {
        const HttpServer server({kLoopback, 0}, {}, [&](const HttpRequest&) {
            return HttpLater{[&](const HttpRequest&, const HttpReply& reply) {
                kept = reply;
                begun.set_value();
            }};
        });
        const Client client(server);
        client.say("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
        begun.get_future().wait();
    }
    kept({.body = std::make_shared<const std::string>("too late")});
}

/// Tests a lowered limit: no more clients come in, and those that are here stay.
TEST_F(HttpServerTest, GoesOnWhenTheLimitOfDescriptorsWasLowered) {
    std::deque<Client> half;
    for (std::size_t i = 0; i < 8; i++)
        half.emplace_back(server_).say("GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    expect_it_serves();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{8, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const std::string answer = half.back().say("X\r\n\r\n").answer();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_THAT(answer, EndsWith("the page\n"));
    expect_it_serves();
}

TEST_F(HttpServerTest, HalfARequestKeepsNobodyWaiting) {
    std::deque<Client> half;
    for (std::size_t i = 0; i < 3 * http_limits::kMostClients; i++)
        half.emplace_back(server_).say("GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    expect_it_serves();
    std::deque<Client> silent;
    for (std::size_t i = 0; i < 3 * http_limits::kMostClients; i++)
        silent.emplace_back(server_);
    expect_it_serves();
    EXPECT_EQ(half.front().answer(), "") << "the oldest went";
    EXPECT_THAT(silent.back().say("GET /page HTTP/1.1\r\nHost: x\r\n\r\n").answer(), EndsWith("the page\n"))
        << "has time left";
}

TEST_F(HttpServerTest, AnAddressHasAShareAndItsOldestClientGoes) {
    std::deque<Client> half;
    for (std::size_t i = 0; i < http_limits::kMostOfAddress + 1; i++)
        half.emplace_back(server_).say("GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    EXPECT_EQ(half.front().answer(), "");
    half.pop_front();
    // If time had closed the first one, it would close these too.
    for (const Client& client : half)
        EXPECT_THAT(client.say("x\r\n\r\n").answer(), EndsWith("the page\n"));
}

TEST_F(HttpServerTest, WhoeverDoesNotReadKeepsNobodyWaiting) {
    std::deque<Client> lazy;
    for (int i = 0; i < 20; i++)
        lazy.emplace_back(server_).say("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
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
    waiting.say("GET /page HTTP/1.1\r\nHost: x\r\n\r\n").answer();
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
    const HttpServer first({kLoopback, 0}, {}, [](const HttpRequest&) { return HttpAnswer{}; });
    try {
        const HttpServer second(first.address(), {}, [](const HttpRequest&) { return HttpAnswer{}; });
        FAIL() << "two on one port";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EADDRINUSE);
    }
}

}  // namespace
}  // namespace spead::observe
