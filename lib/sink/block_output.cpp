// SPDX-License-Identifier: BSD-3-Clause
#include "sink/block_output.hpp"

#include <cstring>

#include "sink/uring_output.hpp"

namespace spead::sink {

void PwriteOutput::submit(Block& block) {
    block.error = block.file->write(block.bytes(), block.offset);
    block.done = true;
}

MadeOutput make_output(Way way, std::span<Block> blocks) {
    if (way == Way::pwrite)
        return {std::make_unique<PwriteOutput>(), {}};
    int error = 0;
    if (auto uring = UringOutput::make(blocks, error))
        return {std::move(uring), {}};
    return {std::make_unique<PwriteOutput>(), std::strerror(error)};
}

}  // namespace spead::sink
