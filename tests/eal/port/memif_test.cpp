// SPDX-License-Identifier: BSD-3-Clause
// net_memif needs two processes: the second one is this binary again, running one of the MemifPeer tests,
// which are disabled so that they run only when asked for by name.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/dpdk_version.hpp"
#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kFrames = 5000;
constexpr std::size_t kLongest = 9042;
constexpr std::uint16_t kSegment = 2000;

std::size_t length_of(std::uint32_t number) {
    return 60 + (number * 977) % (kLongest - 59);
}

/// Polls `done` until it is true; false after two minutes.
bool eventually(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{2};
    while (std::chrono::steady_clock::now() < end) {
        if (done()) {
            return true;
        }
        sched_yield();
    }
    return false;
}

PortRequest memif_request(const std::string& device, std::uint16_t rx, std::uint16_t tx) {
    return request(device, rx, tx, 9000);
}

/// Sends frames in segments of `segment` bytes, or in one where the port cannot send chains.
void send_frames(Port& port, std::uint32_t count, std::uint16_t segment = kSegment) {
    if (!port.capabilities().tx_multi_segment)
        segment = kLongest;
    const Pool pool(1023, static_cast<std::uint16_t>(segment + RTE_PKTMBUF_HEADROOM));
    const auto tx = port.tx_queue(0);
    for (std::uint32_t i = 0; i < count; ++i) {
        rte_mbuf* packet = pool.make_chain(frame(i, length_of(i)), segment);
        ASSERT_TRUE(eventually([&] { return tx.tx_burst(&packet, 1) == 1; })) << "stuck at packet " << i;
    }
}

void expect_frames(Port& port, std::uint32_t count) {
    const auto queue = port.rx_queue(0);
    std::uint32_t next = 0;
    ASSERT_TRUE(eventually([&] {
        port.poll_link();
        for (const auto& packet : receive(queue, 32, 1)) {
            if (packet != frame(next, length_of(next))) {
                ADD_FAILURE() << "packet " << next << " is not what was sent";
            }
            ++next;
        }
        return next >= count || testing::Test::HasFailure();
    })) << "only "
        << next << " packets came";
    EXPECT_EQ(next, count);
}

/// Runs the other process.
class Peer {
  public:
    Peer(const std::string& part, const std::string& device) {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, channel_), 0);
        const std::string filter = "--gtest_filter=MemifPeer.DISABLED_" + part;
        std::vector<std::string> words{"/proc/self/exe", filter, "--gtest_also_run_disabled_tests",
                                       "--gtest_brief=1"};
        std::vector<char*> arguments;
        for (auto& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        ::setenv("SPEAD_TEST_MEMIF_DEVICE", device.c_str(), 1);
        ::setenv("SPEAD_TEST_MEMIF_CHANNEL", std::to_string(channel_[1]).c_str(), 1);
        ::setenv("GTEST_OUTPUT", "", 1);  // the parent's report is not the child's to overwrite
        EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ), 0);
        ::close(channel_[1]);
    }
    ~Peer() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(channel_[0]);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Waits until the peer says that it has come so far; false when it ended instead.
    bool wait() const {
        char byte = 0;
        return ::read(channel_[0], &byte, 1) == 1;
    }
    void go_on() const { EXPECT_EQ(::write(channel_[0], "g", 1), 1); }
    void kill() const { ::kill(pid_, SIGKILL); }
    int exit_status() {
        int status = -1;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }

  private:
    int channel_[2]{-1, -1};
    pid_t pid_ = -1;
};

std::string device_of_peer() {
    return std::getenv("SPEAD_TEST_MEMIF_DEVICE");
}
int channel_of_peer() {
    return std::atoi(std::getenv("SPEAD_TEST_MEMIF_CHANNEL"));
}
void tell_parent() {
    ASSERT_EQ(::write(channel_of_peer(), "p", 1), 1);
}
void wait_for_parent() {
    char byte = 0;
    ASSERT_EQ(::read(channel_of_peer(), &byte, 1), 1);
}

/// Sends frames to the parent when it has come, and then runs `before_stop`.
void send_to_parent(
    std::uint16_t rx_queues, std::uint32_t count, std::uint16_t segment = kSegment,
    const std::function<void()>& before_stop = [] {}) {
    auto port = open_port(memif_request(device_of_peer(), rx_queues, 1));
    port->start();
    ASSERT_TRUE(eventually([&] { return port->poll_link(); }));
    ASSERT_NO_FATAL_FAILURE(send_frames(*port, count, segment));
    before_stop();
    port->stop();
    EXPECT_THAT(port->remarks(), IsEmpty());
}

