// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "base/file_descriptor.hpp"
#include "recv/kernel_socket.hpp"
#include "recv/packet_reader.hpp"

namespace spead::recv {

/// Feeds the datagrams that the kernel receives, through ordinary sockets: one for each address and port.
class KernelReader final : public PacketReader {
  public:
    /// Opens the sockets, and joins the groups. `max_packet_size`: of the stream. Longer datagrams are cut to
    /// one byte more, at least, so that they still count as oversize. Throws Error.
    KernelReader(const std::vector<Endpoint>& endpoints, const KernelSocket::Options& options,
                 std::uint32_t max_packet_size);
    /// Takes a bound UDP socket of the user's, IPv4 or IPv6. All of its datagrams count as sent to `place`.
    /// Throws Error.
    KernelReader(FileDescriptor socket, const Endpoint& place, const KernelSocket::Options& options,
                 std::uint32_t max_packet_size);
    ~KernelReader() override;

    Fed feed(DatagramLane& lane, std::uint64_t now) override;
    void wait(std::chrono::milliseconds patience) override;
    void wake() noexcept override;
    int fd() override { return epoll_.get(); }
    bool lossless() const noexcept override { return false; }
    /// Returns the datagrams that found no room in the kernel's buffers, for which the lane was too slow.
    std::uint64_t lost() const noexcept override;
    /// Opens and closes sockets, joins and leaves groups. Datagrams that wait in a closed socket are
    /// nobody's. A socket of the user's stays as it is.
    void receive(const std::vector<Endpoint>& endpoints) override;
    void give_up() noexcept override;

    /// Returns the least buffer that the kernel granted to a socket, in bytes.
    std::size_t buffer_size() const noexcept { return buffer_size_; }

  private:
    struct Messages;
    struct Open {
        KernelSocket socket;
        mutable std::uint32_t dropped = 0;  ///< when it was last asked; guarded
    };

    KernelReader(const KernelSocket::Options& options, std::uint32_t max_packet_size);
    void prepare();
    void fetch(const KernelSocket& socket);
    std::size_t open(const std::vector<Endpoint>& endpoints);
    std::size_t add_socket(KernelSocket socket);
    void close(std::size_t number) noexcept;
    void change_back(KernelSocket& socket, const std::vector<Endpoint>& before) const noexcept;
    void note_dropped(const Open& open) const noexcept;
    void add(const KernelSocket& socket, std::size_t message);

    const KernelSocket::Options options_;
    const std::size_t longest_;                   ///< of a datagram; longer ones are cut to it
    bool is_users_ = false;                       ///< the socket
    std::vector<std::unique_ptr<Open>> sockets_;  ///< by number; null: closed
    std::size_t buffer_size_ = 0;
    FileDescriptor epoll_;
    FileDescriptor wake_;
    std::unique_ptr<Messages> messages_;
    std::vector<Datagram> datagrams_;  ///< received, and from first_ on not fed
    std::size_t first_ = 0;
    mutable std::mutex mutex_;        ///< of the counts, and of exchanges in sockets_
    mutable std::uint64_t lost_ = 0;  ///< guarded
};

}  // namespace spead::recv
