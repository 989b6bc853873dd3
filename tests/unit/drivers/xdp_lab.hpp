// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cstdlib>
#include <net/if.h>
#include <sched.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "drivers/xdp/steer.h"
#include "drivers/xdp_program.hpp"

/// Provides the tests around XDP with a network namespace, a veth pair, and our program in the kernel. All of
/// it needs root; the tests are skipped elsewhere.
namespace spead::drivers::test {

inline bool run(const std::string& command) {
    return std::system(("PATH=$PATH:/usr/sbin:/sbin; " + command + " >/dev/null 2>&1").c_str()) == 0;
}

/// Moves this process into a new network namespace with the pair `dut` and `peer`, both up, 1500 bytes MTU,
/// one queue each. Empty, or why not.
inline std::string enter_lab(const std::string& options = "") {
    if (::geteuid() != 0) {
        return "needs root";
    }
    if (::unshare(CLONE_NEWNET) != 0) {
        return "no network namespaces here";
    }
    if (!run("ip link add dut " + options +
             " type veth peer name peer && ip link set dut up && ip link set peer up")) {
        return "needs ip (package iproute2) and veth";
    }
    return {};
}

/// Loads our program as net_af_xdp would. Its descriptors belong to this process.
class LoadedSteer {
  public:
    LoadedSteer() {
        const auto bytes = steer_object();
        object_ = bpf_object__open_mem(bytes.data(), bytes.size(), nullptr);
        if (object_ != nullptr && bpf_object__load(object_) == 0) {
            program_ = bpf_program__fd(bpf_object__find_program_by_name(object_, STEER_PROGRAM));
        }
    }
    ~LoadedSteer() { bpf_object__close(object_); }
    LoadedSteer(const LoadedSteer&) = delete;
    LoadedSteer& operator=(const LoadedSteer&) = delete;

    bool loaded() const { return program_ >= 0; }
    int program() const { return program_; }
    int map(const char* name) const { return bpf_object__find_map_fd_by_name(object_, name); }
    bool attach(const char* netdev) const {
        return bpf_xdp_attach(static_cast<int>(::if_nametoindex(netdev)), program_, 0, nullptr) == 0;
    }

  private:
    bpf_object* object_ = nullptr;
    int program_ = -1;
};

/// Puts a program that passes everything on an interface, as another tool would. Its name is "elses".
inline bool attach_elses(const char* netdev) {
    const bpf_insn pass[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                             {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    const int program = bpf_prog_load(BPF_PROG_TYPE_XDP, "elses", "GPL", pass, 2, nullptr);
    const bool attached =
        program >= 0 && bpf_xdp_attach(static_cast<int>(::if_nametoindex(netdev)), program, 0, nullptr) == 0;
    ::close(program);
    return attached;
}

}  // namespace spead::drivers::test