// These are no tests: they are what Peer runs in the other process, and do nothing without a parent.

TEST(MemifPeer, DISABLED_Sends) {
    send_to_parent(0, kFrames);
}

TEST(MemifPeer, DISABLED_SendsSingleSegments) {
    send_to_parent(1, kFrames, kLongest);
}

TEST(MemifPeer, DISABLED_SendsAFewBeforeAnyIsFetched) {
    // The parent waits for that, or for the end.
    send_to_parent(0, 500, kSegment, tell_parent);
}

TEST(MemifPeer, DISABLED_Listens) {
    auto port = open_port(memif_request(device_of_peer(), 1, 1));
    port->start();
    tell_parent();
    wait_for_parent();
}

class MemifPort : public testing::Test {
  protected:
    MemifPort() { setenv("RUNTIME_DIRECTORY", directory_.file("").c_str(), 1); }
    ~MemifPort() override { unsetenv("RUNTIME_DIRECTORY"); }
    std::string device(const std::string& role) const {
        return "net_memif0,role=" + role + ",socket=" + directory_.file("memif.sock") + ",socket-abstract=no";
    }
    /// Returns the socket path at which both ends meet by default.
    std::string own_socket() const { return directory_.file("") + "/dpdk-spead/memif.sock"; }
    Directory directory_;
};

