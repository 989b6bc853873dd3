// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/handshakes.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

namespace spead::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Handshakes::Clock::time_point kBegin{std::chrono::hours(1)};

/// Holds the far end of a connection.
class Client {
  public:
    explicit Client(Handshakes& handshakes, Handshakes::Clock::time_point now = kBegin) {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        handshakes.add(FileDescriptor(ends[0]), now);
        mine_ = FileDescriptor(ends[1]);
    }
    void say(std::string_view text) const {
        EXPECT_EQ(::send(mine_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT),
                  static_cast<ssize_t>(text.size()));
    }
    void go() { mine_ = FileDescriptor(); }
    /// Returns the text that has arrived since the last call, with "(gone)" if the connection has ended.
    std::string heard() const {
        std::string all;
        std::array<char, 4096> bytes;
        ssize_t size = 0;
        while ((size = ::recv(mine_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0)
            all.append(bytes.data(), static_cast<std::size_t>(size));
        return size == 0 || errno != EAGAIN ? all + "(gone)" : all;
    }

  private:
    FileDescriptor mine_;
};

TEST(Handshakes, TakeAGreetingInPiecesAndWhatFollowsIt) {
    Handshakes handshakes;
    const Client client(handshakes);
    client.say("dpdk-spead-attach 1 com");
    EXPECT_THAT(handshakes.take(kBegin), IsEmpty());
    client.say("mands /a b\nshow st");
    auto greeted = handshakes.take(kBegin);
    ASSERT_THAT(greeted, SizeIs(1));
    EXPECT_EQ(greeted[0].greeting.directory, "/a b");
    EXPECT_FALSE(greeted[0].greeting.interactive);
    EXPECT_EQ(greeted[0].begun, "show st");
    EXPECT_EQ(handshakes.size(), 0U);
    EXPECT_EQ(client.heard(), "");
}

TEST(Handshakes, SilentOnesKeepNobodyOut) {
    Handshakes handshakes;
    std::deque<Client> silent;
    for (std::size_t i = 0; i < 10 * Handshakes::kMost; i++)
        silent.emplace_back(handshakes);
    EXPECT_EQ(handshakes.size(), Handshakes::kMost);
    const Client client(handshakes);
    client.say(Greeting{true, "/"}.text());
    EXPECT_THAT(handshakes.take(kBegin), SizeIs(1));
    EXPECT_THAT(silent.front().heard(), HasSubstr("too many clients connect at once"));
    EXPECT_EQ(silent.back().heard(), "") << "has time left";
}

TEST(Handshakes, SilentOnesAreSentAwayWhenTheirTimeIsOver) {
    Handshakes handshakes;
    const Client first(handshakes);
    const Client second(handshakes, kBegin + std::chrono::seconds(1));
    EXPECT_EQ(handshakes.milliseconds_left(kBegin + std::chrono::seconds(4)), 6000);
    EXPECT_THAT(handshakes.take(kBegin + Handshakes::kPatience), IsEmpty());
    EXPECT_THAT(first.heard(), HasSubstr("the client sent nothing for too long"));
    EXPECT_THAT(first.heard(), HasSubstr("(gone)"));
    EXPECT_EQ(second.heard(), "");
    EXPECT_EQ(handshakes.size(), 1U);
}

TEST(Handshakes, HugeAndStrangeOnesAreSentAway) {
    Handshakes handshakes;
    const Client huge(handshakes);
    huge.say(std::string(Handshakes::kLongest + 1, 'x'));
    const Client strange(handshakes);
    strange.say("GET / HTTP/1.1\n");
    Client gone(handshakes);
    gone.go();
    EXPECT_THAT(handshakes.take(kBegin), IsEmpty());
    EXPECT_THAT(huge.heard(), HasSubstr("of its own version"));
    EXPECT_THAT(strange.heard(), HasSubstr("of its own version"));
    EXPECT_EQ(handshakes.size(), 0U);
    EXPECT_EQ(handshakes.milliseconds_left(kBegin), -1);
}

}  // namespace
}  // namespace spead::app
