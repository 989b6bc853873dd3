// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/zarr_store.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/runtime/received_heaps.hpp"

namespace {

/// Names a file that appears just before renameat2() gives that name.
std::atomic<const char*> appears = nullptr;

/// Lets renameat2() refuse its flags, as NFS does. Those who name attributes wait for each other first.
std::atomic<std::barrier<>*> refuse_no_replace = nullptr;

}  // namespace

// Stands before that of the C library.
extern "C" int renameat2(int from, const char* name, int to, const char* new_name, unsigned flags) noexcept {
    if (refuse_no_replace != nullptr && flags != 0) {
        if (std::string_view(new_name) == ".zattrs")
            refuse_no_replace.load()->arrive_and_wait();
        errno = EINVAL;
        return -1;
    }
    if (appears != nullptr && std::string_view(new_name) == appears.load())
        close(openat(to, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return static_cast<int>(syscall(SYS_renameat2, from, name, to, new_name, flags));
}

namespace spead::runtime::unit_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Refusal = ZarrStore::Refusal;

ZarrContent content_of(std::uint32_t index = 0, std::uint32_t count = 1, const char* type = "u1") {
    ZarrContent content;
    content.placement =
        chunk::Placement::parse("heap 4; axis chan: item 0x4103 [2]; time: item 0x1600 / 256 [3]");
    content.type = sink::ElementType::parse(type);
    if (count > 1)
        content.column = {"chan", index, count};
    content.margin = count > 1 ? 2 : 0;
    return content;
}

/// Publishes a chunk whose payload is a letter. Returns what publish() does.
int publish(ZarrStore& store, std::int64_t id, char letter, Refusal& refusal) {
    const std::shared_ptr<sink::RawFile> part = store.open_part();
    part->use_page_cache();
    const std::string payload(24, letter);
    EXPECT_EQ(write(part->descriptor(), payload.data(), payload.size()), 24);
    const std::string presence("\1\1\1\1\0\1", 6);
    return store.publish(
        *part, payload.size(),
        {.id = id, .presence = std::as_bytes(std::span(presence)), .first_ns = 5, .last_ns = 6}, refusal);
}

Refusal publish(ZarrStore& store, std::int64_t id, char letter = 'a') {
    Refusal refusal{};
    EXPECT_EQ(publish(store, id, letter, refusal), 0);
    return refusal;
}

json json_of(const Directory& directory, const std::string& name) {
    return json::parse(text_of(directory.file("out/s0/" + name)));
}

TEST(ZarrStore, GivesChunksTheirNamesAndGrows) {
    const Directory directory;
    ZarrStore store(directory.file("out"), "s0", content_of());
    EXPECT_EQ(json_of(directory, "data/.zarray")["shape"], (json{2, 0, 4}));
    EXPECT_EQ(publish(store, 70, 'a'), Refusal::none);
    EXPECT_EQ(publish(store, 72, 'c'), Refusal::none);
    EXPECT_EQ(json_of(directory, "data/.zarray")["shape"], (json{2, 9, 4})) << "chunk 71 is missing";
    EXPECT_EQ(json_of(directory, "presence/.zarray")["shape"], (json{2, 9}));
    EXPECT_EQ(json_of(directory, "arrival/.zarray")["shape"], (json{3, 2}));
    EXPECT_EQ(text_of(directory.file("out/s0/data/0.2.0")), std::string(24, 'c'));
    EXPECT_EQ(text_of(directory.file("out/s0/presence/0.2")), std::string("\1\1\1\1\0\1", 6));
    EXPECT_EQ(text_of(directory.file("out/s0/arrival/2.0")).size(), 16U);
    EXPECT_FALSE(std::filesystem::exists(directory.file("out/s0/data/0.1.0")));
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("out/s0/.parts")));
    const json attributes = json_of(directory, "data/.zattrs");
    EXPECT_EQ(attributes["first_chunk"], 70);
    EXPECT_EQ(attributes["_ARRAY_DIMENSIONS"], (json{"chan", "time", "element"}));
    EXPECT_EQ(attributes["time"]["first"], 70 * 3 * 256);
    EXPECT_EQ(attributes["time"]["step"], 256);
    EXPECT_EQ(json_of(directory, "presence/.zattrs")["_ARRAY_DIMENSIONS"], (json{"chan", "time"}));
}