TEST_F(MemifPort, AServerReceivesEveryPacketOfAClientWhole) {
    auto port = open_port(memif_request(device("server"), 1, 0));
    port->start();
    EXPECT_FALSE(port->link_up());
    Peer peer("Sends", device("client"));
    expect_frames(*port, kFrames);
    EXPECT_TRUE(eventually([&] { return receive(port->rx_queue(0), 1, 1).empty() && !port->poll_link(); }));
    EXPECT_EQ(peer.exit_status(), 0);
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

/// Has mbufs that are shorter than the frames.
TEST_F(MemifPort, AServerReceivesFramesThatAreLongerThanItExpectsWhole) {
    auto port = open_port(request(device("server"), 1, 1, 1472));
    port->start();
    Peer peer("SendsSingleSegments", device("client"));
    ASSERT_LT(rte_pktmbuf_data_room_size(port->rx_pool(0)), kLongest);
    expect_frames(*port, kFrames);
    EXPECT_EQ(peer.exit_status(), 0);
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

TEST_F(MemifPort, AClientThatStartsFirstWaitsForItsServerAndReceivesEveryPacket) {
    auto port = open_port(memif_request(device("client"), 1, 0));
    port->start();
    EXPECT_FALSE(port->started());
    EXPECT_FALSE(port->poll_link());
    EXPECT_TRUE(receive(port->rx_queue(0), 1, 10).empty());
    Peer peer("Sends", device("server"));
    ASSERT_TRUE(eventually([&] { return port->poll_link(); }));
    expect_frames(*port, kFrames);
    EXPECT_EQ(peer.exit_status(), 0);
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

/// Makes rings of 4096 slots: a segment may take a slot, and the packets must fit before one is fetched.
const std::string kRoomForChains = ",rsize=12";

TEST_F(MemifPort, StoppingAClientWaitsUntilWhatItSentIsFetched) {
    auto port = open_port(memif_request(device("server") + kRoomForChains, 1, 0));
    port->start();
    Peer peer("SendsAFewBeforeAnyIsFetched", device("client") + kRoomForChains);
    ASSERT_TRUE(peer.wait());
    expect_frames(*port, 500);
    EXPECT_EQ(peer.exit_status(), 0);
}

TEST_F(MemifPort, StoppingAServerWaitsUntilWhatItSentIsFetched) {
    auto port = open_port(memif_request(device("client") + kRoomForChains, 1, 0));
    Peer peer("SendsAFewBeforeAnyIsFetched", device("server") + kRoomForChains);
    port->start();
    ASSERT_TRUE(eventually([&] { return port->poll_link(); }));
    // The client offers its slots when it polls for the first time.
    std::array<rte_mbuf*, 1> none{};
    ASSERT_EQ(port->rx_queue(0).rx_burst(none.data(), 1), 0);
    ASSERT_TRUE(peer.wait());
    expect_frames(*port, 500);
    EXPECT_EQ(peer.exit_status(), 0);
}

TEST_F(MemifPort, APeerThatDiesTakesTheLinkDownAndAnotherMayCome) {
    auto port = open_port(memif_request(device("server"), 1, 1));
    port->start();
    for (int round = 0; round < 2; ++round) {
        Peer peer("Listens", device("client"));
        ASSERT_TRUE(peer.wait());
        ASSERT_TRUE(eventually([&] { return port->poll_link(); }));
        peer.kill();
        ASSERT_TRUE(eventually([&] { return !port->poll_link(); }));
        const Pool pool;
        rte_mbuf* packet = pool.make(frame(1, 100));
        EXPECT_EQ(port->tx_queue(0).tx_burst(&packet, 1), 0);
        rte_pktmbuf_free(packet);
    }
}

TEST_F(MemifPort, StoppingWithAPeerThatFetchesNothingGivesUpAndSaysSo) {
    auto port = open_port(memif_request(device("client"), 1, 1));
    Peer peer("Listens", device("server"));
    ASSERT_TRUE(peer.wait());
    port->start();
    ASSERT_TRUE(eventually([&] { return port->poll_link(); }));
    const Pool pool;
    const std::size_t length = port->capabilities().tx_multi_segment ? 300 : 100;
    for (std::uint32_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(send(port->tx_queue(0), pool.make_chain(frame(i, length), 100)));
    }
    port->stop();
    EXPECT_THAT(port->remarks(), ElementsAre("port p0: the peer did not fetch the last 5 packets"));
    peer.go_on();
    EXPECT_EQ(peer.exit_status(), 0);
}

TEST_F(MemifPort, StartStopAndCloseMayBeRepeatedAndTheSocketBelongsToTheOpenPort) {
    for (int round = 0; round < 3; ++round) {
        auto port = open_port(memif_request(device("server"), 1, 1));
        port->start();
        port->start();
        EXPECT_TRUE(port->started());
        EXPECT_FALSE(port->link_up());
        port->stop();
        port->stop();
        port->start();
        port->close();
        port->close();
        EXPECT_FALSE(std::filesystem::exists(directory_.file("memif.sock")));
    }
}

TEST_F(MemifPort, ASlotHoldsTheLargestFrameOfEitherDirection) {
    const auto devargs = [&](const PortRequest& r) {
        std::string text = plan(r).devargs;
        const std::string meeting = ",socket-abstract=no,socket=" + own_socket();
        const auto at = text.find(meeting);
        EXPECT_NE(at, std::string::npos) << text;
        return at == std::string::npos ? text : text.erase(at, meeting.size());
    };
    EXPECT_EQ(devargs(request("net_memif0,role=client", 1, 0, 1472)), "net_memif0,role=client,bsize=2048");
    EXPECT_EQ(devargs(request("net_memif0,role=client", 1, 0, 9200)), "net_memif0,role=client,bsize=9280");
    auto both = request("net_memif0,role=client", 1, 1, 1472);
    both.max_tx_packet = 8000;
    EXPECT_EQ(devargs(both), "net_memif0,role=client,bsize=8064");
    // A server's selects the PMD's paths, where it has several.
    const bool paths = dpdk::memif_has_fast_paths(dpdk::running_version());
    EXPECT_EQ(devargs(request("net_memif0,role=server", 1, 1, 9200)),
              std::string("net_memif0,role=server") + (paths ? ",bsize=65535" : ""));
    EXPECT_EQ(devargs(request("net_memif0,role=server,bsize=9", 0, 1, 9200)),
              std::string("net_memif0,role=server,bsize=") + (paths ? "1" : "9"));
    EXPECT_EQ(devargs(request("net_memif0,role=client,bsize=10000", 1, 0, 9200)),
              "net_memif0,role=client,bsize=10000");
    both.buffer_size = std::size_t{16} << 20;
    EXPECT_EQ(devargs(both), "net_memif0,role=client,bsize=8064,rsize=12");
    const auto p = plan(both);
    EXPECT_EQ(p.rx.descriptors, 4096);
    EXPECT_EQ(p.outside_bytes, 2U * 4096 * (8064 + 16));
    EXPECT_EQ(p.capabilities.max_tx_frame, 8064U);
}

TEST_F(MemifPort, AServerOfEalWhoseSizeSelectsAnUncheckedPathIsSaidToBeDangerous) {
    const auto remarks = [](const std::string& device, std::uint16_t rx, std::uint16_t tx) {
        auto r = request(device, rx, tx);
        r.exists = true;
        return plan(r).remarks;
    };
    if (dpdk::memif_has_fast_paths(dpdk::running_version()))
        EXPECT_THAT(remarks(device("server"), 1, 0),
                    ElementsAre(HasSubstr("overwrite memory; give net_memif0 bsize=65535")));
    else
        EXPECT_THAT(remarks(device("server"), 1, 0), IsEmpty());
    EXPECT_THAT(remarks(device("server"), 0, 1), IsEmpty());
    EXPECT_THAT(remarks(device("client"), 1, 0), IsEmpty());
}

TEST_F(MemifPort, TheSocketIsThisUsersAlone) {
    for (const std::string& named : {device("server"), std::string("net_memif0,role=server")}) {
        const auto before = umask(0);
        const auto port = open_port(memif_request(named, 1, 0));
        EXPECT_EQ(umask(before), 0u) << "as it was";
        const std::string path = named == device("server") ? directory_.file("memif.sock") : own_socket();
        struct stat facts {};
        ASSERT_EQ(stat(path.c_str(), &facts), 0) << path;
        EXPECT_TRUE(S_ISSOCK(facts.st_mode));
        EXPECT_EQ(facts.st_mode & 07777, 0600u);
    }
}

TEST_F(MemifPort, AnAbstractAddressIsSaidToBeOpenToAll) {
    EXPECT_THAT(plan(request("net_memif0,role=server,socket-abstract=yes", 1, 0)).remarks,
                ElementsAre(HasSubstr("every local user can connect to the abstract address of net_memif0")));
    EXPECT_THAT(plan(request("net_memif0,role=server", 1, 0)).remarks, IsEmpty());
    EXPECT_THAT(plan(request("net_memif0,role=server,socket-abstract=yes", 1, 0)).devargs,
                HasSubstr(",socket=/run/memif.sock"))
        << "where the PMD's own default is";
}

TEST_F(MemifPort, WithoutADirectoryOfItsOwnTheSocketMustBeNamed) {
    if (geteuid() == 0)
        GTEST_SKIP() << "root has /run/dpdk-spead";
    unsetenv("RUNTIME_DIRECTORY");
    const char* const session = std::getenv("XDG_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    EXPECT_THAT(error_of([] { plan(request("net_memif0,role=server", 1, 0)); }),
                HasSubstr("give socket=PATH"));
    if (session != nullptr)
        setenv("XDG_RUNTIME_DIR", session, 1);
}

TEST_F(MemifPort, AClientDoesNotConnectToAStrangersSocketWhereAnybodyCanMakeOne) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can give files to others";
    Peer peer("Listens", device("server"));
    ASSERT_TRUE(peer.wait());
    const auto path = directory_.file("memif.sock");
    ASSERT_EQ(lchown(path.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(directory_.file("").c_str(), 01777), 0);
    const auto port = open_port(memif_request(device("client"), 1, 0));
    testing::internal::CaptureStderr();
    port->start();
    for (int i = 0; i < 20; i++) {
        EXPECT_FALSE(port->poll_link());
        EXPECT_FALSE(port->started());
    }
    // The directory's owner decides where the socket is.
    ASSERT_EQ(chmod(directory_.file("").c_str(), 0755), 0);
    EXPECT_TRUE(eventually([&] { return port->poll_link(); }));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is user 65534's"));
}

TEST_F(MemifPort, ADefaultRoleIsSaid) {
    EXPECT_THAT(
        plan(request("net_memif0", 1, 0)).remarks,
        ElementsAre("port p0: net_memif0 has no role=, so it is the client; its peer needs role=server"));
}

TEST_F(MemifPort, WrongRequestsAreRefusedWithTheReason) {
    const auto refuse = [](const std::string& device, std::uint32_t packet = 1472) {
        return error_of([&] { open_port(request(device, 1, 1, packet)); });
    };
    EXPECT_EQ(
        refuse("net_memif0,role=client,bsize=2048", 9000),
        "port p0: bsize 2048 is too small: packets of 9000 bytes of UDP payload + 42 of headers are frames "
        "of 9042, "
        "and memif corrupts frames above bsize; give bsize=9088, or leave it out, or lower the packet size");
    EXPECT_THAT(refuse("net_memif0,role=client", 65500), HasSubstr("memif's largest bsize is 65535"));
    EXPECT_THAT(refuse("net_memif0,role=guest"),
                HasSubstr("role=guest of net_memif0 is neither client nor server"));
    EXPECT_THAT(refuse("net_memif0,rsize=15"),
                HasSubstr("rsize=15 of net_memif0 is not a number from 1 to 14"));
    EXPECT_THAT(refuse("net_memif0,zero-copy=yes"), HasSubstr("is not supported"));
    EXPECT_THAT(refuse("net_memif0,sock=/tmp/x"), HasSubstr("has no parameter \"sock\""));
    EXPECT_THAT(refuse("net_memif0,socket-abstract=maybe"), HasSubstr("neither yes nor no"));
    EXPECT_THAT(refuse("net_memif0,socket=" + std::string(107, 'x')), HasSubstr("has 107 characters"));
    EXPECT_THAT(refuse("net_memif0,socket-abstract=no,socket=x"), HasSubstr("x is not an absolute path"));
    EXPECT_THAT(refuse("net_memif0,socket-abstract=no,socket=/nowhere/x"),
                HasSubstr("there is no directory /nowhere"));
}

TEST_F(MemifPort, ASocketThatIsThereAlreadyIsRefusedWithTheReasonUnlessItIsDead) {
    const auto path = directory_.file("memif.sock");
    std::ofstream(path) << "text";
    EXPECT_THAT(error_of([&] { open_port(memif_request(device("server"), 1, 0)); }),
                HasSubstr("is not a socket"));
    std::filesystem::remove(path);
    {
        Peer peer("Listens", device("server"));
        ASSERT_TRUE(peer.wait());
        EXPECT_THAT(error_of([&] { open_port(memif_request(device("server"), 1, 0)); }),
                    HasSubstr("is in use by another process"));
        peer.kill();
        EXPECT_NE(peer.exit_status(), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(path)) << "what a killed process leaves";
    const auto port = open_port(memif_request(device("server"), 1, 0));
    EXPECT_TRUE(port->capabilities().needs_peer);
}

/// Checks that a look at a socket in use opens no short-lived connection: EAL's interrupt thread would
/// sometimes die of one.
TEST_F(MemifPort, ALookAtASocketInUseIsNoConnection) {
    Peer peer("Listens", device("server"));
    ASSERT_TRUE(peer.wait());
    for (int i = 0; i < 200; i++) {
        EXPECT_THAT(error_of([&] { open_port(memif_request(device("server"), 1, 0)); }),
                    HasSubstr("is in use by another process"));
    }
    peer.go_on();
    EXPECT_EQ(peer.exit_status(), 0);
}

/// Stops clients right after their start. Without care, EAL's interrupt thread panics in one server of a few.
TEST_F(MemifPort, AServerOutlivesClientsThatStopAsSoonAsTheyHaveStarted) {
    Peer peer("Listens", device("server"));
    ASSERT_TRUE(peer.wait());
    auto port = open_port(memif_request(device("client"), 1, 0));
    for (int i = 0; i < 100; i++) {
        port->start();
        ASSERT_TRUE(port->started()) << "round " << i;
        port->stop();
    }
    peer.go_on();
    EXPECT_EQ(peer.exit_status(), 0);
}

/// Checks that a client knows its own connection. If not, it takes the connection for a refused one and
/// begins anew, in the midst of the greeting.
TEST_F(MemifPort, AClientKnowsItsConnectionHoweverTheSocketIsSpelled) {
    Peer peer("Listens", device("server"));
    ASSERT_TRUE(peer.wait());
    auto port = open_port(memif_request(
        "net_memif0,role=client,socket=" + directory_.file("./memif.sock") + ",socket-abstract=no", 1, 0));
    for (int i = 0; i < 100; i++) {
        port->start();
        port->poll_link();
        ASSERT_TRUE(port->started()) << "round " << i;
        ASSERT_TRUE(eventually([&] { return port->poll_link(); }));
        port->stop();
    }
    peer.go_on();
    EXPECT_EQ(peer.exit_status(), 0);
}

}  // namespace
}  // namespace spead::port::test
