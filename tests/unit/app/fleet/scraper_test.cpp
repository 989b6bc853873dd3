// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/scraper.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"
#include "observe/http_server.hpp"

namespace spead::app {
namespace {

constexpr std::chrono::milliseconds kLookPatience{400};

/// Is as many hosts as one likes, which accept connections and say nothing.
class SilentHosts {
  public:
    SilentHosts() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        socklen_t size = sizeof at;
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        EXPECT_EQ(listen(listener_.get(), 4096), 0);
        EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
        port_ = ntohs(at.sin_port);
    }
    FleetTarget target(unsigned i) const {
        return {fmt::format("127.0.{}.{}:{}", 1 + i / 200, 1 + i % 200, port_), {}};
    }

  private:
    FileDescriptor listener_;
    std::uint16_t port_ = 0;
};

TEST(Scraper, HostsThatSayNothingHoldNobodyUpForLong) {
    const SilentHosts silent;
    const observe::HttpServer server({kLoopback, 0}, {}, [](const observe::HttpRequest&) {
        return observe::HttpAnswer{
            .body = std::make_shared<const std::string>("spead_shard_info{plan=\"a\"} 1\n")};
    });
    std::vector<FleetTarget> targets;
    for (unsigned i = 0; i < 600; i++)
        targets.push_back(silent.target(i));
    targets.push_back({to_string(server.address()), {}});
    Scraper scraper(targets);
    // It gets its turn, and keeps it. More looks are needed only where the machine is slow.
    int in_a_row = 0;
    for (int i = 0; i < 30 && in_a_row < 2; i++) {
        const std::vector<HostLook> now = scraper.look(kLookPatience);
        in_a_row = now.back().failure.empty() ? in_a_row + 1 : 0;
        EXPECT_NE(now.front().failure, "");
    }
    EXPECT_EQ(in_a_row, 2);
}

}  // namespace
}  // namespace spead::app
