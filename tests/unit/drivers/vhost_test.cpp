// SPDX-License-Identifier: BSD-3-Clause
/// Tests net_vhost and net_virtio_user, the two ends of a vhost-user socket.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "drivers/table.hpp"
#include "tests/support/refusal.hpp"

namespace spead::drivers {
namespace {

using testing::HasSubstr;

class VhostUser : public testing::Test {
  protected:
    VhostUser() {
        directory_ = (std::filesystem::temp_directory_path() / "spead-vhost-XXXXXX").string();
        EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
        socket_ = directory_ + "/s";
    }
    ~VhostUser() override {
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    void listen() const {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket_.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ::close(fd);
    }
    static port::PortRequest request_for(const std::string& device) {
        port::PortRequest request;
        request.name = "p0";
        request.device = device;
        request.rx_queues = request.tx_queues = 1;
        request.max_rx_packet = request.max_tx_packet = 8972;
        return request;
    }
    static std::string refusal(const port::Driver& driver, const port::PortRequest& request) {
        return spead::test::refusal([&] { driver.plan(request); });
    }
    std::string vhost_with(const std::string& rest) const { return "net_vhost0,iface=" + socket_ + rest; }
    std::string user_with(const std::string& rest) const { return "net_virtio_user0,path=" + socket_ + rest; }

    std::string directory_;
    std::string socket_;
};

TEST_F(VhostUser, TheHostsEndMakesTheSocket) {
    const auto p = vhost().plan(request_for(vhost_with("")));
    EXPECT_EQ(p.devargs, vhost_with(""));
    EXPECT_TRUE(p.capabilities.lossless);
    EXPECT_GE(p.rx.data_room, 9014U);
    listen();
    EXPECT_THAT(refusal(vhost(), request_for(vhost_with(""))), HasSubstr("exists already"));
    EXPECT_EQ(refusal(vhost(), request_for(vhost_with(",client=1"))), "");
}

TEST_F(VhostUser, TheHostsEndHasQueuesInBothDirections) {
    auto request = request_for(vhost_with(""));
    request.rx_queues = 0;
    auto p = vhost().plan(request);
    EXPECT_EQ(p.rx_queues, 1);
    EXPECT_EQ(p.rx_pools, 1);
    EXPECT_GT(p.rx.mbufs, 0U);
    request.rx_queues = 1;
    request.tx_queues = 0;
    p = vhost().plan(request);
    EXPECT_EQ(p.tx_queues, 1);
    EXPECT_GT(p.tx.descriptors, 0);
}

TEST_F(VhostUser, TheHostsEndNeedsAPlaceForIt) {
    EXPECT_THAT(refusal(vhost(), request_for("net_vhost0")), HasSubstr("needs iface=SOCKET"));
    EXPECT_THAT(refusal(vhost(), request_for("net_vhost0,iface=/nonexistent/s")),
                HasSubstr("there is no directory /nonexistent"));
    EXPECT_THAT(refusal(vhost(), request_for(vhost_with(",sockets=1"))),
                HasSubstr("no parameter \"sockets\""));
}

TEST_F(VhostUser, QueuesFollowTheRequest) {
    auto request = request_for(vhost_with(""));
    request.tx_queues = 3;
    EXPECT_EQ(vhost().plan(request).devargs, vhost_with(",queues=3"));
    request.device = vhost_with(",queues=2");
    EXPECT_THAT(refusal(vhost(), request), HasSubstr("has queues=2, and 3 are needed"));
    listen();
    request.device = user_with("");
    const auto p = virtio_user().plan(request);
    EXPECT_THAT(p.devargs, HasSubstr(",queues=3"));
    EXPECT_EQ(p.rx_queues, 3) << "the peer deals packets to all pairs";
    EXPECT_EQ(p.rx_pools, 1);
    request.device = user_with(",queues=9");
    EXPECT_THAT(refusal(virtio_user(), request), HasSubstr("not a number from 1 to 8"));
}

TEST_F(VhostUser, TheCardsEndNeedsAPeer) {
    EXPECT_THAT(refusal(virtio_user(), request_for(user_with(""))),
                HasSubstr("nothing listens on this socket"));
    EXPECT_EQ(refusal(virtio_user(), request_for(user_with(",server=1"))), "");
    listen();
    EXPECT_EQ(refusal(virtio_user(), request_for(user_with(""))), "");
    EXPECT_THAT(refusal(virtio_user(), request_for(user_with(",server=1"))), HasSubstr("exists already"));
    EXPECT_THAT(refusal(virtio_user(), request_for(user_with(",iface=tap7"))),
                HasSubstr("only path=/dev/vhost-net makes"));
    EXPECT_THAT(refusal(virtio_user(), request_for("net_virtio_user0")), HasSubstr("needs path="));
    std::ofstream(directory_ + "/file") << "x";
    EXPECT_THAT(refusal(virtio_user(), request_for("net_virtio_user0,path=" + directory_ + "/file")),
                HasSubstr("neither a socket nor /dev/vhost-net"));
}

TEST_F(VhostUser, TheCardsRingsHoldAnMbufPerEntry) {
    listen();
    auto request = request_for(user_with(""));
    request.buffer_size = std::size_t{16} << 20;
    const auto p = virtio_user().plan(request);
    EXPECT_THAT(p.devargs, HasSubstr(",queue_size=1024"));
    EXPECT_EQ(p.rx.descriptors, 1024);
    EXPECT_EQ(p.capabilities.late_free_segments, 1023);
    EXPECT_GT(p.rx.mbufs, 1024U);
    EXPECT_EQ(p.eal_mtu, 9000U);
    EXPECT_FALSE(p.capabilities.tx_external_buffer) << "the peer sees EAL's memory only";
    request.device = user_with(",queue_size=300");
    EXPECT_THAT(refusal(virtio_user(), request), HasSubstr("not a power of two"));
    request.device = user_with("");
    request.max_rx_packet = 9700;
    EXPECT_THAT(refusal(virtio_user(), request), HasSubstr("has at most 9698"));
}

}  // namespace
}  // namespace spead::drivers
