// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "base/file_descriptor.hpp"
#include "base/group_membership.hpp"

namespace spead::recv {

/// Returns the kernel's number of an interface, given by its name or its address; 0 for an empty text.
/// Throws Error.
unsigned interface_number(const std::string& interface, const std::string& where);

/// Holds an ordinary UDP socket that receives one address and port. It needs no privilege.
class KernelSocket {
  public:
    struct Options {
        std::string interface {};     ///< a network interface or its address; empty: the kernel's choice
        std::size_t buffer_size = 0;  ///< bytes of the kernel's receive buffer; 0: the kernel's default
        bool gro = true;              ///< let the kernel give several datagrams of a sender at once
        std::string where{};          ///< of errors and log lines
        bool privileged = true;       ///< exceed net.core.rmem_max with CAP_NET_ADMIN
        bool early = false;           ///< the machine may get a unicast address later
    };

    /// Binds the socket, of the address's family, to the address and port of `endpoints`, which all have the
    /// same ones, and joins the group: of each source that they name, or of all. A link-local address of IPv6
    /// needs the interface: without one, throws UsageError. A unicast address may be tentative, and absent if
    /// `early` says so, which the log then tells. Throws Error.
    KernelSocket(const std::vector<Endpoint>& endpoints, const Options& options);
    /// Takes a bound UDP socket of the user's as it is, IPv4 or IPv6. `place`: said of its packets. Throws
    /// Error.
    KernelSocket(FileDescriptor socket, const Endpoint& place, const Options& options);
    /// Leaves its groups. A child of fork(2) may keep the socket, and with it what was joined.
    ~KernelSocket();
    KernelSocket(KernelSocket&&) noexcept = default;
    KernelSocket& operator=(KernelSocket&&) = delete;

    /// Leaves and joins, so that it receives what `endpoints` say, of the same address and port. Throws
    /// Error when it cannot join, and has changed nothing but for groups that cannot be joined again, which
    /// the log names. Leaving never fails.
    void change(const std::vector<Endpoint>& endpoints, const Options& options);

    int fd() const noexcept { return fd_.get(); }
    Endpoint place() const noexcept { return place_; }  ///< without a source
    /// Returns the endpoints that it receives.
    std::vector<Endpoint> endpoints() const;
    /// Returns whether the kernel may give several datagrams at once (UDP_GRO, Linux 5.0).
    bool gro() const noexcept { return gro_; }
    /// Returns the bytes of the receive buffer that the kernel granted.
    std::size_t buffer_size() const noexcept { return buffer_size_; }
    /// Returns the datagrams that found no room in the buffer, modulo 2^32; none: the kernel does not tell.
    std::optional<std::uint32_t> dropped() const noexcept;

  private:
    void note_buffer() noexcept;
    void bind_to(const Options& options);
    void set_buffer(const Options& options);
    /// Describes what is joined, by the kernel's number of the interface: its name may be another's by now.
    struct Joined {
        IpAddress source;  ///< 0.0.0.0: all
        unsigned index = 0;
    };
    int set_membership(GroupChange change, const Joined& which) const noexcept;
    void join(const Joined& which, const std::string& where) const;

    Endpoint place_;
    std::vector<Joined> joined_;  ///< one of source 0, or several of others
    FileDescriptor fd_;
    bool gro_ = false;
    std::size_t buffer_size_ = 0;
};

}  // namespace spead::recv
