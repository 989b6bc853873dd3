// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/control_socket.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/open_output.hpp"
#include "base/socket_file.hpp"
#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

namespace fs = std::filesystem;
using spead::test::refusal;
using testing::ElementsAre;
using testing::HasSubstr;

const char* no_variables(const char*) {
    return nullptr;
}
const char* xdg(const char* name) {
    return std::string_view(name) == "XDG_RUNTIME_DIR" ? "/run/user/7" : nullptr;
}

class ControlSocketTest : public testing::Test {
  protected:
    ControlSocketTest() {
        std::string pattern = testing::TempDir() + "/control-XXXXXX";
        directory_ = mkdtemp(pattern.data());
    }
    ~ControlSocketTest() override { fs::remove_all(directory_); }
    std::string path() const { return (directory_ / "p.sock").string(); }

    fs::path directory_;
};

TEST(SocketPath, IsByNameAndUser) {
    EXPECT_EQ(socket_path("auto", "a", no_variables, 0), "/run/dpdk-spead/a.sock");
    EXPECT_EQ(socket_path("auto", "a", xdg, 7), "/run/user/7/dpdk-spead/a.sock");
    const auto service = [](const char* variable) {
        return std::string_view(variable) == "RUNTIME_DIRECTORY" ? "/run/dpdk-spead/x" : nullptr;
    };
    EXPECT_EQ(socket_path("auto", "a", service, 7), "/run/dpdk-spead/x/dpdk-spead/a.sock");
    EXPECT_EQ(socket_path("/tmp/x", "a", xdg, 7), "/tmp/x");
    EXPECT_THAT(test::passing_error_of([&] { socket_path("auto", "a", no_variables, 7); }),
                HasSubstr("XDG_RUNTIME_DIR"));
}

TEST(Greeting, ComesBack) {
    for (const bool keys : {true, false}) {
        std::string text = Greeting{keys, "/a b/c"}.text();
        ASSERT_EQ(text.back(), '\n');
        text.pop_back();
        const auto parsed = Greeting::parse(text);
        ASSERT_TRUE(parsed.has_value());
        EXPECT_EQ(parsed->interactive, keys);
        EXPECT_EQ(parsed->directory, "/a b/c");
    }
    EXPECT_TRUE(Greeting::parse("dpdk-spead-attach 1 command /x")->lone);
    EXPECT_FALSE(Greeting::parse("dpdk-spead-attach 1 commands /x")->lone);
    EXPECT_FALSE(Greeting::parse("GET / HTTP/1.0"));
    EXPECT_FALSE(Greeting::parse("dpdk-spead-attach 1 something"));
    EXPECT_FALSE(Greeting::parse(""));
}

TEST(Frame, ComesBackFromAnyCut) {
    const std::string bytes =
        Frame{'o', "two\nlines"}.bytes() + Frame{'e', ""}.bytes() + Frame{'s', "2"}.bytes();
    std::string buffer;
    std::vector<std::string> seen;
    for (const char c : bytes) {
        buffer += c;
        while (const auto frame = Frame::take(buffer))
            seen.push_back(frame->kind + frame->text);
    }
    EXPECT_THAT(seen, ElementsAre("otwo\nlines", "e", "s2"));
    EXPECT_TRUE(buffer.empty());
}

TEST(Frame, OtherBytesAreRefused) {
    for (std::string bytes :
         {"HTTP/1.1 400 Bad Request\r\n", "o -1\n", "o 99999999999999999999\n", "x 1\na",
          "oooooooooooooooooooooooooooooooooooooooooo", "o 00000000000000000000000000000000000001\na"})
        EXPECT_THROW(Frame::take(bytes), Error) << bytes;
}

TEST_F(ControlSocketTest, IsForItsUserOnlyAndGoesWithItsOwner) {
    {
        const ControlSocket socket(path());
        struct stat there {};
        ASSERT_EQ(stat(path().c_str(), &there), 0);
        EXPECT_EQ(there.st_mode & 0777u, 0600u);
        EXPECT_EQ(who_listens(path()), getpid());
        const FileDescriptor client = connect_to(path(), no_variables, geteuid());
        EXPECT_TRUE(client);
        std::string refusal;
        FileDescriptor connection;
        EXPECT_EQ(socket.accept(connection, refusal), 0);
        EXPECT_TRUE(connection);
        EXPECT_EQ(refusal, "");
    }
    EXPECT_TRUE(fs::is_empty(directory_)) << "nor anything beside it";
}

/// Listens and accepts nobody. Its backlog is full.
class Full {
  public:
    explicit Full(const std::string& path) : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        const auto* const where = reinterpret_cast<const sockaddr*>(&address);
        EXPECT_EQ(bind(listener_.get(), where, sizeof address), 0);
        EXPECT_EQ(listen(listener_.get(), 0), 0);
        for (;;) {
            FileDescriptor waiting(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
            if (connect(waiting.get(), where, sizeof address) != 0)
                break;
            waiting_.push_back(std::move(waiting));
        }
        EXPECT_EQ(errno, EAGAIN);
    }

