// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <rte_mbuf_core.h>

#include "base/endpoint.hpp"
#include "memory/mapping.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"
#include "wire/net.hpp"

struct rte_mempool;

namespace spead::app {

/// Sends the packets of `selftest`: headers in an mbuf of their own, and the payload in segments of memory
/// that is not copied. Control code, for a started port that no lcore polls. The port is stopped before the
/// sender goes, unless all mbufs are back.
class TestSender {
  public:
    static constexpr std::size_t kSegment = 64;         ///< bytes of payload in each segment
    static constexpr std::uint16_t kPacketsOfEach = 4;  ///< packets that send() sends
    static constexpr std::byte kFilledWith{0x5A};       ///< each byte of the payload

    /// Registers memory, and maps it for the port. Throws Error.
    TestSender(const port::Port& port, const Endpoint& destination);
    ~TestSender();
    TestSender(const TestSender&) = delete;
    TestSender& operator=(const TestSender&) = delete;

    /// Sends kPacketsOfEach packets with `segments` pieces beside the headers. Returns how many the port
    /// took, within a second for each. Throws Error when no mbufs are left.
    std::uint16_t send(std::uint16_t segments);
    /// Returns the bytes of Ethernet, IP and UDP in front of the payload.
    std::size_t header_length() const noexcept { return headers_.length(); }
    /// Returns whether the driver has given all mbufs back.
    bool all_back() const;

  private:
    static constexpr unsigned kPool = 1023;

    rte_mbuf* make(std::uint16_t segments);
    std::byte* piece_at(std::uint16_t i) const { return mapping_.base() + i * 4 * kSegment; }
    std::uint16_t checksum(std::uint16_t segments) const;
    unsigned back() const;

    port::TxQueue queue_;
    memory::Mapping mapping_;
    port::RegionRegistration region_;
    wire::NetHeaderSpec way_;
    wire::NetHeaderTemplate headers_;
    rte_mempool* pool_ = nullptr;
    rte_mbuf_ext_shared_info shared_{};
};

}  // namespace spead::app
