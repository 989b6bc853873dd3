// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_directory.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/stat.h>

#include "base/error.hpp"

namespace spead {

std::string own_directory(const std::function<const char*(const char*)>& environment, uid_t user) {
    const auto below = [&](const char* variable) -> std::string {
        const char* const value = environment ? environment(variable) : nullptr;
        if (value == nullptr || *value != '/')
            return {};
        // systemd.exec(5): several directories have colons between them.
        const std::string_view all(value);
        return std::string(all.substr(0, all.find(':'))) + "/dpdk-spead";
    };
    if (std::string services = below("RUNTIME_DIRECTORY"); !services.empty())
        return services;
    return user == 0 ? "/run/dpdk-spead" : below("XDG_RUNTIME_DIR");
}

void make_own_directory(const std::string& directory, const std::string& where) {
    // Services have directories of their own below root's: others may look.
    constexpr mode_t kMode = 0755;
    if (mkdir(directory.c_str(), kMode) != 0 && errno != EEXIST)
        throw_error(where, "cannot make the directory {}: {}", directory, std::strerror(errno));
}

}  // namespace spead
