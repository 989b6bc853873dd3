// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/telemetry_client.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "app/top/processes.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using Json = nlohmann::ordered_json;
using spead::test::error_of;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// Serves as a process: it greets, and answers as a test wants. An empty answer closes the connection.
class Server {
  public:
    using Answer = std::function<std::string(const std::string& command)>;

    Server(std::string greeting, Answer answer)
        : directory_(std::filesystem::temp_directory_path() /
                     ("telemetry-client-" + std::to_string(getpid()))),
          greeting_(std::move(greeting)),
          answer_(std::move(answer)) {
        std::filesystem::create_directories(directory_ / "x.1");
        fd_ = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string where = path();
        std::copy(where.begin(), where.end(), address.sun_path);
        unlink(where.c_str());
        EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(fd_, 4), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~Server() {
        shutdown(fd_, SHUT_RDWR);
        thread_.join();
        close(fd_);
        std::filesystem::remove_all(directory_);
    }
    std::string directory() const { return directory_.string(); }
    std::string path() const { return (directory_ / "x.1" / "dpdk_telemetry.v2").string(); }

  private:
    void serve() {
        for (;;) {
            const int client = accept(fd_, nullptr, nullptr);
            if (client < 0)
                return;
            std::string reply = greeting_;
            std::string command(2000, '\0');
            while (!reply.empty() && ::send(client, reply.data(), reply.size(), MSG_NOSIGNAL) >= 0) {
                const ssize_t length = ::recv(client, command.data(), command.size(), 0);
                if (length <= 0)
                    break;
                reply = answer_(command.substr(0, static_cast<std::size_t>(length)));
            }
            close(client);
        }
    }

    std::filesystem::path directory_;
    std::string greeting_;
    Answer answer_;
    int fd_ = -1;
    std::thread thread_;
};

constexpr const char* kGreeting = R"({"version":"DPDK","pid":77,"max_output_len":16384})";

TEST(TelemetryClient, AsksAndKnowsThePid) {
    const Server server(kGreeting,
                        [](const std::string& command) { return "{\"/a\":[\"" + command + "\"]}"; });
    TelemetryClient client(server.path());
    EXPECT_EQ(client.pid(), getpid());
    EXPECT_EQ(client.ask("/a,b").dump(), R"(["/a,b"])");
}

TEST(TelemetryClient, PutsTheReportTogether) {
    const std::string text = R"({"version":1,"streams":[]})";
    const Server server(kGreeting, [&](const std::string& command) -> std::string {
        if (command == "/spead/report")
            return Json{{"/spead/report", {{"sequence", 9}, {"size", text.size()}, {"age_ms", 1500}}}}.dump();
        const std::size_t offset = std::stoul(command.substr(command.rfind(',') + 1));
        EXPECT_TRUE(command.starts_with("/spead/report,9,"));
        return Json{{"/spead/report", text.substr(offset, 7)}}.dump();
    });
    const TelemetryClient::Report got = TelemetryClient(server.path()).report();
    EXPECT_EQ(got.report.dump(), text);
    EXPECT_EQ(got.age_s, 1.5);
}

TEST(TelemetryClient, AReportThatIsForgottenIsAskedForAgain) {
    std::atomic<int> asked{0};
    const Server server(kGreeting, [&](const std::string& command) -> std::string {
        if (command == "/spead/report")
            return Json{{"/spead/report", {{"sequence", ++asked}, {"size", 2}}}}.dump();
        return command == "/spead/report,3,0" ? R"({"/spead/report":"{}"})"
                                              : R"({"/spead/report":{"error":"no longer kept"}})";
    });
    EXPECT_TRUE(TelemetryClient(server.path()).report().report.is_object());
    EXPECT_EQ(asked, 3);
}

TEST(TelemetryClient, NoReportYetIsNone) {
    const Server server(kGreeting,
                        [](const std::string&) { return R"({"/spead/report":{"error":"not begun"}})"; });
    EXPECT_TRUE(TelemetryClient(server.path()).report().report.is_null());
}

TEST(TelemetryClient, WhatIsNoAnswerIsAnError) {
    for (const char* const answer : {"x", "[]", "{}", R"({"/b":1})", R"({"/a":1,"/b":2})", "\xff"}) {
        const Server server(kGreeting, [&](const std::string&) { return answer; });
        TelemetryClient client(server.path());
        EXPECT_THAT(error_of([&] { client.ask("/a"); }), HasSubstr("cannot be read")) << answer;
    }
    for (const char* const greeting :
         {"x", "[]", R"({"pid":1})", R"({"pid":1,"max_output_len":1000000000})"}) {
        const Server server(greeting, [](const std::string&) { return ""; });
        EXPECT_THAT(error_of([&] { TelemetryClient client(server.path()); }),
                    HasSubstr("not one of DPDK's telemetry"))
            << greeting;
    }
}

TEST(TelemetryClient, WhatIsTooDeepOrTooLargeIsAnError) {
    const std::string deep = std::string(7000, '[') + std::string(7000, ']');
    for (const std::string& answer : {"{\"/a\":" + deep + "}", "{\"/a\":{\"sequence\":" + deep + "}}"}) {
        const Server server(kGreeting, [&](const std::string&) { return answer; });
        TelemetryClient client(server.path());
        EXPECT_THAT(error_of([&] { client.ask("/a"); }), HasSubstr("cannot be read"));
    }
    // A report comes in pieces, so each is shallow.
    const std::string text = "{\"a\":" + std::string(400'000, '[') + std::string(400'000, ']') + "}";
    const Server server(kGreeting, [&](const std::string& command) -> std::string {
        if (command == "/spead/report")
            return Json{{"/spead/report", {{"sequence", 1}, {"size", text.size()}}}}.dump();
        return Json{{"/spead/report", text.substr(std::stoul(command.substr(command.rfind(',') + 1)), 15000)}}
            .dump();
    });
    TelemetryClient client(server.path());
    EXPECT_THAT(error_of([&] { client.report(); }), HasSubstr("its report cannot be read"));
}

TEST(TelemetryClient, AReportThatCannotBeIsNotFetched) {
    for (const char* const size : {"300000000", "18446744073709551615"}) {
        const Server server(kGreeting, [&](const std::string& command) -> std::string {
            EXPECT_EQ(command, "/spead/report");
            return std::string(R"({"/spead/report":{"sequence":1,"size":)") + size + "}}";
        });
        TelemetryClient client(server.path());
        EXPECT_THAT(error_of([&] { client.report(); }), HasSubstr("which cannot be"));
    }
    // Values of other kinds are as if absent, and no report of no size is an object.
    const Server server(kGreeting, [&](const std::string&) {
        return R"({"/spead/report":{"sequence":"x","size":-1,"age_ms":[]}})";
    });
    TelemetryClient client(server.path());
    EXPECT_THAT(error_of([&] { client.report(); }), HasSubstr("its report cannot be read"));
}

TEST(TelemetryClient, TheEndOfTheProcessIsTold) {
    const Server server(kGreeting, [](const std::string&) { return ""; });
    TelemetryClient client(server.path());
    EXPECT_THAT(error_of([&] { client.ask("/a"); }), HasSubstr("the process has ended"));
    EXPECT_THAT(error_of([&] { client.ask("/a"); }), HasSubstr("the process has ended"));
    const Server full("", [](const std::string&) { return ""; });
    EXPECT_THAT(error_of([&] { TelemetryClient other(full.path()); }), HasSubstr("ten clients"));
}

TEST(TelemetryClient, ASilentProcessIsNotWaitedForForEver) {
    std::atomic<bool> end{false};
    const Server server(kGreeting, [&](const std::string&) {
        end.wait(false);
        return "";
    });
    TelemetryClient client(server.path(), 20ms);
    EXPECT_THAT(error_of([&] { client.ask("/a"); }), HasSubstr("does not answer"));
    end = true;
    end.notify_all();
}

TEST(TelemetryClient, NobodyIsThere) {
    EXPECT_THAT(error_of([] { TelemetryClient client("/nowhere/at/all"); }), HasSubstr("nothing answers"));
    EXPECT_THAT(error_of([] { TelemetryClient client("/" + std::string(200, 'x')); }), HasSubstr("too long"));
}

TEST(FindProcesses, OnesThatAnswerAreFoundAndOthersPassedOver) {
    const auto found_at = [](const std::string& info) {
        const Server server(kGreeting, [&](const std::string&) { return info; });
        const std::vector<process::Place> places{{server.directory(), geteuid(), true}};
        return find_processes(places, 10s);
    };
    const std::vector<RunningProcess> found = found_at(R"({"/spead/info":{"name":"capture1"}})");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "capture1");
    EXPECT_EQ(found[0].pid, getpid()) << "as the kernel has it, whatever the process says";
    EXPECT_EQ(found[0].user, geteuid());
    EXPECT_TRUE(found_at(R"({"/spead/info":null})").empty());
    EXPECT_TRUE(found_at(R"({"/spead/info":{"name":5}})").empty());
    EXPECT_TRUE(found_at("").empty());
}

TEST(FindProcesses, ASocketOfAnotherUserThanItsDirectorysIsPassedOver) {
    if (geteuid() == 0)
        GTEST_SKIP() << "root may listen anywhere";
    const Server server(kGreeting, [](const std::string&) { return R"({"/spead/info":{"name":"x"}})"; });
    const std::vector<process::Place> places{{server.directory(), geteuid() + 1, true}};
    EXPECT_TRUE(find_processes(places, 10s).empty());
}

TEST(FindProcesses, LinksAreNotFollowed) {
    const Server server(kGreeting, [](const std::string&) { return R"({"/spead/info":{"name":"x"}})"; });
    const std::string elsewhere = server.directory() + "-links";
    std::filesystem::create_directories(elsewhere + "/x.2");
    std::filesystem::create_symlink(server.path(), elsewhere + "/x.2/dpdk_telemetry.v2");
    const std::vector<process::Place> places{{elsewhere, geteuid(), true}};
    EXPECT_TRUE(find_processes(places, 10s).empty());
    std::filesystem::remove_all(elsewhere);
}

TEST(FindProcesses, ThoseThatNeverAnswerHoldUpTheSearchForItsPatienceOnly) {
    std::atomic<bool> end{false};
    {
        const Server server(kGreeting, [&](const std::string&) {
            end.wait(false);
            return "";
        });
        for (int i = 0; i < 200; i++) {
            // Nobody accepts there; the file is the socket all the same.
            const std::string process = server.directory() + "/x." + std::to_string(100 + i);
            std::filesystem::create_directories(process);
            std::filesystem::create_hard_link(server.path(), process + "/dpdk_telemetry.v2");
        }
        const std::vector<process::Place> places{{server.directory(), geteuid(), true}};
        // Each of the 201 would be waited for a second.
        std::future<std::vector<RunningProcess>> found =
            std::async(std::launch::async, [&] { return find_processes(places, 50ms); });
        EXPECT_EQ(found.wait_for(60s), std::future_status::ready);
        EXPECT_TRUE(found.get().empty());
        end = true;
        end.notify_all();
    }
}

TEST(FindProcesses, TheOneThatIsMeantWaitsForNoOther) {
    const Server server(kGreeting, [](const std::string&) { return R"({"/spead/info":{"name":"x"}})"; });
    const FileDescriptor silent(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    std::filesystem::create_directories(server.directory() + "/a.2");
    const std::string where = server.directory() + "/a.2/dpdk_telemetry.v2";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    where.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(silent.get(), 4), 0);
    const std::vector<process::Place> places{{server.directory(), geteuid(), true}};
    for (const char* const wanted : {"x", "1", "x.1"})
        EXPECT_EQ(find_processes(places, 500ms, wanted).size(), 1U) << wanted;
    EXPECT_TRUE(find_processes(places, 500ms).empty()) << "the first one has used the time up";
}

TEST(TelemetryClient, WhatTerminalsObeyIsReplaced) {
    const Server server(kGreeting, [](const std::string&) {
        return "{\"/a\":{\"n\\u001b[2J\":[\"x\\u0007\\u009b31m\", \"r\u00e4ume \\u007f\"]}}";
    });
    TelemetryClient client(server.path());
    EXPECT_EQ(client.ask("/a").dump(), "{\"n?[2J\":[\"x??31m\",\"r\u00e4ume ?\"]}");
}

TEST(TelemetryClient, WhatIsNestedTooDeeplyOrTooLongIsRefused) {
    const std::string deep = std::string(15000, '[');
    const Server server(kGreeting, [&](const std::string& command) {
        return command == "/a" ? "{\"/a\":" + deep + std::string(15000, ']') + "}"
                               : std::string(R"({"/spead/report":{"sequence":1,"size":99999999999}})");
    });
    TelemetryClient client(server.path());
    EXPECT_THAT(error_of([&] { client.ask("/a"); }), HasSubstr("cannot be read"));
    EXPECT_THAT(error_of([&] { client.report(); }), HasSubstr("which cannot be"));
}

}  // namespace
}  // namespace spead::app
