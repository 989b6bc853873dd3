// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The XDP program (xdp/steer.bpf.c) on a network interface: who may load it there, finding it, taking it
/// away. Internal to drivers/. Control world, main thread only.
///
/// The PMD loads the program, from a path, when it sets up its first receive queue, and takes away whatever
/// program the interface has when it is closed. So that no other's program is ever touched, the interface is
/// looked at before the PMD is.
namespace spead::drivers {

/// Whether this build has the program (meson option `xdp`).
bool xdp_built() noexcept;

/// The program as clang made it, an ELF object; empty when it is not built.
std::span<const unsigned char> steer_object() noexcept;

/// The XDP program that an interface has.
struct AttachedProgram {
    std::uint32_t id = 0;
    std::string name;  ///< as `bpftool prog` shows it; empty when this process may not know (CAP_SYS_ADMIN)
    bool ours = false;
};
/// Empty when there is none, or no such interface.
std::optional<AttachedProgram> attached_program(const std::string& netdev);

/// What has become of a program that was put on the interface: empty while it is there, or when the interface
/// is gone; else what is there now, in words.
std::string instead_of_program(const std::string& netdev, std::uint32_t id);

/// Throws Error unless this process may use AF_XDP sockets and load BPF programs, naming what it lacks.
void check_xdp_privileges(const std::string& device, const std::string& where);

/// Why the kernel does not take our program: to be loaded, and, if `attach`, to be put on the interface, from
/// which it is taken at once. Empty when it does. Attaching resets the queues of a real card; veth does not
/// mind.
std::string why_no_program(const std::string& netdev, bool attach);

/// Throws Error when the interface has the XDP program of somebody else.
void check_no_foreign_program(const std::string& netdev, const std::string& where);

/// The right to have our program on an interface, which one process of a network namespace has at a time. The
/// kernel takes it back when the process ends, however it ends.
class XdpClaim {
  public:
    /// Takes away a program of ours that a crashed process left. Throws Error when another process has the
    /// interface, or somebody else's program is on it.
    explicit XdpClaim(std::string netdev);
    ~XdpClaim();
    XdpClaim(const XdpClaim&) = delete;
    XdpClaim& operator=(const XdpClaim&) = delete;

    /// A path from which the program can be loaded while the claim lives; needs no file system.
    std::string program_path() const;

    /// The port's AF_XDP sockets, one per queue and in their order: readable while packets wait there.
    std::vector<int> queue_sockets() const;

    /// To be called when the PMD has put its program on the interface.
    void loaded() noexcept;

    /// To be called before the PMD is closed: it forgets the descriptors of its program and maps, and
    /// DPDK 22.11 those of its sockets too, which keeps the queues bound. It takes away any program that the
    /// interface has; one that was put over ours is kept in hand therefore.
    void remember() noexcept;
    /// To be called after: closes those, takes the program away if the PMD did not, puts the one that was
    /// over ours back, waits until the queues can be bound again, gives up the claim. Does nothing the second
    /// time.
    void release() noexcept;

  private:
    /// A descriptor, and what it stands for as /proc/self/fd tells it.
    struct OpenSocket {
        int fd = -1;
        std::string target;

        bool operator==(const OpenSocket&) const = default;
    };
    static std::vector<OpenSocket> sockets();
    std::vector<OpenSocket> own_sockets() const;
    void remove_stale() const;
    void keep_foreign() noexcept;
    void put_foreign_back() noexcept;

    std::string netdev_;
    unsigned if_index_ = 0;
    int lock_ = -1;
    int object_ = -1;
    std::uint32_t program_ = 0;  ///< id of the PMD's
    int foreign_ = -1;           ///< the program that was put over it
    std::uint32_t foreign_flags_ = 0;
    std::vector<int> left_;           ///< the PMD's descriptors of the program
    std::vector<OpenSocket> before_;  ///< AF_XDP sockets of this process when the claim was made
    std::vector<OpenSocket> bound_;   ///< the PMD's for this interface
};

/// A descriptor, which the caller owns, of a map of the program on the interface. Throws Error when this
/// process has not loaded that program or it has no such map.
int open_map(const std::string& netdev, const std::string& map);

}  // namespace spead::drivers
