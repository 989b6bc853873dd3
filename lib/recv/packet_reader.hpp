// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/endpoint.hpp"
#include "recv/datagram_lane.hpp"

namespace spead::recv {

/// Gives a lane without EAL its packets. The thread that has the lane calls feed() and wait(); any thread may
/// call the others.
class PacketReader {
  public:
    enum class Fed : std::uint8_t {
        packets,  ///< the lane took some
        nothing,  ///< there are none at present: wait()
        blocked,  ///< there are some, and the lane waits for its consumer
        end       ///< there will be none
    };

    PacketReader() = default;
    virtual ~PacketReader() = default;
    PacketReader(const PacketReader&) = delete;
    PacketReader& operator=(const PacketReader&) = delete;

    /// Gives the lane a burst of the packets that are there, and keeps those that it does not take. Waits for
    /// none. `now`: ticks. Throws Error when the source fails.
    virtual Fed feed(DatagramLane& lane, std::uint64_t now) = 0;
    /// Waits until there may be packets, `patience` is over, or wake() has been called.
    virtual void wait(std::chrono::milliseconds patience) = 0;
    /// Ends the present wait(), and all later ones at once.
    virtual void wake() noexcept = 0;
    /// Returns a descriptor, for waits of others. It becomes readable when there may be packets after arm()
    /// has returned true. -1: there always are packets until the end. Throws Error.
    virtual int fd() { return -1; }
    /// Returns whether there are none at present.
    virtual bool arm() noexcept { return true; }
    /// Returns whether packets that the lane does not take at once wait without loss.
    virtual bool lossless() const noexcept = 0;
    /// Returns the number of packets that were lost before the lane.
    virtual std::uint64_t lost() const noexcept { return 0; }
    /// Reads the packets of these endpoints from now on. No feed() runs meanwhile; any thread. Throws Error,
    /// and has changed nothing.
    virtual void receive(const std::vector<Endpoint>& /*endpoints*/) {}
    /// Ends the reader, on the lane's thread: no feed() follows. Packets that the lane did not take stay in
    /// their source, or count as lost.
    virtual void give_up() noexcept {}
};

}  // namespace spead::recv
