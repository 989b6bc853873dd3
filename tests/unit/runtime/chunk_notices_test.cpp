// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_notices.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "runtime/chunk_sink.hpp"
#include "tests/unit/runtime/chunk_rig.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

constexpr const char* kFour = "heap 4; time: item 0x1600 / 4096 [4]; extra u16: item 0x3102 >> 32";

/// Gives a chunk to a sink, over and over, until a client that has connected before gets its notice.
nlohmann::json notice_of(const SinkPlan& sink_plan, const std::string& socket_path) {
    ReceivePlan plan;
    plan.name = "s0";
    plan.sink = sink_plan;
    plan.sink.notify = "unix:" + socket_path;
    plan.chunk.emplace().placement = kFour;
    const auto sink = make_chunk_sink(plan);
    const FileDescriptor client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, socket_path.c_str(), sizeof to.sun_path - 1);
    EXPECT_EQ(connect(client.get(), static_cast<sockaddr*>(static_cast<void*>(&to)), sizeof to), 0);
    ChunkRig rig(kFour);
    const auto nothing = [](chunk::Chunk&) {};
    std::string text;
    for (std::int64_t id = 1; text.find('\n') == std::string::npos && id < 100'000; id++) {
        bool kept = false;
        sink->give_chunk(rig.chunk(id, {0, 2, 3}, nothing), [&kept](bool k) { kept = k; });
        sink->settle();
        EXPECT_TRUE(kept);
        std::array<char, 4096> more{};
        const ssize_t n = ::recv(client.get(), more.data(), more.size(), MSG_DONTWAIT);
        text.append(more.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        std::this_thread::yield();
    }
    sink->end();
    return nlohmann::json::parse(text.substr(0, text.find('\n')));
}

TEST(ChunkNotices, SayWhatIsKnownOfAChunk) {
    const Directory directory;
    const nlohmann::json notice = notice_of({}, directory.file("s"));
    EXPECT_GT(notice["notice"], 0);
    EXPECT_EQ(notice["lost"], 0);
    EXPECT_EQ(notice["stream"], "s0");
    EXPECT_GT(notice["chunk"], 0);
    EXPECT_EQ(notice["complete"], false);
    EXPECT_EQ(notice["missing"], (nlohmann::json{{1, 2}}));
    EXPECT_EQ(notice["placement"], chunk::Placement::parse(kFour).text());
    EXPECT_FALSE(notice.contains("path"));
}

TEST(ChunkNotices, SayWhereAFileHasIt) {
    const Directory directory;
    SinkPlan plan{SinkKind::file, directory.file("out")};
    nlohmann::json notice = notice_of(plan, directory.file("s"));
    EXPECT_EQ(notice["path"],
              directory.file("out/s0-chunk-" + std::to_string(notice["chunk"].get<int>()) + ".bin"));
    EXPECT_EQ(notice["presence"], (nlohmann::json{{"offset", 16}, {"bytes", 4}}));
    plan = {SinkKind::raw, directory.file("raw")};
    notice = notice_of(plan, directory.file("s"));
    EXPECT_EQ(notice["path"], directory.file("raw/s0.raw"));
    const std::uint64_t offset = 28 * (notice["chunk"].get<std::uint64_t>() - 1);
    EXPECT_EQ(notice["payload"], (nlohmann::json{{"offset", offset}, {"bytes", 16}}));
    EXPECT_EQ(notice["extra"], (nlohmann::json{{"offset", offset + 20}, {"bytes", 8}}));
}

/// Keeps no chunk.
class LosingSink : public ChunkSink {
  public:
    void hand_chunk(const chunk::Chunk&, const Settled& settled) noexcept override { settled(false); }
    void consume_chunk(const chunk::Chunk&) override {}
};

TEST(ChunkNotices, DoNotSpeakOfLostChunks) {
    const Directory directory;
    const auto notices =
        std::make_shared<ChunkNotices>("unix:" + directory.file("s"), "s0", chunk::Placement::parse(kFour));
    LosingSink sink;
    sink.notify(notices);
    ChunkRig rig(kFour);
    int lost = 0;
    sink.give_chunk(rig.chunk(1, {}, [](chunk::Chunk&) {}), [&lost](bool kept) { lost += kept ? 0 : 1; });
    EXPECT_EQ(lost, 1);
    EXPECT_EQ(notices.use_count(), 2) << "no notice is on its way";
    EXPECT_EQ(NoticeServer::at(parse_notice_address("unix:" + directory.file("s")))->notices(), 0U);
}

}  // namespace
}  // namespace spead::runtime::unit_test