TEST(ZarrStore, TellsTheValuesOfATimeThatIsShifted) {
    const Directory directory;
    ZarrContent content;
    content.placement =
        chunk::Placement::parse("heap 4; axis chan: item 0x4103 [2]; time: item 0x1600 >> 6 / 4 [3]");
    ZarrStore store(directory.file("out"), "s0", content);
    publish(store, 70);
    const json attributes = json_of(directory, "data/.zattrs");
    EXPECT_EQ(attributes["time"]["first"], 70 * 3 * 256);
    EXPECT_EQ(attributes["time"]["step"], 256);
}

TEST(ZarrStore, OverwritesNothingAndBoundsTheArray) {
    const Directory directory;
    ZarrStore store(directory.file("out"), "s0", content_of());
    publish(store, 70, 'a');
    EXPECT_EQ(publish(store, 70, 'b'), Refusal::present);
    EXPECT_EQ(text_of(directory.file("out/s0/data/0.0.0")), std::string(24, 'a'));
    EXPECT_EQ(publish(store, 69), Refusal::before_first);
    EXPECT_EQ(publish(store, 70 + static_cast<std::int64_t>(ZarrStore::kMostChunks)), Refusal::too_far);
    EXPECT_EQ(json_of(directory, "data/.zarray")["shape"], (json{2, 3, 4}));
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("out/s0/.parts")));
}

TEST(ZarrStore, LeavesWhatAnotherWriterHasJustWritten) {
    const Directory directory;
    ZarrStore store(directory.file("out"), "s0", content_of());
    publish(store, 70);
    appears = "0.1.0";
    EXPECT_EQ(publish(store, 71, 'b'), Refusal::present);
    appears = nullptr;
    EXPECT_EQ(text_of(directory.file("out/s0/data/0.1.0")), "");
    EXPECT_TRUE(std::filesystem::exists(directory.file("out/s0/presence/0.1")));
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("out/s0/.parts")));
}

TEST(ZarrStore, GoesOnWhereAnEarlierRunEnded) {
    const Directory directory;
    publish(*std::make_unique<ZarrStore>(directory.file("out"), "s0", content_of()), 70);
    ZarrStore store(directory.file("out"), "s0", content_of());
    EXPECT_EQ(publish(store, 70), Refusal::present);
    EXPECT_EQ(publish(store, 75), Refusal::none);
    EXPECT_EQ(json_of(directory, "data/.zarray")["shape"], (json{2, 18, 4}));
}

TEST(ZarrStore, HasAColumnForEachShard) {
    const Directory directory;
    ZarrStore one(directory.file("out"), "s0", content_of(0, 2));
    ZarrStore two(directory.file("out"), "s0", content_of(1, 2));
    publish(one, 70, 'a');
    publish(two, 69, 'b');
    publish(two, 71, 'c');
    publish(one, 70, 'x');
    EXPECT_EQ(json_of(directory, "data/.zarray")["shape"], (json{4, 12, 4}));
    EXPECT_EQ(json_of(directory, "data/.zattrs")["first_chunk"], 68) << "shards may be a little behind";
    EXPECT_EQ(text_of(directory.file("out/s0/data/0.2.0")), std::string(24, 'a'));
    EXPECT_EQ(text_of(directory.file("out/s0/data/1.1.0")), std::string(24, 'b'));
    EXPECT_EQ(json_of(directory, "arrival/.zarray")["shape"], (json{4, 2, 2}));
}

TEST(ZarrStore, NeverShrinksWhatAnotherShardHasGrown) {
    const Directory directory;
    const auto shard = [&directory](std::uint32_t index) {
        ZarrStore store(directory.file("out"), "s0", content_of(index, 4));
        for (std::int64_t id = 100; id < 160; id++) {
            EXPECT_EQ(publish(store, id + index), Refusal::none);
            const json shape = json_of(directory, "data/.zarray")["shape"];
            EXPECT_GE(shape[1], (id + index - 97 + 1) * 3) << "what it has just published";
        }
    };
    std::vector<std::thread> threads;
    ZarrStore first(directory.file("out"), "s0", content_of(0, 4));
    publish(first, 99);
    for (std::uint32_t i = 0; i < 4; i++)
        threads.emplace_back(shard, i);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(json_of(directory, "data/.zarray")["shape"][1], (162 - 97 + 1) * 3);
    EXPECT_EQ(json_of(directory, "arrival/.zarray")["shape"][0], 162 - 97 + 1);
}

