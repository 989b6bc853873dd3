// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_outputs.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <latch>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Adds records of a letter, and knows what became of them.
class OutputsRig {
  public:
    explicit OutputsRig(const std::vector<std::string>& directories,
                        const sink::RawWriter::Options& options = {})
        : outputs_(
              directories, "s0", {"heaps", "heaps.jsonl"}, [this](const char* what) { failure_ = what; },
              options) {}

    void add(char letter, std::size_t size = 100) {
        const std::string text(size, letter);
        const auto bytes = std::as_bytes(std::span(text));
        outputs_.add(
            {&bytes, 1},
            [&](const sink::RawFile*, std::uint64_t offset) {
                return fmt::format("{} {}\n", letter, offset);
            },
            [this, letter](bool kept) {
                if (letter == 'H') {
                    holds_.count_down();
                    held_.wait();
                }
                (kept ? kept_ : lost_)++;
                kept_.notify_all();
            });
    }
    RawOutputs& outputs() { return outputs_; }
    int kept() const { return kept_; }
    void wait_for(int kept) const {
        for (int now = kept_; now < kept; now = kept_)
            kept_.wait(now);
    }
    /// Waits until the writer waits with the record H.
    void wait_until_held() const { holds_.wait(); }
    /// Lets the writer go on that waits with the record H.
    void release() { held_.count_down(); }
    int lost() const { return lost_; }
    const std::string& failure() const { return failure_; }

  private:
    std::string failure_;
    std::atomic<int> kept_{0};
    std::atomic<int> lost_{0};
    std::latch holds_{1};
    std::latch held_{1};
    RawOutputs outputs_;
};

TEST(RawOutputs, GoRoundTheDirectoriesAndEachHasItsIndex) {
    const Directory directory;
    OutputsRig rig({directory.file("a"), directory.file("b")});
    for (const char letter : std::string("pqrst"))
        rig.add(letter);
    rig.outputs().finish();
    EXPECT_EQ(rig.kept(), 5);
    EXPECT_THAT(lines_of(directory.file("a/heaps.jsonl")), ElementsAre("p 0", "r 100", "t 200"));
    EXPECT_THAT(lines_of(directory.file("b/heaps.jsonl")), ElementsAre("q 0", "s 100"));
    EXPECT_EQ(text_of(directory.file("b/s0.raw")), std::string(100, 'q') + std::string(100, 's'));
}

TEST(RawOutputs, PassOverADiskWithoutRoomForAllOfARecord) {
    const Directory directory;
    sink::RawWriter::Options options;
    options.block_bytes = 8192;
    options.blocks = 4;
    options.idle = std::chrono::milliseconds(1);
    OutputsRig rig({directory.file("a"), directory.file("b")}, options);
    rig.add('H');
    rig.add('p');
    rig.wait_until_held();
    rig.wait_for(1);
    // It fills most of a's blocks, which are not written while a waits.
    rig.add('q', 14000);
    rig.add('r', 14000);
    rig.wait_for(2);
    rig.add('s', 20000);
    rig.wait_for(3);
    // Larger than all blocks.
    rig.add('t', 50000);
    rig.wait_for(4);
    rig.add('u', 50000);
    rig.wait_for(5);
    rig.release();
    rig.outputs().finish();
    EXPECT_EQ(rig.kept(), 7);
    EXPECT_THAT(lines_of(directory.file("a/heaps.jsonl")), ElementsAre("H 0", "q 100"));
    EXPECT_THAT(lines_of(directory.file("b/heaps.jsonl")),
                ElementsAre("p 0", "r 100", "s 14100", "t 34100", "u 84100"));
}

TEST(RawOutputs, TheOthersGoOnWhenOneFailsAndTheEndTellsOfIt) {
    const Directory directory;
    OutputsRig rig({directory.file("a"), directory.file("b"), directory.file("c")});
    std::filesystem::remove_all(directory.file("b"));
    for (const char letter : std::string("pqrst"))
        rig.add(letter);
    EXPECT_THAT(error_of([&] { rig.outputs().finish(); }),
                HasSubstr(directory.file("b") + "/s0.raw: cannot"));
    EXPECT_EQ(rig.kept(), 5) << "no heap is lost where no file could be made";
    EXPECT_EQ(rig.failure(), "");
    EXPECT_THAT(lines_of(directory.file("a/heaps.jsonl")), ElementsAre("p 0", "r 100", "t 200"));
    EXPECT_THAT(lines_of(directory.file("c/heaps.jsonl")), ElementsAre("q 0", "s 100"));
}

TEST(RawOutputs, FailWhenAllHaveFailed) {
    const Directory directory;
    OutputsRig rig({directory.file("a"), directory.file("b")});
    std::filesystem::remove_all(directory.file("a"));
    std::filesystem::remove_all(directory.file("b"));
    rig.add('p');
    EXPECT_EQ(rig.lost(), 1);
    EXPECT_THAT(rig.failure(), HasSubstr(directory.file("a") + "/s0.raw: cannot write"));
    rig.add('q');
    EXPECT_EQ(rig.lost(), 2);
    EXPECT_THROW(rig.outputs().finish(), Error);
}

}  // namespace
}  // namespace spead::runtime::unit_test
