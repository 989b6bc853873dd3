// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_outputs.hpp"

#include <filesystem>
#include <gmock/gmock.h>

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
    explicit OutputsRig(const std::vector<std::string>& directories)
        : outputs_(directories, "s0", {"heaps", "heaps.jsonl"},
                   [this](const char* what) { failure_ = what; }) {}

    void add(char letter) {
        const std::string text(100, letter);
        const auto bytes = std::as_bytes(std::span(text));
        outputs_.add(
            {&bytes, 1},
            [&](const sink::RawFile*, std::uint64_t offset) {
                return fmt::format("{} {}\n", letter, offset);
            },
            [this](bool kept) { (kept ? kept_ : lost_)++; });
    }
    RawOutputs& outputs() { return outputs_; }
    int kept() const { return kept_; }
    int lost() const { return lost_; }
    const std::string& failure() const { return failure_; }

  private:
    std::string failure_;
    std::atomic<int> kept_{0};
    std::atomic<int> lost_{0};
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
