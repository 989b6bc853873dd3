// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "base/endpoint.hpp"
#include "base/file_descriptor.hpp"
#include "base/socket_address.hpp"
#include "send/packet_writer.hpp"

namespace spead::send {

/// Writes datagrams to an ordinary UDP socket. Needs no privilege. Similar packets of one substream go to the
/// kernel as one, which cuts it (UDP_SEGMENT, Linux 4.18), unless the way does not allow that.
class SocketWriter final : public PacketWriter {
  public:
    struct Options {
        std::string interface {};  ///< a network interface or its address; empty: the kernel's choice
        std::uint8_t ttl = 1;
        std::uint8_t dscp = 0;
        std::string where{};  ///< of errors
    };

    /// Makes a socket for these endpoints, which are of one IP version, at least one. Throws UsageError,
    /// Error.
    SocketWriter(const std::vector<Endpoint>& endpoints, const Options& options);
    /// Uses a socket that is there, and closes it. Throws Error when it is no datagram socket.
    SocketWriter(FileDescriptor fd, std::vector<SocketAddress> destinations, std::string where);

    Written write(std::span<const Datagram> burst) noexcept override;
    void wait(int waker, std::chrono::nanoseconds patience) noexcept override;
    std::chrono::nanoseconds patience() const noexcept override;
    void set_ttl(std::uint8_t ttl) override;

    /// Sets whether the kernel may cut packets that were joined. For tests.
    void set_segmentation(bool yes) noexcept { segmentation_ = yes; }

  private:
    static constexpr std::size_t kMessages = 64;

    std::size_t join(std::span<const Datagram> burst) const noexcept;
    std::size_t prepare(std::span<const Datagram> burst) noexcept;

    std::string where_;
    FileDescriptor fd_;
    std::vector<SocketAddress> destinations_;
    bool segmentation_ = true;
    bool full_ = false;  ///< the last error was that of a full queue behind the socket
    struct Control {
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
    };
    std::array<mmsghdr, kMessages> messages_{};
    std::array<Control, kMessages> controls_{};
    std::array<std::size_t, kMessages> packets_{};  ///< of each message
};

}  // namespace spead::send
