// SPDX-License-Identifier: BSD-3-Clause
#include "recv/several_readers.hpp"

#include <chrono>
#include <memory>
#include <poll.h>
#include <thread>

#include <gtest/gtest.h>

#include "recv/buffer_reader.hpp"
#include "recv/datagram_queue.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests the waits of a thread that has any number of readers.
namespace spead::recv::test {
namespace {

using namespace std::chrono_literals;

bool is_readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
}

/// Waits for hours on a thread, while another one adds a reader.
void add_in_a_wait(SeveralReaders& all, std::unique_ptr<PacketReader> reader) {
    std::thread waiter([&all] { all.wait(1h); });
    all.add(std::move(reader));
    waiter.join();
}

TEST(SeveralReaders, AnAddedReaderEndsOneWait) {
    SeveralReaders all("test");
    EXPECT_FALSE(is_readable(all.fd()));
    add_in_a_wait(all, std::make_unique<QueueReader>(std::make_shared<DatagramQueue>(8), kLocalWay));
    EXPECT_FALSE(is_readable(all.fd())) << "the next wait would end at once";
    // One that waits by itself is no exception, nor one without a descriptor.
    add_in_a_wait(all, std::make_unique<BufferReader>(std::span<const std::uint8_t>(), kLocalWay));
    EXPECT_FALSE(is_readable(all.fd()));
}

TEST(SeveralReaders, AWokenOneDoesNotWaitAgain) {
    SeveralReaders all("test");
    const auto queue = std::make_shared<DatagramQueue>(8);
    all.add(std::make_unique<QueueReader>(queue, kLocalWay));
    all.wait(1h);
    ASSERT_EQ(queue->push(Bytes(1), 0s), DatagramQueue::Pushed::yes);
    all.wait(1h);
    all.wake();
    all.wait(1h);
    all.wait(1h);
}

}  // namespace
}  // namespace spead::recv::test