TEST(ZarrStore, ShardsAgreeOnTheFirstChunkWhereNoRenameKeepsAName) {
    for (int round = 0; round < 30; round++) {
        const Directory directory;
        std::barrier together(2);
        const auto shard = [&](std::uint32_t index) {
            ZarrStore store(directory.file("out"), "s0", content_of(index, 2));
            together.arrive_and_wait();
            refuse_no_replace = &together;
            together.arrive_and_wait();
            const std::int64_t id = 60 + index;
            const Refusal refusal = publish(store, id, 'a');
            const std::int64_t first = json_of(directory, "data/.zattrs")["first_chunk"];
            const std::string file = fmt::format("out/s0/data/{}.{}.0", index, id - first);
            EXPECT_EQ(refusal == Refusal::none, std::filesystem::exists(directory.file(file))) << first;
            EXPECT_EQ(publish(store, id, 'b'), refusal == Refusal::none ? Refusal::present : refusal);
        };
        std::thread other(shard, 1);
        shard(0);
        other.join();
        refuse_no_replace = nullptr;
        EXPECT_TRUE(std::filesystem::is_empty(directory.file("out/s0/.parts")));
    }
}

TEST(ZarrStore, ChangesNoMetadataWhileAnotherProcessHoldsTheLock) {
    const Directory directory;
    ZarrStore store(directory.file("out"), "s0", content_of());
    const auto length = [&] { return json_of(directory, "data/.zarray")["shape"][1]; };
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const auto hold = [&] {
        auto file = std::make_unique<FileDescriptor>(open(directory.file("out/s0/.lock").c_str(), O_RDWR));
        EXPECT_EQ(fcntl(file->get(), F_OFD_SETLK, &lock), 0);
        return file;
    };
    auto held = hold();
    EXPECT_EQ(publish(store, 70), Refusal::none);
    EXPECT_EQ(publish(store, 71), Refusal::none);
    EXPECT_EQ(length(), 0);
    held.reset();
    EXPECT_EQ(publish(store, 72), Refusal::none);
    EXPECT_EQ(length(), 9);
    held = hold();
    EXPECT_EQ(publish(store, 73), Refusal::none);
    EXPECT_EQ(store.finish(), EBUSY);
    held.reset();
    EXPECT_EQ(store.finish(), 0);
    EXPECT_EQ(length(), 12);
}

std::string refusal_of(const Directory& directory, const ZarrContent& content) {
    return error_of([&] { ZarrStore(directory.file("out"), "s0", content); });
}

