// SPDX-License-Identifier: BSD-3-Clause
#include "sink/block_output.hpp"

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/file_size_limit.hpp"
#include "tests/unit/sink/raw_rig.hpp"

namespace spead::sink::unit_test {
namespace {

using spead::test::FileSizeLimit;

/// Holds blocks of one sector, each with its letter.
class Blocks {
  public:
    Blocks(const RawDirectory& directory, std::size_t count)
        : memory_(static_cast<std::byte*>(std::aligned_alloc(kSector, count * kSector)), std::free),
          blocks_(count) {
        const auto file = directory.open("a");
        for (std::size_t i = 0; i < count; i++) {
            Block& block = blocks_[i];
            block.memory = {memory_.get() + i * kSector, kSector};
            std::memset(block.memory.data(), 'a' + static_cast<int>(i), kSector);
            block.index = i;
            block.file = file;
            block.offset = i * kSector;
            block.used = kSector - i;
        }
    }
    std::span<Block> all() { return blocks_; }
    void write(BlockOutput& output) {
        for (Block& block : blocks_)
            output.submit(block);
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!done() && std::chrono::steady_clock::now() < limit)
            output.wait();
        EXPECT_TRUE(done());
    }

  private:
    bool done() const {
        return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.done; });
    }

    std::unique_ptr<std::byte, void (*)(void*)> memory_;
    std::vector<Block> blocks_;
};

TEST(BlockOutput, WritesEveryBlockAtItsPlaceInWholeSectors) {
    for (const Way way : {Way::automatic, Way::pwrite}) {
        const RawDirectory directory;
        Blocks blocks(directory, 5);
        MadeOutput made = make_output(way, blocks.all());
        EXPECT_EQ(made.why_pwrite, "");
        EXPECT_EQ(dynamic_cast<PwriteOutput*>(made.output.get()) != nullptr, way == Way::pwrite);
        blocks.write(*made.output);
        std::string expected;
        for (std::size_t i = 0; i < 5; i++) {
            EXPECT_EQ(blocks.all()[i].error, 0);
            expected += std::string(kSector, static_cast<char>('a' + i));
        }
        EXPECT_EQ(directory.text("a"), expected);
    }
}

TEST(BlockOutput, TellsTheErrorOfEachBlock) {
    for (const Way way : {Way::automatic, Way::pwrite}) {
        const RawDirectory directory;
        Blocks blocks(directory, 4);
        const FileSizeLimit limit(2 * kSector);
        MadeOutput made = make_output(way, blocks.all());
        blocks.write(*made.output);
        for (std::size_t i = 0; i < 4; i++)
            EXPECT_EQ(blocks.all()[i].error, i < 2 ? 0 : EFBIG) << i;
    }
}

TEST(BlockOutput, IsPwriteWhereTheKernelRefusesUring) {
    const RawDirectory directory;
    std::thread([&] {
        ASSERT_TRUE(forbid_uring()) << std::strerror(errno);
        Blocks blocks(directory, 2);
        const MadeOutput made = make_output(Way::automatic, blocks.all());
        EXPECT_NE(dynamic_cast<PwriteOutput*>(made.output.get()), nullptr);
        EXPECT_EQ(made.why_pwrite, "Operation not permitted");
    }).join();
}

}  // namespace
}  // namespace spead::sink::unit_test
