// SPDX-License-Identifier: BSD-3-Clause
#include "port/link_guard.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <utility>

#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

/// Owns a descriptor, and finds all descriptors of this process that are open on the same file.
class Connection {
  public:
    explicit Connection(int fd) : fd_(fd) { EXPECT_GE(fd, 0); }
    ~Connection() { ::close(fd_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int fd() const { return fd_; }
    std::vector<int> all() const {
        std::vector<int> found;
        for (int fd = 0; fd < 1024; ++fd)
            if (inode(fd) == inode(fd_))
                found.push_back(fd);
        return found;
    }

  private:
    static ino_t inode(int fd) {
        struct stat facts {};
        return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
    }
    int fd_;
};

class LinkGuardTest : public testing::Test {
  protected:
    void SetUp() override { port->start(); }

    std::unique_ptr<Port> port = open_port(request("net_null0", 0, 1));
    Gate gate{1};
};

TEST_F(LinkGuardTest, WatchesAConnectionAndOpensTheGate) {
    LinkGuard guard(port->port_id(), gate);
    const Connection connection(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_TRUE(guard.wants_watch());
    guard.watch([&] { return connection.all(); });
    EXPECT_TRUE(gate.is_open());
    EXPECT_FALSE(guard.wants_watch());
    EXPECT_EQ(connection.all().size(), 2U) << "it watches a duplicate";
    guard.release();
    EXPECT_FALSE(gate.is_open());
    EXPECT_EQ(connection.all().size(), 1U);
}

// EAL's thread closes a connection when its peer goes. Another descriptor may have its number at once.
TEST_F(LinkGuardTest, ADuplicateOfSomethingElseIsNotWatched) {
    LinkGuard guard(port->port_id(), gate);
    const Connection other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    bool first = true;
    guard.watch([&]() -> std::vector<int> {
        return std::exchange(first, false) ? std::vector{other.fd()} : std::vector<int>{};
    });
    EXPECT_FALSE(gate.is_open());
    EXPECT_TRUE(guard.wants_watch()) << "the next look finds the connection, or none";
    EXPECT_EQ(other.all().size(), 1U);
}

}  // namespace
}  // namespace spead::port::test
