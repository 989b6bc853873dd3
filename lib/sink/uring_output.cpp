// SPDX-License-Identifier: BSD-3-Clause
#include "sink/uring_output.hpp"

#include <cerrno>
#include <sched.h>
#include <sys/uio.h>
#include <utility>

namespace spead::sink {

namespace {

constexpr long long kWaitNs = 100'000'000;

bool transient(int result) noexcept {
    return result >= 0 || result == -EINTR || result == -ETIME || result == -EAGAIN || result == -EBUSY;
}

}  // namespace

std::unique_ptr<UringOutput> UringOutput::make(std::span<Block> blocks, int& error) {
    io_uring ring{};
    const int result = io_uring_queue_init(static_cast<unsigned>(blocks.size()), &ring, 0);
    error = -result;
    if (result != 0)
        return nullptr;
    std::vector<iovec> memory;
    for (const Block& block : blocks)
        memory.push_back({block.memory.data(), block.memory.size()});
    const bool registered =
        io_uring_register_buffers(&ring, memory.data(), static_cast<unsigned>(memory.size())) == 0;
    return std::unique_ptr<UringOutput>(new UringOutput(ring, blocks.size(), registered));
}

UringOutput::~UringOutput() {
    io_uring_queue_exit(&ring_);
}

/// Keeps the kernel's own threads for this ring on the CPUs of the thread that writes. Some kernels would let
/// them run on any.
void UringOutput::bind_workers() noexcept {
    cpu_set_t cpus;
    if (!std::exchange(bound_, true) && sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        io_uring_register_iowq_aff(&ring_, sizeof cpus, &cpus);
}

void UringOutput::submit(Block& block) {
    bind_workers();
    io_uring_sqe* const sqe = broken_ != 0 ? nullptr : io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
        block.error = broken_ != 0 ? broken_ : EBUSY;
        block.done = true;
        return;
    }
    const auto bytes = block.bytes();
    const auto length = static_cast<unsigned>(bytes.size());
    if (registered_)
        io_uring_prep_write_fixed(sqe, block.file->descriptor(), bytes.data(), length, block.offset,
                                  static_cast<int>(block.index));
    else
        io_uring_prep_write(sqe, block.file->descriptor(), bytes.data(), length, block.offset);
    io_uring_sqe_set_data(sqe, &block);
    under_way_[block.index] = &block;
    if (const int result = io_uring_submit(&ring_); !transient(result))
        give_up(-result);
}

void UringOutput::wait() {
    if (broken_ != 0)
        return;
    __kernel_timespec limit{0, kWaitNs};
    io_uring_cqe* cqe = nullptr;
    if (const int result = io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &limit, nullptr);
        !transient(result)) {
        give_up(-result);
        return;
    }
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
        complete(*static_cast<Block*>(io_uring_cqe_get_data(cqe)), cqe->res);
        io_uring_cqe_seen(&ring_, cqe);
    }
}

void UringOutput::complete(Block& block, int result) noexcept {
    under_way_[block.index] = nullptr;
    const auto bytes = block.bytes();
    // A part may end within a sector: all is written again.
    const bool whole = result >= 0 && static_cast<std::size_t>(result) == bytes.size();
    block.error = whole ? 0 : block.file->write(bytes, block.offset);
    block.done = true;
}

/// Fails all blocks. The kernel may still read those that are under way, so that they cannot be written
/// another way.
void UringOutput::give_up(int error) noexcept {
    broken_ = error;
    for (Block*& block : under_way_)
        if (Block* const failed = std::exchange(block, nullptr)) {
            failed->error = error;
            failed->done = true;
        }
}

}  // namespace spead::sink
