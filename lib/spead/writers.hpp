// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <spead/readers.hpp>
#include <spead/send.hpp>
#include <vector>

/// Lets a stream send without EAL and without privileges: to sockets of the kernel, to streams of this
/// process, into memory.
namespace spead {

/// Collects packets, one after the other, as Reader::buffer() reads them.
///
/// A handle: all copies mean the same bytes. Any thread may call anything.
class SPEAD_API PacketBytes {
  public:
    PacketBytes();

    /// Copies the handle. There is no move.
    PacketBytes(const PacketBytes&) = default;
    PacketBytes& operator=(const PacketBytes&) = default;
    ~PacketBytes() = default;

    /// Returns a copy of the packets so far.
    std::vector<std::byte> bytes() const;
    /// Returns them, and begins anew.
    std::vector<std::byte> take();
    std::size_t size() const noexcept;

    struct State;

  private:
    friend class Writer;
    std::shared_ptr<State> state_;
};

/// Names a destination of packets that needs no EAL.
class SPEAD_API Writer {
  public:
    /// Copies the name. There is no move.
    Writer(const Writer&) = default;
    Writer& operator=(const Writer&) = default;
    ~Writer() = default;

    /// Names a socket of the kernel that sends to SendConfig::endpoints with `ttl` and `dscp`, through
    /// SendConfig::interface (a network interface or its address; empty: the kernel's choice).
    static Writer sockets();
    /// Names a datagram socket of the user's, not connected, with all its options; the descriptor is
    /// duplicated. `destinations`: the bytes of a sockaddr_in or sockaddr_in6 for each substream.
    static Writer socket(int fd, std::vector<std::vector<std::byte>> destinations);
    /// Names a queue for each substream. A full queue is waited for, without limit; a stopped one refuses.
    static Writer queues(std::vector<InprocQueue> queues);
    /// Names bytes in memory. There is one substream.
    static Writer memory(const PacketBytes& bytes);

    struct Target;
    const Target& target() const noexcept { return *target_; }

  private:
    explicit Writer(std::shared_ptr<const Target> target) noexcept : target_(std::move(target)) {}
    std::shared_ptr<const Target> target_;
};

}  // namespace spead
