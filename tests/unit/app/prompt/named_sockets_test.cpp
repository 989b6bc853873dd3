// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/named_sockets.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

/// Makes a machine below a directory. One user owns everything there.
class NamedSockets : public testing::Test {
  protected:
    NamedSockets() {
        std::string pattern = testing::TempDir() + "/named-XXXXXX";
        root_ = mkdtemp(pattern.data());
    }
    ~NamedSockets() override { fs::remove_all(root_); }

    /// Makes a socket at which nobody listens.
    std::string make(const std::string& path) const {
        fs::create_directories((root_ / path).parent_path());
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::string made = (root_ / path).string();
        made.copy(address.sun_path, sizeof address.sun_path - 1);
        const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << made;
        close(fd);
        return made;
    }
    std::vector<NamedSocket> sockets(uid_t user) const {
        return named_sockets({[this](const char* name) -> const char* {
                                  return std::string_view(name) == "XDG_RUNTIME_DIR" ? session_.c_str()
                                                                                     : nullptr;
                              },
                              user, root_.string()});
    }

    const uid_t owner_ = geteuid();
    const uid_t other_ = geteuid() + 1;
    fs::path root_;
    std::string session_;
};

TEST_F(NamedSockets, OfThisUserAndOfServices) {
    const std::string own = make("session/dpdk-spead/b.sock");
    const std::string service = make("run/dpdk-spead/x/dpdk-spead/a.sock");
    session_ = (root_ / "session").string();
    EXPECT_THAT(sockets(owner_),
                ElementsAre(NamedSocket{"b", own, owner_}, NamedSocket{"a", service, owner_}));
}

TEST_F(NamedSockets, OfOtherUsersSessionsAreLeftOut) {
    make("run/user/7/dpdk-spead/a.sock");
    make("tmp/dpdk-spead/a.sock");
    const std::string roots = make("run/dpdk-spead/b.sock");
    if (owner_ != 0) {
        EXPECT_THAT(sockets(other_), ElementsAre(NamedSocket{"b", roots, owner_}));
    }
    make("run/open/dpdk-spead/c.sock");
    ASSERT_EQ(chmod((root_ / "run/open/dpdk-spead").c_str(), 0777), 0);
    for (const NamedSocket& s : sockets(other_))
        EXPECT_NE(s.name, "c") << "anybody can have made it";
}

TEST_F(NamedSockets, FilesAndLinksAreNone) {
    const std::string made = make("run/dpdk-spead/a.sock");
    std::ofstream(root_ / "run/dpdk-spead/file.sock");
    make("run/dpdk-spead/other");
    fs::create_symlink(made, root_ / "run/dpdk-spead/link.sock");
    EXPECT_THAT(sockets(owner_), ElementsAre(NamedSocket{"a", made, owner_}));
}

}  // namespace
}  // namespace spead::app
