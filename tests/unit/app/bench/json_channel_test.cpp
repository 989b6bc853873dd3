// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/json_channel.hpp"

#include <array>
#include <chrono>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

class Channel : public testing::Test {
  protected:
    Channel() {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        near_ = std::make_unique<JsonChannel>(ends[0]);
        raw_ = ends[1];
        stop_ = eventfd(0, EFD_CLOEXEC);
    }
    ~Channel() override {
        if (raw_ >= 0)
            close(raw_);
        close(stop_);
    }
    void write_raw(std::string_view text) {
        ASSERT_EQ(write(raw_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void hang_up() {
        close(raw_);
        raw_ = -1;
    }

    std::unique_ptr<JsonChannel> near_;
    int raw_ = -1;
    int stop_ = -1;
};

TEST_F(Channel, LinesComeOneByOneHoweverTheyAreCut) {
    write_raw("{\"a\":1}\n{\"b\":");
    EXPECT_EQ(near_->receive(stop_)["a"], 1);
    write_raw("2}\n");
    EXPECT_EQ(near_->receive(stop_)["b"], 2);
}

TEST_F(Channel, WhatIsNotAnObjectIsRefused) {
    for (const char* line : {"hello\n", "[1]\n", "{\"a\":\n", "\n"}) {
        write_raw(line);
        EXPECT_THROW(near_->receive(stop_), Error) << line;
    }
}

TEST_F(Channel, WhatIsTooDeepIsRefused) {
    // An error is reported with its text, and making one calls itself for each level.
    const std::string deep = "{\"error\":" + std::string(400'000, '[') + std::string(400'000, ']') + "}\n";
    std::thread other([&] {
        for (std::string_view rest = deep; !rest.empty();) {
            const ssize_t n = ::send(raw_, rest.data(), rest.size(), MSG_NOSIGNAL);
            if (n <= 0)
                return;
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
    });
    EXPECT_THROW(near_->ask({{"do", "open"}}, stop_), Error);
    near_.reset();
    other.join();
}

TEST_F(Channel, ALineThatComesByteByByteIsNotWaitedForAnyLonger) {
    std::thread other([this] {
        while (::send(raw_, " ", 1, MSG_NOSIGNAL) == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    EXPECT_THROW(near_->receive(stop_, 50), Error);
    near_.reset();
    other.join();
}

TEST_F(Channel, ALineWithoutEndIsRefused) {
    std::thread other([this] {
        const std::string part(65536, 'x');
        for (int i = 0; i < 64; i++)
            if (::send(raw_, part.data(), part.size(), MSG_NOSIGNAL) <= 0)
                return;
    });
    EXPECT_THROW(near_->receive(stop_), Error);
    near_.reset();
    other.join();
}

TEST_F(Channel, TheEndOfTheConnectionIsTold) {
    hang_up();
    EXPECT_THROW(near_->receive(stop_), ChannelClosed);
    EXPECT_THROW(
        {
            near_->send({{"a", 1}});
            near_->send({{"a", 1}});
        },
        ChannelClosed);
}

TEST_F(Channel, AStopEndsTheWait) {
    eventfd_write(stop_, 1);
    EXPECT_THROW(near_->receive(stop_), Interrupted);
}

TEST_F(Channel, PatienceEnds) {
    EXPECT_THROW(near_->receive(stop_, 1), Error);
    write_raw("{\"a\":1}\n");
    EXPECT_EQ(near_->receive(stop_, 60'000)["a"], 1) << "and nothing is lost by it";
}

TEST_F(Channel, AnErrorOfTheOtherEndIsOneHere) {
    write_raw("{\"error\":\"no such port\"}\n");
    try {
        near_->ask({{"do", "open"}}, stop_);
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "the other end: no such port");
    }
}

TEST(JsonChannel, OverTcp) {
    const int stop = eventfd(0, EFD_CLOEXEC);
    // A port that was free a moment ago.
    const int probe = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t length = sizeof address;
    getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length);
    close(probe);
    const std::string where = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));

    std::thread far([&] {
        JsonChannel channel(JsonChannel::accept_one(where, stop));
        channel.send({{"echo", channel.receive(stop)}});
    });
    JsonChannel near(JsonChannel::connect_to(where, stop));
    EXPECT_EQ(near.ask({{"x", 7}}, stop)["echo"]["x"], 7);
    far.join();
    close(stop);
}

TEST(JsonChannel, AddressesThatCannotBe) {
    EXPECT_THROW(JsonChannel::connect_to("7148", -1), UsageError);
    EXPECT_THROW(JsonChannel::connect_to("127.0.0.1:no", -1), UsageError);
    EXPECT_THROW(JsonChannel::accept_one("1.2.3.4.5:80", -1), UsageError);
}

}  // namespace
}  // namespace spead::app