  private:
    FileDescriptor listener_;
    std::vector<FileDescriptor> waiting_;
};

TEST_F(ControlSocketTest, OneThatAcceptsNobodyIsAliveAndKeepsNobodyWaiting) {
    const Full full(path());
    EXPECT_EQ(who_listens(path()), 0);
    EXPECT_THAT(refusal([&] { ControlSocket second(path()); }),
                HasSubstr("a process already listens at this path"));
    EXPECT_TRUE(fs::exists(path()));
}

TEST_F(ControlSocketTest, ALockOnTheDirectoryHoldsNobodyUp) {
    const FileDescriptor held(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
    const ControlSocket socket(path());
    EXPECT_EQ(who_listens(path()), getpid());
}

TEST_F(ControlSocketTest, ALivingOneIsRefusedWithItsProcess) {
    const ControlSocket first(path());
    const std::string why = refusal([&] { ControlSocket second(path()); });
    EXPECT_THAT(why, HasSubstr(fmt::format("process {}", getpid())));
    EXPECT_THAT(why, HasSubstr("dpdk-spead attach"));
    EXPECT_TRUE(fs::exists(path()));
}

TEST_F(ControlSocketTest, ADeadOneIsReplaced) {
    {
        // A process that was killed leaves its file.
        const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path().copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        close(dead);
    }
    ASSERT_TRUE(fs::exists(path()));
    EXPECT_EQ(who_listens(path()), std::nullopt);
    const ControlSocket socket(path());
    EXPECT_EQ(who_listens(path()), getpid());
}

TEST_F(ControlSocketTest, FilesAreLeftAlone) {
    std::ofstream(path()) << "mine";
    EXPECT_THAT(refusal([&] { ControlSocket socket(path()); }), HasSubstr("not a socket"));
    EXPECT_TRUE(fs::exists(path()));
}

TEST_F(ControlSocketTest, WorksWhereItsPathLedAtTheStart) {
    fs::create_directory(directory_ / "dpdk-spead");
    fs::create_directory(directory_ / "other");
    std::ofstream(directory_ / "other/p.sock") << "another's";
    {
        const ControlSocket socket((directory_ / "dpdk-spead/p.sock").string());
        fs::rename(directory_ / "dpdk-spead", directory_ / "moved");
        fs::create_directory_symlink("other", directory_ / "dpdk-spead");
    }
    EXPECT_TRUE(fs::is_empty(directory_ / "moved"));
    EXPECT_TRUE(fs::exists(directory_ / "other/p.sock")) << "it is not ours to remove";
}

TEST_F(ControlSocketTest, FollowsNoLinkOfOthers) {
    fs::create_directory(directory_ / "victim");
    fs::create_directory_symlink("victim", directory_ / "link");
    const std::string in_link = (directory_ / "link/p.sock").string();
    {
        const TrustedUsersInstead nobody({});
        EXPECT_THAT(refusal([&] { ControlSocket socket(in_link); }), HasSubstr("leads through `link`"));
    }
    EXPECT_TRUE(fs::is_empty(directory_ / "victim"));
    const ControlSocket socket(in_link);
    EXPECT_EQ(who_listens(in_link), getpid());
}

TEST_F(ControlSocketTest, WhatCannotBeIsRefused) {
    EXPECT_THROW(ControlSocket("/nonexistent/directory/p.sock"), Error);
    EXPECT_THROW(ControlSocket((directory_ / std::string(200, 'x')).string()), UsageError);
}

TEST_F(ControlSocketTest, IsFoundByItsNameAndUnderNoOtherUsersProcess) {
    const std::string session = directory_.string();
    const auto environment = [&session](const char* variable) {
        return std::string_view(variable) == "XDG_RUNTIME_DIR" ? session.c_str() : nullptr;
    };
    const std::string name = fmt::format("unit{}", getpid());
    const ControlSocket socket(socket_path(session + "/dpdk-spead/" + name + ".sock", name, environment, 7));
    EXPECT_TRUE(connect_to(name, environment, geteuid()));
    fs::create_symlink(socket.path(), session + "/dpdk-spead/link" + name + ".sock");
    EXPECT_THAT(refusal([&] { connect_to("link" + name, environment, geteuid()); }),
                AllOf(HasSubstr("nothing listens at `link"), HasSubstr("but at "), HasSubstr(name)));
    if (geteuid() == 0) {
        // Only root and the owner of the directory may listen there.
        ASSERT_EQ(chown((session + "/dpdk-spead").c_str(), 65534, 65534), 0);
        EXPECT_THAT(refusal([&] { connect_to(name, environment, 65533); }), HasSubstr("nothing listens"));
    }
}

TEST_F(ControlSocketTest, NobodyThereIsTold) {
    EXPECT_THAT(refusal([&] { connect_to(path(), no_variables, 7); }), HasSubstr("nothing listens"));
    EXPECT_THAT(refusal([&] { connect_to("no-such-process", no_variables, 7); }),
                HasSubstr("no-such-process"));
}

}  // namespace
}  // namespace spead::app
