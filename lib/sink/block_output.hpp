// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sink/block.hpp"

namespace spead::sink {

/// Selects how blocks are written. `automatic`: io_uring if the kernel allows it, else pwrite(2).
enum class Way : std::uint8_t { automatic, pwrite };

/// Writes blocks, several at once if it can. One thread uses it.
class BlockOutput {
  public:
    virtual ~BlockOutput() = default;

    /// Begins to write a block, which must stay as it is until it is done.
    virtual void submit(Block& block) = 0;
    /// Waits until a block is done, but not for long. Sets `done` and `error` of those that are.
    virtual void wait() = 0;
};

/// Writes with pwrite(2), one block after the other.
class PwriteOutput : public BlockOutput {
  public:
    void submit(Block& block) override;
    void wait() override {}
};

/// Holds an output, and why it is not io_uring; empty: it is, or pwrite was asked for.
struct MadeOutput {
    std::unique_ptr<BlockOutput> output;
    std::string why_pwrite;
};

/// Makes the output for these blocks, which outlive it.
MadeOutput make_output(Way way, std::span<Block> blocks);

}  // namespace spead::sink
