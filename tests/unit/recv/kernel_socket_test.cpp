// SPDX-License-Identifier: BSD-3-Clause
#include "recv/kernel_socket.hpp"

#include <cstdio>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/udp_sender.hpp"

namespace spead::recv {
namespace {

using spead::test::error_of;
using testing::HasSubstr;

/// Lets the process open no further descriptor.
class NoDescriptors {
  public:
    NoDescriptors() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlimit none{0, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST(InterfaceNumber, IsFoundByNameAndByAddress) {
    const unsigned loopback = interface_number("lo", "here");
    EXPECT_NE(loopback, 0U);
    EXPECT_EQ(interface_number("127.0.0.1", "here"), loopback);
    EXPECT_EQ(interface_number("", "here"), 0U);
    for (const char* const unknown : {"nonesuch", "192.0.2.77"})
        EXPECT_THAT(error_of([&] { static_cast<void>(interface_number(unknown, "here")); }),
                    HasSubstr("is no network interface and no address of one"));
}

TEST(InterfaceNumber, WithoutDescriptorsTheInterfaceIsNotDenied) {
    for (const char* const interface : {"lo", "127.0.0.1"}) {
        std::string error;
        {
            const NoDescriptors limit;
            error = error_of([&] { static_cast<void>(interface_number(interface, "here")); });
        }
        EXPECT_EQ(error, fmt::format("here: cannot look for the network interface `{}`: Too many open files; "
                                     "raise the limit of descriptors (ulimit -n)",
                                     interface));
    }
}

/// Returns the most that an unprivileged user may have.
std::size_t most_buffer() {
    std::size_t most = 0;
    FILE* const file = std::fopen("/proc/sys/net/core/rmem_max", "re");
    EXPECT_NE(file, nullptr);
    if (file != nullptr) {
        EXPECT_EQ(std::fscanf(file, "%zu", &most), 1);
        std::fclose(file);
    }
    return most;
}

TEST(KernelSocket, RefusesAnInterfaceThatDoesNotExistForAnAddressToo) {
    const Endpoint place{{test::kLoopback}, test::free_port(), {}};
    KernelSocket::Options options;
    options.where = "here";
    for (const char* const unknown : {"nonesuch", "192.0.2.77"}) {
        options.interface = unknown;
        EXPECT_THAT(error_of([&] { const KernelSocket socket({place}, options); }),
                    HasSubstr("is no network interface and no address of one"));
    }
    for (const char* const known : {"", "lo", "127.0.0.1"}) {
        options.interface = known;
        EXPECT_NO_THROW(const KernelSocket socket({place}, options));
    }
}

TEST(KernelSocket, UsesNoPrivilegeForItsBufferWhereItMayNot) {
    const std::size_t most = most_buffer();
    KernelSocket::Options options;
    options.buffer_size = most + 100'000;
    options.privileged = false;
    const KernelSocket socket({{{test::kLoopback}, test::free_port(), {}}}, options);
    EXPECT_LE(socket.buffer_size(), most);
    EXPECT_EQ(socket.dropped(), 0U);
}

TEST(KernelSocket, LeavesASourceWithoutAskingForItsInterface) {
    const std::uint16_t port = test::free_port();
    const Endpoint two{{test::kGroup + 5}, port, {0x7F000002}};
    const Endpoint three{{test::kGroup + 5}, port, {0x7F000003}};
    KernelSocket::Options options;
    options.interface = "lo";
    options.where = "here";
    KernelSocket socket({two, three}, options);
    std::string error;
    {
        const NoDescriptors limit;
        EXPECT_NO_THROW(socket.change({two}, options));
        error = error_of([&] { socket.change({two, three}, options); });
    }
    EXPECT_THAT(error, HasSubstr("cannot look for the network interface"));
    EXPECT_EQ(socket.endpoints(), std::vector<Endpoint>{two});
    socket.change({three}, options);
    EXPECT_EQ(socket.endpoints(), std::vector<Endpoint>{three});
}

}  // namespace
}  // namespace spead::recv
