// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "recv/packet_reader.hpp"

namespace spead::recv {

/// Feeds a lane from any number of readers, in turn: a burst of each. The first that ends, ends them all.
class SeveralReaders final : public PacketReader {
  public:
    /// Makes a reader without others. `where`: of errors. Throws Error.
    explicit SeveralReaders(std::string where);

    /// Adds a reader, and ends the present wait() or the next one. No feed() runs meanwhile; any thread.
    /// Throws Error; then nothing has changed.
    void add(std::unique_ptr<PacketReader> reader);

    Fed feed(DatagramLane& lane, std::uint64_t now) override;
    void wait(std::chrono::milliseconds patience) override;
    void wake() noexcept override;
    int fd() override { return epoll_.get(); }
    bool arm() noexcept override;
    /// Returns whether all of them are; so without readers, true.
    bool lossless() const noexcept override;
    std::uint64_t lost() const noexcept override;
    void receive(const std::vector<Endpoint>& endpoints) override;
    void give_up() noexcept override;

  private:
    const std::string where_;
    FileDescriptor epoll_;
    FileDescriptor wake_;
    FileDescriptor added_;      ///< ends one wait
    mutable std::mutex mutex_;  ///< of changes of readers_, which feed() needs no lock for
    std::vector<std::unique_ptr<PacketReader>> readers_;
    std::size_t next_ = 0;  ///< the reader whose turn it is
};

}  // namespace spead::recv
