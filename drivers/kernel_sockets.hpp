// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "port/steering.hpp"

namespace spead::drivers {

/// Receives for a net_kernel port: an ordinary UDP socket for each address and port, and the datagrams that
/// it has straight into the mbufs of the receive queues.
///
/// net_null fills a burst with fresh mbufs. A callback of the receive queue (rte_eth_add_rx_callback) lets
/// recvmmsg write into them, and frees the others. So a burst makes system calls: one, and one for each
/// socket that is ready, 16 at most.
///
/// Sockets come and go while lcores poll, without locks. A closed socket's number could be another file's at
/// once, so remove() waits until no burst can have it any more.
///
/// Control code, one thread, but for the bursts of the lcores. Functions throw Error.
class KernelSockets {
  public:
    struct Options {
        std::string interface {};       ///< network interface or IPv4 address of one; empty: by the routes
        std::size_t buffer_size = 0;    ///< bytes of a socket's buffer in the kernel; 0: the kernel's default
        std::uint32_t max_payload = 0;  ///< of a datagram; longer ones are cut to one byte more
        std::string where{};            ///< of errors and log lines
    };
    /// Makes the queues, without sockets.
    explicit KernelSockets(Options options, std::uint16_t queues = 0);
    ~KernelSockets();
    KernelSockets(const KernelSockets&) = delete;
    KernelSockets& operator=(const KernelSockets&) = delete;

    const Options& options() const noexcept { return options_; }
    /// Returns the rules of the started device: a socket for each. The table refers to these sockets, and
    /// ends with the polling of the lcores.
    std::unique_ptr<port::RuleTable> receive_from(const std::string& device);

    /// Returns a descriptor for each queue, readable while one of its sockets has a datagram.
    std::vector<int> descriptors() const;
    /// Returns the datagrams that found no room in the sockets' buffers since the last call.
    std::uint64_t take_missed();

  private:
    class Rules;
    class Queue;

    const Options options_;
    std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace spead::drivers
