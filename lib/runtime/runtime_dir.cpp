// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <cstdlib>
#include <sys/un.h>
#include <unistd.h>

namespace spead::runtime {

std::string eal_directory() {
    const char* directory = std::getenv("RUNTIME_DIRECTORY");
    if (directory == nullptr && getuid() == 0)
        directory = "/var/run";
    if (directory == nullptr)
        directory = std::getenv("XDG_RUNTIME_DIR");
    return std::string(directory == nullptr ? "/tmp" : directory) + "/dpdk";
}

bool telemetry_socket_fits(std::string_view file_prefix) {
    // ":99" of a namesake, and the byte that ends the path.
    constexpr std::size_t kMore = 4;
    return eal_directory().size() + 1 + file_prefix.size() + 1 + kTelemetrySocket.size() + kMore <=
           sizeof(sockaddr_un::sun_path);
}

}  // namespace spead::runtime
