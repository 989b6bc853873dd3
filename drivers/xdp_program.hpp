// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Manages the XDP program (xdp/steer.bpf.c) on a network interface: claims it, finds it, removes it.
/// Internal to drivers/. Control code, main thread only.
///
/// The PMD loads the program, from a path, when it sets up its first receive queue, and removes any program
/// from the interface when it is closed. The interface is checked before, so that no foreign program is ever
/// touched.
namespace spead::drivers {

/// Returns whether this build has the program (meson option `xdp`).
bool xdp_built() noexcept;

/// Returns the compiled program, an ELF object; empty when it is not built.
std::span<const unsigned char> steer_object() noexcept;

/// Describes the XDP program of an interface.
struct AttachedProgram {
    std::uint32_t id = 0;
    std::string name;  ///< as `bpftool prog` shows it; empty when this process may not know (CAP_SYS_ADMIN)
    bool ours = false;
};
/// Returns the program; empty when there is none, or no such interface.
std::optional<AttachedProgram> attached_program(const std::string& netdev);

/// Returns what replaced a program on the interface, in words; empty while it is there, or when the interface
/// has disappeared.
std::string instead_of_program(const std::string& netdev, std::uint32_t id);

/// Throws Error unless this process may use AF_XDP sockets and load BPF programs, naming the missing
/// capability.
void check_xdp_privileges(const std::string& device, const std::string& where);

/// Returns why the kernel does not accept our program. With `attach`, it is also put on the interface, and
/// removed at once. Empty when it does. Attaching resets the queues of a real card; veth is not affected.
std::string why_no_program(const std::string& netdev, bool attach);

/// Throws Error when the interface has another program's XDP program.
void check_no_foreign_program(const std::string& netdev, const std::string& where);

/// Claims the right to have our program on an interface; one process of a network namespace has it at a time.
/// The kernel ends the claim when the process ends, in any way.
class XdpClaim {
  public:
    /// Makes the claim, and removes a program of ours that a crashed process left. Throws Error when another
    /// process has the interface, or a foreign program is on it.
    explicit XdpClaim(std::string netdev);
    ~XdpClaim();
    XdpClaim(const XdpClaim&) = delete;
    XdpClaim& operator=(const XdpClaim&) = delete;

    /// Returns a path from which the program can be loaded during the claim; needs no file system.
    std::string program_path() const;

    /// Returns the port's AF_XDP sockets, one per queue and in their order: readable while packets wait
    /// there.
    std::vector<int> queue_sockets() const;

    /// Notes that the PMD has put its program on the interface.
    void loaded() noexcept;

    /// Remembers descriptors before the PMD is closed: it forgets those of its program and maps, and DPDK
    /// 22.11 those of its sockets too, which keeps the queues bound. The PMD removes any program from the
    /// interface, so a program that replaced ours is kept.
    void remember() noexcept;
    /// Closes those descriptors after the PMD is closed, and ends the claim. Removes the program if the PMD
    /// did not, restores the one that replaced ours, and waits until the queues can be bound again. Does
    /// nothing the second time.
    void release() noexcept;

  private:
    /// Holds a descriptor, and its target in /proc/self/fd.
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

/// Returns a descriptor, which the caller owns, of a map of the program on the interface. Throws Error when
/// this process has not loaded that program or it has no such map.
int open_map(const std::string& netdev, const std::string& map);

}  // namespace spead::drivers
