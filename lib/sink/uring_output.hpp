// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <liburing.h>
#include <memory>
#include <span>
#include <vector>

#include "sink/block_output.hpp"

namespace spead::sink {

/// Writes through io_uring: all blocks can be under way at once. What the kernel wrote in part, or not, is
/// written again with pwrite(2), whose error counts. When the ring itself fails, all blocks do.
class UringOutput : public BlockOutput {
  public:
    /// Returns null if the kernel refuses io_uring (an old kernel, seccomp, io_uring_disabled); then `error`
    /// is errno. Registers the blocks' memory if RLIMIT_MEMLOCK allows it.
    static std::unique_ptr<UringOutput> make(std::span<Block> blocks, int& error);
    ~UringOutput() override;
    UringOutput(const UringOutput&) = delete;
    UringOutput& operator=(const UringOutput&) = delete;

    void submit(Block& block) override;
    void wait() override;

  private:
    UringOutput(const io_uring& ring, std::size_t blocks, bool registered)
        : ring_(ring), under_way_(blocks), registered_(registered) {}
    void complete(Block& block, int result) noexcept;
    void give_up(int error) noexcept;
    void bind_workers() noexcept;

    io_uring ring_;
    std::vector<Block*> under_way_;  ///< by index; null: none
    bool registered_;
    bool bound_ = false;
    int broken_ = 0;  ///< errno, after which the ring is not used any more
};

}  // namespace spead::sink