TEST(ZarrStore, RefusesOtherArraysAtTheStart) {
    const Directory directory;
    publish(*std::make_unique<ZarrStore>(directory.file("out"), "s0", content_of()), 70);
    EXPECT_THAT(refusal_of(directory, content_of(0, 1, "<f4")), HasSubstr("another array is in the way"));
    EXPECT_THAT(refusal_of(directory, content_of(0, 2)), HasSubstr("`shape` is [2,3,4]"));
    ZarrContent other = content_of();
    other.placement.axes[1].term.step = 512;
    EXPECT_THAT(refusal_of(directory, other), HasSubstr("and not `item 0x1600 / 512`"));
    for (const char* const placement :
         {"heap 4; axis chan: item 0x4103 - 2 [2]; time: item 0x1600 / 256 [3]",
          "heap 4; axis pol: item 0x4103 [2]; time: item 0x1600 / 256 [3]",
          "heap 4; axis chan: item 0x4103 [2]; time: item 0x1600 / 256 [3]; extra u16: item 0x4104"}) {
        other.placement = chunk::Placement::parse(placement);
        EXPECT_THAT(refusal_of(directory, other), AllOf(HasSubstr("its placement is"), HasSubstr(placement)));
    }
    EXPECT_FALSE(std::filesystem::exists(directory.file("out/s0/extra"))) << "a refusal changes nothing";
    std::ofstream(directory.file("out/s0/data/.zattrs")) << "{\"first_chunk\": -3}";
    EXPECT_THAT(refusal_of(directory, content_of()), HasSubstr("no `first_chunk`"));
    std::ofstream(directory.file("out/s0/data/.zattrs")) << "{\"first_chunk\": 3, \"time\": 7}";
    EXPECT_THAT(refusal_of(directory, content_of()), HasSubstr("its time is 7"));
    std::ofstream(directory.file("out/s0/data/.zattrs"))
        << "{\"first_chunk\": 3, \"time\": " << std::string(450'000, '[') << std::string(450'000, ']') << '}';
    EXPECT_THAT(refusal_of(directory, content_of()), HasSubstr("no `first_chunk`"));
    std::ofstream(directory.file("out/s0/data/.zattrs")) << "{\"first_chunk\": 9223372036854775808}";
    EXPECT_THAT(refusal_of(directory, content_of()), HasSubstr("no `first_chunk`"));
    std::ofstream(directory.file("out/s0/.zarray")) << "{}";
    EXPECT_THAT(refusal_of(directory, content_of()), HasSubstr("this directory is a Zarr array"));
}

TEST(ZarrStore, TellsOfAnArrayThatWasExchangedMeanwhile) {
    const Directory directory;
    ZarrStore store(directory.file("out"), "s0", content_of());
    publish(store, 70);
    std::ofstream(directory.file("out/s0/data/.zarray")) << "{}";
    Refusal refusal{};
    EXPECT_EQ(publish(store, 71, 'a', refusal), ESTALE);
    EXPECT_FALSE(std::filesystem::exists(directory.file("out/s0/data/0.1.0"))) << "nothing of it is left";
    EXPECT_FALSE(std::filesystem::exists(directory.file("out/s0/presence/0.1")));
}

/// Runs `use` in another process. Returns whether it returned true.
bool in_another_process(const std::function<bool()>& use) {
    const pid_t child = fork();
    if (child == 0)
        _exit(use() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Has another process write a column during its life.
class OtherWriter {
  public:
    OtherWriter(const Directory& directory, const ZarrContent& content) {
        EXPECT_EQ(pipe(ready_.data()), 0);
        child_ = fork();
        if (child_ == 0) {
            const ZarrStore store(directory.file("out"), "s0", content);
            EXPECT_EQ(write(ready_[1], "r", 1), 1);
            pause();
        }
        char byte = 0;
        EXPECT_EQ(read(ready_[0], &byte, 1), 1);
    }
    ~OtherWriter() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        close(ready_[0]);
        close(ready_[1]);
    }
    OtherWriter(const OtherWriter&) = delete;
    OtherWriter& operator=(const OtherWriter&) = delete;

  private:
    std::array<int, 2> ready_{};
    pid_t child_ = 0;
};

TEST(ZarrStore, LetsOneProcessWriteAColumn) {
    const Directory directory;
    {
        const OtherWriter other(directory, content_of(0, 2));
        EXPECT_THAT(refusal_of(directory, content_of(0, 2)), HasSubstr("another process writes column 0"));
        ZarrStore next(directory.file("out"), "s0", content_of(1, 2));
        EXPECT_EQ(publish(next, 3), Refusal::none);
    }
    const ZarrStore store(directory.file("out"), "s0", content_of(0, 2));
    const ZarrStore successor(directory.file("out"), "s0", content_of(0, 2));
}

TEST(ZarrStore, RemovesWhatAKilledProcessLeft) {
    const Directory directory;
    EXPECT_TRUE(in_another_process([&] {
        ZarrStore store(directory.file("out"), "s0", content_of());
        store.open_part();
        return true;
    }));
    std::ofstream(directory.file("out/s0/.parts/1-1-1")) << "of another column";
    std::ofstream(directory.file(fmt::format("out/s0/.parts/0-{}-1", getpid()))) << "of the same number";
    EXPECT_FALSE(std::filesystem::is_empty(directory.file("out/s0/.parts")));
    ZarrStore store(directory.file("out"), "s0", content_of());
    const auto part = store.open_part();
    ZarrStore successor(directory.file("out"), "s0", content_of());
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(directory.file("out/s0/.parts")))
        left.push_back(entry.path().filename());
    EXPECT_THAT(left, testing::UnorderedElementsAre("1-1-1", part->name()));
}

}  // namespace
}  // namespace spead::runtime::unit_test
